"""The commands `convert` and `inspect`: what a tokenizer's files hold, and the same in another format."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
import re
import sys

import pytest
import tokenizers
from fifty import FIFTY

from tokstudio import cli, load
from tokstudio.cli.arguments.parser import EXPORTS
from tokstudio.cli.process import terminal
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.saving import fit


@pytest.fixture
def with_specials(text, tmp_path):
    """A tokenizer with a pattern and two special tokens, as Hugging Face has it."""
    path = tmp_path / "special.json"
    words = ["train", text, "--vocab-size", "300", "--pattern", "gpt2", "--special", "<a>", "--special", "<b>", "-q"]
    assert cli.main([*words, "--export", f"huggingface={path}"]) == 0
    return path


def test_converting_there_and_back_keeps_the_ids(tokenizer, tmp_path, capsys):
    there, back = tmp_path / "there", tmp_path / "back.json"
    assert cli.main(["convert", tokenizer, str(there), "--format", "classic"]) == 0
    assert cli.main(["convert", str(there), str(back), "--format", "huggingface"]) == 0
    assert "identical over" in capsys.readouterr().err
    expected = load(tokenizer).encode(FIFTY)
    assert tokenizers.Tokenizer.from_file(str(back)).encode(FIFTY).ids == expected


def test_a_loss_is_reported_before_writing(with_specials, tmp_path, capsys):
    there = tmp_path / "there"
    assert cli.main(["convert", str(with_specials), str(there), "--format", "classic"]) == 1
    told = capsys.readouterr().err
    assert '"gpt2" is lost' in told
    assert "--accept-loss" in told
    assert not there.exists()
    assert cli.main(["convert", str(with_specials), str(there), "--format", "classic", "--accept-loss"]) == 0
    assert sorted(file.name for file in there.iterdir()) == ["merges.json", "vocabulary.json"]


@pytest.fixture
def with_beginning(with_specials):
    """The same, with a post-processor that puts <a> before every text."""
    file = tokenizers.Tokenizer.from_file(str(with_specials))
    file.post_processor = tokenizers.processors.TemplateProcessing(single="<a> $A", special_tokens=[("<a>", 298)])
    file.save(str(with_specials))
    return with_specials


def test_tokens_that_a_file_adds_to_every_text_are_kept_or_lost_by_name(with_beginning, tmp_path, capsys):
    words = ["convert", str(with_beginning), str(tmp_path / "there"), "--format", "gpt2"]
    assert cli.main(words) == 1
    assert "The post-processor is lost, which adds <a> before every text." in capsys.readouterr().err
    assert not (tmp_path / "there").exists()
    assert cli.main([*words, "--accept-loss"]) == 0
    assert "The post-processor is lost, which adds <a> before every text." in capsys.readouterr().err
    assert cli.main([*words[:2], str(tmp_path / "kept.json"), "--format", "huggingface"]) == 0
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "kept.json")).encode("c").tokens[0] == "<a>"
    table = ["convert", str(with_beginning), str(tmp_path / "v.csv"), "--format", "vocabulary-csv"]
    assert cli.main(table) == 0


def test_inspect_shows_remarks(with_beginning, capsys):
    assert cli.main(["inspect", str(with_beginning)]) == 0
    assert "Its post-processor adds <a> before every text; encode does not." in capsys.readouterr().out


def test_notes_are_printed(text, tmp_path, capsys):
    words = ["train", text, "--vocab-size", "300", "--pattern", "gpt2", "--export", f"minbpe={tmp_path / 'a.model'}"]
    assert cli.main(words) == 0
    notes = fit(load(tmp_path / "a.model"), "minbpe").notes
    told = capsys.readouterr().err
    assert notes
    assert all(f"a.model: {note}" in told for note in notes)


def test_an_impossible_export_does_not_suggest_accept_loss(with_specials, tmp_path, capsys):
    assert cli.main(["convert", str(with_specials), str(tmp_path / "m.csv"), "--format", "merges-csv"]) == 1
    told = capsys.readouterr().err
    assert "not trained here" in told
    assert "--accept-loss" not in told


def test_gaps_between_ids_are_closed_only_when_asked_for(with_specials, tmp_path, capsys):
    few, closed = tmp_path / "few.json", tmp_path / "closed.json"
    words = ["convert", str(with_specials), "--format", "huggingface", "--merges", "10"]
    assert cli.main([*words[:2], str(few), *words[2:]]) == 0
    assert load(few).special_tokens == {"<a>": 298, "<b>": 299}
    assert "moves" not in capsys.readouterr().err
    assert cli.main([*words[:2], str(closed), *words[2:], "--close-gaps"]) == 0
    assert load(closed).special_tokens == {"<a>": 266, "<b>": 267}
    told = capsys.readouterr().err
    assert 'The special token "<a>" moves from 298 to 266.' in told
    assert "tokens after renumbering." in told
    assert "Ids 298-299 became 266-267." in told


def test_a_library_tokenizer_is_copied_and_other_formats_refuse_it(with_specials, tmp_path, capsys):
    file = tokenizers.Tokenizer.from_file(str(with_specials))
    file.normalizer = tokenizers.normalizers.Lowercase()
    file.save(str(with_specials))
    words = ["convert", str(with_specials), str(tmp_path / "copy"), "--format"]
    assert cli.main([*words, "classic"]) == 1
    assert "This tokenizer works only from its own file" in capsys.readouterr().err
    assert cli.main([*words, "huggingface"]) == 0
    assert "identical over" in capsys.readouterr().err
    assert (tmp_path / "copy" / "tokenizer.json").read_bytes() == with_specials.read_bytes()


def test_the_report_is_written_as_text_and_json(tokenizer, text, tmp_path, capsys):
    there, report = tmp_path / "there.json", tmp_path / "report.txt"
    words = ["convert", tokenizer, str(there), "--format", "huggingface", "--sample", text, "--report", str(report)]
    assert cli.main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert str(there) in printed["files"]
    assert printed["proof"].startswith("identical over ")
    assert printed["proof"] in report.read_text(encoding="utf-8")
    assert load(there).encode(FIFTY) == load(tokenizer).encode(FIFTY)


@pytest.mark.parametrize("merges", ["-1", "51"])
def test_more_merges_than_exist_are_refused(tokenizer, tmp_path, capsys, merges):
    words = ["convert", tokenizer, str(tmp_path / "x.json"), "--format", "huggingface", f"--merges={merges}"]
    assert cli.main(words) == 1
    assert f"There is no merge {int(merges):,}" in capsys.readouterr().err
    assert not (tmp_path / "x.json").exists()


def test_inspect_shows_the_content_of_a_file(with_specials, capsys):
    assert cli.main(["inspect", str(with_specials)]) == 0
    told = capsys.readouterr().out
    for words in ("Hugging Face", "special.json", "300", "256 bytes", "42", "gpt2", '298  "<a>"', '299  "<b>"'):
        assert words in told
    assert cli.main(["inspect", str(with_specials), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tokens"], found["merges"], found["unused_ids"]) == (300, 42, 0)
    assert found["special_tokens"] == {"<a>": 298, "<b>": 299}
    assert found["pattern"] == "gpt2"
    assert found["encoded_by"] == "tokstudio"


def test_inspect_shows_what_its_files_say(with_beginning, tmp_path, capsys):
    roles = {"eos_token": "<a>", "pad_token": "<a>"}
    beside = {
        **roles,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "chat_template": "{{ 1 }}",
        "model_max_length": 2048,
    }
    (tmp_path / "tokenizer.json").write_bytes(with_beginning.read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(beside))
    assert cli.main(["inspect", str(tmp_path)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    for words in (
        'Role eos "<a>" pad "<a>"',
        "Class PreTrainedTokenizerFast",
        "Chat template default, 7 characters",
        "Longest input 2,048 tokens",
        'Post-processor adds "<a>" before every text',
    ):
        assert words in told
    assert cli.main(["inspect", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["roles"], found["chat_templates"]) == (roles, {"default": "{{ 1 }}"})
    assert (found["tokenizer_class"], found["model_max_length"]) == ("PreTrainedTokenizerFast", 2048)
    assert (found["adds"], found["not_special"]) == ({"before": ["<a>"], "after": []}, [])
    assert found["post_processor"]["type"] == "TemplateProcessing"


def test_inspect_shows_what_is_done_to_text_before(with_specials, tmp_path, capsys):
    file = tokenizers.Tokenizer.from_file(str(with_specials))
    file.normalizer = tokenizers.normalizers.NFC()
    file.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    file.save(str(with_specials))
    assert cli.main(["inspect", str(with_specials)]) == 0
    told = capsys.readouterr().out
    assert re.search(r"^Normalizer +NFC$", told, re.MULTILINE)
    assert re.search(r"^Prefix space +added to text that does not begin with one$", told, re.MULTILINE)
    assert cli.main(["inspect", str(with_specials), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["normalizer"], found["prefix_space"], found["no_playhead"]) == ("NFC", True, None)
    again = tmp_path / "again.json"
    assert cli.main(["convert", str(with_specials), str(again), "--format", "huggingface"]) == 0
    assert "identical over" in capsys.readouterr().err
    assert load(again).encode("e\u0301 x") == file.encode("e\u0301 x").ids


def test_inspect_needs_no_pattern(tmp_path, capsys):
    path = tmp_path / "bytes.tiktoken"
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256)))
    assert cli.main(["inspect", str(path)]) == 0
    assert "not given in the files" in capsys.readouterr().out
    assert cli.main(["inspect", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pattern"] is None


def test_inspect_tells_of_the_empty_token(tmp_path, capsys):
    path = tmp_path / "empty.tiktoken"
    lines = [b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256)]
    path.write_bytes(b"".join([*lines, b"= 50256\n"]))
    remark = "Id 50,256 of its file is the empty token: no text becomes it, and it is decoded to nothing."
    assert cli.main(["inspect", str(path)]) == 0
    assert f"Remark              {remark}" in capsys.readouterr().out
    assert cli.main(["inspect", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tokens"], found["highest_id"], found["remarks"]) == (257, 50256, [remark])


def test_inspect_refuses_other_files_in_one_sentence(tmp_path, capsys):
    path = tmp_path / "notes.txt"
    path.write_text("just some notes\n")
    assert cli.main(["inspect", str(path)]) == 1
    assert capsys.readouterr().err == "tokstudio: notes.txt: not a tokenizer file TokStudio can read.\n"


def test_every_writable_format_is_an_option():
    assert {name for name, known in FORMATS.items() if known.writable} <= set(EXPORTS)


@pytest.mark.parametrize(
    "words",
    [["inspect"], ["encode", "--text", "the cat", "--tokenizer"], ["decode", "--text", "97 98", "--tokenizer"]],
    ids=lambda words: words[0],
)
def test_commands_show_progress_on_a_terminal(tokenizer, monkeypatch, capsys, words):
    monkeypatch.setattr(terminal, "_REFRESH", -1)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert cli.main([*words, tokenizer]) == 0
    states = capsys.readouterr().err.split("\r")
    assert "Preparing the engine" in [state.strip() for state in states]
    assert states[-1].strip() == ""


def test_inspect_counts_tokens_that_only_whole_words_become(tmp_path, capsys):
    tokens = [*(bytes([byte]) for byte in range(256)), b"ab", b"qrst"]
    lines = (base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
    (tmp_path / "some.tiktoken").write_bytes(b"".join(lines))
    assert cli.main(["inspect", str(tmp_path), "--pattern", "gpt2"]) == 0
    assert re.search(r"^Whole words +1: only a pre-token", capsys.readouterr().out, re.MULTILINE)
