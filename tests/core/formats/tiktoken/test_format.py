"""Reading ranks, compared with tiktoken."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import pickle
import random
import runpy
from itertools import accumulate

import pytest

from tests.core.formats.trained import (
    SPECIALS,
    TEXT,
    everything,
    library_ids,
    ranks_of,
    refusal,
    same,
    tiktoken_lines,
    trained,
    with_specials,
)
from tokstudio import ConfigError, FormatError, load, save
from tokstudio.core.analysis.reachability import NOT_MADE, reachability_work
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.common.format import Loaded, PatternNeeded
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.loading import load_work
from tokstudio.core.formats.saving import fit
from tokstudio.core.formats.tiktoken.sets import portable
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.libraries.server import Answers, SplitTexts
from tokstudio.core.pretokenization.custom_regex import compile_expression
from tokstudio.core.pretokenization.patterns import REGEX

tiktoken = pytest.importorskip("tiktoken")


def put(path, tokenizer, sidecar=None):
    path.write_bytes(tiktoken_lines(ranks_of(tokenizer)))
    if sidecar is not None:
        path.with_suffix(".json").write_text(json.dumps(sidecar))
    return path


@pytest.mark.parametrize("make", [everything, lambda: trained(TEXT * 4, 200, pattern="cl100k"), lambda: trained("", 1)])
def test_merges_are_found_again(tmp_path, make):
    expected = make()
    put(tmp_path / "mine.tiktoken", expected)
    for place in (tmp_path, tmp_path / "mine.tiktoken"):
        loaded = finish(load_work(place, expected.pattern))
        assert same(loaded.tokenizer, expected)
        assert (loaded.format, loaded.files) == ("tiktoken", (tmp_path / "mine.tiktoken",))
    other = (tmp_path / "mine.tiktoken").rename(tmp_path / "tokenizer.model")
    assert same(finish(load_work(other, expected.pattern)).tokenizer, expected)


def test_lines_in_any_order_and_bytes_of_any_rank_are_read_as_tiktoken_reads_them(tmp_path):
    chance = random.Random(3)
    rows = list(ranks_of(trained(TEXT * 4, 100)).items())
    single = [row for row in rows if len(row[0]) == 1]
    numbers = chance.sample(range(5000), len(rows))
    # Bytes among the others, gaps between ranks, and the merges in their order.
    ranks = dict(zip((token for token, _ in single), numbers, strict=False))
    ranks |= dict(zip((token for token, _ in rows[256:]), sorted(numbers[256:]), strict=True))
    shuffled_rows = list(ranks.items())
    chance.shuffle(shuffled_rows)
    (tmp_path / "x.tiktoken").write_bytes(b"\n" + tiktoken_lines(dict(shuffled_rows)).replace(b"\n", b"\r\n"))
    theirs = tiktoken.Encoding("x", pat_str=REGEX["gpt2"], mergeable_ranks=ranks, special_tokens={})
    tokenizer = load(tmp_path, "gpt2")
    for text in (TEXT, torture_text()):
        assert tokenizer.encode(text) == theirs.encode(text, disallowed_special=())


def test_the_sidecar_says_the_rest(tmp_path):
    expected = with_specials("cl100k")
    sidecar = {"pattern": REGEX["cl100k"], "special_tokens": dict(expected.special_tokens), "version": 1}
    path = put(tmp_path / "mine.tiktoken", expected, sidecar)
    loaded = finish(load_work(path))
    assert same(loaded.tokenizer, expected)
    assert loaded.files == (path, tmp_path / "mine.json")
    theirs = tiktoken.Encoding(
        "x", pat_str=REGEX["cl100k"], mergeable_ranks=ranks_of(expected), special_tokens=dict(expected.special_tokens)
    )
    text, allowed = "the mat 雨は<|end|> the", {SPECIALS[0], SPECIALS[2], SPECIALS[3]}
    assert loaded.tokenizer.encode(text) == theirs.encode(text, disallowed_special=())
    assert loaded.tokenizer.encode(text, allowed) == theirs.encode(text, allowed_special=allowed, disallowed_special=())
    for pattern, name in ((r"[\s\S]+", "none"), (REGEX["o200k"], "o200k"), (r"\w+|\W", r"\w+|\W")):
        put(path, expected, {"pattern": pattern})
        tokenizer = load(tmp_path)
        assert (tokenizer.pattern, tokenizer.special_tokens) == (name, {})
    # A file that says something else is no sidecar.
    put(path, everything(), {"version": "1.0", "model": {"vocab": {}}})
    with pytest.raises(PatternNeeded, match=r"^mine\.tiktoken: the file does not say how text is split: give"):
        load(path)
    assert same(load(path, "none"), everything())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pattern": 7}, "its pattern is not a string"),
        ({"pattern": "("}, "its pattern cannot be used: The pattern does not compile"),
        ({"version": 2}, "TokStudio cannot read this version of the format yet"),
        ({"special_tokens": []}, "an object is missing, line 1, column "),
        ({"special_tokens": {"<s>": "7"}}, 'token "<s>": an id must be a whole number, line 1'),
        ({"special_tokens": {"<s>": 700, "<t>": 700}}, 'token "<t>": id 700 appears twice'),
        ({"special_tokens": {"\ud83d": 700}}, 'the special token "\\ud83d" is not a string'),
    ],
)
def test_a_sidecar_that_cannot_be_is_refused(tmp_path, change, words):
    path = put(tmp_path / "mine.tiktoken", everything(), {"pattern": r"[\s\S]+"} | change)
    with refusal(words, "mine.json"):
        load(path)


def theirs_of(ranks, pattern="none"):
    regex = r"[\s\S]+" if pattern == "none" else REGEX[pattern]
    return tiktoken.Encoding("x", pat_str=regex, mergeable_ranks=ranks, special_tokens={})


def test_a_token_that_no_merge_can_reach_is_a_whole_word(tmp_path):
    ranks = ranks_of(trained("banana", 1)) | {b"xyz": 300, b"xyza": 301, b"za": 302}
    (tmp_path / "mine.tiktoken").write_bytes(tiktoken_lines(ranks))
    tokenizer = load(tmp_path, "gpt2")
    assert tokenizer.extra_tokens == {300: b"xyz", 301: b"xyza"}
    assert tokenizer.whole_words == {300, 301}
    assert tokenizer.library is None
    for text in ("xyz", "xyz xyz", "xyza", "xyzab za", TEXT):
        assert tokenizer.encode(text) == theirs_of(ranks, "gpt2").encode(text, disallowed_special=())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"YWI=", "a line must be a token in base64, a space and a rank"),
        (b"YW*= 300", '"YW*=" is not base64'),
        (b"\xff\xfe 300", '"��" is not base64'),
        (b"YWI= -1", "an id must be a whole number"),
        (b"YWI= 99999999", "id 99999999 is too large: at most 16,777,215 can be read"),
        (b"YWI= 9999999999999999999", "an id must be a whole number"),
        (b"YWI= 97", "rank 97 appears twice"),
        (b"YQ== 300", 'the token "a" appears twice'),
    ],
)
def test_a_line_that_cannot_be_is_refused_with_its_place(tmp_path, line, words):
    content = tiktoken_lines(ranks_of(trained("", 1)))
    (tmp_path / "mine.tiktoken").write_bytes(content + line + b"\n")
    with pytest.raises(FormatError) as caught:
        load(tmp_path, "none")
    assert str(caught.value) == f"mine.tiktoken: {words}, line 257."
    (tmp_path / "mine.tiktoken").write_bytes(content[content.index(b"\n") + 1 :])
    with refusal("the byte 0 has no rank; TokStudio needs all 256.", "mine.tiktoken"):
        load(tmp_path, "none")


def test_tokens_as_long_as_the_text_are_found_again_quickly(tmp_path):
    expected = trained("ab" * 200_000 + "c", 20)
    assert max(len(token) for token in expected.tokens) > 50_000
    put(tmp_path / "mine.tiktoken", expected)
    assert same(load(tmp_path, "none"), expected)


@pytest.mark.shared_data
def test_cl100k_is_recognised_by_what_it_holds(shared, tmp_path):
    content = (shared / "tokenizers" / "cl100k_base.tiktoken").read_bytes()
    (tmp_path / "other name").write_bytes(content)
    tokenizer = load(tmp_path / "other name")
    assert tokenizer.pattern == "cl100k"
    assert tokenizer.special_tokens == {
        "<|endoftext|>": 100257,
        "<|fim_prefix|>": 100258,
        "<|fim_middle|>": 100259,
        "<|fim_suffix|>": 100260,
        "<|endofprompt|>": 100276,
    }
    assert len(tokenizer) == 100261
    assert tokenizer.tokens[100261] is None
    assert tokenizer.encode("Hello world<|endofprompt|>", "all") == [9906, 1917, 100276]
    (tmp_path / "changed.tiktoken").write_bytes(content + b"\n")
    with pytest.raises(PatternNeeded):
        load(tmp_path / "changed.tiktoken")


# --- Patterns with sets as only Rust reads them split text as tiktoken does -------------------------------------------

CHARACTERS = "abcfgqxzABZ059 -]&~|^.é ßK漢字\n\t'!@[`_{\x7f\u00a0Ǆ#:"
PARTS = (
    *("a-f", "c-z", "A-Z", "0-5", r"\p{L}", r"\p{Lu}", r"\d", r"\s", r"\p{Han}", r"\P{L}", "é", "ß", "&", "~", r"\-"),
    *(r"\]", "|", "^", ".", r"\x41", "q", "漢", "#", ":"),
    *("[:alpha:]", "[:^digit:]", "[:punct:]", "[:space:]", "[:upper:]", "[:word:]"),
)


def random_set(chance, depth=0):
    made = "[" + "^" * (chance.random() < 0.25)
    made += chance.choice(("", "", "", "]", "-", "--")) if not depth else ""
    for last in range(chance.randint(1, 4), 0, -1):
        made += random_set(chance, depth + 1) if chance.random() < 0.2 and depth < 3 else chance.choice(PARTS)
        made += chance.choice(("&&", "--", "~~")) if chance.random() < 0.3 and last > 1 else ""
    return made + "]"


def splits_as_tiktoken(pattern, text, name="x"):
    pieces = [match.group() for match in compile_expression(portable(pattern)).finditer(text)]
    [ends] = Answers().answers(SplitTexts("tiktoken", name, [text], pattern, [pieces]))
    return memoryview(ends).cast("I").tolist() == list(accumulate(map(len, pieces)))


def is_refused(pattern):
    """Whether tiktoken cannot read a pattern."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    try:
        tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("seed", range(2))
