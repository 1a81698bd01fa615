"""The settings of a training, in one table: from it the window and the command line make what they show of them.

What is valid is said by `TrainingConfig`, its algorithms and `LibraryConfig`. Nothing here loads NumPy, so that the
help of the command line answers at once.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import field, fields
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast, get_args

from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.model.algorithms import ALGORITHMS, ALPHA, MAX_WORDS, THRESHOLD, WINDOW, Algorithm, TieBreak

Base = Literal["bytes", "characters"]
SpecialPlacement = Literal["last", "first"]
Documents = Literal["file", "line"]
LibraryAlgorithm = Literal["unigram", "wordpiece", "sentencepiece-bpe", "sentencepiece-unigram"]
LIBRARY_ALGORITHMS: tuple[LibraryAlgorithm, ...] = get_args(LibraryAlgorithm)

_T = TypeVar("_T")
LARGEST_NUMBER = 1 << 31  # numbers in files are below it
_NAMED = 5  # texts of a list that are named

# --- The choices ------------------------------------------------------------------------------------------------------

#: The name of a value, and one sentence that explains it.
Named = tuple[str, str]

_OF_LIBRARIES: Mapping[str, Named] = {
    "unigram": ("Unigram", "The likeliest pieces (Kudo, 2018). The tokenizers library trains."),
    "wordpiece": ("WordPiece", "As for BERT (Devlin et al., 2019). The tokenizers library trains."),
    "sentencepiece-bpe": ("SentencePiece BPE", "As for Llama 2 (Kudo and Richardson, 2018). SentencePiece trains."),
    "sentencepiece-unigram": ("SentencePiece Unigram", "As for T5 (Kudo, 2018). SentencePiece trains."),
}


class _OfAlgorithms(Mapping[str, _T]):
    """What is said of each algorithm: ours, as they are listed when it is asked, then those of other libraries."""

    def __init__(self, of_ours: Callable[[type[Algorithm]], _T], of_libraries: Callable[[Named], _T]) -> None:
        self._of_ours, self._of_libraries = of_ours, of_libraries

    def __getitem__(self, name: str) -> _T:
        if name in ALGORITHMS:
            return self._of_ours(ALGORITHMS[name])
        return self._of_libraries(_OF_LIBRARIES[name])

    def __iter__(self) -> Iterator[str]:
        return chain(ALGORITHMS, _OF_LIBRARIES)

    def __len__(self) -> int:
        return len(ALGORITHMS) + len(_OF_LIBRARIES)


#: The titles of all algorithms by name.
ALGORITHM_TITLES = _OfAlgorithms(lambda ours: ours.title, lambda named: named[0])
#: The patterns with a name.
PATTERNS: Mapping[str, Named] = MappingProxyType(
    {
        "none": ("none", "Merges may cross spaces and newlines."),
        "whitespace": ("whitespace", "Words with the space before them."),
        "gpt2": ("gpt2", "As GPT-2: words with the space before."),
        "cl100k": ("cl100k", "As GPT-4: digits in groups of three."),
        "cl100k_right": ("cl100k_right", "As cl100k, digits grouped from the right."),
        "llama3": ("llama3", "As Llama 3: cl100k except for newlines."),
        "qwen2": ("qwen2", "As Qwen: llama3, each digit alone."),
        "o200k": ("o200k", "As GPT-4o: also split before a capital."),
    }
)
#: The rules for ties to choose from; Picky BPE has one of its own.
TIE_RULES: Mapping[TieBreak, Named] = MappingProxyType(
    {
        "first": ("First", "With equal counts, the pair that occurs first."),
        "lowest-id": ("Lowest id", "With equal counts, the lower ids, as in rustbpe."),
        "huggingface": ("Hugging Face", "With equal counts, as in the tokenizers library."),
        "bytes": ("Bytes", "With equal counts, the pair that sorts last."),
        "mapped-strings": ("Mapped strings", "With equal counts, as in parity-aware BPE of tokenizers."),
    }
)
#: The rules for forbidden tokens that have a name.
RULES: Mapping[str, str] = MappingProxyType(
    {
        "mixed-scripts": "With letters of several scripts",
        "split-characters": "With a part of a character and more",
        "letters-with-digits": "With letters and digits",
    }
)

# --- What is known of each --------------------------------------------------------------------------------------------

Kind = Literal[
    "limit", "number", "decimal", "share", "choice", "switch", "text", "texts", "rules", "texts by name",
    "numbers by name",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SettingColumn:
    """The column of a setting in Train Several."""

    title: str  # its heading
    tip: str  # what it sets
    width: int  # in pixels
    each: str = ""  # what has a row each where all values of a choice are tried
    names: Mapping[Any, str] | None = None  # the values by name; None for those of the setting, or for a number


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting of a training."""

    name: str  # in configurations and in files
    title: str  # its name in Undo
    kind: Kind  # a "limit" is a whole number or None; a "switch" a bool with two choices; "rules" are of `Forbidden`
    default: Any = None  # in a configuration
    # The values of a choice, off and on of a switch, or the named rules.
    choices: Mapping[Any, Named] = field(default_factory=dict[Any, Named])
    # In the window: the number that is shown before a limit is set, the bounds of a number and what stands behind it,
    # and the height of a list.
    first: int = 0
    least: int = 0
    most: float = 0
    suffix: str = ""
    lines: int = 2
    label: str = ""  # beside its field, with & before the mnemonic; "" for the title
    help: str = ""  # below its field
    word: str = ""  # the word of the glossary that explains it
    # Where its field is in Configure; "own" for the fields of the chosen algorithm, "" for no field.
    place: Literal["top", "more", "own", ""] = ""
    # On the command line, with the form of its values and its help; where the help lists it.
    option: str
    metavar: str | None = None
    usage: str
    group: Literal["corpus", "limits", "algorithm", "tokens", "library"] = "algorithm"
    ours: bool = True  # whether our algorithms have it; a field of an algorithm's value only that one
    libraries: Sequence[str] = ()  # the algorithms of other libraries that have it
    why_not: str = "its library has no such setting"  # why these have not, as the end of a sentence
    # Whether it has an effect beside the other settings; its field is hidden where not, or grey.
    needs: Callable[[Any], bool] | None = None
    greys: bool = False
    # What a line with others says of it, if it is set; None for its name and its value, "" for nothing.
    told: Callable[[Any], str] | None = None
    column: SettingColumn | str = "All rows have that of Configure."  # in Train Several; or why there is none

    @property
    def words(self) -> str:
        """Its name in a sentence."""
        return self.title.lower()

    @property
    def argument(self) -> str:
        """Its name among the parsed arguments."""
        return self.option.removeprefix("--").replace("-", "_")

    @property
    def comment(self) -> str:
        """A sentence on it in a file, where other settings have their names."""
        if self.kind in ("choice", "switch"):
            values = ("false", "true") if self.kind == "switch" else self.choices
            named = ", ".join(
                f"{value} ({name})" for value, (name, _) in zip(values, self.choices.values(), strict=True)
            )
            return f"{self.title}: {named}."
        words = self.usage.partition("; ")[0]
        for other in SETTINGS.values():
            words = re.sub(rf"{other.option}(?![\w-])", other.name, words)
        return f"{self.title}: {words}."

    @cached_property
    def algorithms(self) -> tuple[str, ...]:
        """The names of the algorithms that have it, ours and those of other libraries."""
        only = [each.name for each in ALGORITHMS.values() if self.name in (own.name for own in fields(each))]
        return (*(only or (ALGORITHMS if self.ours else ())), *self.libraries)

    def accepts(self, value: object) -> bool:
        """Whether a value from a file is one of its kind."""
        match self.kind:
            case "limit" | "number":
                whole = type(value) is int and self.least <= value < LARGEST_NUMBER
                return whole or (value is None and (self.kind == "limit" or self.default is None))
            case "choice":
                return isinstance(value, str) and value in self.choices
            case "switch":
                return isinstance(value, bool)
            case "share":
                return _is_number(value) and 0 <= cast("float", value) <= self.most
            case "decimal":
                return _is_number(value)
            case "text":
                return isinstance(value, str) or (value is None and self.default is None)
            case "texts" | "rules":
                return (value is None and self.default is None) or _all(value, _is_text)
            case "texts by name":
                return _all(value, lambda pair: _is_pair(pair, _is_text))
            case "numbers by name":
                return _all(value, lambda pair: _is_pair(pair, _is_number))

    def in_line(self, settings: Any) -> str:  # noqa: ANN401
        """What a line with others says of it in settings; "" where it is not set."""
        value = getattr(settings, self.name)
        if value in (self.default, None):
            return ""
        text = self.text(value)
        return self.told(settings) if self.told else f"{self.words} {text[:1].lower()}{text[1:]}"

    def text(self, value: Any) -> str:  # noqa: ANN401  any value of a setting
        """A value in words; of a list the first texts."""
        match self.kind:
            case "choice" | "switch":
                return self.choices[value][0] if value in self.choices else str(value)
            case "share":
                return f"{100 * value:.10g}\u00a0%"
            case "limit" | "number":
                return f"{value:,}{self.suffix}"
            case "texts" | "rules":
                return ", ".join(value[:_NAMED]) + (" …" if len(value) > _NAMED else "")
            case _:
                return str(value)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST_NUMBER


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _all(value: object, accepts: Callable[[object], bool]) -> bool:
    return isinstance(value, (list, tuple)) and all(map(accepts, cast("Sequence[object]", value)))


