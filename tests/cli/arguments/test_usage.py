"""The arguments of each command: wrong usage, misspelt words, the help, and the lists that are copies of the core's."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from importlib import import_module

import pytest

from tokstudio import cli
from tokstudio.cli.arguments import comparing, parser, surgery, training
from tokstudio.cli.arguments.parse import _COMMANDS, parse
from tokstudio.cli.reading import texts_of
from tokstudio.core.comparison.figures import FIGURES
from tokstudio.core.comparison.mixture import MOST_TRAININGS
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.library_training import config
from tokstudio.core.model.algorithms import TIE_BREAKS
from tokstudio.core.model.config import BASES, NAMED_RULES, PLACEMENTS
from tokstudio.core.model.file_settings import ROLES
from tokstudio.core.pretokenization.patterns import NAMES


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--screenshot a.png", "--screenshot needs --demo"),
        ("--demo book.txt", "--demo opens its own text: give no files with it"),
        ("--nonsense", "unrecognized arguments: --nonsense"),
        ("train --min-frequency 2", "the following arguments are required: FILE or --counts\n"),
        ("train a --vocab-size many", '"many" is not a whole number'),
        ("train a --tie-break coin", "invalid choice: 'coin'"),
        ("train a --export tokenizer.json", "is not FORMAT=PATH"),
        ("train a --export classic=", "is not FORMAT=PATH"),
        ("train - - --vocab-size 300", "standard input can be read only once"),
        ("train a --sample-bytes 0", "--sample-bytes must be at least 1"),
        ("train a --sample-bytes 9 --counts b", "a sample of word counts would not keep their proportions"),
        ("train a --weight de.txt", '"de.txt" is not NAME=W, such as de.txt=3'),
        ("train a --weight de.txt=two", '"de.txt=two" is not NAME=W, such as de.txt=3'),
        ("train a --weight de.txt=0,5", '"0,5" has a comma: write 0.5'),
        ("train a --parallel de", "is not NAME=FILE"),
        ("train a --ratios de=x", "is not NAME=R"),
        ("train a --project mine.json", 'argument --project: "mine.json" must end in .tokstudio'),
        ("train a --algorithm unigram --project a.tokstudio", "its library's own file holds the tokenizer"),
        ("train a --algorithm unigram", "--algorithm unigram needs --vocab-size"),
        ("train a --algorithm unigram --pattern gpt2", "--pattern is not for --algorithm unigram: its library splits"),
        ("train a --algorithm unigram --window 9", "its library has no such setting"),
        ("train a --algorithm unigram --counts x.txt", "give texts"),
        ("train a --algorithm unigram --print-merges", "does not tell"),
        ("train a --algorithm wordpiece --tie-break bytes", "its library has its own rule"),
        ("train a --algorithm bpe --byte-fallback", "--byte-fallback is only for --algorithm sentencepiece-bpe"),
        ("mixture a --vocab-size 300 --parallel b", "give a goal: --worst-premium"),
        ("mixture a --worst-premium 1.3 --parallel b", "required: --vocab-size"),
        ("mixture a --worst-premium 1,3 --parallel b --vocab-size 300", '"1,3" has a comma: write 1.3'),
        ("mixture a --base-loss 3 --parallel b --vocab-size 300 --trainings 0", "--trainings must be at least 1"),
        ("encode a --text 1 --tokenizer t", "give either --text or a file"),
        ("encode --text 1", "required: --tokenizer"),
        ("encode --tokenizer t --text a --field text", "--field is for a file"),
        ("encode --tokenizer t a.txt --field text --as-text", "give either --field or --as-text"),
        ("encode --tokenizer t .", "a data set needs --out DIR, the folder for the shards"),
        ("encode --tokenizer t a.txt --sample-bytes 9", "--sample-bytes needs --out DIR, the folder for the shards"),
        ("compare bytes", "required: --texts"),
        ("compare bytes --texts a.txt --figure speed", "invalid choice: 'speed'"),
        ("compare bytes --texts a.txt --json --markdown", "not allowed with argument --json"),
        ("compare bytes --texts - -", "standard input can be read only once"),
        ("compare bytes --texts a b --parallel", "--parallel reads one folder or one table"),
        ("compare bytes --texts a --parallel --split-by language", "--split-by is not for --parallel"),
        ("compare bytes --texts a --parallel --documents file", "--documents is not for --parallel"),
        ("compare bytes --texts a --parallel --encoding latin-1", "--encoding is not for --parallel"),
        ("report bytes --texts a", "required: --out"),
        ("report --texts a --out b", "required: TOKENIZER"),
        ("check a --corpus b --tie-break last", "invalid choice: 'last'"),
        ("check a", "required: --corpus"),
        ("extend old --vocab-size 330", "required: FILE"),
        ("prune old", "say what to remove"),
        ("prune old --vocab-size 300 --map m.txt", "must end in .json or .npz"),
        ("join old", "required: OTHER"),
        ("renumber old", "required: --by"),
        ("specials old", "--rename, --add or --role"),
        ("specials old --role king=<|r0|>", "is not ROLE=TOKEN"),
        ("specials old --rename <|r0|>", "is not TOKEN=NAME"),
    ],
)
def test_wrong_usage_is_told(run, words, message):
    said = run(2, words)
    command = words.split()[0]
    assert said.err.startswith("usage: tokstudio" + (f" {command}" if command[0] != "-" else ""))
    assert message in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    "words",
    [
        "train a.txt --held-out",
        "train a.txt --algorithm picky --threshold",
        "train a.txt --algorithm parity --window 100 --alpha",
        "train a.txt --algorithm sentencepiece-bpe --character-coverage",
        "encode --tokenizer a.json --text a --dropout",
    ],
)
def test_a_decimal_comma_is_told_how_it_is_written(run, words):
    for typed, told in (("0,5", '"0,5" has a comma: write 0.5'), ("half", '"half" is not a number, such as 0.1')):
        assert run(2, words, typed).err.endswith(f"argument {words.split()[-1]}: {told}\n")


@pytest.mark.parametrize("command", _COMMANDS)
def test_every_command_has_help_and_says_what_is_missing(run, command):
    assert run(0, command, "--help").out.startswith(f"usage: tokstudio {command} ")
    run(2, command, says=f"tokstudio {command}: error: ")


def test_every_command_is_done_by_a_function():
    assert cli._COMMANDS.keys() == _COMMANDS.keys()
    for module, function in (*cli._COMMANDS.values(), cli._BY_LIBRARY):
        assert callable(getattr(import_module(f"tokstudio.cli.{module}"), function))


@pytest.mark.parametrize("word", ["inspec", "unknown-command", "nothing.txt"])
@pytest.mark.parametrize("help", ["--help", "-h"])
def test_help_for_a_command_that_does_not_exist_is_wrong_usage(run, word, help):
    printed = run(2, word, help)
    assert printed.out == ""
    assert printed.err.startswith(
        f"tokstudio: error: {word} is neither a command (train, run, mixture, how-much-text, infer-mixture, count"
    )
    assert printed.err.endswith("; did you mean inspect?\n") == (word == "inspec")


@pytest.mark.parametrize(
    ("words", "wrong", "right"),
    [
        ("train a.txt --vocabsize 300", "--vocabsize", "--vocab-size"),
        ("train a.txt --vocab 300", "--vocab", "--vocab-size"),
        ("train a.txt -vocab-size=300", "-vocab-size", "--vocab-size"),
        ("encode --tokeniser mine --text a", "--tokeniser", "--tokenizer"),
        ("extend mine a.txt --exprot classic=a", "--exprot", "--export"),
        ("compare bytes --text a.txt", "--text", "--texts"),
        ("--new-windows", "--new-windows", "--new-window"),
        ("train a.txt --held 0.1", "--held", "--held-out"),
        ("train a.txt --min 2", "--min", "--min-document-chars or --min-frequency"),
    ],
)
def test_of_a_misspelt_option_the_nearest_is_named(run, words, wrong, right):
    program = f"tokstudio {words.split()[0]}" if words[0] != "-" else "tokstudio"
    assert run(2, words).err == (
        f"{program}: error: there is no option {wrong}: did you mean {right}? {program} --help lists all.\n"
    )


def test_values_that_begin_like_an_option_are_values(text, run):
    """After `--`, after a sign of equality, and with a space, as argparse has it."""
    run(0, "train --vocab-size 300 --special=--vocab --special", ["--a b"], "--", text)
    assert "there is no option" not in run(1, f"train {text} --vocab-size -10").err


def test_the_options_make_a_reading():
    options = ["--field", "a.b", "--split-by", "lang", "--delimiter", r"\t", "--min-document-chars", "2"]
    options += ["--max-document-chars", "9", "--max-bytes", "99", "--deduplicate", "--keep-truncated", "--join-values"]
    chosen = Reading("a.b", "lang", "\t", 2, 9, 99, True, False, True, True)
    for words, reading in ((options, chosen), ([], Reading()), (["--as-text"], Reading(as_text=True))):
        assert texts_of(parse(["train", "x", *words]), ["x"]).reading == reading


def test_the_lists_are_those_of_the_core():
    assert training.LIBRARY_ALGORITHMS == config.LIBRARY_ALGORITHMS
    assert tuple(FIGURES) == comparing.FIGURES
    assert training.MOST_TRAININGS == MOST_TRAININGS
    assert [f"{role}_token" for role in surgery.ROLES] == [*ROLES]
    assert {name for name, known in FORMATS.items() if known.writable} <= set(parser.EXPORTS)


def test_the_help_lists_the_values_of_the_core(run):
    shown = run(0, "train --help").out
    for choices in (TIE_BREAKS, BASES, PLACEMENTS):
        assert f"{{{','.join(choices)}}}" in shown
    assert ", ".join(NAMES) in " ".join(shown.split())
    # Lines are broken behind hyphens as well.
    assert f"kind:{','.join(NAMED_RULES)},token" in "".join(shown.split())
    writable = {name for name, kind in FORMATS.items() if kind.writable}
    assert all(name in "".join(shown.split()) for name in writable)
    said = run(2, "train text --export papyrus=scroll").err.split('format "papyrus" is unknown; choose one of: ')[1]
    assert writable <= set(said.strip().split(", "))
    assert r"\t for a tab" in " ".join(shown.split())
    assert "\t" not in shown
