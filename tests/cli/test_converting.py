"""The commands `convert` and `inspect`: what a tokenizer's files hold, and the same in another format.

Also `encode` and `decode` by tokenizers that have no merges.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import errno
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import sentencepiece
import tokenizers

from tests.cli.fifty import FIFTY
from tests.core.formats import without_merges
from tests.core.formats.gguf.files import byte_pairs, gguf
from tests.core.hub.local_hub import Hub, Repository, local_hub
from tokstudio import load
from tokstudio.core.base.progress import Progress
from tokstudio.core.formats.saving import fit
from tokstudio.core.hub import fetching


def library(path):
    return tokenizers.Tokenizer.from_file(str(path))


@pytest.fixture
def special(text, tmp_path, run):
    """A tokenizer with a pattern and two special tokens, as Hugging Face has it."""
    words = "--vocab-size 300 --pattern gpt2 --special <a> --special <b> -q"
    run(0, f"train {text} {words} --export huggingface=special.json")
    return tmp_path / "special.json"


@pytest.fixture
def with_beginning(special):
    """The same, with a post-processor that puts <a> before every text."""
    file = library(special)
    file.post_processor = tokenizers.processors.TemplateProcessing(single="<a> $A", special_tokens=[("<a>", 298)])
    file.save(str(special))
    return special


def test_converting_there_and_back_keeps_the_ids(tokenizer, tmp_path, run):
    run(0, "convert tokenizer.json there --format classic")
    run(0, "convert there back.json --format huggingface", says="identical on the test text")
    assert library(tmp_path / "back.json").encode(FIFTY).ids == load(tokenizer).encode(FIFTY)


def test_a_loss_is_reported_before_writing(special, tmp_path, run):
    told = run(1, "convert special.json there --format classic").err
    assert '"gpt2" is lost' in told
    assert "--accept-loss" in told
    assert not (tmp_path / "there").exists()
    run(0, "convert special.json there --format classic --accept-loss")
    assert sorted(file.name for file in (tmp_path / "there").iterdir()) == ["merges.json", "vocabulary.json"]
    told = run(1, "convert special.json m.csv --format merges-csv").err
    assert ("not trained here" in told, "--accept-loss" in told) == (True, False)


def test_tokens_that_a_file_adds_to_every_text_are_kept_or_lost_by_name(with_beginning, tmp_path, run):
    lost = "The post-processor is lost, which adds <a> before every text."
    run(1, "convert special.json there --format gpt2", says=lost)
    assert not (tmp_path / "there").exists()
    run(0, "convert special.json there --format gpt2 --accept-loss", says=lost)
    run(0, "convert special.json kept.json --format huggingface")
    assert library(tmp_path / "kept.json").encode("c").tokens[0] == "<a>"
    run(0, "convert special.json v.csv --format vocabulary-csv")


def test_notes_are_printed(text, tmp_path, run):
    told = run(0, f"train {text} --vocab-size 300 --pattern gpt2 --export minbpe=a.model").err
    notes = fit(load(tmp_path / "a.model"), "minbpe").notes
    assert notes
    assert all(f"a.model: {note}" in told for note in notes)


def test_gaps_between_ids_are_closed_only_when_asked_for(special, tmp_path, run):
    words = "--format huggingface --merges 10"
    assert "moves" not in run(0, f"convert special.json few.json {words}").err
    assert load(tmp_path / "few.json").special_tokens == {"<a>": 298, "<b>": 299}
    told = run(0, f"convert special.json closed.json {words} --close-gaps").err
    assert load(tmp_path / "closed.json").special_tokens == {"<a>": 266, "<b>": 267}
    assert 'The special token "<a>" moves from 298 to 266.' in told
    assert " tokens) after renumbering." in told
    assert "Ids 298-299 became 266-267." in told


def test_tables_of_a_run_keep_their_ids_and_counts_where_gaps_are_closed_and_token_bytes_do_not(text, tmp_path, run):
    run(0, f"train {text} --vocab-size 300 --pattern gpt2 --special <a> --special <b> -q --project p.tokstudio")
    for name in ("vocabulary-csv", "merges-csv", "merges-jsonl"):
        words = f"--format {name} --merges 10"
        run(0, f"convert p.tokstudio as-it-is {words}")
        run(0, f"convert p.tokstudio closed {words} --close-gaps --force", says="closed: It keeps the ids as they are")
        assert (tmp_path / "closed").read_bytes() == (tmp_path / "as-it-is").read_bytes(), name
        (tmp_path / "as-it-is").unlink()
    run(0, "convert p.tokstudio bytes.json --format token-bytes --merges 10 --close-gaps", says="moves from 298 to 266")
    assert len(json.loads((tmp_path / "bytes.json").read_bytes())) == 268


def test_a_library_tokenizer_is_copied_and_other_formats_refuse_it(special, tmp_path, run):
    file = library(special)
    file.normalizer = tokenizers.normalizers.Lowercase()
    file.save(str(special))
    run(1, "convert special.json copy --format classic", says="This tokenizer works only from its own file")
    run(0, "convert special.json copy --format huggingface", says="identical on the test text")
    assert (tmp_path / "copy" / "tokenizer.json").read_bytes() == special.read_bytes()


def test_the_report_is_written_as_text_and_json(tokenizer, text, tmp_path, run):
    words = f"--format huggingface --sample {text} --report report.txt --json"
    printed = run(0, f"convert tokenizer.json there.json {words}").json
    assert "there.json" in printed["files"]
    assert printed["proof"].startswith("identical on the test text")
    assert printed["proof"] in (tmp_path / "report.txt").read_text(encoding="utf-8")
    assert load(tmp_path / "there.json").encode(FIFTY) == load(tokenizer).encode(FIFTY)


def test_inspect_shows_the_content_of_a_file(special, run):
    told = run(0, "inspect special.json").out
    for words in ("Hugging Face", "special.json", "300", "256 bytes", "42", "gpt2", '298  "<a>"', '299  "<b>"'):
        assert words in told
    found = run(0, "inspect special.json --json").json
    assert (found["tokens"], found["merges"], found["unused_ids"]) == (300, 42, 0)
    assert found["special_tokens"] == {"<a>": 298, "<b>": 299}
    assert (found["pattern"], found["encoded_by"]) == ("gpt2", "tokstudio")


def test_inspect_shows_what_its_files_say(with_beginning, write, run):
    roles = {"eos_token": "<a>", "pad_token": "<a>"}
    beside = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": "{{ 1 }}", "model_max_length": 2048}
    write("made/tokenizer.json", with_beginning.read_bytes())
    write("made/tokenizer_config.json", json.dumps(roles | beside))
    told = " ".join(run(0, "inspect made").out.split())
    for words in (
        'Role eos "<a>" pad "<a>"',
        "Class PreTrainedTokenizerFast",
        "Chat template default, 7 characters",
        "Longest input 2,048 tokens",
        'Post-processor adds "<a>" before every text',
        "Its post-processor adds <a> before every text; encode does not.",
    ):
        assert words in told
    found = run(0, "inspect made --json").json
    assert (found["roles"], found["chat_templates"]) == (roles, {"default": "{{ 1 }}"})
    assert (found["tokenizer_class"], found["model_max_length"]) == ("PreTrainedTokenizerFast", 2048)
    assert (found["adds"], found["not_special"]) == ({"before": ["<a>"], "after": []}, [])
    assert found["post_processor"]["type"] == "TemplateProcessing"


def test_inspect_shows_what_is_done_to_text_before(special, tmp_path, run):
    file = library(special)
    file.normalizer = tokenizers.normalizers.NFC()
    file.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    file.save(str(special))
    told = run(0, "inspect special.json").out
    assert re.search(r"^Normalizer +NFC$", told, re.MULTILINE)
    assert re.search(r"^Prefix space +added to text that does not begin with one$", told, re.MULTILINE)
    found = run(0, "inspect special.json --json").json
    assert (found["normalizer"], found["prefix_space"], found["no_playhead"]) == ("NFC", True, None)
    run(0, "convert special.json again.json --format huggingface", says="identical on the test text")
    assert load(tmp_path / "again.json").encode("e\u0301 x") == file.encode("e\u0301 x").ids


RANKS = b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))


def test_inspect_needs_no_pattern(write, run):
    write("bytes.tiktoken", RANKS)
    assert "not given in the files" in run(0, "inspect bytes.tiktoken").out
    assert run(0, "inspect bytes.tiktoken --json").json["pattern"] is None


def test_a_tokenizer_without_tokens_has_no_highest_id(write, run):
    write("none.json", '{"version": "1.0", "model": {"type": "BPE", "vocab": {}, "merges": []}}')
    assert "Highest id" not in run(0, "inspect none.json").out
    assert run(0, "inspect none.json --json").json["highest_id"] is None


def test_inspect_tells_of_the_empty_token_and_of_tokens_that_only_whole_words_become(write, run):
    write("empty.tiktoken", RANKS + b"= 50256\n")
    remark = "Id 50,256 of its file is the empty token: no text becomes it, and it is decoded to nothing."
    assert f"Remark              {remark}" in run(0, "inspect empty.tiktoken").out
    found = run(0, "inspect empty.tiktoken --json").json
    assert (found["tokens"], found["highest_id"], found["remarks"]) == (257, 50256, [remark])
    write("some.tiktoken", RANKS + b"YWI= 256\ncXJzdA== 257\n")
    told = run(0, "inspect some.tiktoken --pattern gpt2").out
    assert re.search(r"^Whole words +1: only a pre-token", told, re.MULTILINE)


@pytest.mark.parametrize("words", ["inspect", "encode --text cat --tokenizer", "decode --text 97 --tokenizer"])
def test_commands_show_progress_on_a_terminal(tokenizer, look, run, words):
    screen = look()
    run(0, words, tokenizer)
    states = screen.getvalue().split("\r")
    assert "Preparing the engine" in [state.strip() for state in states]
    assert states[-1].strip() == ""


@pytest.fixture
def unigram(write):
    model = without_merges.sentencepiece_unigram(FIFTY.split(".") * 3, 60)
    write("spiece.model", model)
    return sentencepiece.SentencePieceProcessor(model_proto=model)


def test_a_tokenizer_of_word_pieces_encodes_and_decodes_and_its_model_is_named(tmp_path, run):
    made = without_merges.word_piece([FIFTY], 120)
    made.save(str(tmp_path / "tokenizer.json"))
    expected = made.encode("AI agents, ÉTÉ", add_special_tokens=False).ids
    printed = run(0, "encode --tokenizer . --text", ["AI agents, ÉTÉ"])
    assert printed.json == expected
    decoded = run(0, "decode --tokenizer . --text", [printed.out]).out
    assert decoded == made.decode(expected, skip_special_tokens=False)
    told = run(0, "inspect .").out
    assert "Model          WordPiece\n" in told
    assert "its model is WordPiece, so the tokenizers library encodes for it" in told
    assert "Not made by merges" not in told
    found = run(0, "inspect . --json").json
    assert (found["model"], found["merges"], found["encoded_by"]) == ("WordPiece", 0, "tokenizers")
    assert found["tokens"] == made.get_vocab_size()


def test_a_sentencepiece_unigram_encodes_and_decodes(unigram, run):
    printed = run(0, "encode --tokenizer spiece.model --text", [FIFTY])
    assert printed.json == unigram.encode(FIFTY)
    decoded = run(0, "decode --tokenizer spiece.model --text", [printed.out]).out
    assert decoded == unigram.decode(unigram.encode(FIFTY))


def test_special_tokens_that_a_library_makes_of_plain_text_are_told(tmp_path, run):
    pieces = [("<unk>", 0.0), ("<s>", -1.0), *((character, -9.0) for character in "<>s/ab ")]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, 0))
    made.add_special_tokens([tokenizers.AddedToken("<s>", normalized=False)])
    made.save(str(tmp_path / "u.json"))
    says = "--text: 2 ids are of special tokens made of plain text: no setting keeps them out."
    assert run(0, "encode --tokenizer u.json --text", ["a<s>b<s>"], says=says).json.count(1) == 2
    for words, given in (("", "ab"), ("--allow-special all", "a<s>b"), ("", "aé")):
        assert "plain text" not in run(0, f"encode --tokenizer u.json {words} --text", [given]).err
    assert run(0, "encode --tokenizer u.json -q --text", ["a<s>b"]).err == ""


def test_what_needs_merges_says_that_there_are_none(unigram, tmp_path, run):
    words, sentence = (
        "convert spiece.model there --format",
        "There are no merges: the model of this tokenizer is Unigram.",
    )
    run(1, f"{words} merges-csv", says=sentence)
    assert run(1, f"{words} sentencepiece --merges 3").err == f"tokstudio: {sentence}\n"
    run(1, f"{words} huggingface", says="This tokenizer works only from its own file: its model is Unigram")
    run(0, f"{words} sentencepiece", says="identical on the test text")
    assert (tmp_path / "there").read_bytes() == (tmp_path / "spiece.model").read_bytes()


@pytest.fixture
def hub(tmp_path: Path, tokenizer: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with the repository `me/tiny`, and with an empty cache."""
    with local_hub(monkeypatch) as made:
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        made.repositories["me/tiny"] = Repository({"tokenizer.json": Path(tokenizer).read_bytes()})
        yield made


