"""minbpe's model, compared with the lines of its `save` and with its documented merging."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import sys
import types

import numpy as np
import pytest
import regex

from tests.core.formats.file_mutants import read_or_refused
from tests.core.formats.trained import TEXT, banana, everything, refusal, same, shuffled, spoil, trained, with_specials
from tokstudio import FormatError, Tokenizer, load, save
from tokstudio.core.base.progress import finish
from tokstudio.core.formats import minbpe as minbpe
from tokstudio.core.formats.loading import load_work
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.pretokenization.patterns import MINBPE, REGEX

WORDS = ("<|end|>", "<|end|><|start|>", "雨は", "Ġthe")


def with_words(pattern="gpt2", merges=60, **more) -> Tokenizer:
    """Split by a pattern, with special tokens that minbpe can hold and that begin one another."""
    return trained(TEXT * 3, merges + len(WORDS), pattern=pattern, special_tokens=WORDS, **more)


class RegexTokenizer:
    """What `minbpe.RegexTokenizer` does with a file, as its documents tell it."""

    def __init__(self, pattern=MINBPE):
        self.compiled = regex.compile(pattern)

    def load(self, file):
        assert file.endswith(".model")
        with open(file, encoding="utf-8") as lines:
            assert lines.readline().strip() == "minbpe v1"
            self.pattern = lines.readline().strip()
            pairs = [lines.readline().strip().split() for _ in range(int(lines.readline()))]
            self.special_tokens = {token: int(number) for token, number in pairs}
            self.merges = {tuple(map(int, line.split())): 256 + row for row, line in enumerate(lines)}

    def register_special_tokens(self, special_tokens):
        self.special_tokens = special_tokens

    def encode(self, text, allowed_special="none"):
        ids = []
        parts = [text]
        if self.special_tokens and allowed_special == "all":
            parts = re.split("(" + "|".join(re.escape(token) for token in self.special_tokens) + ")", text)
        for part in parts:
            if part in self.special_tokens:
                ids.append(self.special_tokens[part])
            else:
                for chunk in regex.findall(self.compiled, part):
                    ids += self.merged(list(chunk.encode()))
        return ids

    def merged(self, ids):
        for pair, made in self.merges.items():
            at = 0
            while at < len(ids) - 1:
                if (ids[at], ids[at + 1]) == pair:
                    ids[at : at + 2] = [made]
                at += 1
        return ids


class BasicTokenizer(RegexTokenizer):
    def __init__(self):
        super().__init__(r"[\s\S]+")

    def encode(self, text):
        return super().encode(text)


def test_banana_is_written_like_minbpe_does(tmp_path):
    report = save(banana(), tmp_path, "minbpe")
    assert [file.name for file in report.files] == ["tokenizer.model", "tokenizer.vocab"]
    assert report.files[0].read_bytes() == b"minbpe v1\n\n0\n97 110\n"
    rows = report.files[1].read_text(encoding="utf-8").split("\n")
    assert len(rows) == 258
    assert [rows[0], rows[10], rows[97], rows[200], rows[256], rows[257]] == [
        "[\\u0000] 0", "[\\u000a] 10", "[a] 97", "[\ufffd] 200", "[a][n] -> [an] 256", "",
    ]  # fmt: skip
    assert report.proof.startswith("identical on the test text")
    assert report.losses == report.notes == ()
    tokenizer = trained("banana", 2, special_tokens=["<s>"], pattern="gpt2")
    model, vocabulary = save(tokenizer, tmp_path / "my.model", "minbpe").files
    assert model.read_text() == f"minbpe v1\n{REGEX['gpt2']}\n1\n<s> 257\n97 110\n"
    assert vocabulary.name == "my.vocab"
    assert vocabulary.read_text(encoding="utf-8").endswith("\n[a][n] -> [an] 256\n[<s>] 257\n")


MAKE = [
    banana,
    everything,
    lambda: trained("", 1),
    lambda: everything().at(3),
    with_words,
    lambda: with_words("llama3"),
    lambda: with_words("none"),
    lambda: with_words(r"\w+|\W").at(7),
    lambda: trained(TEXT * 4, 200, pattern="o200k"),
    lambda: trained(TEXT * 4 + "1234567 2024", 200, pattern="cl100k_right"),
]
SPACED = [lambda: trained(TEXT, 30, pattern=r" ?\S+|\s| ")]  # minbpe drops the white space around the pattern


@pytest.mark.parametrize("make", MAKE + SPACED)
def test_a_saved_tokenizer_is_loaded_unchanged(tmp_path, make):
    tokenizer = make()
    report = save(tokenizer, tmp_path, "minbpe", sample=TEXT)
    loaded = finish(load_work(tmp_path))
    assert (loaded.format, loaded.files) == ("minbpe", report.files[:1])
    assert same(loaded.tokenizer, tokenizer)
    assert load(tmp_path).encode(TEXT, "all") == tokenizer.encode(TEXT, "all")


@pytest.mark.parametrize("make", MAKE)
def test_the_snippet_gives_our_ids_with_minbpe(tmp_path, monkeypatch, make):
    tokenizer, quote = make(), "" if sys.platform == "win32" else '"'  # Windows has no such names
    report = save(tokenizer, tmp_path / f"it's \\ {quote}日本語{quote}.model", "minbpe")
    library = types.ModuleType("minbpe")
    library.RegexTokenizer, library.BasicTokenizer = RegexTokenizer, BasicTokenizer
    monkeypatch.setitem(sys.modules, "minbpe", library)
    names = {}
    exec(report.snippet, names)
    assert names["ids"] == tokenizer.encode("Hello world")
    options = {"allowed_special": "all"} if tokenizer.special_tokens else {}
    for text in (TEXT, torture_text(), "<|end|><|start|><|end|>雨は"):
        assert names["tokenizer"].encode(text, **options) == tokenizer.encode(text, "all")


def test_the_notes_say_what_minbpe_does_with_the_pattern():
    own = "minbpe splits by its own pattern, unless you pass it the one in the file."
    assert fit(with_words("gpt2"), "minbpe").notes == (own,)
    assert fit(with_words("llama3"), "minbpe").notes == ()
    assert fit(everything(), "minbpe").notes == ()
    stripped = "minbpe drops the white space around the pattern when it reads the file."
    assert fit(trained(TEXT, 3, pattern=r"\S+|\s+| "), "minbpe").notes == (own, stripped)


@pytest.mark.parametrize(
    ("make", "losses"),
    [
        (
            lambda: with_specials("gpt2"),
            [f"The special token {token} is lost: this format allows no white space in special tokens."
             for token in ('"the mat"', '"\\n\\n"')],
        ),
        (shuffled, ["The ids change: this format numbers the bytes 0 to 255 and the merges from 256."]),
        (
            lambda: with_words("gpt2", special_placement="first"),
            ["The ids change: this format numbers the bytes 0 to 255 and the merges from 256."],
        ),
        (
            lambda: trained(TEXT, 30, pattern="\\w+|\n|\\W"),
            [r'The pattern "\w+|\n|\W" is lost: this format stores it on one line.'],
        ),
        (
            lambda: trained(TEXT, 30, pattern=r"(\w+)|\W"),
            [r'The pattern "(\w+)|\W" is lost: it has capturing groups, and minbpe keeps only what they match.'],
        ),
        (
            lambda: Tokenizer(everything().merges, extra_tokens={900: b"xyz", 901: b"zyx"}),
            ["Tokens that no merge makes are lost (2): this format has only merges."],
        ),
        (
            lambda: Tokenizer(everything().merges, whole_words=[270]),
            ["Words that become a token without merging are merged (1): some ids will differ."],
        ),
    ],
)  # fmt: skip
def test_losses_need_to_be_accepted(tmp_path, make, losses):
    tokenizer = make()
    path = tmp_path / "out.model"
    with pytest.raises(FormatError, match=r"^out\.model: minbpe cannot hold all of this tokenizer\. "):
        save(tokenizer, path, "minbpe")
    assert not path.exists()
    report = save(tokenizer, path, "minbpe", accept_loss=True)
    assert list(report.losses) == losses
    back = load(path)
    assert len(back.merges) == len(tokenizer.merges)
    assert [back.tokens[made] for made in back.merge_results] == [
        tokenizer.tokens[made] for made in tokenizer.merge_results
    ]


def test_ids_that_change_keep_the_order_of_merges_and_of_special_tokens(tmp_path):
    tokenizer = with_words("gpt2", special_placement="first")
    save(tokenizer, tmp_path, "minbpe", accept_loss=True)
    back = load(tmp_path)
    assert list(back.special_tokens) == sorted(tokenizer.special_tokens, key=tokenizer.special_tokens.get)
    assert min(back.special_tokens.values()) == 256 + len(tokenizer.merges)
    ours, theirs = (one.encode(TEXT, "all") for one in (tokenizer, back))
    assert [back.tokens[i] for i in theirs] == [tokenizer.tokens[i] for i in ours]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]],
            r"it differs at token \d+, near .*: .* instead of",
        ),
        (lambda lines: lines[:-20], r"it differs at token \d+, near .*: .* instead of"),
        (lambda lines: [lines[0], REGEX["whitespace"].encode(), *lines[2:]], "text is split differently: "),
        (lambda lines: [*lines[:2], b"1", b"<s> 900", *lines[3:]], "its special tokens differ"),
    ],
)
def test_a_file_that_is_wrong_is_found_out_before_it_is_there(tmp_path, monkeypatch, wrong, words):
    spoil(monkeypatch, "minbpe", "tokenizer.model", lambda whole: b"\n".join([*wrong(whole.split(b"\n")[:-1]), b""]))
    tokenizer = trained(TEXT * 9, 150, pattern="gpt2")
    with pytest.raises(FormatError, match=rf"^x\.model: read back as minbpe reads it, {words}"):
        save(tokenizer, tmp_path / "x.model", "minbpe", sample=TEXT)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_minbpe_would_not_read_gets_its_ending_and_any_is_recognised(tmp_path):
    report = save(everything(), tmp_path / "version 1.2", "minbpe")
    assert [file.name for file in report.files] == ["version 1.2.model", "version 1.2.vocab"]
    assert sorted(tmp_path.iterdir()) == sorted(report.files)
    path = report.files[0].rename(tmp_path / "notes.txt")
    loaded = finish(load_work(path))
    assert (loaded.format, loaded.files) == ("minbpe", (path,))
    assert same(loaded.tokenizer, everything())


def test_the_pattern_is_asked_of_the_caller_only_where_the_file_has_none(tmp_path):
    (tmp_path / "a.model").write_bytes(b"minbpe v1\n\n0\n97 110\n")
    assert load(tmp_path / "a.model", "gpt2").pattern == "gpt2"
    (tmp_path / "a.model").write_bytes(b"minbpe v1\n" + MINBPE.encode() + b"\n0\n97 110\n")
    assert load(tmp_path / "a.model", "gpt2").pattern == "llama3"
    (tmp_path / "a.model").write_bytes(b"minbpe v1\r\n\\s+|\\S+\r\n1\r\n<s>  300 \r\n97\t110\r\n")
    tokenizer = load(tmp_path / "a.model")
    assert (tokenizer.pattern, dict(tokenizer.special_tokens)) == (r"\s+|\S+", {"<s>": 300})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"minbpe v2\n\n0\n", "the version is not minbpe v1, line 1."),
        (b"minbpe v1\n\n-1\n", '"-1" is not the number of special tokens, line 3.'),
        (b"minbpe v1\n\n\xb2\n", "this is not UTF-8, line 3."),
        (b"minbpe v1\n\n1000000000\n<s> 256\n", "the file ends before special token 2 of 1,000,000,000, line 4."),
        (b"minbpe v1\n\n1\n<s>\n", "a special token must be a word, a space and an id, line 4."),
        (b"minbpe v1\n\n1\n<s> -1\n", '"-1": an id must be a whole number, line 4.'),
        (b"minbpe v1\n\n1\n<s> 1000000000\n", '"1000000000": id 1000000000 is too large'),
        (b"minbpe v1\n\n1\n<s> 16000000\n", "the id 16,000,000 is far too high for 257 tokens."),
        (b"minbpe v1\n\n2\n<s> 300\n<s> 301\n", 'the special token "<s>" appears twice, line 5.'),
        (
            b"minbpe v1\n\n2\n<s> 300\n<t> 300\n",
            'the special token "<t>" has the id 300, which another special token has, line 5.',
        ),
        (
            b"minbpe v1\n\n1\n<s> 256\n97 98\n",
            'the special token "<s>" has the id 256, which a byte or a merge also has',
        ),
        (
            b"minbpe v1\n\n2\n<s> 300\n<s>a 301\n",
            'the special token "<s>" comes before "<s>a", which begins with it, so minbpe never finds the second: ',
        ),
        (b"minbpe v1\n\n0\n97 98\n256 257\n", "merge 2 joins token 257, which does not exist yet, line 5."),
        (b"minbpe v1\n\n0\n97 98\n97 98\n", "merge 2 joins the same two tokens as merge 1."),
        (b"minbpe v1\n\n0\n97 98 99\n", "a merge must be two ids with a space between them, line 4."),
        (b"minbpe v1\n\n0\n97 \xc2\xb2\n", '"\ufffd\ufffd": an id must be a whole number, line 4.'),
        (b"minbpe v1\n\n0\n97 98\n97 9", "the file ends too early, or the last line has no line ending, line 5."),
        (b"minbpe v1\n(\n0\n", "its pattern cannot be used: The pattern does not compile"),
        (b"minbpe v1\n\\w*\n0\n", "its pattern cannot be used: The pattern matches empty text"),
        (
            b"minbpe v1\n(\\w+)|\\W\n0\n",
            "its pattern has groups, and minbpe keeps only what they match: TokStudio does not support that.",
        ),
        (b"minbpe v1\ngpt2\n0\n", 'its pattern is the word "gpt2", which covers no text.'),
    ],
)
def test_errors_name_the_line(tmp_path, content, words):
    (tmp_path / "a.model").write_bytes(content)
    with refusal(words, "a.model"):
        load(tmp_path / "a.model")


def test_a_file_truncated_at_any_length_is_refused_or_has_the_merges_so_far(tmp_path):
    tokenizer, path = with_words("gpt2", merges=20), tmp_path / "a.model"
    save(tokenizer, path, "minbpe")
    whole = path.read_bytes()
    merges_begin = len(whole.split(b"\n", 3 + len(WORDS))[-1])
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        found = read_or_refused(path, names=[path.name])
        at_an_end = whole[:length].endswith(b"\n") and length >= len(whole) - merges_begin
        assert (found is not None) == at_an_end, length
        if found is not None:
            assert np.array_equal(found.merges, tokenizer.merges[: len(found.merges)])