def test_random_sets_match_as_in_tiktoken(seed):
    chance, tried = random.Random(seed), 0
    while tried < 60:
        sets = [random_set(chance) + chance.choice(("", "+", "{1,3}")) for _ in range(chance.randint(1, 3))]
        joined = "|".join(sets)
        pattern = f"(?i:{joined})|[\\s\\S]" if chance.random() < 0.2 else f"{joined}|[\\s\\S]"
        if is_refused(pattern):
            continue
        assert splits_as_tiktoken(pattern, "".join(chance.choices(CHARACTERS, k=150))), pattern
        tried += 1


@pytest.mark.parametrize(
    "pattern",
    [r"[^\s\p{L}]+|\p{N}{1,3}", r"[a\]b&]|\[x&&]", r"(?x) [a&&b] # [", r"\p{Lu}[a-z]*", "[a", r"[]a]", r"[\w.-]+|\s"],
)
def test_others_stay_as_they_are(pattern):
    assert portable(pattern) == pattern


def test_files_with_such_a_pattern_encode_as_tiktoken_and_keep_it(tmp_path):
    ranks = ranks_of(trained(TEXT * 3, 40, pattern="gpt2"))
    pattern = r"[\p{Han}]+|[\p{L}&&[^\p{Han}]]+|[[:digit:][:punct:]]+|[^\p{L}[:digit:][:punct:]]+"
    (tmp_path / "x.tiktoken").write_bytes(tiktoken_lines(ranks))
    theirs = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    asked = load(tmp_path, pattern)
    (tmp_path / "x.json").write_text(json.dumps({"pattern": pattern, "special_tokens": {}}))
    for tokenizer in (asked, load(tmp_path)):
        for text in (TEXT, "ab数据ab 12!٣ the cat, 漢the"):
            assert tokenizer.encode(text) == theirs.encode(text)
    for name in ("tiktoken", "huggingface"):
        save(asked, tmp_path / name, name)
        assert load(tmp_path / name).encode(TEXT) == asked.encode(TEXT)


