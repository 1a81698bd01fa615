"""What an experiment file may say, and how each fault is told in one sentence with its line."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from tokstudio import ConfigError, CorpusError, LibraryConfig, SuperBPE, TrainingConfig, load_experiment
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.experiment.experiment import FORM
from tokstudio.core.experiment.loading import experiment_of, is_experiment
from tokstudio.core.model.settings import SETTINGS

LEAST = "experiment = 1\n\n[settings]\nvocabulary_size = 300\n\n[[source]]\npath = 'a.txt'\n"
PATH = Path("e.toml")
VARIANTS = LEAST + "\n[[variant]]\nname = 'x'\n\n[[variant]]\nname = 'y'\nmin_frequency = 3\n"


@pytest.fixture
def load(tmp_path):
    def of(text):
        path = tmp_path / "e.toml"
        path.write_bytes(text.encode())
        return load_experiment(path)

    return of


def test_a_short_file_is_enough_and_says_what_is_trained(load, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat")
    experiment = load(LEAST)
    assert experiment.config == TrainingConfig(vocabulary_size=300)
    assert [source.name for source in experiment.corpus().sources] == ["a.txt"]
    assert experiment.result is None
    assert experiment.text == LEAST


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("experiment = 1\n", "", "e.toml: this is no experiment of TokStudio: it does not begin with experiment = 1."),
        ("experiment = 1", f"experiment = {FORM + 1}",
         f"e.toml, line 1: this experiment has the form {FORM + 1}, and this version of TokStudio reads form {FORM}"
         ": update TokStudio."),
        ("experiment = 1", "experiment = '1'", 'e.toml, line 1: experiment must be a whole number, not "1".'),
        (LEAST[LEAST.index("[[") :], "", "e.toml: there is no [[source]], so there is nothing to train on: add one."),
        ("path = 'a.txt'", "", "e.toml, line 6: [[source]] needs path, which is a path, a string."),
        ("path = 'a.txt'", "path = 1", "e.toml, line 7: path must be a path, a string, not 1."),
        ("path = 'a.txt'", "path = {hex = '6x'}", "e.toml, line 7: path must be a path, a string, not a table."),
        ("path = 'a.txt'", "path = ''", 'e.toml, line 7: path must be a path, not "".'),
        ("path = 'a.txt'", r'path = "a\u0000"', r'e.toml, line 7: path must be a path, not "a\x00".'),
        ("vocabulary_size = 300", "vocabulary_sise = 300",
         'e.toml, line 4: [settings] has no key "vocabulary_sise": did you mean vocabulary_size?'),
        ("vocabulary_size = 300", 'vocabulary_size = "300"',
         'e.toml, line 4: vocabulary_size must be a whole number, not "300".'),
        ("vocabulary_size = 300", "vocabulary_size = true",
         "e.toml, line 4: vocabulary_size must be a whole number, not true."),
        ("vocabulary_size = 300", "vocabulary_size = -3",
         "e.toml, line 4: vocabulary_size must be a whole number of at least 0, not -3."),
        ("vocabulary_size = 300", "vocabulary_size = 3_000_000_000",
         "e.toml, line 4: vocabulary_size must be a whole number below 2,147,483,648, not 3,000,000,000."),
        ("vocabulary_size = 300", "vocabulary_size = 200",
         "e.toml, line 4: Vocabulary size must be greater than 256."),
        ("vocabulary_size = 300", "", "e.toml, line 3: Set a vocabulary size, a minimum frequency, or both."),
        ("vocabulary_size = 300", "vocabulary_size = 300\nalgorithm = 'picki'",
         "e.toml, line 5: algorithm must be one of bpe, parity, superbpe, whole-characters, boundless, picky, "
         'unigram, wordpiece, sentencepiece-bpe, sentencepiece-unigram, not "picki".'),
        ("vocabulary_size = 300", "vocabulary_size = 300\nthreshold = 0.5",
         "e.toml, line 5: threshold is not for the algorithm bpe: leave it out."),
        ("vocabulary_size = 300", "vocabulary_size = 300\nalgorithm = 'unigram'\n\npattern = 'gpt2'",
         "e.toml, line 7: pattern is not for the algorithm unigram: leave it out."),
        ("vocabulary_size = 300", "algorithm = 'unigram'",
         'e.toml, line 3: The algorithm "unigram" needs a vocabulary size.'),
        ("vocabulary_size = 300", "vocabulary_size = 300\nspecial_tokens = ['a', 1]",
         "e.toml, line 5: special_tokens must be a list of strings, not a list."),
        ("vocabulary_size = 300", "vocabulary_size = 300\nheld_out = 1.5",
         "e.toml, line 5: held_out must be a number from 0 to 0.99999, not 1.5."),
        ("vocabulary_size = 300", "vocabulary_size = 300\nalgorithm = 'parity'\nparallel = ['a']",
         "e.toml, line 6: parallel must be a table of paths by name, not a list."),
        ("vocabulary_size = 300", "vocabulary_size = 300\nalgorithm = 'parity'\nratios = {de = 'x'}",
         "e.toml, line 6: ratios must be a table of numbers by name, not a list."),
        ("vocabulary_size = 300", "vocabulary_size = 300\nalgorithm = 'parity'\n[settings.ratios]\nde = -1",
         'e.toml, line 6: The ratio of "de" must be a number above 0, not -1.'),
        ("vocabulary_size = 300", "vocabulary_size = 300\nsample_bytes = 10\nsample_percent = 20",
         "e.toml, line 6: sample_bytes and sample_percent are two sizes of the sample: give one of them."),
        ("vocabulary_size = 300", "vocabulary_size = 300\nsample_percent = 101",
         "e.toml, line 5: sample_percent must be from 1 to 100, not 101."),
        ("[settings]", "[setings]", 'e.toml, line 3: the file has no key "setings": did you mean settings?'),
        ("[settings]\nv", "settings = 3\nv", "e.toml, line 3: settings must be a table, not 3."),
        ("[[source]]", "[source]", "e.toml, line 6: source must be a list of tables, not a table."),
        ("path = 'a.txt'", "path = 'a.txt'\nwieght = 2",
         'e.toml, line 8: [[source]] has no key "wieght": did you mean weight?'),
        ("path = 'a.txt'", "path = 'a.txt'\nweight = 1001",
         "e.toml, line 8: The weight of a.txt must be a number from 0 to 1,000, not 1001."),
        ("path = 'a.txt'", "path = 'a.txt'\nweight = nan",
         "e.toml, line 8: The weight of a.txt must be a number from 0 to 1,000, not nan."),
        ("path = 'a.txt'", "path = 'a.txt'\ncounts = 1", "e.toml, line 8: counts must be true or false, not 1."),
        ("path = 'a.txt'", "path = 'a.txt'\ncounts = true\nfield = 'x'",
         "e.toml, line 6: counted words are read in one way: leave out the encoding and how it is read."),
        ("path = 'a.txt'", "path = 'a.txt'\nfield = 3", "e.toml, line 8: field must be a string, not 3."),
        ("path = 'a.txt'", "path = 'a.txt'\nmost_bytes = 2024-01-01",
         "e.toml, line 8: most_bytes must be a whole number, not a date or a time."),
        ("path = 'a.txt'", "path = 'a.txt'\njoin_values = true",
         "e.toml, line 8: To join parts by value (join_values), give the column that divides texts (split_by)."),
        ("path = 'a.txt'", "path = 'a.txt'\nparts = [\n  { value = 'x', wait = 2 },\n]",
         'e.toml, line 9: [[source.parts]] has no key "wait": did you mean weight?'),
        ("path = 'a.txt'", "path = 'a.txt'\nname = 'b'\nparts = [{value = 'x'}, {value = 'y'}]",
         "e.toml, line 8: name is for one source, and this has several parts: leave it out."),
        ("path = 'a.txt'\n", "path = 'a.txt'\n[[leave_out]]\nrules = {blobs = 32, blob = true}\n",
         'e.toml, line 9: There is no rule "blob" to leave text out by: use duplicates, near-duplicates, blobs, '
         "repetition, mojibake, control, markup, rare-script, repeated-lines."),
        ("path = 'a.txt'\n", "path = 'a.txt'\n[[leave_out]]\nlists = 'x.csv'\n",
         'e.toml, line 9: lists must be a list of paths, not "x.csv".'),
        ("path = 'a.txt'\n", "path = 'a.txt'\n[[export]]\nformat = 'huggingfase'\npath = 'b'",
         'e.toml, line 9: there is no format "huggingfase": use huggingface, classic, gpt2, tiktoken, tekken, '
         "minbpe, sentencepiece, gguf, loader, merges-csv, merges-jsonl, vocabulary-csv, token-bytes."),
        ("path = 'a.txt'\n", "path = 'a.txt'\n[[export]]\nformat = 'huggingface'\n",
         "e.toml, line 8: [[export]] needs path, which is a path, a string."),
        ("path = 'a.txt'\n", "path = 'a.txt'\n[result]\ntokstudio = '1'\n",
         "e.toml, line 8: [result] needs corpus_sha256, which is a string."),
        ("path = 'a.txt'\n", "path = 'a.txt'\n[output]\naccept_losses = true\n",
         'e.toml, line 9: [output] has no key "accept_losses": did you mean accept_loss?'),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_line(load, old, new, says):
    assert old in LEAST
    with pytest.raises(ConfigError) as caught:
        _ = load(LEAST.replace(old, new, 1)).config
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("name = 'y'", "name = 'x'", 'e.toml, line 13: two variants are named "x": give each a name of its own.'),
        ("min_frequency = 3", "min_frequency = 1", "e.toml, line 14: Minimum frequency must be at least 2."),
        ("min_frequency = 3", "documents = 'line'",
         "e.toml, line 14: documents is the same for all variants: set it in [settings]."),
        ("min_frequency = 3", "max_words = 3",
         "e.toml, line 14: max_words is not for the algorithm bpe: leave it out."),
        ("vocabulary_size = 300", "vocabulary_size = 300\ntransition = 280",
         "e.toml, line 5: transition is not for the algorithm bpe: leave it out."),
        ("[[variant]]\nname = 'x'", "[[export]]\nformat = 'tiktoken'\npath = 'x'\n[[variant]]\nname = 'x'",
         "e.toml, line 9: with variants, an export belongs to one of them: write it as [[variant.export]]."),
    ],
)  # fmt: skip
def test_a_fault_of_variants_is_told_with_its_line(load, old, new, says):
    with pytest.raises(ConfigError) as caught:
        _ = load(VARIANTS.replace(old, new, 1)).configs
    assert str(caught.value) == says


def test_a_variant_takes_what_it_can_use_of_the_settings_and_the_rest_is_its_own(load):
    text = """experiment = 1