def _is_pair(value: object, accepts: Callable[[object], bool]) -> bool:
    pair = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
    return len(pair) == 2 and isinstance(pair[0], str) and accepts(pair[1])


# --- The table --------------------------------------------------------------------------------------------------------

_OPTIONS = [f"{each.name}{each.option}" for each in ALGORITHMS.values()]
_SENTENCEPIECE = LIBRARY_ALGORITHMS[2:]
_OF_TEXT = "its library begins with the characters of the text"


def _base(settings: Any) -> str:  # noqa: ANN401
    listed = settings.base_vocabulary
    return "characters" if listed is None else f"characters from a list of {len(listed):,}"


def _specials(settings: Any) -> str:  # noqa: ANN401
    are_first = settings.special_placement == "first" and not settings.by_library
    return several(len(settings.special_tokens), "special token") + " first" * are_first


def _ties(settings: Any) -> str:  # noqa: ANN401
    usual, rule = ALGORITHMS[settings.algorithm].usual_ties, settings.tie_break
    return "" if rule == usual else _TIES[rule]


_TIES = {
    "first": "ties by first place",
    "lowest-id": "ties by lowest id",
    "huggingface": "ties as Hugging Face",
    "bytes": "ties by bytes",
    "mapped-strings": "ties by mapped strings",
}