@pytest.fixture
def fetched(tokenizer, monkeypatch):
    """The names that are fetched, which the hub has; it is not asked."""
    names: list[str] = []

    def fetch_work(name):
        yield Progress("downloading")
        names.append(str(name))
        return fetching.Fetched(str(tokenizer), "")

    monkeypatch.setattr(fetching, "fetch_work", fetch_work)
    return names


def test_encode_decode_convert_and_inspect_take_a_name(fetched, tokenizer, tmp_path, run):
    ids = load(tokenizer).encode("hello world")
    assert run(0, "encode --tokenizer hf:me/tiny --text", ["hello world"]).json == ids
    assert run(0, "decode --tokenizer hf:me/tiny@main --text", [json.dumps(ids)]).out == "hello world"
    run(0, "convert hf:me/tiny copy.tiktoken --format tiktoken -q")
    assert load(tmp_path / "copy.tiktoken").encode("hello world") == ids
    assert run(0, "inspect hf:me/tiny --json").json["tokens"] == 306
    assert fetched == ["hf:me/tiny", "hf:me/tiny@main", "hf:me/tiny", "hf:me/tiny"]


def test_an_error_is_one_sentence_and_the_copy_in_the_cache_is_told(hub, run):
    run(1, "inspect hf:me/none", says="tokstudio: hf:me/none: ")
    run(1, "inspect hf:none", says="not a repository of the Hugging Face Hub")
    assert run(0, "inspect hf:me/tiny --json -q").json["tokens"] == 306
    hub.status = 503
    run(0, "inspect hf:me/tiny", says="cannot be reached: this is the copy in the cache.")