[settings]
vocabulary_size = 400
pattern = "gpt2"
transition = 350
sample_percent = 50
[[source]]
path = "a.txt"
[[variant]]
algorithm = "superbpe"
sample_bytes = 9
[[variant.export]]
format = "huggingface"
path = "one/tokenizer.json"
[[variant]]
name = "no pattern"
pattern = "none"
weights = [2, 0.5]
[[variant]]
algorithm = "wordpiece"
"""
    experiment = load(text)
    assert experiment.configs == {
        "variant 1": TrainingConfig(vocabulary_size=400, pattern="gpt2", algorithm=SuperBPE(transition=350)),
        "no pattern": TrainingConfig(vocabulary_size=400),
        "variant 3": LibraryConfig(algorithm="wordpiece", vocabulary_size=400),
    }
    samples = [(training.sample_bytes, training.sample_percent) for training in experiment.trainings]
    assert samples == [(9, None), (None, 50), (None, 50)]
    assert [training.weights for training in experiment.trainings] == [(), (2, 0.5), ()]
    assert [training.exports for training in experiment.trainings] == [(("huggingface", "one/tokenizer.json"),), (), ()]
    with pytest.raises(ConfigError, match="has 3 variants"):
        _ = experiment.config


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ("3", "weights must be a list of numbers, one for each text in order, not 3."),
        ("[1, '2']", "weights must be a list of numbers, one for each text in order, not a list."),
        ("[1, -2]", "The weight of text 2 must be a number from 0 to 1,000, not -2."),
        ("[0.0001]", "The weight of text 1 must be 0 or at least 0.001, not 0.0001."),
    ],
)
def test_weights_that_are_none_are_refused_with_their_line(load, weights, says):
    with pytest.raises(ConfigError) as caught:
        load(f"{LEAST}[[variant]]\nname = 'x'\nweights = {weights}\n")
    line = LEAST.count("\n") + 3
    assert str(caught.value).startswith(f"e.toml, line {line}: {says}")


def test_what_is_read_is_told_with_its_line_too(load, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "x", "k": "de"}\n{"text": "y", "k": "fi"}\n' * 3)
    divided = "path = 'a.jsonl'\nsplit_by = 'k'\n"
    missing = load(LEAST.replace("path = 'a.txt'", divided + "parts = [{value = 'de'}, {value = 'sv'}]"))
    with pytest.raises(ConfigError) as caught:
        missing.corpus()
    assert str(caught.value) == 'e.toml, line 6: "sv" is not in "a.jsonl" any more, or its text has changed.'
    divided_too = f"{divided}join_values = true\n"
    joined = f"{divided_too}parts = [{{value = 'de', weight = 2}}]\n\n[[source]]\n{divided_too}"
    with pytest.raises(ConfigError) as caught:
        load(LEAST.replace("path = 'a.txt'", joined)).corpus()
    message = 'e.toml, line 12: "de" counts as one text, so all of its parts must have the same weight.'
    assert str(caught.value) == message
    named = load(LEAST.replace("path = 'a.txt'", divided + "name = 'all'"))
    with pytest.raises(ConfigError, match="line 6: name is for one source, and several are read here"):
        named.corpus()
    with pytest.raises(CorpusError, match=r"a\.txt: no such file"):
        load(LEAST).corpus()
    parity = load(LEAST.replace("[settings]", "[settings]\nalgorithm = 'parity'\nparallel = {a = 'n.txt'}"))
    with pytest.raises(CorpusError, match=r"n\.txt: no such file"):
        _ = parity.config


def test_every_setting_and_every_way_of_reading_is_a_key():
    """Also those that are added later: their names come from their schema."""
    examples = {
        "limit": 300, "number": 300, "decimal": 0.5, "share": 0.5, "text": "x", "texts": ["x"], "rules": ["x"],
        "texts by name": {"x": "a"}, "numbers by name": {"x": 1.5}, "switch": True,
    }  # fmt: skip
    for setting in SETTINGS.values():
        value = examples[setting.kind] if setting.kind != "choice" else next(iter(setting.choices))
        text = {list: str, dict: lambda pairs: f"{{x = {next(iter(pairs.values()))!r}}}", bool: lambda _: "true"}
        written = text.get(type(value), repr)(value)
        algorithm = "" if setting.name == "algorithm" else f"algorithm = '{setting.algorithms[0]}'\n"
        settings = f"[settings]\n{algorithm}{setting.name} = {written}\n"
        experiment = experiment_of(PATH, f"experiment = 1\n{settings}[[source]]\npath = 'a'\n".encode())
        assert experiment.trainings[0].settings[setting.name] == value
    for each in fields(Reading):
        value = {"bool": "true", "int": "3", "str": "';'"}[str(each.type).partition(" ")[0]]
        more = "split_by = 'x'\n" if each.name == "join_values" else ""
        experiment = experiment_of(
            PATH, f"experiment = 1\n[[source]]\npath = 'a'\n{more}{each.name} = {value}\n".encode()
        )
        assert getattr(experiment.sources[0].reading, each.name) != each.default


def test_an_experiment_is_recognised_by_its_content(tmp_path):
    for name, content, expected in [
        ("a.toml", LEAST, True),
        ("b.toml", "experiment = 7", True),
        ("c.toml", "[project]\nname = 'x'", False),
        ("d.toml", "experiment = ", False),
        ("e.txt", LEAST, False),
    ]:
        (tmp_path / name).write_text(content)
        assert is_experiment(tmp_path / name) is expected
    assert not is_experiment(tmp_path / "missing.toml")
