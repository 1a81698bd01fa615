"""Training by other libraries: what they make when they are called directly, and errors that lose nothing."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io

import pytest
import sentencepiece
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from tests.processes import ending_parent, started_processes
from tokstudio import ConfigError, Corpus, CorpusError, LibraryConfig, load, train_by_library
from tokstudio.core.base.progress import finish
from tokstudio.core.base.subprocesses import read_message, start_process, write_message
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.libraries import client
from tokstudio.core.libraries.server import Answered, Train
from tokstudio.core.library_training import train
from tokstudio.core.library_training.train import train_by_library_work
from tokstudio.core.model.settings import LIBRARY_ALGORITHMS

WORDS = ["low", "lower", "lowest", "newer", "newest", "wider", "widest", "naïve", "日本語", "2,000", "don't", "a_b"]
TEXTS = [" ".join(WORDS[at % 12 : at % 7 + at % 12]) for at in range(120)]
TRIAL = "The lowest, newer <|x|> widest\tnaïve; 日本 [UNK] <unk> ▁ ##a"
# One word, with a count of its own for each character: nothing depends on the order in which `tokenizers` goes.
ONE_WORD = ["aabbbcccc"] * 9
SPECIALS = ["<|x|>", "<a,b>"]


def config(algorithm, size=60, **settings):
    return LibraryConfig(algorithm=algorithm, vocabulary_size=size, **settings)


def trained(algorithm, texts=TEXTS, size=60, **settings):
    return train_by_library(Corpus.from_texts(texts), config(algorithm, size, **settings))


def word_piece(texts, size, specials=("[UNK]",), prefix="##", **settings):
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]", continuing_subword_prefix=prefix))
    made.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    made.pre_tokenizer, made.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(prefix=prefix)
    made.train_from_iterator(
        iter(texts),
        trainers.WordPieceTrainer(
            vocab_size=size,
            special_tokens=list(specials),
            continuing_subword_prefix=prefix,
            show_progress=False,
            **settings,
        ),
    )
    return made


def unigram(texts, size, specials=("<unk>",)):
    made = tokenizers.Tokenizer(models.Unigram())
    spaces = normalizers.Replace(tokenizers.Regex(" {2,}"), " ")
    made.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    made.train_from_iterator(
        iter(texts),
        trainers.UnigramTrainer(vocab_size=size, special_tokens=list(specials), unk_token="<unk>", show_progress=False),
    )
    return made


def sentence_piece(algorithm, texts, size, **settings):
    made = io.BytesIO()
    kind = algorithm.removeprefix("sentencepiece-")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=made, model_type=kind, vocab_size=size, minloglevel=2, **settings
    )
    return sentencepiece.SentencePieceProcessor(model_proto=made.getvalue())


def pieces(processor):
    return [(processor.id_to_piece(at), processor.get_score(at)) for at in range(processor.get_piece_size())]


def opened(made):
    """The library's own tokenizer of a result."""
    if made.config.library == "tokenizers":
        return tokenizers.Tokenizer.from_buffer(made.files["tokenizer.json"])
    return sentencepiece.SentencePieceProcessor(model_proto=made.files["tokenizer.model"])


@pytest.mark.parametrize(("algorithm", "directly"), [("wordpiece", word_piece), ("unigram", unigram)])
def test_the_file_is_that_of_tokenizers(algorithm, directly):
    unknown = "[UNK]" if algorithm == "wordpiece" else "<unk>"
    made = trained(algorithm, ONE_WORD, 12, special_tokens=SPECIALS)
    assert made.files["tokenizer.json"].decode() == directly(ONE_WORD, 12, [unknown, *SPECIALS]).to_str(pretty=True)
    assert list(made.tokenizer.special_tokens) == [unknown, *SPECIALS]
    assert (made.lines, made.bytes, made.skipped) == (9, 81, 0)
    assert made.version == tokenizers.__version__
    # Of many words, at this size, every pair is merged, and no piece is left out: ids alone depend on their order.
    made = trained(algorithm, size=2_000)
    assert opened(made).get_vocab().keys() == directly(TEXTS, 2_000).get_vocab().keys()


def test_the_settings_of_word_pieces_reach_the_library():
    made = trained("wordpiece", ONE_WORD, 30, min_frequency=10, continuing_prefix="@@")
    theirs = word_piece(ONE_WORD, 30, min_frequency=10, prefix="@@")
    assert made.files["tokenizer.json"].decode() == theirs.to_str(pretty=True)
    assert "@@b" in theirs.get_vocab()
    assert len(theirs.get_vocab()) < len(word_piece(ONE_WORD, 30, prefix="@@").get_vocab())


