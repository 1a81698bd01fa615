"""The dialog that opens a text by its address: it shows what is there, then takes a sample or all of it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSignalBlocker, QSize
from PySide6.QtWidgets import QCheckBox, QListWidget, QTreeWidgetItem, QWidget

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import printable, several, size_text
from tokstudio.core.corpus.readers.contents import TEXT, Reading
from tokstudio.core.corpus.readers.folders import Fetching
from tokstudio.core.corpus.remote.preview import TextPreview, preview_work
from tokstudio.core.hub.addresses import HUB, Address, address_in, parse_address
from tokstudio.core.hub.kept_texts import KeptText, kept_texts
from tokstudio.gui.dialogs.open_by_name.base import OpenDialog, WellKnown
from tokstudio.gui.session.common import source_jobs
from tokstudio.gui.session.common.jobs import Jobs, LatestJob
from tokstudio.gui.session.common.source_jobs import Read
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice, ChoiceBox, Number
from tokstudio.gui.widgets.fields import form_grid, label_for
from tokstudio.gui.widgets.labels import named
from tokstudio.gui.widgets.layouts import STRETCH, in_card, row, stacked
from tokstudio.gui.widgets.menus import link_button, push_button

WELL_KNOWN = (
    WellKnown("HuggingFaceFW/fineweb-2:deu_Latn", "web, over 1,000 languages"),
    WellKnown("HuggingFaceFW/fineweb:sample-10BT", "web, English"),
    WellKnown("HuggingFaceFW/fineweb-edu:sample-10BT", "educational web, English"),
    WellKnown("wikimedia/wikipedia:20231101.en", "Wikipedia, over 300 languages"),
    WellKnown("uonlp/CulturaX:de", "web, 167 languages; sign in"),
    WellKnown("allenai/c4:en", "web, English"),
    WellKnown("bigcode/the-stack-smol", "code; sign in"),
    WellKnown("roneneldan/TinyStories", "short stories, English"),
    WellKnown("Salesforce/wikitext:wikitext-103-raw-v1", "Wikipedia, English"),
)
_ABOUT = (
    "OWNER/NAME of the Hugging Face Hub, with :CONFIGURATION if you know it, or an address such as "
    "s3://bucket/*.parquet. Nothing large is read before you press Open; what is read stays in the cache."
)
_HINT = "OWNER/NAME of the Hugging Face Hub, or an address"
_LISTED = ("Texts in the cache, and well-known data sets", ("Well-known name", "Kind"))
_SIZE = QSize(640, 600)
_DEFAULT = 100  # MB
_MB = 1_000_000
_MOST = 1_000_000  # MB


class OpenDataSetDialog(OpenDialog):
    """Asks for a name or an address, shows what is there, and stays open until it is read or the user leaves.

    The field for the name shows `address` at first.
    """

    _reading = "Reading the text…"

    def __init__(
        self, jobs: Jobs, theme: Theme, parent: QWidget | None = None, *, address: Address | None = None
    ) -> None:
        super().__init__("Open Data Set by Name", jobs, parent, _HINT, _LISTED)
        self._preview: TextPreview | None = None
        self._looking = LatestJob(jobs, self, self._take_preview, self._fail, quiet=True)
        self._build(theme)
        self.name.textChanged.connect(self._forget)
        self.configuration.currentIndexChanged.connect(self._look_at_chosen)
        self.split.currentIndexChanged.connect(self._look_at_chosen)
        self.text.currentIndexChanged.connect(self._show_texts)
        self.all.toggled.connect(self._refresh)
        self.name.setText("" if address is None else address.given)
        self._forget()
        self.name.setFocus()

    def _build(self, theme: Theme) -> None:
        self.configuration, self.split, self.text = ChoiceBox(()), ChoiceBox(()), ChoiceBox(())
        self.amount = Number(theme, _MOST, " MB")
        self.amount.setMinimum(1)
        self.amount.setValue(_DEFAULT)
        self.amount.setToolTip("How much text is taken, from up to 64 of the files")
        self.seed = Number(theme)
        self.seed.setToolTip("Chooses what is taken: the same number takes the same text")
        self.all = QCheckBox("Take a&ll of it")
        boxes = ("&Configuration", self.configuration), ("S&plit", self.split), ("&Text", self.text)
        grid = form_grid(("&Name", self.name), *boxes)
        below = grid.rowCount()
        grid.addWidget(label_for("&Take", self.amount), below, 0)
        parts = row(self.amount, label_for("S&eed", self.seed), self.seed, self.all, STRETCH, spacing=8)
        grid.addLayout(parts, below, 1)
        self.texts = named(QListWidget(), "First texts")
        self.texts.setSelectionMode(QListWidget.SelectionMode.NoSelection)
        self.texts.setUniformItemSizes(True)
        self.stack = stacked(self.list, self.texts)
        tip = "Remove the selected text from the cache of this computer"
        self.remove_button = link_button("&Remove from the Cache", self._remove, tip)
        self.open_button = push_button("&Look", self._act, is_main=True)
        buttons = row(self.remove_button, STRETCH, self.close_button, self.open_button, spacing=8)
        self.fill(theme, _SIZE, grid, (in_card(self.stack), 1), self.note, self.bar, buttons)
        self._fill_list()

    def _fill_list(self) -> None:
        """Lists what is in the cache, then well-known names."""
        with QSignalBlocker(self.list):
            self.list.clear()
            for kept in kept_texts():
                amount = kept.origin.request.sample_bytes
                what = "all" if amount is None else f"sample of {size_text(amount)}"
                about = f"in the cache: {what}, {size_text(kept.size)} on the disk"
                item = QTreeWidgetItem([printable(kept.origin.address), about])
                item.setData(0, _KEPT, kept)
                self.list.addTopLevelItem(item)
            for one in WELL_KNOWN:
                self.list.addTopLevelItem(QTreeWidgetItem([one.name, one.kind]))

    # ---- what is chosen

    def _chosen_kept(self) -> KeptText | None:
        items = self.list.selectedItems()
        return items[0].data(0, _KEPT) if items else None

    def _choose(self) -> None:
        super()._choose()
        self._refresh()

    def _forget(self) -> None:
        """Shows the list again: what was shown is of another name."""
        self._preview = None
        self._looking.cancel()
        for box in (self.configuration, self.split, self.text):
            with QSignalBlocker(box):
                box.set_choices(())
        self._refresh()
        self.say(_ABOUT)

    def _refresh(self) -> None:
        busy, has_text = self.is_busy, bool(self.text.choices)
        self._show_busy(self.name, self.list, self.all)
        for box in (self.configuration, self.split, self.text):
            box.setEnabled(not busy and bool(box.choices))
        for field in (self.amount, self.seed):
            field.setEnabled(not busy and not self.all.isChecked())
        self.stack.setCurrentWidget(self.texts if has_text else self.list)
        self.remove_button.setVisible(not has_text)
        self.remove_button.setEnabled(not busy and self._chosen_kept() is not None)
        self.open_button.setText("&Open" if has_text else "&Look")
        self.open_button.setEnabled(not busy and bool(self.name.text().strip()))

    def _address(self) -> Address:
        """The address in the fields; ConfigError where there is none."""
        text = self.name.text().strip()
        address = address_in(text) or parse_address(text if ":/" in text else f"hf:datasets/{text}")
        configuration, split = self.configuration.value, self.split.value
        if address.scheme == HUB and not address.path and configuration:
            address = parse_address(
                f"hf:datasets/{address.name}:{configuration}{f'/{split}' if split else ''}"
                + (f"@{address.revision}" if address.revision else "")
            )
        return address

    # ---- looking

    def _act(self) -> None:
        if self.open_button.isEnabled():
            (self._open if self.text.choices else self._look)()

    def _look(self) -> None:
        self._start(self._looking, preview_work)

    def _look_at_chosen(self) -> None:
        """Looks at another configuration or split."""
        if self._preview is not None and self.configuration.value:
            if self.sender() is self.configuration:
                with QSignalBlocker(self.split):
                    self.split.set_choices(())
            self._look()

    def _start(self, job: LatestJob, work: Callable[[Address], Work[Any]]) -> None:
        try:
            address = self._address()
        except ConfigError as error:
            self._fail(error)
            return
        self._job = job
        self._begin(partial(work, address))

    def _take_preview(self, preview: TextPreview) -> None:
        self._preview = preview
        address = self._address()
        configuration = address.configuration or _default(preview)
        splits = list(preview.configurations.get(configuration, ()))
        split = address.split or ("train" if "train" in splits else "")
        columns = [] if preview.contents is None else [one for one in preview.contents.columns if one.kind == TEXT]
        names = ["", *preview.configurations] if not configuration else list(preview.configurations)
        _fill(self.configuration, names, configuration)
        _fill(self.split, splits, split)
        field = "" if preview.contents is None else preview.contents.field or ""
        _fill(self.text, [one.name for one in columns], field)
        self._show_texts()
        self._settle("; ".join(self._facts(preview)))
        (self.open_button if columns else self.configuration).setFocus()

    def _facts(self, preview: TextPreview) -> list[str]:
        facts: list[str] = []
        if preview.files:
            kind = "" if preview.contents is None else f" of {preview.contents.kind}"
            facts.append(f"{several(preview.files, 'file')}{kind}, {size_text(preview.size)}")
        elif preview.configurations:
            facts.append(f"{several(len(preview.configurations), 'configuration')}: choose one")
        facts.append(f"licence {preview.license}" if preview.license else "no licence is said")
        if preview.gated:
            facts.append("its owner asks for consent: sign in there, accept the terms, and set HF_TOKEN")
        return [*facts, *preview.notes]

    def _show_texts(self) -> None:
        self.texts.clear()
        contents = None if self._preview is None else self._preview.contents
        for one in () if contents is None else contents.columns:
            if one.name == self.text.value:
                self.texts.addItems([printable(value) for value in one.values])

    # ---- opening

    def _open(self) -> None:
        field = self.text.value
        is_rows = self._preview is not None and self._preview.contents is not None and self._preview.contents.is_data
        reading = Reading(field=field) if is_rows and field else Reading()
        size = None if self.all.isChecked() else self.amount.value() * _MB
        fetching = Fetching(reading, None, size, 0 if size is None else self.seed.value())

        def work(address: Address) -> Work[Read]:
            path = Path(address.given)
            return source_jobs.read_all([path], None, "file", {path: reading}, fetching)

        self._start(self._opening, work)

    def _doing(self, progress: Progress) -> str:
        return super()._doing(progress) if self._job is self._opening else "Looking at what is there…"

    def _take(self, result: Read) -> None:
        if result.problems and not result.sources:
            self._fail(result.problems[0][1])
        else:
            super()._take(result)

    def _remove(self) -> None:
        if (kept := self._chosen_kept()) is not None:
            try:
                kept.remove()
            except OSError as error:
                self.say(f"{kept.folder}: it cannot be removed: {error.strerror or error}.", "error")
                return
            self._fill_list()
            self._refresh()
            self.say(f"{printable(kept.origin.address)} is no longer in the cache.")


_KEPT = 256  # the role of a text in the cache, `Qt.ItemDataRole.UserRole`


def _fill(box: ChoiceBox, names: list[str], chosen: str) -> None:
    box.show_choices([Choice(name, printable(name) or "(choose)", "") for name in names], chosen)


def _default(preview: TextPreview) -> str:
    """The configuration that is read where none is named; "" where one must be chosen."""
    names = list(preview.configurations)
    return "default" if "default" in names else names[0] if len(names) == 1 else ""
