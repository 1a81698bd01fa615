"""The runs of the session as a table. It only passes on new names."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QFont

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import in_units, size_text, whole_text
from tokstudio.core.comparison.alignment import TextTokens
from tokstudio.core.comparison.table import LOST, SIGNS, TRAINED
from tokstudio.core.guide.glossary import explained
from tokstudio.core.model.settings import TIE_RULES, described
from tokstudio.gui.session.measuring.measurers import TextMeasurer
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.figures import Index, TableModel
from tokstudio.gui.widgets.labels import plain
from tokstudio.version import __version__

LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_CENTER = int(Qt.AlignmentFlag.AlignCenter)
_NOTHING = "–"
_COMING = "…"
_NAMED = 5  # special tokens

#: Role: whether the run of a row is active.
ACTIVE = Qt.ItemDataRole.UserRole + 1
#: Role: the number of its curve's colour; None without a curve.
HUE = Qt.ItemDataRole.UserRole + 2

# Their places in `COLUMNS`.
MARK, NAME, CORPUS, ALGORITHM, BYTES, VOCABULARY, FREQUENCY, PATTERN = range(8)
BASE, TIES, SPECIALS, MERGES, RATIO, HELD_OUT, ENDED, SECONDS = range(8, 16)


@dataclass(frozen=True)
class _Column:
    """A column."""

    title: str  # its heading
    tip: str  # its tool tip
    text: Callable[[StudioRun], str]  # returns the text of a run
    widest: str = ""  # the widest text besides the heading; "" if the width is computed otherwise
    yields: int = 0  # columns with the highest number are hidden first if there is no room
    alignment: int = _RIGHT  # of the text; numbers are aligned right
    muted: bool = True  # whether it is drawn in the muted colour, as settings are
    word: str = ""  # the word of the glossary that the title is


_NOT_TOLD = (MARK, NAME, ALGORITHM)  # in a tool tip, which has the name above, and the algorithm with its settings


class RunsModel(TableModel):
    """One row per run, in the order of their making."""

    renamed = Signal(object, object)  # the user renamed a run: StudioRun, str

    untitled = "Active"

    def __init__(self, theme: Theme, on_text: TextMeasurer, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.titles = [column.title for column in COLUMNS]
        self.tips = [explained(column.tip, column.word) for column in COLUMNS]
        self._theme, self._on_text = theme, on_text
        self._runs: list[StudioRun] = []
        self._active: StudioRun | None = None
        self._state = ""

    def set_runs(self, runs: Sequence[StudioRun], active: StudioRun | None, state: str) -> None:
        """Shows the runs, "training" or "paused" for one that has not ended; kept rows stay selected and in place."""
        self._active, self._state = active, state
        for row in reversed(range(len(self._runs))):
            if self._runs[row] not in runs:
                self.beginRemoveRows(QModelIndex(), row, row)
                del self._runs[row]
                self.endRemoveRows()
        size_before = len(self._runs)
        if list(runs[:size_before]) != self._runs:
            with self.reset():
                self._runs = list(runs)
        elif len(runs) > size_before:
            self.beginInsertRows(QModelIndex(), size_before, len(runs) - 1)
            self._runs += runs[size_before:]
            self.endInsertRows()
        self.tell()

    def refresh(self, run: StudioRun) -> None:
        """Updates the progress of a run."""
        row = self.row_of(run)
        if row >= 0:
            self.dataChanged.emit(self.index(row, MERGES), self.index(row, SECONDS))

    def refresh_measured(self) -> None:
        """Updates the text that is measured on, and what is known of it."""
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, RATIO, RATIO)
        if self._runs:
            self.dataChanged.emit(self.index(0, RATIO), self.index(len(self._runs) - 1, RATIO))

    def run(self, row: int) -> StudioRun | None:
        """Returns the run of a row."""
        return self._runs[row] if 0 <= row < len(self._runs) else None

    def row_of(self, run: StudioRun | None) -> int:
        """Returns the row of a run, or -1."""
        return next((row for row, one in enumerate(self._runs) if one is run), -1)

    def count(self) -> int:
        return len(self._runs)

    def alignment(self, column: int) -> int:
        return COLUMNS[column].alignment

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() == NAME else flags

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if section == RATIO and role == Qt.ItemDataRole.ToolTipRole:
            return plain(explained(self._measured_on(), COLUMNS[RATIO].word))
        return super().headerData(section, orientation, role)

    def text(self, row: int, column: int) -> str:
        return self._text(self._runs[row], column)

    def colour(self, row: int, column: int) -> str | None:
        run = self._runs[row]
        if column == ENDED and run.ended == "failed":
            return self._theme.palette.error
        muted = COLUMNS[column].muted or self._text(run, column) in (_NOTHING, _COMING)
        return self._theme.palette.muted if muted else None

    def font(self, row: int, column: int) -> QFont | None:
        if column != NAME and COLUMNS[column].alignment != _RIGHT:
            return None
        font = self._theme.tabular_font()
        font.setBold(column == NAME and self._runs[row] is self._active)
        return font

    def tip(self, row: int, column: int) -> str:
        """Returns all data of a run, as a narrow table shows only a part."""
        run = self._runs[row]
        if column == MARK:
            return "This run is shown everywhere." if run is self._active else "Click to show this run everywhere."
        rows = ((title, self._text(run, at)) for at, title in enumerate(self.titles) if at not in _NOT_TOLD)
        lines = (f"{title}: {text}" for title, text in rows if text not in (_NOTHING, _COMING))
        return "\n".join([run.name, *lines, *self._measured_lines(run), *settings_lines(run), *_origin_lines(run)])

    def more(self, row: int, column: int, role: int) -> object:
        run = self._runs[row]
        if role == HUE:
            return run.hue if run.has_curve and (run is self._active or not run.marks.curve_hidden) else None
        if role == ACTIVE:
            return run is self._active
        if role == Qt.ItemDataRole.AccessibleTextRole and column == MARK:
            return "active" if run is self._active else "not active"
        return self._text(run, column) if role == Qt.ItemDataRole.EditRole else None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        run = self.run(index.row()) if index.isValid() else None
        if run is None or index.column() != NAME or role != Qt.ItemDataRole.EditRole or not str(value).strip():
            return False
        self.renamed.emit(run, str(value))
        return True

    def _text(self, run: StudioRun, number: int) -> str:
        if number == ENDED and run.ended is None:
            return self._state
        if number != RATIO:
            return COLUMNS[number].text(run)
        measured = self._on_text.found(run)
        if not isinstance(measured, TextTokens):
            return _COMING if measured is None else _NOTHING
        return f"{self.signs(run)}{measured.bytes_per_token:,.3f}"

    def signs(self, run: StudioRun) -> str:
        """The signs before the number of a run, keys of `SIGNS`, as in Compare."""
        measured = self._on_text.found(run)
        if not isinstance(measured, TextTokens):
            return ""
        return (LOST if measured.loses_text else "") + (TRAINED if measured.trained else "")

    def about(self) -> tuple[str, ...]:
        """What copied rows are of."""
        return f"{self._measured_on()}.", f"TokStudio {__version__}"

    def _measured_on(self) -> str:
        text = self._on_text.text
        on = f", measured on {text.title} for every row" if text is not None else ""
        return (
            f"{COLUMNS[RATIO].tip}{on}; {TRAINED} marks runs that were trained on it, {LOST} those that lose some of it"
        )

    def _measured_lines(self, run: StudioRun) -> list[str]:
        text, measured = self._on_text.text, self._on_text.found(run)
        lines = [f"Measured on: {text.title}"] if text is not None else []
        if measured is None:
            return [*lines, "It is being measured."]
        if isinstance(measured, str):
            return [*lines, f"Not measured: {measured}"]
        lines += [f"{sign} {SIGNS[sign]}" for sign in self.signs(run)]
        if measured.trained:
            if run.config is not None and run.config.held_out:
                lines.append("With what was held out; the status bar has the number without it.")
        elif run.has_counts:
            lines.append(f"It was trained on another text: {_corpus_name(run)}")
        return lines


# Those with a column, and the list of base tokens, which may be as long as a vocabulary.
_OF_COLUMNS = {
    *("algorithm", "vocabulary_size", "min_frequency", "pattern", "base", "tie_break", "special_tokens"),
    "base_vocabulary",
}


def settings_lines(run: StudioRun) -> list[str]:
    """Other settings and events of a run, one per line; defaults are omitted."""
    config = run.config
    if config is None:
        return []
    algorithm = "" if config.algorithm.is_plain else config.algorithm.described()
    values = (
        ("Bytes of the corpus", whole_text(run.corpus_bytes, run.weight_scale)),
        ("Algorithm", algorithm),
        *described(config, without=_OF_COLUMNS),
        ("Unknown characters", whole_text(run.uses.unknown, run.weight_scale) if run.uses.unknown else ""),
        ("Not UTF-8, became U+FFFD", f"{run.replaced:,}" if run.replaced else ""),
    )
    return [f"{name}: {value}" for name, value in values if value]


def _origin_lines(run: StudioRun) -> list[str]:
    """The origin of an opened tokenizer, and the library that encodes for it."""
    if run.origin is None:
        return []
    files = (f"File: {file}" for file in run.origin.files)
    model = f"Model: {run.tokenizer.model}"
    return [*files, model, f"Encoded by: {run.tokenizer.library or 'TokStudio'}", *run.tokenizer.remarks]


def _corpus_name(run: StudioRun) -> str:
    if run.origin is not None:
        return " + ".join(map(file_name, run.origin.files)) or _NOTHING
    names = [source.name for source in run.corpus.sources] if run.corpus is not None else []
    return f"{names[0]} + {len(names) - 1:,}" if len(names) > 1 else next(iter(names), _NOTHING)


def _algorithm_name(run: StudioRun) -> str:
    if run.config is not None:
        return run.config.algorithm.title
    return f"{'SentencePiece ' if run.tokenizer.library == 'sentencepiece' else ''}{run.tokenizer.model}"


def _vocabulary(run: StudioRun) -> str:
    if run.config is None:
        return _number(run.vocabulary_size)
    limit = run.config.vocabulary_size
    reached = run.vocabulary_size if run.ended is not None and run.ready else limit
    return _number(reached) if reached == limit or limit is None else f"{reached:,} of {limit:,}"


def _merges(run: StudioRun) -> str:
    """A dash for a model that has none, such as Unigram."""
    return _NOTHING if run.config is None and run.why_no_merges else _number(len(run))


def _specials(run: StudioRun) -> str:
    specials = run.config.all_specials if run.config is not None else tuple(run.special_tokens)
    return ", ".join(specials[:_NAMED]) + (" …" if len(specials) > _NAMED else "") or _NOTHING


def _base(run: StudioRun) -> str:
    return (run.config.base if run.config is not None else run.tokenizer.alphabet.base).capitalize()


def _ties(run: StudioRun) -> str:
    rule = None if run.config is None else TIE_RULES.get(run.config.tie_break)
    return "Smallest bytes" if run.config is not None and rule is None else rule[0] if rule else _NOTHING


def _ended(run: StudioRun) -> str:
    if run.was_changed:
        return run.origin.change if run.origin is not None else ""
    return f"opened, {run.origin.format}" if run.origin is not None else run.ended or ""


def _number(value: int | None) -> str:
    return _NOTHING if value is None else f"{value:,}"


def _seconds(run: StudioRun) -> str:
    if run.run is None:
        return _NOTHING
    seconds = run.run.seconds
    return f"{seconds:.3f}" if seconds < 10 else f"{seconds:,.1f}"


COLUMNS: tuple[_Column, ...] = (
    _Column("", "The run that all panes show", lambda run: "", alignment=_CENTER, muted=False),
    _Column("Tokenizer", "Its name; F2 changes it", lambda run: run.name, alignment=LEFT, muted=False, word="run"),
    _Column(
        "Corpus",
        "What it was trained on, or the file it was opened from; – where another library trained it here",
        _corpus_name,
        "How Tokenize",
        4,
        LEFT,
        word="corpus",
    ),
    _Column("Algorithm", "How its tokens were chosen", _algorithm_name, "Parity-aware BPE", 5, LEFT, word="algorithm"),
    _Column(
        "Size",
        "Size of the training text",
        lambda run: size_text(round(in_units(run.corpus_bytes, run.weight_scale))) if run.config else _NOTHING,
        "999.9 MB",
        10,
    ),
    _Column(
        "Vocabulary",
        "Number of tokens, and the limit that was set if it was not reached",
        _vocabulary,
        "100,000",
        2,
        word="vocabulary",
    ),
    _Column(
        "Min. freq.",
        "The minimum frequency that was set",
        lambda run: _number(run.config.min_frequency if run.config else None),
        "1,000",
        9,
        word="minimum-frequency",
    ),
    _Column(
        "Pattern", "How text was split into pre-tokens", lambda run: run.pattern, "whitespace", 6, LEFT, word="pattern"
    ),
    _Column("Base", "The tokens that merging started with", _base, "Characters", 11, LEFT, word="base-units"),
    _Column("Tie rule", "Which pair came first at equal counts", _ties, "Hugging Face", 12, LEFT, word="tie-rule"),
    _Column("Special tokens", "Texts with their own id", _specials, "<|endoftext|>", 13, LEFT, word="special-token"),
    _Column("Merges", "Number of merges", _merges, "1,000,000", 5, muted=False, word="merge"),
    _Column(
        "Bytes/token",
        "Bytes per token after all merges",
        lambda run: _NOTHING,  # the model has them
        "10.000 *",
        1,
        muted=False,
        word="bytes-per-token",
    ),
    _Column(
        "Own held-out",
        "Bytes per token of the text held out of its own training, which is not that of the column Bytes/token",
        lambda run: _NOTHING if run.held_out.ratio is None else f"{run.held_out.ratio:,.3f}",
        "10.000",
        3,
        muted=False,
        word="held-out-text",
    ),
    _Column(
        "Ended", "How training ended, or the format of the opened file", _ended, "reached vocabulary size", 8, LEFT
    ),
    _Column("Seconds", "Training time, without pauses", _seconds, "1,000.0", 14),
)
