"""The commands that change a tokenizer: `extend`, `prune`, `join`, `renumber`, `specials`; and `train --forbid`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import numpy as np
import pytest

from tokstudio import Corpus, TrainingConfig, cli, extend, load, prune, save, train, verify
from tokstudio.cli import exporting, training
from tokstudio.cli.arguments import surgery as arguments
from tokstudio.core.base.errors import FormatError
from tokstudio.core.model.file_settings import ROLES
from tokstudio.core.surgery import proof as verifying
from tokstudio.core.tokenizer.origin import Point, Proof

ENGLISH = "A merchant of Venice sold merchandise wherever he went, whatever happened. " * 3
ENGLISH += "the cat sat on the mat; the bat ate the hat that the rat had. Кот и кит: 1234 says so.\n" * 3
GERMAN = "Der Hut der Katze hat der Katze gehört, und die Matte auch: der Kater saß auf der Matte.\n" * 3


@pytest.fixture
def texts(tmp_path):
    paths = tmp_path / "en.txt", tmp_path / "de.txt"
    for path, text in zip(paths, (ENGLISH, GERMAN), strict=True):
        path.write_text(text, encoding="utf-8", newline="\n")
    return [str(path) for path in paths]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("trained") / "old.json"
    config = TrainingConfig(vocabulary_size=310, pattern="gpt2", special_tokens=["<|r0|>", "<|r1|>"])
    save(train(Corpus.from_text(ENGLISH), config), path)
    return path.read_bytes()


@pytest.fixture
def old(trained, tmp_path):
    (tmp_path / "old.json").write_bytes(trained)
    return str(tmp_path / "old.json")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "new.json"


def test_the_roles_are_those_of_the_core():
    assert [f"{role}_token" for role in arguments.ROLES] == [*ROLES]


def run(*words):
    return cli.main([str(word) for word in words])


def export(out):
    return "--export", f"huggingface={out}"


def test_extending_is_what_the_library_does_and_is_proved(old, texts, out, tmp_path, capsys):
    words = ["--tie-break", "lowest-id", "--max-token-bytes", "5", "--reference", texts[0]]
    assert run("extend", old, "--vocab-size", "330", texts[1], *words, "--map", tmp_path / "m.json", *export(out)) == 0
    config = TrainingConfig(vocabulary_size=330, pattern="gpt2", tie_break="lowest-id", max_token_bytes=5)
    expected = extend(load(old), Corpus.from_text(GERMAN), config)
    assert load(out).tokens == expected.tokens
    told = capsys.readouterr().err.splitlines()
    for line in verify(expected, reference=ENGLISH).lines()[:4]:
        assert line in told
    assert sum(line[:2] in [f"{number}." for number in range(1, 10)] for line in told) == 9
    assert not any("FAILS" in line for line in told)
    changed = json.loads((tmp_path / "m.json").read_text())
    assert changed["size"] == 330
    assert list(changed["parts"]) == [str(token) for token in range(310, 330)]


def test_lines_of_a_reference_that_change_are_counted_and_the_first_is_shown(old, texts, tmp_path, capsys):
    (tmp_path / "ref.txt").write_text("the cat\nder Kater\nder Hut\n", encoding="utf-8")
    assert run("extend", old, texts[1], "--vocab-size", "330", "--reference", tmp_path / "ref.txt", "--json") == 0
    made = json.loads(capsys.readouterr().out)
    point = made["points"][5]
    assert point["sentence"] == "2 of 3 lines."
    assert point["details"][0].startswith("line 2, token 3, before: ")
    assert [entry["number"] for entry in made["points"]] == list(range(1, 10))
    assert all(entry["holds"] for entry in made["points"])
    assert (made["tokens_before"], made["vocabulary_size"], made["merges"]) == (310, 330, 20)


def test_extending_from_some_merges_with_forbidden_tokens_prints_its_own_merges(old, texts, out, capsys):
    words = ["--merges", "30", "--forbid", "token:er", "--forbid", "[zZ]", "--vocab-size", "300", "--print-merges"]
    assert run("extend", old, texts[1], *words, *export(out)) == 0
    start = load(old).at(30)
    config = TrainingConfig(vocabulary_size=300, pattern="gpt2", forbidden=("token:er", "[zZ]"))
    expected = extend(start, Corpus.from_text(GERMAN), config)
    made = load(out)
    assert made.tokens == expected.tokens
    new = [made.tokens[token] for token in made.merge_results[30:].tolist()]
    assert len(new) == 300 - 288
    assert b"er" not in new
    assert not any(b"z" in token.lower() for token in new)
    printed = capsys.readouterr().out.splitlines()
    rows = zip(made.merges[30:].tolist(), made.merge_results[30:].tolist(), strict=True)
    assert printed == [f"Merge ({left}, {right}) into a new token {token}" for (left, right), token in rows]


def test_reserved_ids_are_filled_within_the_same_size(old, texts, out):
    assert run("extend", old, texts[1], "--vocab-size", "310", "--fill", "<|r1|>", *export(out), "-q") == 0
    made = load(out)
    assert len(made) == 310
    assert made.special_tokens == {"<|r0|>": 308}
    assert made.merge_results[-1] == 309


def test_training_with_forbidden_tokens(texts, out):
    words = ["--vocab-size", "300", "--pattern", "gpt2", "--forbid", "token:at", "--forbid", "mixed-scripts"]
    assert run("train", texts[0], *words, *export(out), "-q") == 0
    tokens = [*load(out).tokens]
    assert b"at" not in tokens
    assert b"he" in tokens


def test_pruning_by_use_in_texts(old, texts, out, tmp_path, capsys):
    words = ["--corpus", texts[1], "--map", tmp_path / "m.npz"]
    assert run("prune", old, "--vocab-size", "290", *words, *export(out), "--json") == 0
    tokenizer = load(old)
    uses = np.bincount(tokenizer.encode(GERMAN), minlength=310)
    expected = prune(tokenizer, 290, uses)
    assert load(out).tokens == expected.tokenizer.tokens
    made = json.loads(capsys.readouterr().out)
    assert (made["tokens_before"], made["vocabulary_size"], made["removed"]) == (310, 290, 20)
    assert made["map"] == str(tmp_path / "m.npz")
    table = np.load(tmp_path / "m.npz")
    assert expected.new_ids[table["old_ids"]].tolist() == table["new_ids"].tolist()
    assert (
        run("prune", old, "--least-uses", "2", "--corpus", texts[1], "--keep-ids", *export(out), "--force", "-q") == 0
    )
    left = load(out)
    pruned = prune(tokenizer, least_uses=2, counts=uses, renumber=False).tokenizer
    assert left.merge_results.tolist() == pruned.merge_results.tolist()


def test_pruning_scripts_and_ids(old, out, capsys):
    assert run("prune", old, "--script", "Cyrillic", "Greek", *export(out)) == 0
    assert not any(ord(char) > 0x3FF for token in load(out).tokens for char in (token or b"").decode("utf-8", "ignore"))
    tokenizer = load(old)
    part = int(tokenizer.merges.max())
    assert run("prune", old, "--tokens", part, 307, *export(out), "--force") == 0
    assert f"1 token stays as a part of others: {part}." in capsys.readouterr().err
    assert len(load(out)) == 309
    assert run("prune", old, "--tokens", 307, "--vocab-size", 300) == 0
    assert "No other tokens can be removed: more than 300 are left." in capsys.readouterr().err


def test_extending_from_some_merges_says_which_ids_stay_unused(old, texts, out, tmp_path, capsys):
    words = ["extend", old, texts[1], "--vocab-size", "300", *export(out)]
    assert run(*words, "--merges", "30") == 0
    made = load(out)
    unused = set(range(max(made.tokens.ids()) + 1)) - set(made.tokens.ids().tolist())
    assert unused == set(range(286, 308)), "those of the merges after 30, below the special tokens"
    assert "22 ids of dropped merges stay unused: renumber --by rank closes the gaps." in capsys.readouterr().err
    closed = tmp_path / "closed.json"
    assert run("renumber", out, "--by", "rank", *export(closed), "-q") == 0
    assert len(load(closed)) == len(made) == int(load(closed).tokens.ids().max()) + 1
    capsys.readouterr()
    assert run("extend", old, texts[1], "--vocab-size", "330", *export(out), "--force") == 0
    assert "unused" not in capsys.readouterr().err


def test_joining_and_renumbering(old, texts, out, tmp_path, capsys):
    german, back = tmp_path / "german.json", tmp_path / "back.json"
    assert run("train", texts[1], "--vocab-size", "290", "--pattern", "gpt2", *export(german), "-q") == 0
    assert run("join", old, german, *export(out)) == 0
    joined, said = load(out), capsys.readouterr().err
    assert set(load(german).tokens) > {token for token in joined.tokens if token not in load(old).tokens} > set()
    assert len(set(load(german).tokens) - set(joined.tokens)) == 1
    assert "1 token of the other tokenizer is left out, which no text would become." in said
    assert run("join", old, german, "--json") == 0
    assert json.loads(capsys.readouterr().out)["left_out"] == 1
    assert run("renumber", out, "--by", "use", "--corpus", texts[1], *export(back), "--json") == 0
    assert json.loads(capsys.readouterr().out)["renumbered"] > 100
    uses = np.bincount(load(back).encode(GERMAN), minlength=len(joined))
    assert (np.diff(uses) <= 0).all()
    again, sorted_ = tmp_path / "again.json", tmp_path / "sorted.json"
    assert run("renumber", back, "--by", out, *export(again), "-q") == 0
    assert load(again).tokens == joined.tokens
    assert run("renumber", again, "--by", "rank", *export(sorted_), "-q") == 0
    assert load(sorted_).merge_results.tolist() == list(range(256, 256 + len(joined.merges)))


def test_special_tokens_are_renamed_and_added_in_one_change(old, out, tmp_path, capsys):
    assert run("specials", old, "--rename", "<|r0|>=<|a=b|>", "--add", "<|x|>", "<|y|>", *export(out)) == 0
    assert load(out).special_tokens == {"<|a=b|>": 308, "<|r1|>": 309, "<|x|>": 310, "<|y|>": 311}
    assert "1 renamed, 2 added" in capsys.readouterr().err
    words = ["--rename", "<|a=b|>=<|c|>", "--role", "pad=<|y|>", "eos=<|c|>"]
    assert run("specials", out, *words, *export(tmp_path / "with"), "-q") == 0
    assert load(tmp_path / "with").special_tokens["<|c|>"] == 308
    config = json.loads((tmp_path / "with" / "tokenizer_config.json").read_text())
    assert (config["pad_token"], config["eos_token"]) == ("<|y|>", "<|c|>")


def test_a_run_of_a_project_is_changed_with_its_own_uses(old, texts, tmp_path, out, monkeypatch):
    kept = tmp_path / "kept.tokstudio"
    words = ["--vocab-size", "300", "--pattern", "gpt2", "-q"]
    monkeypatch.setattr(training, "export", lambda *_, **__: [])
    assert run("train", texts[0], *words, "--export", f"merges-csv={tmp_path / 'kept'}") == 1
    monkeypatch.undo()
    assert run("prune", kept, "--least-uses", "4", *export(out), "-q") == 0
    trained = train(Corpus.from_text(ENGLISH), TrainingConfig(vocabulary_size=300, pattern="gpt2"))
    expected = prune(trained, least_uses=4).tokenizer
    assert 256 < len(expected) < 300
    assert load(out).tokens == expected.tokens
    assert run("prune", kept, "--run", "Run 7", "--vocab-size", "290") == 1
    assert run("prune", old, "--run", "Run 1", "--vocab-size", "290") == 1


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["extend", "OLD", "DE"], 1, "Set a vocabulary size"),
        (["extend", "OLD", "--vocab-size", "330"], 2, "required: FILE"),
        (["extend", "OLD", "DE", "--vocab-size", "310"], 1, "greater than 310: the tokenizer has that many tokens"),
        (["extend", "OLD", "DE", "--vocab-size", "309", "--fill", "<|r0|>"], 1, "greater than 309"),
        (["extend", "OLD", "DE", "--vocab-size", "330", "--fill", "<|z|>"], 1, 'no special token "<|z|>"'),
        (["extend", "OLD", "DE", "--vocab-size", "330", "--merges", "999"], 1, "There is no merge 999"),
        (["extend", "OLD", "DE", "--vocab-size", "330", "--forbid", "("], 1, "does not compile"),
        (["extend", "OLD", "DE", "--vocab-size", "330", "--forbid", "."], 1, "Nothing new can be learnt"),
        (["extend", "OLD", "DE", "--min-frequency", "999"], 1, "Nothing new can be learnt"),
        (["prune", "OLD"], 2, "say what to remove"),
        (["prune", "OLD", "--vocab-size", "100"], 1, "too small"),
        (["prune", "OLD", "--vocab-size", "400"], 1, "the tokenizer has 310"),
        (["prune", "OLD", "--tokens", "65"], 1, "is a byte"),
        (["prune", "OLD", "--tokens", "999"], 1, "999"),
        (["prune", "OLD", "--script", "Elvish"], 1, 'no script "Elvish"'),
        (["prune", "OLD", "--script", "Greek"], 1, "Nothing can be removed"),
        (["prune", "OLD", "--least-uses", "3"], 1, "add --corpus"),
        (["join", "OLD"], 2, "required: OTHER"),
        (["join", "OLD", "OLD"], 1, "no token to add"),
        (["renumber", "OLD"], 2, "required: --by"),
        (["renumber", "OLD", "--by", "use"], 1, "add --corpus"),
        (["specials", "OLD"], 2, "--rename, --add or --role"),
        (["specials", "OLD", "--role", "king=<|r0|>"], 2, "is not ROLE=TOKEN"),
        (["specials", "OLD", "--role", "pad=<|z|>"], 1, 'no special token "<|z|>"'),
        (["specials", "OLD", "--rename", "<|z|>=<|y|>"], 1, 'no special token "<|z|>"'),
        (["specials", "OLD", "--rename", "<|r0|>"], 2, "is not TOKEN=NAME"),
        (["specials", "OLD", "--add", "<|r0|>"], 1, "already there"),
        (["prune", "OLD", "--vocab-size", "300", "--map", "m.txt"], 2, "must end in .json or .npz"),
        (["prune", "OLD", "--vocab-size", "300", "--map", "OUT"], 1, "give each its own path"),
        (["prune", "OLD", "--vocab-size", "300", "--reference", "missing.txt"], 1, "missing.txt"),
    ],
)
def test_bad_input_is_an_error_that_writes_nothing(words, code, said, old, texts, out, tmp_path, capsys):
    before = sorted(tmp_path.iterdir())
    places = {"OLD": old, "DE": texts[1], "OUT": str(out)}
    assert run(*(places.get(word, word) for word in words), *export(out)) == code
    assert said in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("command", ["prune", "extend"])
def test_a_point_that_fails_is_an_error_and_nothing_is_exported(
    command, old, texts, out, tmp_path, capsys, monkeypatch
):
    work = verifying.verify_work

    def failing(*arguments, **options):
        points = (yield from work(*arguments, **options)).points
        wrong = Point(4, "Every token is produced by encoding its own bytes", False, '"der" 312 becomes "d".')
        return Proof((*points[:3], wrong, *points[4:]))

    monkeypatch.setattr(verifying, "verify_work", failing)
    words = ["prune", old, "--vocab-size", "300"] if command == "prune" else ["extend", old, texts[1]]
    words += [] if command == "prune" else ["--vocab-size", "330"]
    assert run(*words, *export(out), "--map", tmp_path / "m.json") == 1
    told = capsys.readouterr().err
    assert '4. Every token is produced by encoding its own bytes: FAILS: "der" 312' in told
    assert "The changed tokenizer is not what it should be." in told
    assert not out.exists()
    assert not (tmp_path / "m.json").exists()
    # What was trained is kept.
    assert (tmp_path / "new.json.tokstudio").exists() == (command == "extend")
    if command == "extend":
        monkeypatch.undo()
        words = "--format", "huggingface", "--report", tmp_path / "report.txt"
        assert run("convert", tmp_path / "new.json.tokstudio", out, *words) == 0
        assert len(load(out)) == 330
        assert "9. The owner's library reads the result the same" in (tmp_path / "report.txt").read_text("utf-8")


@pytest.mark.shared_data
def test_german_for_gpt2_meets_its_bars(shared, tmp_path, capsys):
    german, english = tmp_path / "de.txt", tmp_path / "en.txt"
    german.write_bytes((shared / "corpora" / "help" / "de.txt").read_bytes()[:150_000])
    english.write_bytes((shared / "corpora" / "shakespeare.txt").read_bytes()[:250_000])
    words = ["extend", shared / "tokenizers" / "gpt2", german, "--vocab-size", "51257", "--json"]
    assert run(*words, "--reference", english) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert points[3]["sentence"].endswith("0 never produced.")
    changed, _, lines, _ = points[5]["sentence"].split()
    assert int(changed.replace(",", "")) <= 0.01 * int(lines.replace(",", ""))


@pytest.mark.parametrize("command", ["prune", "extend"])
def test_no_map_is_written_beside_an_export_that_failed(command, old, texts, out, tmp_path, monkeypatch, capsys):
    def full(*arguments, **options):
        raise FormatError("new.json: there is no space left on the disk; nothing was changed.")

    monkeypatch.setattr(exporting, "save_proved_work", full)
    words = ["prune", old, "--vocab-size", "300"] if command == "prune" else ["extend", old, texts[1]]
    words += [] if command == "prune" else ["--vocab-size", "330"]
    assert run(*words, *export(out), "--map", tmp_path / "m.json") == 1
    assert "no space left" in capsys.readouterr().err
    assert not (tmp_path / "m.json").exists()


def test_a_report_holds_the_proof_with_the_reference(old, texts, out, tmp_path):
    report = tmp_path / "report.txt"
    words = "--vocab-size", "300", "--reference", texts[0], "--report", report
    assert run("prune", old, *words, *export(out)) == 0
    text = report.read_text(encoding="utf-8")
    assert f"of {len(ENGLISH.splitlines())} lines" in text
    assert "new.json: " in text
    assert run("prune", old, *words) == 0
    assert "Not exported." in report.read_text(encoding="utf-8")
    assert "9. " in report.read_text(encoding="utf-8")


def test_report_and_map_need_files_of_their_own(old, out, tmp_path, capsys):
    both = tmp_path / "both.json"
    assert run("prune", old, "--vocab-size", "300", "--map", both, "--report", both) == 1
    assert "two results would be written to this file" in capsys.readouterr().err


def test_a_pattern_that_is_not_used_is_said(old, tmp_path, capsys):
    assert run("prune", old, "--vocab-size", "300", "--pattern", "cl100k") == 0
    assert "--pattern was not used" in capsys.readouterr().err
    assert run("prune", old, "--vocab-size", "300", "--pattern", "gpt2") == 0
    assert "--pattern was not used" not in capsys.readouterr().err


@pytest.mark.parametrize("result", ["--map", "--report", "--export"])
def test_a_file_that_is_read_is_not_replaced(old, texts, tmp_path, capsys, result):
    """Neither the tokenizer, nor a text, nor the reference."""
    reference = tmp_path / "reference.json"
    reference.write_text("the cat", encoding="utf-8")
    for path in (old, texts[1], reference) if result == "--report" else (old, reference):
        target = f"huggingface={path}" if result == "--export" else path
        before = tmp_path.joinpath(path).read_bytes()
        words = "extend", old, texts[1], "--vocab-size", "320", "--reference", reference, result, target
        assert run(*words) == 1
        assert "the command reads this file: give the result another path" in capsys.readouterr().err
        assert tmp_path.joinpath(path).read_bytes() == before


def test_an_empty_reference_is_refused(old, tmp_path, capsys):
    (tmp_path / "empty.txt").write_bytes(b"")
    assert run("prune", old, "--vocab-size", "300", "--reference", tmp_path / "empty.txt") == 1
    assert "empty.txt: the reference text is empty." in capsys.readouterr().err


def test_a_special_token_that_texts_have_is_an_error(old, tmp_path, out, capsys):
    reference = tmp_path / "reference.txt"
    reference.write_text("say [hello]\nnothing\n", encoding="utf-8")
    assert run("specials", old, "--add", "hello") == 1
    assert "is plain text" in capsys.readouterr().err
    assert run("specials", old, "--add", "[hello]", "--reference", reference, *export(out)) == 1
    assert "1 of 2 lines" in capsys.readouterr().err
    assert not out.exists()