@pytest.mark.parametrize("algorithm", ["sentencepiece-bpe", "sentencepiece-unigram"])
@pytest.mark.parametrize(
    ("settings", "theirs"),
    [
        ({}, {}),
        ({"special_tokens": SPECIALS, "unknown_token": "<?>"}, {"user_defined_symbols": SPECIALS, "unk_piece": "<?>"}),
        ({"character_coverage": 0.98}, {"character_coverage": 0.98}),
        ({"byte_fallback": True, "size": 292}, {"byte_fallback": True, "size": 292}),
    ],
)
def test_the_pieces_are_those_of_sentencepiece(algorithm, settings, theirs):
    made = trained(algorithm, **{"size": 34, **settings})
    size = theirs.get("size", 34)
    rest = {name: value for name, value in theirs.items() if name != "size"}
    assert pieces(opened(made)) == pieces(sentence_piece(algorithm, TEXTS, size, **rest))
    assert len(made.tokenizer) == size


@pytest.mark.parametrize("algorithm", LIBRARY_ALGORITHMS)
def test_the_tokenizer_encodes_as_its_library(algorithm, tmp_path):
    made = trained(algorithm, special_tokens=SPECIALS)
    if made.config.repeatable:
        assert trained(algorithm, special_tokens=SPECIALS).files == made.files
    library = opened(made)
    ids = library.encode(TRIAL)
    assert made.tokenizer.encode(TRIAL, "all") == list(getattr(ids, "ids", ids))
    for name, content in made.files.items():
        (tmp_path / name).write_bytes(content)
    assert load(tmp_path).encode(TRIAL, "all") == made.tokenizer.encode(TRIAL, "all")


def test_lines_are_given_and_documents_end_them():
    texts = ["low lower\nnewest\n", "wider\r\nlow", "", "naïve"]
    made = train_by_library(Corpus.from_texts(texts), config("sentencepiece-bpe", 25))
    expected = ["low lower", "newest", "wider\r", "low", "naïve"]
    assert pieces(opened(made)) == pieces(sentence_piece("sentencepiece-bpe", expected, 25))
    assert made.lines == 5


def test_a_weight_repeats_a_text_and_no_weight_leaves_it_out(monkeypatch):
    monkeypatch.setattr(train, "PIECE", 50)
    sources = [
        Source.from_texts([line], name) for name, line in zip("abc", ("low lower", "newest", "xyz"), strict=True)
    ]
    corpus = Corpus(tuple(sources)).with_weights({"a": 3, "c": 0})
    made = train_by_library(corpus, config("sentencepiece-bpe", 18))
    assert pieces(opened(made)) == pieces(sentence_piece("sentencepiece-bpe", ["low lower"] * 3 + ["newest"], 18))
    assert (made.lines, made.bytes) == (4, 33)
    with pytest.raises(ConfigError, match="whole numbers as weights"):
        train_by_library(corpus.with_weights({"a": 0.5}), config("unigram"))
    with pytest.raises(ConfigError, match="has word counts"):
        train_by_library(Corpus.from_counts({"low": 3}), config("wordpiece"))


def test_held_out_text_is_that_of_plain_training():
    corpus = Corpus.from_text("\n".join(TEXTS))
    made = train_by_library(corpus, config("sentencepiece-bpe", held_out=0.2))
    kept, held = finish(hold_out_work(corpus.sources, 0.2))
    texts = kept[0].data.tobytes().decode().split("\n")
    assert pieces(opened(made)) == pieces(sentence_piece("sentencepiece-bpe", texts, 60))
    assert made.held_out[0].data.tobytes() == held[0].data.tobytes()
    assert made.bytes == len(kept[0].data)


@pytest.mark.parametrize("algorithm", LIBRARY_ALGORITHMS)
@pytest.mark.parametrize(
    "texts", [["a\0b low\0", "▁ ▁low a▁b", "##a [UNK] <unk> <s>", "\ufeff\u202e", b"low \xff\xfe low"], ["x"]]
)
def test_hostile_texts_give_a_tokenizer(algorithm, texts):
    made = trained(algorithm, texts, 200)
    assert len(made.tokenizer) == len(made.tokenizer.tokens.ids())
    made.tokenizer.encode("a low x")
    assert made.replaced == (2 if len(texts) > 1 else 0)


def test_a_corpus_without_text_is_refused():
    for algorithm in LIBRARY_ALGORITHMS:
        for texts in ([], [""]):
            with pytest.raises(CorpusError, match="no text to train on"):
                trained(algorithm, texts)
    for texts, end in ([" ", "\n\n"], r"corpus\.$"), (["▅"], r"corpus\. It passed over 1 line\.$"):
        with pytest.raises(CorpusError, match=f"finds no text to train on in this {end}"):
            trained("sentencepiece-unigram", texts)