def test_tiktoken_encodes_where_a_pattern_is_not_read_as_by_it(tmp_path):
    """And what stands beside the ranks is kept; a token with a role is special."""
    ranks = ranks_of(trained(TEXT * 3, 40, pattern="gpt2"))
    (tmp_path / "tokenizer.model").write_bytes(tiktoken_lines(ranks))
    listed = {str(len(ranks) + 2): {"content": "<think>", "special": False}}
    config = {"eos_token": "<think>", "model_max_length": 7, "added_tokens_decoder": listed}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    # Where white space does not count, sets are not looked at.
    pattern = r"(?x) \p{L}+ | [\s\S&&[^\p{L}]] | (?# [) \p{L}"
    tokenizer = load(tmp_path, pattern)
    assert (tokenizer.library, tokenizer.settings.model_max_length) == ("tiktoken", 7)
    assert "pattern" in tokenizer.no_playhead
    assert tokenizer.roles == {"eos_token": "<think>"}
    theirs = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<think>": len(ranks) + 2})
    assert tokenizer.encode(f"a<think>{TEXT}", "all") == theirs.encode(f"a<think>{TEXT}", allowed_special="all")
    del config["eos_token"]
    listed[str(len(ranks))] = {"content": "<|end|>", "special": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert any("takes its added tokens for special ones" in remark for remark in load(tmp_path, pattern).remarks)


# --- A `.tiktoken` file with a line for the empty token, as Whisper's have one, compared with tiktoken ----------------

MERGES = 40
REMARK = "Id {:,} of its file is the empty token: no text becomes it, and it is decoded to nothing."
TEXTS = (TEXT, torture_text(), "", "the mat<|end|> the cat<|end|>", "xyz xyzzy")


def ranks_with_empty(rank: int, *, ordered: bool = True) -> dict[bytes, int]:
    """Merges, a token that no merge makes, and the empty one at `rank`, where all from there on move up."""
    ranks = ranks_of(trained(TEXT * 3, MERGES, pattern="gpt2"))
    ranks |= {b"xyz": len(ranks)}
    if not ordered:
        ranks |= {b"qrs": len(ranks), b"qr": len(ranks) + 1}
    moved = {token: number + (number >= rank) for token, number in ranks.items()}
    return dict(sorted((moved | {b"": rank}).items(), key=lambda row: row[1]))


def put_with_empty(folder, ranks, specials) -> bytes:
    lines = tiktoken_lines(ranks).replace(b"\n %d\n" % ranks[b""], b"\n= %d\n" % ranks[b""])
    lines = lines.replace(b" %d\n" % ranks[b""], b"= %d\n" % ranks[b""], 1) if lines.startswith(b" ") else lines
    assert b"= %d\n" % ranks[b""] in lines
    folder.mkdir(exist_ok=True)
    (folder / "mine.tiktoken").write_bytes(lines)
    sidecar = {"pattern": REGEX["gpt2"], "special_tokens": specials, "version": 1}
    (folder / "mine.json").write_text(json.dumps(sidecar))
    return lines


LAST = 256 + MERGES + 1
PLACES = [0, 100, 256 + 7, LAST]


@pytest.fixture(params=PLACES, ids=["first", "among the bytes", "among the merges", "last"])
def rank(request) -> int:
    return request.param


def loaded_of(folder, ranks, specials) -> Loaded:
    put_with_empty(folder, ranks, specials)
    return finish(load_work(folder / "mine.tiktoken"))


@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "in no order"])
def test_it_is_read_and_means_what_tiktoken_means(tmp_path, rank, ordered):
    ranks = ranks_with_empty(rank, ordered=ordered)
    specials = {"<|end|>": len(ranks)} if ordered else {}
    theirs = tiktoken.Encoding("x", pat_str=REGEX["gpt2"], mergeable_ranks=ranks, special_tokens=specials)
    loaded = loaded_of(tmp_path, ranks, specials)
    tokenizer = loaded.tokenizer
    assert loaded.format == "tiktoken"
    assert tokenizer.library is None
    assert len(tokenizer.tokens) == len(tokenizer) == theirs.n_vocab
    for token, number in ranks.items():
        assert tokenizer.tokens[number] == token
    for text in TEXTS:
        assert tokenizer.encode(text) == theirs.encode(text, disallowed_special=())
        ids = theirs.encode(text, allowed_special="all")
        assert tokenizer.encode(text, "all") == ids
        assert tokenizer.decode(ids) == theirs.decode(ids) == text
    among = [rank, *tokenizer.encode("the"), rank, rank, *tokenizer.encode(" mat"), rank]
    assert tokenizer.decode(among) == theirs.decode(among) == "the mat"
    assert tokenizer.decode([rank]) == theirs.decode([rank]) == ""
    assert tokenizer.decode_bytes([rank]) == theirs.decode_bytes([rank]) == b""
    with pytest.raises(ConfigError, match="not in the vocabulary"):
        tokenizer.decode([len(tokenizer.tokens)])
    assert tokenizer.kind(rank) == "unreachable"
    assert tokenizer.remarks == (REMARK.format(rank),)
    assert finish(reachability_work(tokenizer))[rank] == NOT_MADE
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again.decode([rank]) == ""
    assert again.remarks == tokenizer.remarks


