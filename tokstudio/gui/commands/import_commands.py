"""Opens texts and data sets; before a data set is read, the user chooses its text.

One look at the beginnings of the files, in a job, finds the data sets. Those with the same columns are asked for once.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import printable, several, shown
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.gui.commands.window_protocol import Window
from tokstudio.gui.dialogs.corpus_import.choices import Choices
from tokstudio.gui.dialogs.corpus_import.question import (
    DataSetLook,
    DataSetPlace,
    ImportQuestion,
    fits,
    look_all_work,
    reading_for,
)
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.source_records import is_data_set, read_together

_NONE_SELECTED = "Select a data set in the Corpus pane, such as JSON Lines, CSV or Parquet, to change its columns."


@dataclass
class _Request:
    """Files that are to be opened, or sources of which other columns are to be read, and the answers so far."""

    places: list[DataSetPlace]
    looks: tuple[DataSetLook, ...] = ()
    keep_truncated: bool = False
    is_change: bool = False
    readings: dict[DataSetPlace, Reading] = field(default_factory=dict[DataSetPlace, Reading])
    left_out: set[DataSetPlace] = field(default_factory=set[DataSetPlace])
    told: list[str] = field(default_factory=list[str])  # of data sets that are read without a question

    @property
    def open(self) -> list[DataSetLook]:
        """The data sets without an answer."""
        return [look for look in self.looks if look.place not in self.readings and look.place not in self.left_out]

    def answer(self, looks: tuple[DataSetLook, ...], reading: Reading | None) -> None:
        """Takes the answer for some data sets; None leaves them out."""
        for look in looks:
            if reading is None:
                self.left_out.add(look.place)
            else:
                chosen = reading_for(reading, look.contents)
                keeps = self.keep_truncated or reading.keep_truncated
                self.readings[look.place] = replace(chosen, keep_truncated=keeps)


class ImportCommands(QObject):
    """Opens files and changes the columns of data sets; asks one question at a time."""

    def __init__(self, session: Session, preferences: Preferences, window: Window, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs, self._corpus = session.jobs, session.corpus
        self._preferences, self._window = preferences, window
        self._choices = Choices(preferences)
        self._requests: list[_Request] = []
        self._asked: ImportQuestion | None = None

    def open_paths(self, paths: list[Path]) -> None:
        """Adds files and folders to the corpus and to the recent files, and asks for the text of data sets."""
        self._look(_Request([DataSetPlace(path) for path in paths]))

    def keep_whole(self, path: Path) -> None:
        """Reads a file whose compressed data ends too early up to that place: again if it is in the corpus."""
        known = next((source for source in self._corpus.sources if source.path == path), None)
        if known is not None:
            self._corpus.change_reading(known, replace(known.reading or Reading(), keep_truncated=True))
        else:
            self._look(_Request([DataSetPlace(path)], keep_truncated=True))

    def read_as_text(self, path: Path) -> None:
        """Reads a data set in which no column holds text as plain text, also from the recent files."""
        self._preferences.add_recent([path], "plain")
        self._corpus.open_paths([path], readings={path: Reading(as_text=True)})

    def change_columns(self) -> None:
        """Asks for the text of the selected data sets again."""
        selected = [source for source in self._window.corpus.selected_sources() if is_data_set(source)]
        places: list[DataSetPlace] = []
        for source in selected:
            known = (place.source for place in places if place.source is not None)
            if source.path is not None and not any(read_together(source, one) for one in known):
                places.append(DataSetPlace(source.path, source))
        if places:
            self._look(_Request(places, is_change=True))
        else:
            self._jobs.refuse(_NONE_SELECTED)

    # ---- private

    def _look(self, request: _Request) -> None:
        self._jobs.start(partial(_look_work, request, dict(self._choices.all)), self._looked)

    def _looked(self, looked: tuple[_Request, tuple[DataSetLook, ...]]) -> None:
        request, looks = looked
        self._requests.append(replace(request, looks=looks))
        if self._asked is None:
            self._go_on()

    def _go_on(self) -> None:
        """Asks the next question; reads what is not asked for any more."""
        while self._requests:
            request = self._requests[0]
            question = self._question(request)
            if question is not None:
                self._asked = question
                self._window.ask_reading(question, self._answered)
                return
            self._requests.pop(0)
            self._read(request)

    def _question(self, request: _Request) -> ImportQuestion | None:
        """The next question; data sets with columns that were asked for before are read in the same way."""
        for look in () if request.is_change else request.open:
            known = self._choices.of_this_start(look.key)
            if known is not None and fits(known, look.contents):
                request.answer((look,), known)
                request.told.append(look.contents.name)
        if not request.open:
            return None
        first = request.open[0]
        if request.is_change:
            source = first.place.source
            reading = source.reading if source is not None and source.reading is not None else Reading()
            return ImportQuestion(_alike(request, first), replace(reading, as_text=False), "&Change")
        known = self._choices.all.get(first.key)
        usable = known is not None and not known.as_text and fits(known, first.contents)
        return ImportQuestion(_alike(request, first), known if usable and known is not None else Reading())

    def _answered(self, reading: Reading | None) -> None:
        question, self._asked = self._asked, None
        if question is not None and self._requests:
            self._requests[0].answer(question.looks, reading)
            if reading is not None:
                self._choices.remember(question.looks[0].key, reading)
        self._go_on()

    def _read(self, request: _Request) -> None:
        if request.is_change:
            for place, reading in request.readings.items():
                if place.source is not None:
                    self._corpus.change_reading(place.source, reading)
            return
        places = [place for place in request.places if place not in request.left_out]
        if not places:
            return
        paths = [place.path for place in places]
        self._preferences.add_recent(paths, "text")
        readings = {place.path: reading for place, reading in request.readings.items()}
        if request.keep_truncated:
            readings = dict.fromkeys(paths, Reading(keep_truncated=True)) | readings
        self._corpus.open_paths(paths, readings=readings)
        if request.told:
            self._jobs.tell(_told(request))


def _look_work(request: _Request, known: dict[str, Reading]) -> Work[tuple[_Request, tuple[DataSetLook, ...]]]:
    return request, (yield from look_all_work(request.places, known))


def _alike(request: _Request, first: DataSetLook) -> tuple[DataSetLook, ...]:
    """The data sets with the same columns that are asked for at once."""
    return tuple(look for look in request.open if look.key == first.key)


def _told(request: _Request) -> str:
    """Says how data sets were read without a question."""
    names = request.told
    look = next(look for look in request.looks if look.contents.name == names[0])
    reading = request.readings[look.place]
    name = printable(names[0]) if len(names) == 1 else several(len(names), "file")
    how = "plain text" if reading.as_text else f"the column {shown(reading.field or look.contents.field or '')}"
    return f"{name}: {how} is read, as chosen before for these columns. Change Columns… in the File menu asks again."