def test_compare_and_report_take_names_beside_paths(fetched, tokenizer, write, tmp_path, run):
    write("text.txt", "hello world")
    told = run(0, "compare hf:me/tiny tokenizer.json --texts text.txt --figure tokens --json").json
    count = len(load(tokenizer).encode("hello world"))
    assert (told["tokenizers"], told["figures"]["tokens"]) == (["tiny", "tokenizer"], [[count, count]])
    run(0, "report hf:me/tiny --texts text.txt --out report.html -q")
    assert "Report of tiny" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert fetched == ["hf:me/tiny"] * 2


# --- GGUF -------------------------------------------------------------------------------------------------------------


def test_a_model_is_copied_with_another_tokenizer(special, tmp_path, run):
    embedding = ("token_embd.weight", (2, 310), bytes(2 * 310 * 4))
    needed = "context_length", "embedding_length", "block_count", "feed_forward_length", "attention.head_count"
    sizes = {f"llama.{name}": ("u32", 1) for name in needed}
    values = byte_pairs(load(special), "qwen2") | sizes | {"llama.attention.layer_norm_rms_epsilon": ("f32", 1e-5)}
    (tmp_path / "model.gguf").write_bytes(gguf(values, [embedding]))
    words = "convert special.json new.gguf --format gguf --model model.gguf"
    told = run(1, words).err
    assert "special.json" not in told
    assert "The tokenizer has 300 tokens, and model.gguf has 310" in told
    assert told.endswith("or choose another model. Add --pad to fill it up.\n")
    assert not (tmp_path / "new.gguf").exists()
    told = run(0, f"{words} --pad").err
    assert "10 tokens that no text becomes are added" in told
    assert "Exported new.gguf: " in told
    assert load(tmp_path / "new.gguf").encode(FIFTY) == load(special).encode(FIFTY)
    run(1, f"{words} --pad", says="this file exists already")
    # In a folder, a copy is named after the model, and never replaces it.
    run(0, f"{words.replace('new.gguf', '.')} --pad", says="model-new-tokenizer.gguf: identical on the test text")
    assert (tmp_path / "model-new-tokenizer.gguf").read_bytes() == (tmp_path / "new.gguf").read_bytes()
    run(1, f"{words.replace('new.gguf', '.')} --pad", says="model-new-tokenizer.gguf: this file exists already")
    run(
        1,
        "convert special.json model.gguf --format gguf --model model.gguf --force",
        says="the command reads this file",
    )
    run(2, "convert special.json a --format classic --model model.gguf", says="--model is for --format gguf")
    run(2, "convert special.json a.gguf --format gguf --pad", says="--pad is for --model")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("locked", "locked: you have no permission to read the folder."),
        ("locked/tokenizer.json", "tokenizer.json: you have no permission to read the file."),
        ("around/locked", "locked: you have no permission to read the file."),  # what it is cannot be seen
    ],
)
def test_a_folder_without_rights_is_told_of_in_one_sentence(tokenizer, tmp_path, run, monkeypatch, path, says):
    for folder in ("locked", "around/locked"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "tokenizer.json").write_bytes((tmp_path / tokenizer).read_bytes())
    see, closed = os.stat, (str(tmp_path / "locked"), str(tmp_path / "around"))

    # As the system answers for what is in such a folder; the superuser would see it.
    def stat(path, *more, **named):
        if isinstance(path, (str, os.PathLike)) and os.path.dirname(os.path.abspath(path)).startswith(closed):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return see(path, *more, **named)

    monkeypatch.setattr(os, "stat", stat)
    for words in ("lint {}", "convert {} there --format huggingface", "export-bytes {} --out a.npy", "inspect {}"):
        told = run(1, words.format(path)).err
        assert told == f"tokstudio: {says}\n", words
    assert not (tmp_path / "a.npy").exists()


def test_a_tokenizer_is_taken_out_of_a_model(special, tmp_path, run):
    run(0, "convert special.json a.gguf --format gguf")
    run(0, "convert a.gguf back.json --format huggingface", says="identical on the test text")
    assert load(tmp_path / "back.json").encode(FIFTY, "all") == load(special).encode(FIFTY, "all")
    assert run(0, "inspect a.gguf --json").json["format"] == "gguf"
