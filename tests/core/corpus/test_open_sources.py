"""Reading files in every encoding, damaged ones and disappearing ones, with their errors."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import bz2
import codecs
import encodings
import gzip
import io
import lzma
import os
import pkgutil
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tokstudio import ConfigError, Corpus, CorpusError, Trainer, TrainingConfig, train
from tokstudio.core.base.errors import BinaryError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.open_sources import read_source
from tokstudio.core.corpus.readers.files import FileText, _File
from tokstudio.core.corpus.readers.folders import expand_work, read_folder_work
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.corpus.source import CountedWith
from tokstudio.core.corpus.statistics import preview, statistics_work
from tokstudio.core.pretokenization.count_words import count_work
from tokstudio.core.pretokenization.special_tokens import SpecialFinder
from tokstudio.core.text.encodings import ENCODINGS, encoding_name

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="the system has no such files")

# One folder for all examples of a test is enough: each writes the file anew.
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

MARKED = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}

LETTERS = {
    "windows-1252": "Während die Bäume schon grün waren, blühte draußen noch überall der späte Löwenzahn. Müßig ging "
    "sie an den Häusern vorüber und zählte die Fenster, hinter denen Menschen saßen und Äpfel schälten.",
    "windows-1251": "Утром мы вышли на рынок. Дождь уже кончился, и торговцы снова раскладывали яблоки и хлеб.",
    "koi8-r": "Утром мы вышли на рынок. Дождь уже кончился, и торговцы снова раскладывали яблоки и хлеб.",
    "shift_jis": "朝、わたしたちは市場へ出かけた。雨はもう止んでいて、店の人たちはまたりんごやパンを並べていた。",
    "euc-jp": "朝、わたしたちは市場へ出かけた。雨はもう止んでいて、店の人たちはまたりんごやパンを並べていた。",
    "gb18030": "早上我们去了市场。雨已经停了,商人们又把苹果和面包摆了出来。我在那里收到了一封信。",
    "euc-kr": "아침에 우리는 시장에 갔다. 비는 이미 그쳤고 상인들은 다시 사과와 빵을 늘어놓고 있었다.",
}

# Codecs of Python that are not for text, or not for text in a character set.
NO_CHARACTER_SETS = (
    *("charmap", "idna", "mbcs", "oem", "punycode", "raw_unicode_escape", "rot_13", "undefined", "unicode_escape"),
)


@pytest.fixture
def read(tmp_path):
    """Writes bytes to a file and reads it."""

    def write_and_read(data, name="text.txt", **options):
        (tmp_path / name).write_bytes(data)
        return finish(read_source(tmp_path / name, **options))

    return write_and_read


def text_of(source):
    return source.data.tobytes()


# A control character in every other place may be the high byte of a letter in UTF-16, so it says nothing.
CONTROLS = "".join(character for character in map(chr, range(0x20)) if character not in "\t\n\v\f\r\x1b") + "\x7f"


@same_folder
@given(text=st.text(min_size=1), encoding=st.sampled_from(sorted(MARKED)))
def test_any_text_with_a_byte_order_mark_comes_back(read, text, encoding):
    source = read(MARKED[encoding] + text.encode(encoding))
    # Who writes UTF-16 and begins with a NUL has written the mark of UTF-32.
    if not (encoding == "utf-16-le" and text[0] == "\0"):
        assert text_of(source) == text.encode()
        assert source.encoding == encoding
        assert "byte order mark dropped" in source.note


@same_folder
@given(text=st.text(st.characters(codec="utf-8", exclude_characters=f"{CONTROLS}\ufeff"), min_size=1))
def test_utf8_stays_byte_for_byte(read, text):
    source = read(text.encode())
    assert (text_of(source), source.encoding, source.note) == (text.encode(), "utf-8", "")


@same_folder
@given(data=st.binary(min_size=1))
def test_chosen_as_bytes_everything_is_kept(read, data):
    source = read(data, encoding="bytes")
    assert (text_of(source), source.encoding, source.note) == (data, "bytes", "")


@same_folder
@given(data=st.one_of(st.binary(min_size=1), st.text(min_size=1).map(lambda text: text.encode() + b"\xff\xfe\0")))
def test_detection_never_replaces_bytes(read, data):
    assume(data not in MARKED.values())
    source, refusal = None, ""
    try:
        source = read(data)
    except BinaryError as error:
        refusal = str(error)
    if source is None:
        # A short file is refused by its signature alone, never by counting control characters.
        assert len(data) >= 32 or "binary data" not in refusal
        return
    if source.encoding in ("bytes", "utf-8"):
        mark = codecs.BOM_UTF8 if "mark dropped" in source.note else b""
        assert mark + text_of(source) == data
    else:
        mark = MARKED[source.encoding] if "mark dropped" in source.note else b""
        assert text_of(source).decode() == data.removeprefix(mark).decode(source.encoding)


EASTERN = "Příliš žluťoučký kůň úpěl ďábelské ódy. Zażółć gęślą jaźń, proszę państwa.\n" * 30
WESTERN = ("café déjà vu naïve Zürich\n", "Voilà, un été à la plage où tout va.\n")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        *((encoding, (text + "\r\n") * times) for encoding, text in LETTERS.items() for times in (1, 5000)),
        # Western text is not taken for its neighbours however often it repeats.
        *(("windows-1252", line * times) for line in WESTERN for times in (1, 100, 300)),
        ("windows-1251", "Съешь же ещё этих мягких французских булок, да выпей чаю.\n" * 30),
    ],
)
def test_the_encoding_of_a_legacy_text_is_found(read, encoding, text):
    source = read(text.encode(encoding))
    assert (source.encoding, text_of(source)) == (encoding, text.encode())
    assert text_of(read(EASTERN.encode("windows-1250"))) == EASTERN.encode()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", ["Hello, reader\n", "Привет всем\n", "नमस्ते दुनिया\n", *LETTERS.values()])
def test_wide_text_without_a_mark_is_found(read, encoding, text):
    text += " end\n"
    source = read(text.encode(encoding))
    assert (source.encoding, text_of(source)) == (encoding, text.encode())


@pytest.mark.parametrize("data", [b"one\0two\0three", b"\0", b"\0" * 10, b"hello\0world!", b"a\0b"])
def test_nul_bytes_in_utf8_stay_and_are_said(read, data):
    source = read(data)
    assert (source.encoding, text_of(source)) == ("utf-8", data)
    assert source.note.startswith(f"contains {data.count(0)} NUL byte")


BROKEN = "Größe, Länge, Höhe".encode() + b"\xff" + "für".encode()
REPLACED = "2 byte sequences are not valid utf-8; shown as U+FFFD"


@pytest.mark.parametrize(
    ("data", "chosen", "encoding", "text", "note"),
    [
        (
            codecs.BOM_UTF8 + b"h\0e\0l\0l\0o\0",
            None,
            "utf-8",
            b"h\0e\0l\0l\0o\0",
            "byte order mark dropped; contains 5 NUL bytes",
        ),
        (BROKEN, None, "bytes", BROKEN, "1 byte is not UTF-8; kept as is"),
        ("Größe\ufffd".encode() + b"\xff\xff", "utf-8", "utf-8", "Größe\ufffd\ufffd\ufffd".encode(), REPLACED),
        (
            codecs.BOM_UTF16_LE + b"\x00\xd8\x00",
            None,
            "bytes",
            codecs.BOM_UTF16_LE + b"\x00\xd8\x00",
            "begins like utf-16-le but is not valid; read as bytes",
        ),
    ],
)
def test_a_mark_is_believed_and_what_is_broken_is_said(read, data, chosen, encoding, text, note):
    source = read(data, encoding=chosen)
    assert (source.encoding, text_of(source), source.note) == (encoding, text, note)


@pytest.mark.parametrize("before", range(4))
def test_utf8_is_recognised_wherever_a_piece_ends_in_a_character(read, monkeypatch, before):
    monkeypatch.setattr("tokstudio.core.text.encodings.CHECK", 16)
    monkeypatch.setattr("tokstudio.core.text.encodings.COUNT", 40)
    text = b"a" * before + "日本語😀é".encode() * 40
    source = read(text)
    assert (source.encoding, text_of(source), source.note) == ("utf-8", text, "")
    cut_off = read(text[:-1])
    assert (cut_off.encoding, text_of(cut_off), cut_off.note) == ("bytes", text[:-1], "1 byte is not UTF-8; kept as is")


@same_folder
@given(
    data=st.lists(st.sampled_from([b"a", b"\x81", b"\xff", "é".encode(), "\ufffd".encode(), b"\x9d"]), min_size=1),
    encoding=st.sampled_from(["utf-8", "windows-1252", "shift_jis", "gb18030", "utf-16-le"]),
)
def test_a_chosen_encoding_decodes_as_python_does(read, data, encoding):
    raw = b"".join(data)
    source = read(raw, encoding=encoding)
    assert text_of(source).decode() == raw.decode(encoding, "replace")
    replaced = len(raw.decode(encoding, "replace")) - len(raw.decode(encoding, "ignore"))
    assert ("U+FFFD" in source.note) == (replaced > 0)


def test_characters_and_faults_at_the_borders_of_pieces_are_seen_once(read):
    text = "€" * 100_000
    assert text_of(read(text.encode("gb18030"), encoding="gb18030")) == text.encode()
    odd = b"a" + ("中" * 10_000).encode("gb18030") + b"\xff."
    assert read(odd, encoding="gb18030").note.startswith("1 byte sequence is")
    broken = ("é" * 70_000).encode() + b"\xff" + ("é" * 70_000).encode() + b"\xc3"
    source = read(broken)
    assert (text_of(source), source.note) == (broken, "2 bytes are not UTF-8; kept as is")
    assert read(broken, encoding="utf-8").note.startswith("2 byte sequences")


ARRAY = io.BytesIO()
np.save(ARRAY, np.arange(10))
NOISE = np.random.default_rng(1).integers(0, 256, 5_000, np.uint8).tobytes()
# Every file as its own library writes it, and the words for it.
BINARY = {
    "a.gz": (gzip.compress(b"some text " * 99), "gzip-compressed data"),
    "a.xz": (lzma.compress(b"some text " * 99), "xz-compressed data"),
    "a.bz2": (bz2.compress(b"some text " * 99), "bzip2-compressed data"),
    "a.zst": (b"\x28\xb5\x2f\xfd\x04\x00Y\x00\x00some text \x00", "Zstandard-compressed data"),
    "a.zip": (b"PK\x03\x04\x14\0\0\0\0\0!N\xa1Y" + b"text.txt some text " * 9, "a ZIP archive"),
    "a.pdf": (b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n", "a PDF document"),
    "a.png": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
    "a.parquet": (b"PAR1\x15\x04\x15\x10\x15\x14L" + b"some text " * 99 + b"PAR1", "a Parquet table"),
    "a.npy": (ARRAY.getvalue(), "a NumPy array"),
    "a.sqlite": (b"SQLite format 3\0\x10\0\1\1\0@  " + b"\0" * 400 + b"CREATE TABLE", "an SQLite database"),
    "a.tar": (b"text.txt".ljust(257, b"\0") + b"ustar  \0" + b"some text " * 99, "a tar archive"),
    "program": (b"\x7fELF\2\1\1" + b"\0" * 9, "an executable"),
    "a.exe": (b"MZ\x90\0\3\0\0\0\4\0\0\0\xff\xff\0\0\xb8" + b"\0" * 99 + b"This program cannot be run", "binary data"),
    "noise": (NOISE, "binary data"),
    "every": (bytes(range(256)) * 50, "binary data"),
    "floats": (np.linspace(0, 1, 999).tobytes(), "binary data"),
    "zeros": (b"\0" * 999, "binary data"),
}


@pytest.mark.parametrize("name", BINARY)
def test_a_binary_file_is_refused_and_opens_as_bytes(read, name):
    data, kind = BINARY[name]
    with pytest.raises(BinaryError) as refused:
        read(data, name)
    assert str(refused.value) == f'{name}: this is {kind}, not text; use the encoding "bytes" to read it anyway.'
    source = read(data, name, encoding="bytes")
    assert (source.encoding, text_of(source)) == ("bytes", data)


def test_training_on_a_binary_file(tmp_path):
    (tmp_path / "noise.bin").write_bytes(NOISE)
    corpus = Corpus.from_files(tmp_path / "noise.bin", encoding="bytes")
    assert train(corpus, TrainingConfig(vocabulary_size=258)).decode_bytes([0, 255]) == b"\0\xff"
    # Characters have no other way: what is not UTF-8 becomes U+FFFD, and is counted.
    trainer = Trainer(corpus, TrainingConfig(base="characters", vocabulary_size=300))
    while trainer.prepared is None:
        trainer.advance()
    assert trainer.prepared.replaced > 1_000


ENGLISH = "It is a truth universally acknowledged, that a single man must be in want of a wife.\n"
RUSSIAN, JAPANESE, CHINESE = LETTERS["koi8-r"], LETTERS["shift_jis"], LETTERS["gb18030"]


@pytest.mark.parametrize(
    "data",
    [
        *(text.encode(encoding) for encoding, text in LETTERS.items()),
        *((text + "\n").encode(wide) for text in LETTERS.values() for wide in ("utf-16", *sorted(MARKED))),
        *(text.encode(wide) for text in (RUSSIAN, JAPANESE, CHINESE, ENGLISH) for wide in ("utf-32-le", "utf-32-be")),
        *(text.replace(" ", "").encode(wide) for text in (JAPANESE, CHINESE) for wide in ("utf-16-le", "utf-16-be")),
        ENGLISH.encode("utf-16-le")[:-1],
        ENGLISH.encode("cp037"),
        ENGLISH.encode("utf-7"),
        JAPANESE.encode("iso2022_jp"),
        LETTERS["euc-kr"].encode("iso2022_kr"),
        RUSSIAN.encode("cp866"),
        LETTERS["windows-1252"].encode("mac-roman"),
        "早上我們去了市場。雨已經停了，商人們又把蘋果和麵包擺了出來。".encode("big5"),
        "เช้าวันหนึ่งเราไปตลาด ฝนหยุดตกแล้ว".encode("cp874"),
        *(text.replace("e", "\0e", 1).encode("windows-1252") for text in (ENGLISH, LETTERS["windows-1252"])),
        RUSSIAN.encode("koi8-r") + b"\0",
        b"\x1b[1;31merror\x1b[0m: " * 40,
        b"\f".join([ENGLISH.encode()] * 9) + b"\x1a",
        b"\b\b\b\a" + ENGLISH.encode() * 3,
        b"\0".join(ENGLISH.encode().split()),
        ENGLISH.encode() * 9 + b"\xff\xfe\x80",
        b"PK is a name, BZh9 is another, %PDF-1.4 is a mark, PAR1 and SQLite format 3 as well. " * 2,
        b"%PDF files are named so. " * 9,
        b"MZ" + ENGLISH.encode(),
        ENGLISH.encode() * 1_000 + NOISE,  # the beginning alone decides
    ],
)
def test_text_in_any_encoding_is_not_taken_for_binary(read, data):
    assert read(data).bytes > 0


def test_a_chosen_encoding_drops_its_own_mark_only(read):
    assert text_of(read(codecs.BOM_UTF8 + b"a", encoding="utf-8")) == b"a"
    assert text_of(read(codecs.BOM_UTF8 + b"a", encoding="windows-1252")) == "ï»¿a".encode()
    assert text_of(read(codecs.BOM_UTF8 + b"a", encoding="bytes")) == codecs.BOM_UTF8 + b"a"
    big = read(codecs.BOM_UTF16_BE + "a".encode("utf-16-be"), encoding="utf-16")
    assert (text_of(big), big.encoding) == (b"a", "utf-16-be")


def test_every_encoding_offered_can_be_chosen_under_any_of_its_names(read):
    for encoding in ENCODINGS:
        assert read(b"plain \n" * 8, encoding=encoding).encoding == encoding
    assert [encoding_name(name) for name in ("cp1252", "LATIN1", "UTF8", "utf-8-sig", "sjis", "ASCII")] == [
        *("windows-1252", "latin-1", "utf-8", "utf-8", "shift_jis", "ascii")
    ]


@pytest.mark.parametrize("name", ["klingon", "", "\0", "\ud800", "base64", "rot13", "zlib", *NO_CHARACTER_SETS])
def test_other_codecs_are_refused_as_encodings(name):
    with pytest.raises(ConfigError, match="Unknown encoding"):
        encoding_name(name)


def test_every_character_set_that_python_has_can_be_chosen():
    modules = {module.name for module in pkgutil.iter_modules(encodings.__path__) if module.name[0] != "_"}
    for name in modules - {"aliases", *NO_CHARACTER_SETS} - {name for name in modules if name.endswith("_codec")}:
        assert encoding_name(name)


def test_a_line_of_millions_of_bytes_is_one_document(read):
    data = "no line feed, é, ".encode() * 300_000
    source = read(data, documents="line")
    assert (source.documents, source.bytes, text_of(source)) == (1, len(data), data)
    source = read(b"one\r\n\r\ntwo", documents="line")
    assert (source.ends.tolist(), text_of(source)) == ([5, 7, 10], b"one\r\n\r\ntwo")


def test_reading_reports_progress(tmp_path):
    file = tmp_path / "long.txt"
    file.write_bytes(b"abc\n" * 1_000_000)
    steps = list(read_source(file, documents="line"))
    assert all(0 <= step.done <= step.total for step in steps)
    assert [step.done for step in steps if step.phase == "reading"] == [1 << 20, 2 << 20, 3 << 20, 4_000_000]
    assert {step.phase for step in steps} == {"reading", "checking the encoding", "splitting"}


@pytest.mark.parametrize("data", [b"", *MARKED.values()])
def test_a_file_of_a_mark_alone_holds_no_text(read, data):
    with pytest.raises(CorpusError, match=rf"^text\.txt: the file {'has no text' if data else 'is empty'}\.$"):
        read(data)


def test_a_missing_file_is_named_and_its_cause_kept(tmp_path):
    with pytest.raises(CorpusError, match=r"^gone\.txt: no such file or folder\.$") as caught:
        finish(read_source(tmp_path / "gone.txt"))
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    (tmp_path / "file").write_bytes(b"a")
    with pytest.raises(CorpusError, match=r"^below\.txt: "):
        finish(read_source(tmp_path / "file" / "below.txt"))
    with pytest.raises(CorpusError, match="this is a folder, not a file"):
        finish(read_source(tmp_path))
    with pytest.raises(CorpusError, match="cannot be the name of a file"):
        finish(read_source("a\0b"))


@needs_posix
def test_pipes_and_devices_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(CorpusError, match=f"^{path.name}: this is a device or a pipe"):
            finish(read_source(path))
        with pytest.raises(CorpusError, match=f"^{path.name}: this is a device or a pipe"):
            Corpus.from_counts(path)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (PermissionError(13, "Permission denied"), "you have no permission to read it."),
        (OSError(5, "Input/output error"), "the file cannot be read (Input/output error)."),
        (MemoryError(), "the file is too large for the free memory of this computer."),
    ],
)
def test_system_errors_become_one_sentence(tmp_path, monkeypatch, fault, words):
    def refuse(*arguments, **options):
        raise fault

    file = tmp_path / "a.txt"
    file.write_bytes(b"a")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(CorpusError) as caught:
        finish(read_source(file))
    assert str(caught.value) == f"a.txt: {words}"
    assert caught.value.__cause__ is fault


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_named(tmp_path):
    file = tmp_path / "secret.txt"
    file.write_bytes(b"a")
    file.chmod(0)
    with pytest.raises(CorpusError, match=r"^secret\.txt: you have no permission"):
        finish(read_source(file))


@pytest.fixture
def little_memory(monkeypatch):
    """Leaves a file where it is: what is longer than 256 KiB is not read at once."""
    monkeypatch.setattr("tokstudio.core.corpus.readers.files.free_memory", lambda: 100)
    monkeypatch.setattr("tokstudio.core.corpus.readers.files.MOST", 1 << 18)


@pytest.fixture
def on_disk(tmp_path, little_memory):
    """Makes a corpus of a file that stays where it is."""

    def make(content, documents="file"):
        file = tmp_path / "large.txt"
        file.write_bytes(content)
        corpus = Corpus.from_files([file], documents, encoding="bytes")
        assert isinstance(corpus.sources[0].data, FileText)
        return corpus

    return make


def test_a_file_too_large_for_memory_stays_on_disk(tmp_path, request):
    text = ("One line isn't 日本, " * 9 + "\n") * 1_500
    file = tmp_path / "large.txt"
    file.write_text(text, encoding="utf-8")
    small = Corpus.from_files([file], documents="line")
    request.getfixturevalue("little_memory")
    large = Corpus.from_files([file], documents="line")
    assert isinstance(large.sources[0].data, FileText)
    assert (large.sha256, large.bytes, large.documents) == (small.sha256, small.bytes, small.documents)
    assert finish(statistics_work(large)) == finish(statistics_work(small))
    assert preview(large.sources[0]) == preview(small.sources[0])
    for chosen in ({"pattern": "gpt2", "special_tokens": ["line"]}, {"base": "characters", "pattern": "cl100k"}, {}):
        config = TrainingConfig(vocabulary_size=290, **chosen)
        one, other = train(large, config), train(small, config)
        assert one.merges.tolist() == other.merges.tolist()
        assert one.run.tokens_after.tolist() == other.run.tokens_after.tolist()


@pytest.mark.parametrize("documents", ["file", "line"])
def test_a_corpus_on_disk_gives_its_documents_and_a_sample(on_disk, documents):
    content = b"one line and more\n" * 20_000 + b"x" * 400_000
    corpus = on_disk(content, documents)
    lines = content.splitlines(keepends=True) if documents == "line" else [content]
    assert [bytes(document) for document in corpus.iter_documents()] == lines
    assert corpus.sample(300_000) == content[:300_000]


def test_characters_of_a_file_on_disk_that_is_no_text(on_disk):
    content = b"a\xff" * 200_000
    trainer = Trainer(on_disk(content), TrainingConfig(base="characters", vocabulary_size=3))
    list(trainer)
    assert trainer.prepared.replaced == 200_000


@pytest.mark.parametrize("long_at", [0, 9])
def test_holding_out_of_a_file_on_disk_with_a_long_line(on_disk, long_at, monkeypatch):
    monkeypatch.setattr("tokstudio.core.corpus.sampling.PIECE", 1 << 18)
    lines = [b"%d some words\n" % n for n in range(30)]
    lines[long_at] = b"x" * 600_000 + b"\n"
    content = b"".join(lines)
    trained_on, held_out = finish(hold_out_work(on_disk(content, "line").sources, 0.1))
    expected = finish(hold_out_work(Corpus.from_texts(lines).sources, 0.1))
    for part, same in zip((*trained_on, *held_out), (*expected[0], *expected[1]), strict=True):
        assert (part.data.tobytes(), part.ends.tolist()) == (same.data.tobytes(), same.ends.tolist())


def test_a_custom_expression_reads_a_file_on_disk_in_pieces(on_disk, monkeypatch):
    content = b"one line isn't more\n" * 15_000
    read = []
    original = _File.read

    def reading(file, start, size):
        read.append(size)
        return original(file, start, size)

    corpus = on_disk(content, "line")
    monkeypatch.setattr("tokstudio.core.pretokenization.count_words.CHUNK", 1 << 16)
    monkeypatch.setattr(_File, "read", reading)
    [source] = corpus.sources
    pieces = finish(SpecialFinder([]).cut_work(source.data, source.ends))
    counted = finish(count_work([(source, pieces)], CountedWith(r"\w+|\W")))
    assert counted.counts.tolist() == [15_000] + [45_000] + [15_000] * 6
    assert max(read) <= 1 << 16


def test_a_file_that_changes_while_it_stays_on_disk_is_named(tmp_path, on_disk):
    corpus = on_disk(b"some words " * 100_000)
    os.truncate(tmp_path / "large.txt", 20)
    with pytest.raises(CorpusError, match=r"^large\.txt: the file has changed since it was opened"):
        train(corpus, TrainingConfig(vocabulary_size=300, pattern="gpt2"))


@needs_posix
@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda file: os.truncate(file, 10), "became shorter while it was being read"),
        (Path.unlink, "disappeared while it was being read"),
    ],
)
def test_a_file_harmed_while_it_is_read_is_named(tmp_path, harm, words):
    file = tmp_path / "live.txt"
    file.write_bytes(b"a" * 3_000_000)
    work = read_source(file)
    next(work)
    harm(file)
    with pytest.raises(CorpusError, match=rf"^live\.txt: the file {words}"):
        finish(work)


def test_of_a_growing_file_what_was_there_is_read(tmp_path):
    file = tmp_path / "log.txt"
    file.write_bytes(b"a" * 2_000_000)
    work = read_source(file)
    next(work)
    with file.open("ab") as log:
        log.write(b"b" * 2_000_000)
    source = finish(work)
    assert text_of(source) == b"a" * 2_000_000
    assert source.changed_on_disk()


def test_reading_can_be_given_up(tmp_path):
    file = tmp_path / "long.txt"
    file.write_bytes(b"a" * 3_000_000)
    work = read_source(file)
    next(work)
    work.close()
    file.unlink()  # an open file could not be deleted everywhere
    assert not file.exists()


@pytest.fixture
def folder(tmp_path):
    """Holds three texts among files that are none."""
    files = {
        "b.txt": b"b",
        "a/z.py": b"z",
        "a.txt": "é".encode("utf-16"),
        "a/photo.jpg": b"\xff\xd8\xff\xe0\0\x10JFIF" * 10,
        "a/empty.txt": b"",
        ".hidden": b"text",
        ".git/config": b"text",
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return tmp_path


def test_a_folder_gives_its_texts_sorted_by_path(folder):
    assert [file.relative_to(folder).as_posix() for file in finish(read_folder_work(folder)).files] == [
        "a/z.py",
        "a.txt",
        "b.txt",
    ]


def test_skipped_files_of_a_folder_are_listed_with_reasons(folder):
    found = finish(read_folder_work(folder))
    name = folder.name
    assert found.remark == (
        f"{name}: 4 files skipped: photo.jpg (binary), empty.txt (empty), .git (hidden), .hidden (hidden)."
    )
    for number in range(1_200):
        (folder / f"{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    found = finish(read_folder_work(folder))
    assert found.remark == (f"{name}: 1,204 files skipped: 1,201 binary, 1 empty, 2 hidden, such as 0.png, 1.png.")
    assert finish(read_folder_work(folder / "a")).remark.startswith("a: 2 files skipped: ")
    (folder / "a" / "photo.jpg").unlink()
    (folder / "a" / "empty.txt").unlink()
    assert finish(read_folder_work(folder / "a")).remark == ""


@needs_posix
def test_links_pipes_and_loops_in_a_folder_do_no_harm(folder):
    (folder / "loop").symlink_to(folder)
    (folder / "broken").symlink_to("nowhere")
    (folder / "linked.txt").symlink_to("b.txt")
    os.mkfifo(folder / "pipe")
    assert [file.name for file in finish(read_folder_work(folder)).files] == ["z.py", "a.txt", "b.txt", "linked.txt"]


@needs_posix
def test_a_link_out_of_a_folder_is_skipped_and_said(tmp_path):
    secret, inner = tmp_path / "secret.txt", tmp_path / "texts" / "inner"
    inner.mkdir(parents=True)
    secret.write_text("a secret of somebody else")
    (inner.parent / "b.txt").write_text("a text")
    (inner / "out.txt").symlink_to(secret)
    (inner / "in.txt").symlink_to("../b.txt")
    found = finish(read_folder_work(inner.parent))
    assert [file.name for file in found.files] == ["b.txt", "in.txt"]
    assert found.remark == "texts: 1 file skipped: out.txt (a link out of the folder)."
    # A link that is named itself is opened, also one to a folder.
    (tmp_path / "named").symlink_to(inner.parent)
    assert [file.name for file in finish(read_folder_work(tmp_path / "named")).files] == ["b.txt", "in.txt"]
    assert Corpus.from_files([inner / "out.txt"]).bytes == 25


@needs_posix
def test_a_snapshot_in_the_cache_of_the_hub_is_read_through_its_links(tmp_path):
    repository = tmp_path / "datasets--me--texts"
    snapshot = repository / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    (repository / "blobs" / "ab").write_text("a text")
    (snapshot / "a.txt").symlink_to("../../blobs/ab")
    (snapshot / "b.txt").symlink_to(tmp_path / "other.txt")
    (tmp_path / "other.txt").write_text("another")
    assert [file.name for file in finish(read_folder_work(snapshot)).files] == ["a.txt"]


def test_a_folder_without_text_is_named(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    sentences = r"^photos: no text files in this folder\. photos: 1 file skipped: photo\.jpg \(binary\)\.$"
    with pytest.raises(CorpusError, match=sentences):
        finish(read_folder_work(tmp_path / "photos"))
    with pytest.raises(CorpusError, match=r"^nowhere: no such file or folder\.$"):
        finish(read_folder_work(tmp_path / "nowhere"))


def test_folders_are_expanded_where_they_stand(folder):
    given_paths = [folder / "missing.txt", folder / "a", str(folder / "b.txt")]
    expected = [folder / "missing.txt", folder / "a" / "z.py", folder / "b.txt"]
    assert [entry.path for entry in finish(expand_work(given_paths))] == expected


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_file_name_of_invalid_text_can_be_shown(tmp_path):
    path = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    Path(os.fsdecode(path)).write_bytes(b"a")
    source = Corpus.from_files([os.fsdecode(path)]).sources[0]
    assert source.name == "caf\ufffd.txt"
    assert source.data.dtype == np.uint8


def test_a_file_that_is_given_twice_is_read_twice_and_that_is_said(folder, monkeypatch):
    given_paths = [folder / "b.txt", folder / "a", folder, folder / "a" / ".." / "b.txt", "b.txt"]
    monkeypatch.chdir(folder)
    inside = finish(read_folder_work(folder)).files
    assert [(entry.path, entry.times) for entry in finish(expand_work(given_paths))] == [
        (folder / "b.txt", 1),
        (folder / "a" / "z.py", 1),
        *((file, 2 if file in (folder / "b.txt", folder / "a" / "z.py") else 1) for file in inside),
        (folder / "a" / ".." / "b.txt", 3),
        (Path("b.txt"), 4),
    ]
    corpus = Corpus.from_files(["b.txt", "b.txt", folder / "b.txt"])
    assert len({source.data.tobytes() for source in corpus.sources}) == 1
    assert [source.note for source in corpus.sources] == [
        "",
        "given twice: it counts each time",
        "given 3 times: it counts each time",
    ]


@pytest.mark.parametrize("encoding", MARKED)
def test_a_mark_makes_no_text_of_binary_data(read, encoding):
    text = "漢字とかな交じりの文。\nHello, reader!\n" * 5_000
    assert text_of(read(MARKED[encoding] + text.encode(encoding))) == text.encode()
    if encoding != "utf-32-be":
        with pytest.raises(CorpusError, match="not text"):
            read(MARKED[encoding] + random.Random(1).randbytes(5_000))


def test_a_file_whose_name_looks_like_an_address_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hf:datasets").mkdir()
    (tmp_path / "hf:datasets" / "a.txt").write_text("text")
    assert Corpus.from_files("hf:datasets/a.txt").bytes == 4
    with pytest.raises(CorpusError, match=r"^a\.txt: no such file or folder\.$"):
        Corpus.from_files("c:/a.txt")