# fmt: off
_TABLE = (
    Setting(
        name="algorithm", title="Algorithm", kind="choice", default="bpe",
        choices=_OfAlgorithms(lambda ours: (ours.label, ours.purpose), lambda named: named),
        label="Al&gorithm", word="algorithm", place="top", option="--algorithm",
        usage=f"{'; '.join(_OPTIONS[:-1])}; or {_OPTIONS[-1]}", libraries=LIBRARY_ALGORITHMS,
        column=SettingColumn(title="Algorithm", tip="How the tokens are learned", width=170, each="Algorithm",
                             names=ALGORITHM_TITLES),
    ),
    Setting(
        name="pattern", title="Pattern", kind="text", default="none", choices=PATTERNS, label="Pre-tokens (patter&n)",
        word="pattern", place="top", option="--pattern", metavar="NAME|REGEX",
        usage=f"how text is split into pre-tokens: {', '.join(PATTERNS)}, or a regular expression of your own "
        "(default: none, which lets merges cross spaces)",
        group="limits", why_not="its library splits text by its own rules",
        column=SettingColumn(title="Pattern", tip="How text is split into pre-tokens", width=100, each="Pattern"),
    ),
    Setting(
        name="vocabulary_size", title="Vocabulary Size", kind="limit", first=1000,
        help="Base tokens, merges and special tokens.", word="vocabulary-size", place="top", option="--vocab-size",
        metavar="N", usage="stop when there are N tokens, base and special tokens included", group="limits",
        libraries=LIBRARY_ALGORITHMS,
        column=SettingColumn(title="Vocabulary size", tip="The limit of tokens; 0 for none", width=125),
    ),
    Setting(
        name="min_frequency", title="Minimum Frequency", kind="limit", first=2, label="Min. frequency",
        help="Stop when no pair occurs this often.", word="minimum-frequency", place="top", option="--min-frequency",
        metavar="N", usage="stop when no pair occurs N times", group="limits", libraries=("wordpiece",),
        column=SettingColumn(title="Min. frequency", tip="The limit of a pair's count; 0 for none", width=120),
    ),
    Setting(
        name="base", title="Base Units", kind="choice", default="bytes",
        choices={
            "bytes": ("Bytes", "The 256 bytes: every text can be encoded."),
            "characters": ("Characters", "Whole characters, from the corpus or a list."),
        },
        label="&Base units", word="base-units", place="more", option="--base",
        usage="the units that merging begins with", group="tokens", why_not=_OF_TEXT, told=_base,
        column=SettingColumn(title="Base", tip="The tokens that merging starts with", width=92, each="Base"),
    ),
    Setting(
        name="base_vocabulary", title="Base Tokens", kind="texts", lines=5,
        help=r"One per line: a character or a longer special token. Escapes: \n, \t and \\.", word="base-tokens",
        place="more", option="--base-vocabulary", metavar="FILE",
        usage="with --base characters: the base tokens in the order of their ids; as a JSON list or one per line, "
        r"where \n, \r, \t and \\ are a line feed, a carriage return, a tab and a backslash; an entry of several "
        "characters is a special token",
        group="tokens", why_not=_OF_TEXT, needs=lambda settings: settings.base == "characters",
        told=lambda settings: "",
    ),
    Setting(
        name="unknown_token", title="Unknown Token", kind="text", label="&Unknown token",
        help="A missing character is an error.", word="unknown-token", place="more",
        option="--unknown-token", metavar="TOKEN",
        usage="with --base characters: the special token for other characters", group="tokens",
        needs=lambda settings: settings.base == "characters",
    ),
    Setting(
        name="special_tokens", title="Special Tokens", kind="texts", default=(), label="&Special tokens",
        help=r"One per line, such as <|endoftext|>. Never merged. Escapes: \n, \t and \\.", word="special-token",
        place="more", option="--special", metavar="TOKEN",
        usage="a text that gets its own id and is never merged; may be repeated; write a value that begins with a dash "
        "as --special=-x-",
        group="tokens", libraries=LIBRARY_ALGORITHMS, told=_specials,
    ),
    Setting(
        name="special_placement", title="Place of Special Tokens", kind="choice", default="last",
        choices={
            "last": ("Last", "Their ids come after those of the merges."),
            "first": ("First", "Their ids come first, and all others move up."),
        },
        label="Their ids", word="ids-of-special-tokens", place="more", option="--special-placement",
        usage="give special tokens the last ids or the first", group="tokens",
        why_not="its library gives them the first ids", needs=lambda settings: bool(settings.special_tokens),
        greys=True, told=lambda settings: "",
    ),
    Setting(
        name="tie_break", title="Tie Rule", kind="choice", choices=TIE_RULES, label="T&ie rule", word="tie-rule",
        place="more", option="--tie-break",
        usage="which of the most frequent pairs is merged first (default: first; for parity: mapped-strings); "
        "picky has its own, the smallest bytes",
        group="limits", why_not="its library has its own rule",
        needs=lambda settings: len(ALGORITHMS[settings.algorithm].ties) > 1, told=_ties,
        column=SettingColumn(
            title="Tie rule", tip="Which pair comes first when counts are equal", width=114, each="Tie Rule",
        ),
    ),
    Setting(
        name="max_token_bytes", title="Longest Token", kind="limit", first=16, suffix=" bytes",
        help="No token is longer than this.", word="longest-token", place="more", option="--max-token-bytes",
        metavar="N", usage="make no token longer than N bytes", group="limits",
        told=lambda settings: f"tokens of at most {settings.max_token_bytes:,} bytes",
    ),
    Setting(
        name="forbidden", title="Forbidden Tokens", kind="rules", default=(),
        choices={rule: (words, "") for rule, words in RULES.items()},
        label="Fo&rbidden tokens",
        help=r"One rule per line: an expression such as \d\d\d\d, or token: and the token itself.",
        word="forbidden-token", place="more", option="--forbid", metavar="RULE",
        usage=f"make no token of this kind: {', '.join(RULES)}, token:TEXT for this one, bytes:HEX for these bytes, or "
        "a regular expression that matches anywhere in it; may be repeated",
        group="limits",
        told=lambda settings: several(
            len(settings.forbidden), "rule for forbidden tokens", "rules for forbidden tokens"
        ),
    ),
    Setting(
        name="documents", title="Documents", kind="choice", default="file",
        choices={
            "file": ("By file", "A file is a document: merges may cross lines."),
            "line": ("By line", "A line is a document: no merge crosses its end."),
        },
        label="Docu&ments", word="document", place="more", option="--documents",
        usage="what counts as a document (default: file); merges never cross document borders", group="corpus",
    ),
    Setting(
        name="held_out", title="Held-Out Share", kind="share", default=0.0, most=0.99999, label="Hel&d out",
        help="Share that is measured, not trained on.", word="held-out-text", place="more", option="--held-out",
        metavar="SHARE",
        usage="hold this share of the text, such as 0.1, out of training and report how well it is compressed",
        group="corpus", libraries=LIBRARY_ALGORITHMS,
        told=lambda settings: f"{100 * settings.held_out:.10g}\u00a0% held out",
    ),
    Setting(
        name="parallel", title="Parallel Texts", kind="texts by name", default=(),
        help="The same lines in each language: the longest in tokens chooses.", word="parallel-text", place="own",
        option="--parallel", metavar="NAME=FILE",
        usage="for parity: the same text in each language, which is measured; NAME is that of a text, such as de or "
        "de.txt; repeated for each. A text without one, such as code, is counted but never chooses. Without any, the "
        "language with the fewest bytes per token chooses",
    ),
    Setting(
        name="ratios", title="Ratios", kind="numbers by name", default=(),
        help="Bytes per token are divided by these.", word="ratio", place="own", option="--ratios", metavar="NAME=R",
        usage="for parity without --parallel: divide the bytes per token of a language by R, so that it chooses more "
        "often if R is above 1; may be repeated",
        needs=lambda settings: not settings.parallel,
    ),
    Setting(
        name="global_merges", title="Global Merges", kind="limit", default=0, first=500, least=1,
        help="All languages choose the first merges together.", word="global-merges", place="own",
        option="--global-merges", metavar="J", usage="for parity: all languages choose the first J merges together",
    ),
    Setting(
        name="window", title="Window", kind="limit", first=WINDOW, suffix=" choices",
        help="Who made too many of the last choices is passed over.", word="window", place="own", option="--window",
        metavar="W", usage="for parity: pass over a language that made too many of the last W choices, such as 100",
    ),
    Setting(
        name="alpha", title="Alpha", kind="decimal", default=ALPHA, most=1000, label="&Alpha",
        help="Up to so many times a fair part of them is allowed.", word="window", place="own", option="--alpha",
        metavar="A", usage="with --window: more than A / languages are too many",
        needs=lambda settings: settings.window is not None,
    ),
    Setting(
        name="transition", title="Transition", kind="number", label="Tr&ansition",
        help="From this vocabulary size on, merges join words.", word="transition", place="own", option="--transition",
        metavar="N", usage="for superbpe: the first stage ends at N tokens, base and special tokens included",
    ),
    Setting(
        name="second_pattern", title="Second Pattern", kind="text", default="", option="--second-pattern",
        metavar="NAME|REGEX",
        usage="for superbpe: how the second stage and the tokenizer split text, a name or a regular expression; what "
        "lies between two matches stays together (default: that of the paper, which splits at numbers, several marks, "
        "and spaces before a space)",
    ),
    Setting(
        name="max_words", title="Most Words", kind="number", default=MAX_WORDS, label="Most &words",
        help="No token across words has more of them.", word="transition", place="own", option="--max-words",
        metavar="N",
        usage="for superbpe: the second stage makes no token of more than N words between spaces (default: 4), nor one "
        "with a colon before a space",
    ),
    Setting(
        name="threshold", title="Threshold", kind="decimal", default=THRESHOLD, most=1, label="Threshold",
        help="A part is removed if more than this share of it was merged; at 1 none is.", word="threshold",
        place="own", option="--threshold", metavar="T",
        usage="for picky: remove a part of a merge where more than this share of its occurrences was merged, from 0 "
        "to 1 (default: 0.9)",
    ),
    Setting(
        name="continuing_prefix", title="Continuing Prefix", kind="text", option="--continuing-prefix", metavar="TEXT",
        usage="for wordpiece: what tokens inside a word begin with (default: ##)", group="library", ours=False,
        libraries=("wordpiece",),
    ),
    Setting(
        name="character_coverage", title="Characters Covered", kind="share", most=1, label="Ch&aracters covered",
        help="Share of the characters that get a token; rarer ones get none.", word="character-coverage", place="own",
        option="--character-coverage", metavar="SHARE",
        usage="for sentencepiece: the share of characters that get a token, from 0.98 to 1 (default: 0.9995)",
        group="library", ours=False, libraries=_SENTENCEPIECE,
    ),
    Setting(
        name="byte_fallback", title="Rare Characters", kind="switch", default=False,
        choices={
            "unknown": ("Unknown token", "Characters without a token become the unknown token."),
            "bytes": ("Bytes", "Characters without a token become tokens of their bytes."),
        },
        label="Rare characters", word="byte-fallback", place="own", option="--byte-fallback",
        usage="for sentencepiece: write characters without a token as bytes, which take 256 tokens", group="library",
        ours=False, libraries=_SENTENCEPIECE,
    ),
)
# fmt: on
#: All settings by name, in the order in which they are shown.
SETTINGS: Mapping[str, Setting] = MappingProxyType({setting.name: setting for setting in _TABLE})


def described(config: Any, without: Container[str]) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """The name and the value of each setting of a configuration that is set, in words, but of some."""
    for setting in SETTINGS.values():
        value = getattr(config, setting.name, setting.default)
        if setting.name not in without and value not in (setting.default, None, ()):
            yield setting.title.capitalize(), setting.text(value)