def test_any_padding_alone_is_the_empty_token_as_tiktoken_takes_it_and_twice_is_a_fault(tmp_path):
    lines, file = tiktoken_lines(ranks_of(trained("", 1))), tmp_path / "a.tiktoken"
    for empty in (b"=", b"==", b"==="):
        file.write_bytes(lines + empty + b" 256\n")
        assert load(tmp_path, "none").tokens[256] == b""
    file.write_bytes(lines + b"= 256\n= 257\n")
    with pytest.raises(FormatError, match=r"^a\.tiktoken: the empty token appears twice, line 258\.$"):
        load(tmp_path, "none")


def test_an_export_writes_it_again_or_loses_it_by_name(tmp_path, rank):
    """No id moves, but where ids follow from merges."""
    ranks = ranks_with_empty(rank)
    specials = {"<|end|>": len(ranks)}
    lines = put_with_empty(tmp_path / "from", ranks, specials)
    tokenizer = load(tmp_path / "from")
    report = save(tokenizer, tmp_path / "tiktoken", "tiktoken", sample=TEXT)
    assert (report.losses, report.renumbered) == ((), "")
    assert report.proof.startswith("identical on the test text")
    assert (tmp_path / "tiktoken" / "ranks.tiktoken").read_bytes() == lines
    theirs = runpy.run_path(str(tmp_path / "tiktoken" / "ranks_tiktoken.py"))["encoding"]
    assert theirs.n_vocab == len(tokenizer)
    assert theirs.decode_single_token_bytes(rank) == b""
    assert load(tmp_path / "tiktoken").remarks == tokenizer.remarks
    lost = f"{REMARK.format(rank)} The exported files leave it out, too."
    for name in ("huggingface", "gpt2"):
        with pytest.raises(FormatError, match="is the empty token"):
            save(tokenizer, tmp_path / name, name)
        report = save(tokenizer, tmp_path / name, name, accept_loss=True, sample=TEXT)
        assert lost in report.losses
        assert report.renumbered == ""
        assert report.proof.startswith("identical on the test text")
        back = load(tmp_path / name, None if name == "huggingface" else "gpt2")
        assert back.tokens[rank] is None
        held = [number for number in range(len(ranks)) if number != rank]
        assert [back.tokens[number] for number in held] == [tokenizer.tokens[number] for number in held]
        if name == "huggingface":
            assert library_ids(tmp_path / name / "tokenizer.json", TEXT) == tokenizer.encode(TEXT)
            assert back.special_tokens == specials
    del ranks[b"xyz"]
    merges_alone = loaded_of(tmp_path / "merges", ranks, {}).tokenizer
    for name, file in (("minbpe", "to.model"), ("classic", "to")):
        report = save(merges_alone, tmp_path / file, name, accept_loss=True, sample=TEXT)
        assert lost in report.losses
        moves = rank < (LAST - 1 if name == "minbpe" else 256)  # the classic pair holds gaps between merges
        assert any(loss.startswith("The ids change") for loss in report.losses) == moves == bool(report.renumbered)
        assert report.proof.startswith("identical on the test text" if name == "minbpe" else "identical in all tokens")


