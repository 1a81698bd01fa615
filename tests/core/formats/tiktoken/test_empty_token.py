"""A `.tiktoken` file with a line for the empty token, as Whisper's have one, compared with tiktoken."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import pickle
import runpy

import pytest

from tests.core.formats.trained import TEXT, library_ids, ranks_of, tiktoken_lines, trained
from tokstudio import save
from tokstudio.core.analysis.reachability import NOT_MADE, reachability_work
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.common.format import Loaded
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.loading import load, load_work
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.pretokenization.patterns import REGEX

tiktoken = pytest.importorskip("tiktoken")

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


def put(folder, ranks, specials) -> bytes:
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
    put(folder, ranks, specials)
    return finish(load_work(folder / "mine.tiktoken"))


@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "in no order"])
@pytest.mark.parametrize("special", [True, False], ids=["with a special token", "without"])
def test_it_is_read_and_means_what_tiktoken_means(tmp_path, rank, ordered, special):
    ranks = ranks_with_empty(rank, ordered=ordered)
    specials = {"<|end|>": len(ranks)} if special else {}
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


@pytest.mark.parametrize("empty", ["=", "==", "==="])
def test_any_padding_alone_is_the_empty_token_as_tiktoken_takes_it(tmp_path, empty):
    (tmp_path / "a.tiktoken").write_bytes(tiktoken_lines(ranks_of(trained("", 1))) + f"{empty} 256\n".encode())
    assert load(tmp_path, "none").tokens[256] == b""


def test_the_empty_token_twice_is_a_fault(tmp_path):
    lines = tiktoken_lines(ranks_of(trained("", 1)))
    (tmp_path / "a.tiktoken").write_bytes(lines + b"= 256\n= 257\n")
    with pytest.raises(FormatError, match=r"^a\.tiktoken: the empty token appears twice, line 258\.$"):
        load(tmp_path, "none")


def test_an_export_for_tiktoken_writes_it_again(tmp_path, rank):
    ranks = ranks_with_empty(rank)
    specials = {"<|end|>": len(ranks)}
    lines = put(tmp_path / "from", ranks, specials)
    tokenizer = load(tmp_path / "from")
    report = save(tokenizer, tmp_path / "to", "tiktoken", sample=TEXT)
    assert report.losses == ()
    assert report.renumbered == ""
    assert report.proof.startswith("identical over ")
    assert (tmp_path / "to" / "ranks.tiktoken").read_bytes() == lines
    theirs = runpy.run_path(str(tmp_path / "to" / "ranks_tiktoken.py"))["encoding"]
    assert theirs.n_vocab == len(tokenizer)
    assert theirs.decode_single_token_bytes(rank) == b""
    assert load(tmp_path / "to").remarks == tokenizer.remarks


@pytest.mark.parametrize("name", ["huggingface", "gpt2"])
def test_where_it_cannot_stand_it_is_lost_by_name_and_no_id_moves(tmp_path, rank, name):
    ranks = ranks_with_empty(rank)
    specials = {"<|end|>": len(ranks)}
    tokenizer = loaded_of(tmp_path / "from", ranks, specials).tokenizer
    with pytest.raises(FormatError, match="is the empty token"):
        save(tokenizer, tmp_path / "to", name)
    report = save(tokenizer, tmp_path / "to", name, accept_loss=True, sample=TEXT)
    assert f"{REMARK.format(rank)} The exported files leave it out, too." in report.losses
    assert report.renumbered == ""
    assert report.proof.startswith("identical over ")
    back = load(tmp_path / "to", None if name == "huggingface" else "gpt2")
    assert back.tokens[rank] is None
    held = [number for number in range(len(ranks)) if number != rank]
    assert [back.tokens[number] for number in held] == [tokenizer.tokens[number] for number in held]
    if name == "huggingface":
        assert library_ids(tmp_path / "to" / "tokenizer.json", TEXT) == tokenizer.encode(TEXT)
        assert back.special_tokens == specials


@pytest.mark.parametrize("name", ["minbpe", "classic"])
def test_where_ids_follow_from_merges_it_is_said_whether_they_move(tmp_path, rank, name):
    ranks = ranks_with_empty(rank)
    del ranks[b"xyz"]
    tokenizer = loaded_of(tmp_path / "from", ranks, {}).tokenizer
    target = tmp_path / "to.model" if name == "minbpe" else tmp_path / "to"
    report = save(tokenizer, target, name, accept_loss=True, sample=TEXT)
    assert f"{REMARK.format(rank)} The exported files leave it out, too." in report.losses
    moves = rank < (LAST - 1 if name == "minbpe" else 256)  # the classic pair holds gaps between merges
    assert any(loss.startswith("The ids change") for loss in report.losses) == moves
    assert bool(report.renumbered) == moves
    assert report.proof.startswith("identical over ")


def test_every_format_takes_it_or_says_why_not(tmp_path):
    tokenizer = loaded_of(tmp_path, ranks_with_empty(LAST), {}).tokenizer
    written = {
        known.name for known in FORMATS.values() if known.writable and fit(tokenizer, known.name).problem is None
    }
    assert written == {"classic", "huggingface", "gpt2", "tiktoken", "minbpe", "vocabulary-csv"}
    save(tokenizer, tmp_path / "v.csv", "vocabulary-csv")
    last = (tmp_path / "v.csv").read_text(encoding="utf-8").splitlines()[-1]
    assert last == f'{LAST},"unreachable","","",0,,,,'


def test_closing_gaps_keeps_it(tmp_path):
    ranks = ranks_with_empty(LAST)
    tokenizer = loaded_of(tmp_path, ranks | {b"zyx": LAST + 10}, {}).tokenizer
    compact = tokenizer.compact()
    assert compact.decode([LAST]) == ""
    assert compact.tokens[LAST + 1] == b"zyx"
    assert compact.remarks == tokenizer.remarks