@pytest.mark.parametrize("algorithm", ["sentencepiece-bpe", "sentencepiece-unigram"])
def test_lines_that_sentencepiece_passes_over_are_counted(algorithm):
    made = trained(algorithm, ["low lower", "xy " * 22_000, "z▅", "ab " * 1_400], 16)
    assert made.skipped == 2
    assert {"x", "z"}.isdisjoint(piece for piece, _ in pieces(opened(made)))
    assert "b" in "".join(piece for piece, _ in pieces(opened(made)))


@pytest.mark.parametrize("algorithm", LIBRARY_ALGORITHMS)
def test_a_size_below_the_characters_is_refused(algorithm):
    words = "is too small" if algorithm == "unigram" else r"must be at least \d+"
    with pytest.raises((ConfigError, CorpusError), match=f"ocabulary size {words}") as refused:
        trained(algorithm, size=8)
    if algorithm != "unigram":  # its library does not say the least one
        least = int(str(refused.value).partition("at least ")[2].partition(",")[0].partition(":")[0])
        assert len(trained(algorithm, size=least).tokenizer) <= least


def test_a_process_that_is_killed_gives_an_error(monkeypatch):
    monkeypatch.setattr(train, "PIECE", 100)
    ask = client.LibraryProcess.parts
    for passed in (1, 20):
        started, asked = started_processes(monkeypatch), []

        def ask_or_kill(process, *given, started=started, asked=asked, last=passed):
            if len(asked) == last:
                started[0].kill()
                started[0].wait()
            asked.append(given)
            return ask(process, *given)

        monkeypatch.setattr(client.LibraryProcess, "parts", ask_or_kill)
        with pytest.raises(CorpusError, match="ended while it trained"):
            train_by_library(Corpus.from_texts(TEXTS), config("wordpiece"))
        assert len(asked) > passed


def test_cancel_ends_the_process(monkeypatch):
    started = started_processes(monkeypatch)
    # Its time grows with the square of this text: it would take some seconds.
    work = train_by_library_work(Corpus.from_text("ab" * 12_000), config("sentencepiece-unigram"))
    assert next(progress for progress in work if progress.phase == "training").total == 0
    assert started[0].poll() is None
    work.close()
    assert started[0].poll() is not None


def test_the_process_ends_with_its_parent(monkeypatch):
    end_parent = ending_parent(monkeypatch)
    settings = config("sentencepiece-unigram").settings()
    with start_process(["tokstudio.core.libraries.server"], {}) as process:
        write_message(process.stdin, Train("sentencepiece", "x", settings, [b"ab" * 12_000 + b"\n"]))
        assert read_message(process.stdout, Answered) == Answered([])
        write_message(process.stdin, Train("sentencepiece", "x", None, []))
        end_parent(process)
        assert process.stdout.read() == b""
    assert process.returncode != 0


def test_an_abort_of_the_library_is_an_error():
    # This character becomes 6 others: more in one word than SentencePiece's byte pair encoding can hold.
    with pytest.raises(CorpusError, match="ended while it trained"):
        trained("sentencepiece-bpe", ["\u33af" * 21_000])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"algorithm": "bpe"}, "Choose one of: unigram, wordpiece"),
        ({"vocabulary_size": 0}, "from 1 to 1,048,576"),
        ({"vocabulary_size": None}, "Set a vocabulary size"),
        ({"vocabulary_size": 4, "special_tokens": ["<x>"]}, "greater than 4"),
        ({"algorithm": "unigram", "vocabulary_size": 2, "special_tokens": ["<x>", "<unk>"]}, "greater than 2"),
        ({"min_frequency": 3}, "can only be set for the algorithm wordpiece"),
        ({"algorithm": "unigram", "byte_fallback": True}, "sentencepiece-bpe or sentencepiece-unigram"),
        ({"byte_fallback": 1}, "must be true or false, not 1"),
        ({"character_coverage": 0.5}, "from 0.98 to 1"),
        ({"character_coverage": "1"}, "from 0.98 to 1"),
        ({"special_tokens": ["ab", "ab"]}, "twice"),
        ({"special_tokens": "ab"}, "list of strings"),
        ({"special_tokens": ["a\0b"]}, "U\\+0000"),
        ({"unknown_token": ""}, "empty"),
        ({"unknown_token": "\ud800"}, "valid text"),
        ({"held_out": 1}, "less than 1"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ConfigError, match=message):
        LibraryConfig(**{"algorithm": "sentencepiece-bpe", "vocabulary_size": 60, **settings})