def test_every_format_takes_it_or_says_why_not(tmp_path):
    tokenizer = loaded_of(tmp_path, ranks_with_empty(LAST), {}).tokenizer
    written = {
        known.name for known in FORMATS.values() if known.writable and fit(tokenizer, known.name).problem is None
    }
    assert written == {
        *("classic", "huggingface", "gpt2", "gguf", "loader", "tiktoken", "tekken", "minbpe"),
        *("vocabulary-csv", "token-bytes"),
    }
    for name, file in (("loader", "loader"), ("tekken", "tekken.json"), ("gguf", "to.gguf")):
        report = save(tokenizer, tmp_path / file, name, accept_loss=True, sample=TEXT)
        assert report.proof.startswith(("identical on the test text", "written, not proved"))
        back = load(report.files[0])
        assert (b"" in back.tokens) == (REMARK.format(LAST) in back.remarks) == (name != "gguf")
        assert any("is the empty token" in loss for loss in report.losses) == (name == "gguf")
        assert back.decode(back.encode("the mat")) == "the mat"
    save(tokenizer, tmp_path / "v.csv", "vocabulary-csv")
    last = (tmp_path / "v.csv").read_text(encoding="utf-8").splitlines()[-1]
    assert last == f'{LAST},"unreachable","","",0,,,,'
    gaps = loaded_of(tmp_path, ranks_with_empty(LAST) | {b"zyx": LAST + 10}, {}).tokenizer
    compact = gaps.compact()
    assert (compact.decode([LAST]), compact.tokens[LAST + 1], compact.remarks) == ("", b"zyx", gaps.remarks)
