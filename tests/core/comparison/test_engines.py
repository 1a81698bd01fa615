"""Other libraries beside ours: those that agree, planted differences with their causes, and libraries that fail."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
import json
import random
import signal
import struct
import sys
import threading
from functools import cache, partial
from itertools import count
from time import monotonic

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.comparison.lines import lines_of
from tests.core.formats.gguf.llama import crossing
from tests.core.formats.trained import of_characters, settings_of
from tests.core.formats.without_merges import unigram
from tests.processes import started_processes
from tokstudio import ConfigError, Corpus, TrainingConfig, load, save, train
from tokstudio.core.base.progress import Progress, finish
from tokstudio.core.comparison import engine_causes, engines
from tokstudio.core.comparison.engine_causes import NOT_EXPLAINED, causes_work, changed_patterns
from tokstudio.core.comparison.engine_table import TOKENS_OF_LINES
from tokstudio.core.comparison.engines import ENGINES, OpenedFiles, engines_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.formats.gguf.names import O200K_BY_ASCII
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.libraries.client import LibraryProcess, torture_text
from tokstudio.core.libraries.server import EncodeInput
from tokstudio.core.pretokenization.patterns import REGEX, covering

TEXT = (
    "Don't stop, I'LL go: WE'VE 1234567 of 12 and 2024年.\n\nहिन्दी क्षत्रिय में १२३४५, ภาษาไทย 日本語.  \n"
    "    if x == 10:  \n\n\n\treturn 'S'  \r\n\r\nﬁne ﬀ Ⅷ café cafe\u0301 naïve NAÏVE straßeÄpfel приветМир\n"
    + torture_text()
)
HARD = "I'LLx WE'VEry DON'TS I'llx we'very 'S 'VE 'LL 's  a  \n\n  b \n\n\nc.\n\n"
TEXT += HARD
PIECES = ["I", "WE", "'LL", "'VE", "'S", "x", "ry", " ", "\n", "  ", "c.", "'ll", "'ve"]
SPECIALS = ("<|end|>", "<|user|>")
by_name = {engine.name: engine for engine in ENGINES}


@cache
def unsplit(specials: tuple[str, ...]):
    config = TrainingConfig(vocabulary_size=1_200 + len(specials), pattern="none", special_tokens=specials)
    mixed = "".join(random.Random(7).choices(PIECES, k=4_000))
    return train(Corpus.from_text(TEXT * 3 + mixed), config)


@cache
def probe(pattern: str, specials: tuple[str, ...] = ()):
    """Its merges cross every border of pre-tokens, so that each other border changes ids."""
    return unsplit(specials).changed(pattern=pattern)


def texts(**contents):
    return {name: Source.from_texts([text], name) for name, text in contents.items()}


def compared(tokenizer, content, *names, **more):
    chosen = [by_name[name] for name in names] or ENGINES
    return finish(engines_work(tokenizer, texts(text=content), engines=chosen, **more))


def planted(tmp_path, tokenizer, change, content=TEXT):
    """The table where the library reads a `tokenizer.json` that is not that of the tokenizer."""
    file = settings_of(tokenizer)
    change(file)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file))
    return compared(tokenizer, content, "tokenizers", opened=OpenedFiles("huggingface", (path,)))


def test_libraries_agree_on_a_tokenizer_like_gpt_2_and_others_say_why_not():
    tokenizer = probe("gpt2", SPECIALS)
    content = f"<|end|>{TEXT}<|user|> Hi <|end|>\n <|unknown|>"
    table = finish(engines_work(tokenizer, texts(one=content, other="日本\n\n\nx", empty="")))
    assert table.agrees
    assert [column.name for column in table.compared][:3] == ["tokenizers", "transformers", "tiktoken"]
    assert "merges characters" in table.columns[3].problem
    assert not table.columns[3].failed
    assert table.columns[4] in table.compared or "tokstudio[llama]" in table.columns[4].problem
    naive = [len(tokenizer.encode(unit, "all")) for unit in lines_of(content)]
    assert [row.tokens_of_lines for row in table.rows] == [
        sum(naive), len(tokenizer.encode("日本\n\n\nx")) + len(tokenizer.encode("x")), 0
    ]  # fmt: skip
    of_lines = sum(row.tokens_of_lines for row in table.rows)
    assert all(column.tokens_of_lines == of_lines for column in table.compared)
    # A word that stands behind a line and in the next one is one token of the text.
    of_texts = [len(tokenizer.encode(text, "all")) for text in (content, "日本\n\n\nx", "")]
    assert [row.tokens for row in table.rows] == of_texts
    assert of_texts[0] < sum(naive)
    assert [text["tokens"] for text in table.to_plain()["texts"]] == of_texts
    assert f"{of_texts[0]:,}" in next(line for line in table.lines() if line.startswith("one"))
    assert "transformers" in table.versions
    assert "All ids are equal" in "\n".join(table.lines())


@given(st.lists(st.text("a \n\r😀", max_size=12).map(str.encode) | st.binary(max_size=8), max_size=4))
def test_lines_are_those_of_a_simple_split(documents):
    notes: list[str] = []
    read = finish(engines._read_work("text", Source.from_texts(documents), notes))
    assert len(read.texts) == len(read.units.numbers)
    expected = [unit for raw in documents if raw for unit in lines_of(raw.decode("latin-1"))]
    assert read.texts == [unit.encode("latin-1").decode("utf-8", "replace").encode() for unit in expected]
    assert bool(notes) == any(unit.encode("latin-1") != text for unit, text in zip(expected, read.texts, strict=True))


@pytest.mark.parametrize("spaces", range(20, 66))
def test_no_character_is_cut_where_the_word_behind_a_line_is_long(spaces):
    notes: list[str] = []
    word = "中华人民共和国是世界上历史最悠久的国家之一"
    read = finish(engines._read_work("text", texts(text=f"a\n{' ' * spaces}{word}\n")["text"], notes))
    behind = read.texts[0].decode().removeprefix("a\n")
    assert not notes
    assert f"{' ' * spaces}{word}".startswith(behind)
    # 40 bytes of a word, and 64 in all, without a part of a character.
    assert len(behind.encode()) == (0 if spaces > 63 else spaces + min(40, 64 - spaces) // 3 * 3)


def test_only_the_first_lines_of_a_long_text_are_compared_and_that_is_said(monkeypatch):
    monkeypatch.setattr(engines, "LARGEST", 10)
    table = compared(probe("gpt2"), "aaaa\nbbbb\ncccc\n", "tokenizers")
    assert table.rows[0].lines == 2
    assert table.rows[0].tokens == len(probe("gpt2").encode("aaaa\nbbbb\n"))
    assert table.notes == ("text: the first 2 lines, 10 B, are compared.",)


def split_by(regex, file):
    steps = file["pre_tokenizer"]["pretokenizers"]
    steps[0]["pattern"]["Regex"] = regex


GPT4O_OF_LLAMA = engine_causes._O200K_WITHOUT_MARKS


@pytest.mark.parametrize(
    ("pattern", "theirs", "cause"),
    [
        ("o200k", REGEX["o200k"].replace(r"\p{M}", ""), "combining marks dropped"),
        ("o200k", GPT4O_OF_LLAMA, "combining marks dropped"),
        ("o200k", O200K_BY_ASCII, "words in capitals with an accented letter"),
        ("qwen2", REGEX["qwen2"].replace(r"\p{N}|", r"\p{N}{1,3}|"), "digits"),
        ("llama3", REGEX["llama3"].replace(r"\p{N}{1,3}", r"\p{N}"), "digits"),
        ("gpt2", REGEX["gpt2"].replace(r" ?\p{N}++", r"\p{N}"), "digits"),
        ("o200k", REGEX["o200k"].replace("(?i:", "(?:"), "contractions by case"),
        ("gpt2", REGEX["gpt2"].replace("'(?:", "'(?i:"), "contractions by case"),
        ("llama3", REGEX["llama3"].replace(r"\s*[\r\n]+|", ""), "white space before line ends"),
        ("llama3", REGEX["gpt2"], "pattern"),
    ],
)
def test_a_pattern_of_another_kind_is_named(tmp_path, pattern, theirs, cause):
    table = planted(tmp_path, probe(pattern), partial(split_by, theirs))
    [cell] = table.columns[0].cells
    assert 0 < cell.differing <= table.rows[0].lines
    assert [each.name for each in table.columns[0].causes] == [cause]
    assert sum(cell.causes.values()) == cell.differing == cell.tried
    assert not table.agrees
    first = cell.first
    assert first is not None
    assert first.cause.name == cause
    line = next(unit for unit in lines_of(TEXT) if unit == first.text)
    assert list(first.ours) == probe(pattern).encode(line, "all")
    assert first.theirs != first.ours
    tokens = probe(pattern).tokens
    assert b"".join(tokens[token] or b"" for token in first.theirs) == line.encode()


def with_bos(file):
    bos = {"SpecialToken": {"id": "<|end|>", "type_id": 0}}
    single = [bos, {"Sequence": {"id": "A", "type_id": 0}}]
    ids = [token["id"] for token in file["added_tokens"] if token["content"] == "<|end|>"]
    specials = {"<|end|>": {"id": "<|end|>", "ids": ids, "tokens": ["<|end|>"]}}
    file["post_processor"] = {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": specials,
    }


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (with_bos, ("BOS", "other tokens stand before or after every text")),
        (lambda file: file.update(added_tokens=[]), ("added tokens", '"<|end|>", "<|user|>" in a text is text')),
        (lambda file: file["added_tokens"].pop(), ("added tokens", '"<|user|>" in a text is text')),
        (lambda file: file.update(normalizer={"type": "NFKC"}), ("normalizer", "text is normalized to NFKC")),
        (lambda file: file.update(normalizer={"type": "Lowercase"}), ("normalizer", "text is put into lower case")),
    ],
)
def test_what_is_done_around_a_text_is_named(tmp_path, change, cause):
    content = TEXT.split("Ελ")[0] + "Hi <|user|> there<|end|>\nplain\n"
    table = planted(tmp_path, probe("gpt2", SPECIALS), change, content)
    assert [(each.name, each.does) for each in table.columns[0].causes] == [cause]
    assert table.columns[0].differing


def test_other_added_tokens_at_the_ends_of_a_line_are_no_bos(tmp_path):
    tokenizer = probe("gpt2", ("<|end|>", "<|end|><|end|>"))

    def without_the_longer(file):
        [longer] = [token for token in file["added_tokens"] if token["content"] == "<|end|><|end|>"]
        file["added_tokens"].remove(longer)

    table = planted(tmp_path, tokenizer, without_the_longer, "<|end|><|end|> plain\n")
    [cell] = table.columns[0].cells
    ids = tokenizer.special_tokens
    assert cell.first is not None
    assert cell.first.ours[0] == ids["<|end|><|end|>"]
    assert cell.first.theirs[:2] == (ids["<|end|>"],) * 2
    assert cell.first.theirs[2:] == cell.first.ours[1:]
    assert [each.name for each in cell.causes] == ["added tokens"]


def test_tokens_around_a_text_that_the_files_ask_for_are_no_difference(tmp_path):
    file = settings_of(probe("gpt2", SPECIALS))
    with_bos(file)
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    tokenizer = load(tmp_path / "tokenizer.json")
    assert compared(tokenizer, TEXT, "tokenizers", "transformers", "tiktoken").agrees


@pytest.mark.parametrize("whole", [True, False])
def test_ignore_merges_is_named(tmp_path, whole):
    base = probe("gpt2")
    number = len(base.tokens)
    held = frozenset({number}) if whole else frozenset[int]()
    tokenizer = base.changed(extra_tokens={number: b" zqzq"}, whole_words=held)
    content = "x zqzq y\n"
    table = planted(tmp_path, tokenizer, lambda file: file["model"].update(ignore_merges=not whole), content)
    assert [each.name for each in table.columns[0].causes] == ["ignore_merges"]


def test_what_nothing_explains_is_said(tmp_path):
    def swapped(file):
        vocabulary = file["model"]["vocab"]
        vocabulary["a"], vocabulary["e"] = vocabulary["e"], vocabulary["a"]

    table = planted(tmp_path, probe("gpt2"), swapped, "zax\nzzz\n")
    assert table.columns[0].causes == {NOT_EXPLAINED: 1}
    assert table.cell_text(0, table.columns[0]) == "50.0\xa0% of lines, +0.0\xa0% tokens"
    assert "not explained" in "\n".join(table.lines())
    assert TOKENS_OF_LINES in [*table.lines()]


def test_causes_are_counted_by_line(tmp_path):
    def two(file):
        split_by(REGEX["llama3"].replace(r"\p{N}{1,3}", r"\p{N}"), file)
        file["normalizer"] = {"type": "Lowercase"}

    table = planted(tmp_path, probe("llama3"), two, "1234567\nWE'VE NAÏVE\nहिन्दी\nI'LL 1234567\n")
    assert [(each.name, lines) for each, lines in table.columns[0].causes.items()] == [
        ("digits", 1), ("normalizer", 1), ("normalizer and digits", 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "content", "cause"),
    [
        # NFKC, and lower case.
        (lambda file: file.update(normalizer={"type": "Sequence", "normalizers": [{"type": "NFKC"},
                                                                                 {"type": "Lowercase"}]}),
         "ﬁne WE'VE Ⅷ", "normalizer (text is normalized to NFKC; text is put into lower case)"),
        # Digits, and line ends: two changes of one expression.
        (partial(split_by, REGEX["llama3"].replace(r"\p{N}{1,3}", r"\p{N}").replace(r"\s*[\r\n]+|", "")),
         "1234567 日本語.  \n    if", "digits and white space before line ends (each digit is split alone; they "
         "are white space like any other)"),
        # A BOS, and digits.
        (lambda file: (split_by(REGEX["llama3"].replace(r"\p{N}{1,3}", r"\p{N}"), file), with_bos(file)),
         "of 1234567", "BOS and digits (other tokens stand before or after every text; each digit is split alone)"),
        # What a token is, and lower case.
        (lambda file: (file.update(added_tokens=[], normalizer={"type": "Lowercase"})),
         "Hi <|user|> WE'VE",
         'added tokens and normalizer ("<|user|>" in a text is text; text is put into lower case)'),
    ],
)  # fmt: skip
def test_two_causes_of_one_line_are_named(tmp_path, change, content, cause):
    table = planted(tmp_path, probe("llama3", SPECIALS), change, f"{content}\n")
    assert [str(each) for each in table.columns[0].causes] == [cause]


def test_two_causes_that_a_library_tokenizer_has_are_named(tmp_path):
    small = train(Corpus.from_text("fine of 1234567"), TrainingConfig(vocabulary_size=270, pattern="llama3"))
    file = settings_of(small) | {"normalizer": {"type": "NFKC"}}
    path, other = tmp_path / "tokenizer.json", tmp_path / "other.json"
    path.write_text(json.dumps(file))
    split_by(REGEX["llama3"].replace(r"\p{N}{1,3}", r"\p{N}"), file)
    other.write_text(json.dumps(file | {"normalizer": None}))
    tokenizer = load(path)
    assert tokenizer.library == "tokenizers"
    opened = OpenedFiles("huggingface", (other,))
    table = compared(tokenizer, "ﬁne of 1234567\n1234567\n", "tokenizers", opened=opened)
    assert {each.name for each in table.columns[0].causes} == {"digits", "normalizer and digits"}


def test_pairs_of_causes_are_bounded_and_what_they_find_holds_for_all_lines(tmp_path, monkeypatch):
    def two(file):
        split_by(REGEX["llama3"].replace(r"\p{N}{1,3}", r"\p{N}"), file)
        file["normalizer"] = {"type": "Lowercase"}

    content = "I'LL 1234567\n" * 40
    monkeypatch.setattr(engine_causes, "_MOST_PAIRED", 3)
    found = planted(tmp_path, probe("llama3"), two, content).columns[0].causes
    assert [(each.name, lines) for each, lines in found.items()] == [("normalizer and digits", 40)]
    monkeypatch.setattr(engine_causes, "_MOST_PAIRS", 1)
    assert planted(tmp_path, probe("llama3"), two, content).columns[0].causes == {NOT_EXPLAINED: 40}


@given(st.sampled_from(["gpt2", "cl100k", "llama3", "qwen2", "o200k"]), st.data())
def test_a_changed_pattern_is_found_again(pattern, data):
    tokenizer = probe(pattern)
    _, other = data.draw(st.sampled_from([*changed_patterns(REGEX[pattern])]))
    theirs = tokenizer.changed(pattern=covering(other))
    lines = data.draw(st.lists(st.text("aA 1'sS\n\r\u0301.é日", min_size=1, max_size=30), min_size=1, max_size=5))
    encoded = [[np.array(each.encode(line), np.int64) for line in lines] for each in (tokenizer, theirs)]
    nothing = np.empty(0, np.int64), np.empty(0, np.int64)
    found = finish(causes_work(tokenizer, [line.encode() for line in lines], encoded[0], encoded[1], nothing))
    assert NOT_EXPLAINED not in found


def test_marks_that_llama_cpp_drops_under_its_own_name_of_a_pattern_are_named(tmp_path):
    pytest.importorskip("xllamacpp")
    tokenizer = probe("o200k")
    [content] = FORMATS["gguf"].contents(tokenizer).values()
    before, name, after = b"".join(content).partition(b"granite-embed-multi-97m")
    assert name
    path = tmp_path / "vocabulary.gguf"
    path.write_bytes(before[:-8] + struct.pack("<Q", 6) + b"gpt-4o" + after)
    hindi = "हिन्दी क्षत्रिय में\nthe words\n"
    assert compared(tokenizer, hindi, "llama.cpp").agrees
    table = compared(tokenizer, hindi, "llama.cpp", opened=OpenedFiles("gguf", (path,)))
    assert {(each.name, lines) for each, lines in table.columns[0].causes.items()} == {("combining marks dropped", 1)}


def test_capitals_with_an_accented_letter_are_no_combining_marks():
    pytest.importorskip("xllamacpp")
    # "combining marks dropped" explained these, too, when nothing else was tried.
    content = "MÜNCHEN!\nFRANÇAIS?\nprivate words\nstraßeÄpfel\nприветМир\n"
    table = compared(crossing().changed(pattern="o200k"), content, "llama.cpp")
    assert {(each.name, lines) for each, lines in table.columns[0].causes.items()} == {
        ("words in capitals with an accented letter", 4)
    }


@pytest.mark.parametrize(("times", "causes"), [(1, []), (2, ["BOS"])])  # llama.cpp adds one at most
def test_a_bos_that_llama_cpp_does_not_add_is_named(tmp_path, times, causes):
    pytest.importorskip("xllamacpp")
    file = settings_of(probe("llama3", SPECIALS))
    with_bos(file)
    single = file["post_processor"]["single"]
    single[:1] *= times
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    table = compared(load(tmp_path / "tokenizer.json"), "the words\nHi <|user|> 12\n", "llama.cpp", "tokenizers")
    assert [each.name for each in table.columns[0].causes] == causes
    assert not table.columns[1].differing


def test_a_llama_cpp_that_cannot_be_used_is_no_failure(monkeypatch):
    pytest.importorskip("xllamacpp")
    monkeypatch.setattr(engines._Asked, "unusable_work", lambda *_: _unusable())
    [column] = compared(probe("gpt2"), "a cat", "llama.cpp").columns
    assert column.problem == "It cannot be used: this version is not known."
    assert not column.failed


def _unusable():
    yield Progress("comparing libraries")
    return "this version is not known"


def test_a_tokenizer_that_a_library_encodes_is_compared_in_its_own_file(tmp_path):
    path = tmp_path / "tokenizer.json"
    unigram(["the cat sat on the mat ﬁne"] * 20, 60).save(str(path))
    tokenizer = load(path)
    assert tokenizer.library == "tokenizers"
    agreeing = compared(tokenizer, "the cat\nﬁne mat\n", "tokenizers", "tiktoken")
    assert agreeing.agrees
    assert "works only from its own file" in agreeing.columns[1].problem
    file = json.loads(path.read_text())
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "tokenizer.json"
    other.write_text(json.dumps({**file, "normalizer": None}))
    table = compared(tokenizer, "the cat\nﬁne mat\n", "tokenizers", opened=OpenedFiles("huggingface", (other,)))
    assert [str(each) for each in table.columns[0].causes] == ["normalizer (text is not normalized)"]


def test_characters_are_compared_with_sentencepiece_and_what_has_no_token_is_said():
    tokenizer = of_characters("the cat in the hat\n" * 20)
    assert compared(tokenizer, "the cat\nthe hat\n", "sentencepiece", "tokenizers").agrees
    unknown = compared(tokenizer, "zebra", "tokenizers")
    assert unknown.rows[0].problem
    assert not unknown.agrees


def test_ids_that_an_export_changes_are_compared_in_ours():
    tokenizer = probe("gpt2", SPECIALS)
    ids = np.arange(len(tokenizer.tokens), dtype=np.int32)
    results = tokenizer.merge_results
    ids[results[:2]] = results[1], results[0]
    table = compared(tokenizer.renumbered(ids) if hasattr(tokenizer, "renumbered") else tokenizer, TEXT, "tiktoken")
    assert not table.columns[0].differing
    assert any("ids change" in note for note in table.columns[0].notes)


def test_a_library_that_is_not_installed_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(engines, "is_installed", lambda library: library != "tiktoken")
    table = compared(probe("gpt2"), "a cat", "tokenizers", "tiktoken")
    assert table.columns[1].problem == "It is not installed: pip install tiktoken"
    assert table.agrees
    assert not compared(probe("gpt2"), "a cat", "tiktoken").agrees


class _Struck(LibraryProcess):
    """Something happens to the process of one library before it encodes; then a second passes at each look there."""

    strike, clock = signal.SIGTERM, threading.local()

    def parts(self, request, phase="proving"):
        process = self._running.process
        if isinstance(request, EncodeInput) and request.library == "tiktoken" and process is not None:
            process.send_signal(self.strike)
            self.clock.seconds = count(monotonic())
        return (yield from super().parts(request, phase))

    @classmethod
    def now(cls):
        return next(cls.clock.seconds) if hasattr(cls.clock, "seconds") else monotonic()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    ("strike", "said"),
    [("SIGKILL", "ended without an answer"), ("SIGSTOP", "no answer in 20 s, so its process was ended")],
)
def test_a_library_that_dies_or_hangs_gets_a_sentence_and_others_go_on(monkeypatch, strike, said):
    started = started_processes(monkeypatch)
    monkeypatch.setattr(_Struck, "strike", getattr(signal, strike))
    monkeypatch.setattr(engines, "LibraryProcess", _Struck)
    monkeypatch.setattr(engines, "monotonic", _Struck.now)
    table = compared(probe("gpt2"), TEXT, "tokenizers", "tiktoken", patience=20 if strike == "SIGSTOP" else 10_000)
    assert said in table.columns[1].problem
    assert table.columns[1].failed
    assert not table.columns[0].problem
    assert not table.columns[0].differing
    assert not table.agrees
    assert all(process.poll() is not None for process in started)


def test_cancelling_ends_all_processes(monkeypatch):
    started = started_processes(monkeypatch)
    chosen = [by_name["tokenizers"], by_name["tiktoken"]]
    work = engines_work(probe("gpt2"), texts(text=TEXT * 50), engines=chosen)
    while len(started) < 2:
        assert next(work)
    work.close()
    assert all(process.poll() is not None for process in started)


def test_files_that_are_refused_get_a_sentence(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text('{"version": "1.0", "model": 3}')
    table = compared(probe("gpt2"), "a cat", "tokenizers", "tiktoken", opened=OpenedFiles("huggingface", (path,)))
    assert "cannot read it" in table.columns[0].problem
    assert table.columns[0].failed
    assert not table.columns[1].differing


@pytest.mark.parametrize("has_settings", [True, False])
def test_tiktoken_reads_ranks_that_were_opened_with_or_without_their_settings(tmp_path, has_settings):
    tokenizer = probe("cl100k", SPECIALS)
    save(tokenizer, tmp_path / "a.tiktoken", "tiktoken")
    if not has_settings:
        (tmp_path / "a.json").unlink()
    opened = OpenedFiles("tiktoken", tuple(tmp_path.glob("a.tiktoken")))
    table = compared(tokenizer, f"{TEXT}<|end|> 12345", "tiktoken", opened=opened)
    assert not table.columns[0].problem
    assert table.agrees
    assert table.columns[0].form == "from a.tiktoken"


def test_no_texts_and_word_counts_are_refused():
    with pytest.raises(ConfigError, match="choose texts"):
        finish(engines_work(probe("gpt2"), {}))


def test_the_table_is_written_as_values_and_as_csv(tmp_path):
    table = planted(tmp_path, probe("llama3"), partial(split_by, REGEX["llama3"].replace(r"\p{N}{1,3}", r"\p{N}")))
    plain = json.loads(json.dumps(table.to_plain()))
    [column] = plain["engines"]
    first = table.columns[0].cells[0].first
    assert first is not None
    assert column["differing"] == table.columns[0].differing
    assert column["causes"] == [{"cause": "digits", "does": "each digit is split alone", "lines": column["differing"]}]
    assert column["texts"][0]["first"]["ours"] == list(first.ours)
    [head, row] = csv.reader(io.StringIO(table.to_csv()))
    of = dict(zip(head, row, strict=True))
    assert (of["library"], of["differing_lines"], of["causes"]) == (
        "tokenizers", str(column["differing"]), "digits (each digit is split alone)"
    )  # fmt: skip
