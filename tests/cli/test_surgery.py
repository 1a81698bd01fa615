"""The commands that change a tokenizer: `extend`, `prune`, `join`, `renumber`, `specials`; and `train --forbid`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import re
from dataclasses import replace

import numpy as np
import pytest

from tokstudio import Corpus, TrainingConfig, extend, extension_sheet, load, prune, save, save_project, train, verify
from tokstudio.cli import training
from tokstudio.core.surgery import proof as verifying
from tokstudio.core.tokenizer.origin import Point, Proof

ENGLISH = "A merchant of Venice sold merchandise wherever he went, whatever happened. " * 3
ENGLISH += "the cat sat on the mat; the bat ate the hat that the rat had. Кот и кит: 1234 says so.\n" * 3
GERMAN = "Der Hut der Katze hat der Katze gehört, und die Matte auch: der Kater saß auf der Matte.\n" * 3
EXPORT = "--export huggingface=new.json"
COMMANDS = {"prune": "prune old.json --vocab-size 300", "extend": "extend old.json de.txt --vocab-size 330"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("trained") / "old.json"
    config = TrainingConfig(vocabulary_size=310, pattern="gpt2", special_tokens=["<|r0|>", "<|r1|>"])
    save(train(Corpus.from_text(ENGLISH), config), path)
    return path.read_bytes()


@pytest.fixture(autouse=True)
def old(trained, write):
    """The tokenizer to change, beside a text in each language."""
    write("en.txt", ENGLISH)
    write("de.txt", GERMAN)
    return load(write("old.json", trained))


@pytest.fixture
def new(tmp_path):
    """What was exported, as it is now."""
    return lambda name="new.json": load(tmp_path / name)


def test_extending_is_what_the_library_does_and_is_proved(old, new, tmp_path, run):
    words = "--tie-break lowest-id --max-token-bytes 5 --reference en.txt --map m.json"
    told = run(0, f"extend old.json de.txt --vocab-size 330 {words} {EXPORT}").err.splitlines()
    config = TrainingConfig(vocabulary_size=330, pattern="gpt2", tie_break="lowest-id", max_token_bytes=5)
    expected = extend(old, Corpus.from_text(GERMAN), config)
    assert new().tokens == expected.tokens
    assert set(verify(expected, reference=ENGLISH).lines()[:4]) < set(told)
    assert sum(line[:2] in [f"{number}." for number in range(1, 10)] for line in told) == 9
    assert not any("FAILS" in line for line in told)
    changed = json.loads((tmp_path / "m.json").read_text())
    assert changed["size"] == 330
    assert list(changed["parts"]) == [str(token) for token in range(310, 330)]


def test_lines_of_a_reference_that_change_are_counted_and_the_first_is_shown(write, run):
    write("ref.txt", "the cat\nder Kater\nder Hut\n")
    made = run(0, "extend old.json de.txt --vocab-size 330 --reference ref.txt --json").json
    point = made["points"][5]
    assert point["sentence"] == "2 of 3 lines."
    assert point["details"][0].startswith("line 2, token 3, before: ")
    assert [entry["number"] for entry in made["points"]] == list(range(1, 10))
    assert all(entry["holds"] for entry in made["points"])
    assert (made["tokens_before"], made["vocabulary_size"], made["merges"]) == (310, 330, 20)


def test_extending_from_some_merges_with_forbidden_tokens_prints_its_own_merges(old, new, run):
    words = "--merges 30 --forbid token:er --forbid [zZ] --vocab-size 300 --print-merges"
    printed = run(0, f"extend old.json de.txt {words} {EXPORT}").out.splitlines()
    config = TrainingConfig(vocabulary_size=300, pattern="gpt2", forbidden=("token:er", "[zZ]"))
    made = new()
    assert made.tokens == extend(old.at(30), Corpus.from_text(GERMAN), config).tokens
    tokens = [made.tokens[token] for token in made.merge_results[30:].tolist()]
    assert len(tokens) == 300 - 288
    assert b"er" not in tokens
    assert not any(b"z" in token.lower() for token in tokens)
    rows = zip(made.merges[30:].tolist(), made.merge_results[30:].tolist(), strict=True)
    assert printed == [f"Merge ({left}, {right}) into a new token {token}" for (left, right), token in rows]


def test_reserved_ids_are_filled_within_the_same_size(new, run):
    run(0, f"extend old.json de.txt --vocab-size 310 --fill <|r1|> {EXPORT} -q")
    assert (len(new()), new().special_tokens, new().merge_results[-1]) == (310, {"<|r0|>": 308}, 309)


def test_a_sheet_tells_what_each_number_of_added_tokens_gives(old, new, write, run):
    write("de.txt", GERMAN * 9)
    write("more/en.txt", "the Kater\n")
    words = "--vocab-size 330 --fill <|r1|> --reference en.txt --sheet more/en.txt"
    told = run(0, f"extend old.json de.txt {words} {EXPORT}")
    assert "10 % of the text is held out of the training" in told.err.replace("\u00a0", " ")
    corpus = Corpus((replace(Corpus.from_text(GERMAN * 9).sources[0], name="de.txt"),))
    config = TrainingConfig(vocabulary_size=331, pattern="gpt2")
    references = {"en.txt": ENGLISH, os.path.join("more", "en.txt"): "the Kater\n"}
    sheet = extension_sheet(old, corpus, config, references, fill=["<|r1|>"])
    rows = [re.split(" {2,}", row.strip()) for row in told.out.splitlines()]
    assert rows == [[*row] for row in (sheet.titles, *map(sheet.cells, sheet.rows))]
    assert (len(new()), sheet.rows[-1].vocabulary_size) == (330, 330)
    made = run(0, f"extend old.json de.txt {words} --held-out 0.2 --json").json
    again = extension_sheet(old, corpus, config, references, 0.2, fill=["<|r1|>"])
    assert made["sheet"] == json.loads(json.dumps(again.to_plain()))
    assert made["sheet"]["texts"][0]["bytes"] > sheet.texts[0].bytes
    assert "sheet" not in run(0, "extend old.json de.txt --vocab-size 330 --json").json


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("de.txt --vocab-size 330 --sheet", "measures text that is held out of the training, which needs at least 20"),
        ("de.txt --vocab-size 310 --sheet", "greater than 310"),
        ("long.txt --vocab-size 330 --sheet empty.txt", "empty.txt: the reference text is empty"),
        ("long.txt --vocab-size 330 --sheet nowhere.txt", "nowhere.txt"),
        ("long.txt --vocab-size 330 --sheet en.txt --report en.txt --force", "the command reads this file"),
    ],
)
def test_a_sheet_that_cannot_be_made_is_refused_before_the_training(write, run, monkeypatch, words, told):
    write("long.txt", GERMAN * 9)
    write("empty.txt", "")
    monkeypatch.setattr(training, "Trainer", None)  # which no refused command makes
    run(1, f"extend old.json {words}", says=told)


def test_training_with_forbidden_tokens(new, run):
    words = "--vocab-size 300 --pattern gpt2 --forbid token:at --forbid mixed-scripts"
    run(0, f"train en.txt {words} {EXPORT} -q")
    assert (b"at" in [*new().tokens], b"he" in [*new().tokens]) == (False, True)


def test_pruning_by_use_in_texts(old, new, tmp_path, run):
    made = run(0, f"prune old.json --vocab-size 290 --corpus de.txt --map m.npz {EXPORT} --json").json
    uses = np.bincount(old.encode(GERMAN), minlength=310)
    expected = prune(old, 290, uses)
    assert new().tokens == expected.tokenizer.tokens
    assert (made["tokens_before"], made["vocabulary_size"], made["removed"]) == (310, 290, 20)
    assert made["map"] == "m.npz"
    table = np.load(tmp_path / "m.npz")
    assert expected.new_ids[table["old_ids"]].tolist() == table["new_ids"].tolist()
    run(0, f"prune old.json --least-uses 2 --corpus de.txt --keep-ids {EXPORT} --force -q")
    pruned = prune(old, least_uses=2, counts=uses, renumber=False).tokenizer
    assert new().merge_results.tolist() == pruned.merge_results.tolist()


def test_pruning_scripts_and_ids(old, new, run):
    run(0, f"prune old.json --script Cyrillic Greek {EXPORT}")
    text = "".join((token or b"").decode("utf-8", "ignore") for token in new().tokens)
    assert max(text) <= "\u03ff"
    part = int(old.merges.max())
    told = f"1 token stays as a part of others: {part}."
    run(0, f"prune old.json --tokens {part} 307 {EXPORT} --force", says=told)
    assert len(new()) == 309
    told = "No other tokens can be removed: more than 300 are left."
    run(0, "prune old.json --tokens 307 --vocab-size 300", says=told)


def test_extending_from_some_merges_says_which_ids_stay_unused(new, run):
    told = "22 ids of dropped merges stay unused: renumber --by rank closes the gaps."
    run(0, f"extend old.json de.txt --vocab-size 300 {EXPORT} --merges 30", says=told)
    ids = new().tokens.ids().tolist()
    unused = set(range(max(ids) + 1)) - set(ids)
    assert unused == set(range(286, 308)), "those of the merges after 30, below the special tokens"
    run(0, "renumber new.json --by rank --export huggingface=closed.json -q")
    assert len(new("closed.json")) == len(ids) == int(new("closed.json").tokens.ids().max()) + 1
    assert "unused" not in run(0, f"extend old.json de.txt --vocab-size 330 {EXPORT} --force").err


def test_joining_and_renumbering(old, new, run):
    run(0, "train de.txt --vocab-size 290 --pattern gpt2 --export huggingface=german.json -q")
    told = "1 token of the other tokenizer is left out, which no text would become."
    run(0, f"join old.json german.json {EXPORT}", says=told)
    joined, german = new(), set(new("german.json").tokens)
    assert german > {token for token in joined.tokens if token not in old.tokens} > set()
    assert len(german - set(joined.tokens)) == 1
    assert run(0, "join old.json german.json --json").json["left_out"] == 1
    used = run(0, "renumber new.json --by use --corpus de.txt --export huggingface=back.json --json").json
    assert used["renumbered"] > 100
    uses = np.bincount(new("back.json").encode(GERMAN), minlength=len(joined))
    assert (np.diff(uses) <= 0).all()
    run(0, "renumber back.json --by new.json --export huggingface=again.json -q")
    assert new("again.json").tokens == joined.tokens
    run(0, "renumber again.json --by rank --export huggingface=sorted.json -q")
    assert new("sorted.json").merge_results.tolist() == list(range(256, 256 + len(joined.merges)))


def test_special_tokens_are_renamed_and_added_in_one_change(new, tmp_path, run):
    words = "--rename <|r0|>=<|a=b|> --add <|x|> <|y|>"
    run(0, f"specials old.json {words} {EXPORT}", says="1 renamed, 2 added")
    assert new().special_tokens == {"<|a=b|>": 308, "<|r1|>": 309, "<|x|>": 310, "<|y|>": 311}
    words = "--rename <|a=b|>=<|c|> --role pad=<|y|> eos=<|c|>"
    run(0, f"specials new.json {words} --export huggingface=with -q")
    assert new("with").special_tokens["<|c|>"] == 308
    config = json.loads((tmp_path / "with" / "tokenizer_config.json").read_text())
    assert (config["pad_token"], config["eos_token"]) == ("<|y|>", "<|c|>")


def test_a_run_of_a_project_is_changed_with_its_own_uses(new, monkeypatch, run):
    with monkeypatch.context() as patched:
        patched.setattr(training, "export", lambda *_, **__: [])
        run(1, "train en.txt --vocab-size 300 --pattern gpt2 -q --export merges-csv=kept")
    run(0, f"prune kept.tokstudio --least-uses 4 {EXPORT} -q")
    trained = train(Corpus.from_text(ENGLISH), TrainingConfig(vocabulary_size=300, pattern="gpt2"))
    expected = prune(trained, least_uses=4).tokenizer
    assert 256 < len(expected) < 300
    assert new().tokens == expected.tokens
    run(1, "prune kept.tokstudio --run Run-7 --vocab-size 290")
    run(1, "prune old.json --run", ["Run 1"], "--vocab-size 290")


def test_the_other_tokenizer_may_be_a_project_with_one_run(tmp_path, new, run):
    german = train(Corpus.from_text(GERMAN), TrainingConfig(vocabulary_size=290, pattern="gpt2"))
    save(german, tmp_path / "german.json")
    save_project({"german": german}, tmp_path / "german.tokstudio")
    for words in ("join old.json german", "renumber german.json --by german"):
        run(0, f"{words}.tokstudio {EXPORT} --force -q")
        made = new()
        run(0, f"{words}.json {EXPORT} --force -q")
        assert (made.tokens, made.merges.tolist()) == (new().tokens, new().merges.tolist())
    save_project({"a": german, "b": german}, tmp_path / "two.tokstudio")
    for words in ("join old.json two.tokstudio", "renumber old.json --by two.tokstudio"):
        run(1, words, says="two.tokstudio: this project has 2 runs: export the one to use.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("extend old.json de.txt", "Set a vocabulary size"),
        ("extend old.json de.txt --vocab-size 310", "greater than 310: the tokenizer has that many tokens"),
        ("extend old.json de.txt --vocab-size 309 --fill <|r0|>", "greater than 309"),
        ("extend old.json de.txt --vocab-size 330 --fill <|z|>", 'no special token "<|z|>"'),
        ("extend old.json de.txt --vocab-size 330 --merges 999", "There is no merge 999"),
        ("extend old.json de.txt --vocab-size 330 --forbid (", "does not compile"),
        ("extend old.json de.txt --vocab-size 330 --forbid .", "Nothing new can be learned"),
        ("extend old.json de.txt --min-frequency 999", "Nothing new can be learned"),
        ("prune old.json --vocab-size 100", "too small"),
        ("prune old.json --vocab-size 400", "the tokenizer has 310"),
        ("prune old.json --tokens 65", "is a byte"),
        ("prune old.json --tokens 999", "999"),
        ("prune old.json --script Elvish", 'no script "Elvish"'),
        ("prune old.json --script Greek", "Nothing can be removed"),
        ("prune old.json --least-uses 3", "add --corpus"),
        ("prune old.json --vocab-size 300 --map new.json", "give each its own path"),
        ("prune old.json --vocab-size 300 --map a.json --report a.json", "two results would be written to this file"),
        ("prune old.json --vocab-size 300 --reference missing.txt", "missing.txt"),
        ("prune old.json --vocab-size 300 --reference empty.txt", "empty.txt: the reference text is empty."),
        ("prune old.json --vocab-size 300 --reference a.png", "a.png: the reference text cannot be read: it is a PNG"),
        ("join old.json old.json", "no token to add"),
        ("renumber old.json --by use", "add --corpus"),
        ("specials old.json --role pad=<|z|>", 'no special token "<|z|>"'),
        ("specials old.json --rename <|z|>=<|y|>", 'no special token "<|z|>"'),
        ("specials old.json --add <|r0|>", "already there"),
        ("specials old.json --add hello", "is plain text"),
        ("specials old.json --add [hello] --reference hello.txt", "1 of 2 lines"),
    ],
)
def test_bad_input_is_an_error_that_writes_nothing(words, said, write, tmp_path, run):
    write("empty.txt", "")
    write("hello.txt", "say [hello]\nnothing\n")
    write("a.png", b"\x89PNG\r\n\x1a\n" + bytes(64))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    run(1, words, EXPORT, says=said)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(("encoding", "said"), [("cp1252", "windows-1252"), ("utf-16", "utf-16-le")])
def test_a_reference_text_is_read_in_its_encoding_and_that_is_said(write, run, encoding, said):
    text = "Die Kätzchen saßen über der Tür. Das schönste Kätzchen hörte die Vögel draußen.\n" * 9
    write("plain.txt", text)
    write("other.txt", text.encode(encoding))
    command = "prune old.json --vocab-size 290 --json --reference"
    plain, other = run(0, f"{command} plain.txt"), run(0, f"{command} other.txt")
    assert other.json["points"] == plain.json["points"]
    assert f"other.txt: read as {said}" in run(0, "prune old.json --vocab-size 290 --reference other.txt").err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_point_that_fails_is_an_error_and_nothing_is_exported(command, new, tmp_path, run, monkeypatch):
    work = verifying.verify_work

    def failing(*arguments, **options):
        points = (yield from work(*arguments, **options)).points
        wrong = Point(4, "Every token is produced by encoding its own bytes", False, '"der" 312 becomes "d".')
        return Proof((*points[:3], wrong, *points[4:]))

    with monkeypatch.context() as patched:
        patched.setattr(verifying, "verify_work", failing)
        told = run(1, COMMANDS[command], f"{EXPORT} --map m.json").err
    assert '4. Every token is produced by encoding its own bytes: FAILS: "der" 312' in told
    assert "The changed tokenizer is not what it should be." in told
    assert not (tmp_path / "new.json").exists()
    assert not (tmp_path / "m.json").exists()
    # What was trained is kept.
    assert (tmp_path / "new.json.tokstudio").exists() == (command == "extend")
    if command == "extend":
        run(0, "convert new.json.tokstudio new.json --format huggingface --report report.txt")
        assert len(new()) == 330
        assert "9. The owner's library reads the result the same" in (tmp_path / "report.txt").read_text("utf-8")


@pytest.mark.shared_data
def test_german_for_gpt2_meets_its_bars(shared, write, run):
    write("german.txt", (shared / "corpora" / "help" / "de.txt").read_bytes()[:150_000])
    write("english.txt", (shared / "corpora" / "shakespeare.txt").read_bytes()[:60_000])
    words = "german.txt --vocab-size 51257 --json --reference english.txt"
    points = run(0, "extend", [shared / "tokenizers" / "gpt2"], words).json["points"]
    assert points[3]["sentence"].endswith("0 never produced.")
    changed, _, lines, _ = points[5]["sentence"].split()
    assert int(changed.replace(",", "")) <= 0.01 * int(lines.replace(",", ""))


@pytest.mark.parametrize("command", COMMANDS)
def test_no_map_is_written_beside_an_export_that_failed(command, tmp_path, failing_export, run):
    failing_export()
    run(1, COMMANDS[command], f"{EXPORT} --map m.json", says="no space left")
    assert not (tmp_path / "m.json").exists()


def test_a_report_holds_the_proof_with_the_reference(tmp_path, run):
    words = "prune old.json --vocab-size 300 --reference en.txt --report report.txt"
    for export, told in ((EXPORT, "new.json: "), ("", "Not exported.")):
        run(0, words, export)
        report = (tmp_path / "report.txt").read_text(encoding="utf-8")
        assert told in report
        assert f"of {len(ENGLISH.splitlines())} lines" in report
        assert "9. " in report


def test_a_tokenizer_is_proved_once_however_often_it_is_exported(monkeypatch, run):
    work, proved = verifying.verify_work, []

    def counted(tokenizer, *texts):
        proved.append(tokenizer)
        return (yield from work(tokenizer, *texts))

    monkeypatch.setattr(verifying, "verify_work", counted)
    run(0, COMMANDS["prune"], f"{EXPORT} --export gpt2=new --accept-loss")
    assert len(proved) == 1


def test_a_pattern_that_is_not_used_is_said(run):
    run(0, COMMANDS["prune"], "--pattern cl100k", says="--pattern was not used")
    assert "--pattern was not used" not in run(0, COMMANDS["prune"], "--pattern gpt2").err
