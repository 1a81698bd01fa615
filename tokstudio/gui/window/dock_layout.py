"""The arrangement of the panes: in the places of a workspace, as the user has changed it, or one pane alone.

In a low window, the last column of two places has one: half its height is too little for the steps of an encoding, for
a tree, or for a table.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

from PySide6.QtCore import QByteArray, QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QStyle, QToolBar

from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.widgets.pane import Pane
from tokstudio.gui.window.dock_sizes import DockSizes, tab_bars
from tokstudio.gui.window.workspaces import LEARN, NARROW, TRAIN, WORKSPACES, Columns, screen_size

# Of a stored layout. A new pane needs no other one: in layouts that do not know it, it stays in its first place.
# Layouts of 0.1 have all panes: those that a workspace does not have are taken out.
_VERSION = 4
_LOW_CURVES = 0.66  # the share of the curves in the height of a low window, the least that can be read
_LOW_WINDOW = 700  # pixels of height below which the last divided column of the large layout is one place

_Left: TypeAlias = tuple[QByteArray, QSize, dict[Pane, QSize]]  # a layout, with sizes of `DockSizes`


def last_workspace(preferences: Preferences) -> str:
    """The name of the workspace that the window was left in."""
    # Whoever has a layout of 0.1 has trained; the first start of all is for learning.
    first = LEARN if preferences.bytes(WORKSPACES[TRAIN].key).isEmpty() else TRAIN
    workspace = preferences.get("workspace", first)
    return workspace if workspace in WORKSPACES else first


class Arrangement(QObject):
    """Places the panes, and saves and restores their layout in each workspace.

    Those of a workspace are made when it is entered; at the start, those that wait for the first run may come later.
    Who makes a pane calls `add`, and when all are made, `complete`.

    Args:
        window: The window.
        names: The object names of all panes, in the order of menus.
        make: Gives the pane of a name, and makes it before if need be.
        room: The room of the screen for the window.
        rest: Milliseconds after which sizes are shared out when the window was resized.
    """

    changed = Signal()  # the workspace, or the pane that fills the window
    moved = Signal(Pane)  # the workspace was changed to show this pane

    def __init__(
        self, window: QMainWindow, names: Iterable[str], make: Callable[[str], Pane], room: QSize, rest: int
    ) -> None:
        super().__init__(window)
        self._window, self._names, self._make = window, names, make
        self._panes: dict[str, Pane] = {}  # those that are made
        self._absent: frozenset[str] = frozenset()  # those of this workspace that `load` did without
        self._room, self._size = room, screen_size(room)
        self._empty = window.saveState()  # the layout without panes
        self._sizes = DockSizes(window, rest)
        self._sizes.rested.connect(lambda: self._follow_height(window.height()))
        self.workspace = LEARN  # the name of the current one
        self.came_from = ""  # the workspace before it
        self._waiting = QByteArray()  # the layout with the panes that wait for the first run; empty once there was one
        self._has_run = False
        self._left: dict[str, _Left] = {}  # the others
        self._other_sizes: dict[int, dict[str, _Left]] = {}  # those of other sizes of the screen, with the current one
        self._first: dict[str, QByteArray] = {}  # the default layouts made so far
        self._as_first: set[str] = set()  # the workspaces in it while panes wait for the first run
        self.maximised: Pane | None = None  # the pane that fills the window
        self.moving = False  # whether the layout is changed now, so that the focus may go into no other control
        self._usual = (QByteArray(), QSize(), dict[Pane, QSize]())  # the layout without it, and sizes of `DockSizes`
        # Every pane emits a signal when it is shown or hidden, and a layout moves them all.
        self._titles = QTimer(self, singleShot=True, interval=0)
        self._titles.timeout.connect(self._show_titles)
        # By workspace and number of a column: when its places were joined or divided, the window was high (0), low (1),
        # or too low for both (2).
        self._low: dict[tuple[str, int], int] = {}
        # For the return to two places: the shares of the panes in the height, and the front pane of the lower place.
        self._heights: dict[tuple[str, Pane], float] = {}
        self._front: dict[tuple[str, Pane], Pane] = {}
        self._chosen_size = self._noted = QSize()  # of the window: as the user left it; before the text's size changed
        self._restyled, self._line = False, 0  # between `note_size` and `keep_sizes`; the height of a line before

    def complete(self) -> None:
        """Places the panes that `load` did without, and that were added since."""
        if not self._absent:
            return
        self._absent = frozenset()
        self._first.clear()
        if self.workspace in self._as_first:
            self._arrange_first()
        else:
            # Qt keeps the places of panes that are not there.
            self.restore(self.state())

    def _make_absent(self) -> None:
        for name in self._absent:
            self._make(name)

    def add(self, pane: Pane) -> None:
        """Places a pane, too, where its workspace is entered."""
        panes = self._panes | {pane.objectName(): pane}
        self._panes = {name: panes[name] for name in self._names if name in panes}
        # Else Qt leaves a pane that `restoreState` has placed in its place, too, when it is moved.
        pane.setAttribute(Qt.WidgetAttribute.WA_LaidOut)
        self._sizes.add(pane)
        pane.visibilityChanged.connect(self._titles.start)
        pane.toggleViewAction().triggered.connect(partial(self._toggled, pane))

    @property
    def panes(self) -> list[Pane]:
        """The panes of this workspace."""
        return self._panes_of(self.workspace)

    def _panes_of(self, workspace: str) -> list[Pane]:
        own = WORKSPACES[workspace].panes - self._absent
        return [self._make(name) for name in self._names if name in own]

    # ---- layouts

    def state(self) -> QByteArray:
        """The layout of the panes in this workspace, for `restore`."""
        if self.maximised is not None:
            return self._usual[0]
        return self._waiting if not self._waiting.isEmpty() else self._window.saveState(self._version(self.workspace))

    def restore(self, state: QByteArray) -> bool:
        """Restores `state` with its workspace; returns False for another version, which changes nothing."""
        self.give_back()
        with self._keeping_focus():
            before, size = (self.state(), *self._sizes.chosen), self._window.size()
            name = self._put(state)
            if name not in (None, self.workspace):
                self._left[self.workspace] = before
                self.workspace = name
            if name is not None:
                self._as_first.discard(name)
                # As the user left it; panes move only when the window becomes low, or high.
                self._note_columns(divided=False)
                self._fit_into(size)
        self._sizes.remember()
        self.changed.emit()
        return name is not None

    def load(self, preferences: Preferences) -> None:
        """Places the panes that were added, in the layouts of `store`, and enters the workspace that was left."""
        states = {name: preferences.bytes(workspace.key) for name, workspace in WORKSPACES.items()}
        self._left = {name: (state, QSize(), {}) for name, state in states.items() if not state.isEmpty()}
        self.workspace = last_workspace(preferences)
        self._absent = WORKSPACES[self.workspace].with_run - self._panes.keys()
        self._window.installEventFilter(self)
        if not self.restore(states[self.workspace]):
            self._arrange_first()

    def store(self, preferences: Preferences) -> None:
        """Stores the workspace, and the layout of each that was entered."""
        # Where large text has changed the size, the next start looks for the layouts of the screen's own size.
        own = self._other_sizes.get(screen_size(self._room))
        left = own if own is not None else self._left | {self.workspace: (self.state(), QSize(), {})}
        states = {name: state for name, (state, *_) in left.items()}
        for name, state in states.items():
            preferences.set_bytes(WORKSPACES[name].key, state)
        preferences.set("workspace", self.workspace)

    def enter(self, workspace: str) -> None:
        """Changes to a workspace, arranged as it was left."""
        self.give_back()
        if workspace == self.workspace:
            return
        self._make_absent()
        with self._keeping_focus():
            self._left[self.workspace] = (self.state(), *self._sizes.chosen)
            self.came_from, self.workspace = self.workspace, workspace
            self._come_back()
        self.changed.emit()

    def _come_back(self) -> None:
        """Arranges the workspace as it was left, or else as by default."""
        size = self._window.size()
        state, at, sizes = self._left.pop(self.workspace, (QByteArray(), QSize(), {}))
        if not state.isEmpty() and self._put(state) == self.workspace:
            self._show_titles()
            if self._has_run and self.workspace in self._as_first and WORKSPACES[self.workspace].with_run:
                # It was left while panes waited, and has their places but not their sizes.
                self._bring_in()
            else:
                self._sizes.choose(at, sizes)
            self._fit_into(size)
        else:
            self._arrange_first()

    def _fit_into(self, size: QSize) -> None:
        """Gives the window its size again, in which a layout was restored."""
        # It grows if two places are restored in a low window, until they are one.
        self._follow_height(size.height())
        self._fit_window(size)

    def _fit_window(self, size: QSize) -> None:
        layout = self._window.layout()
        if layout is not None:
            layout.activate()
        if self._window.size() != size:
            self._window.resize(size)

    def reset(self) -> None:
        """Restores the default layout of the workspace, also for text of another size."""
        for left in self._other_sizes.values():
            left[self.workspace] = QByteArray(), QSize(), {}
        self._arrange_first()

    def _arrange_first(self) -> None:
        self.give_back()
        size = self._window.size()
        with self._keeping_focus():
            self._put_first()
            self._note_columns(divided=True)
            self._front = {key: pane for key, pane in self._front.items() if key[0] != self.workspace}
            self._heights = {key: share for key, share in self._heights.items() if key[0] != self.workspace}
            self._sizes.forget()
            self.share_room()
        self._fit_into(size)

    # ---- single panes

    def maximise(self, pane: Pane) -> None:
        """Lets a pane fill the window until `give_back`, `open` of another, or another layout."""
        self._make_absent()
        self.give_back()
        self._usual = (self.state(), *self._sizes.chosen)
        self.maximised, self._features = pane, pane.features()
        self._sizes.forget()
        with self._keeping_focus():
            for other in self._panes.values():
                if other is not pane and not other.isFloating():
                    other.hide()
            # The others would be missing while the user drags it.
            pane.setFeatures(Pane.DockWidgetFeature.DockWidgetClosable)
            pane.raise_()
        self.changed.emit()

    def give_back(self) -> None:
        """Restores the layout without a pane that fills the window, if there is one."""
        if self.maximised is None:
            return
        self.maximised.setFeatures(self._features)
        self.maximised = None
        (state, at, sizes), size = self._usual, self._window.size()
        with self._keeping_focus():
            self._put(state)
            self._show_titles()
            self._sizes.choose(at, sizes)
            # Qt may have made the window higher, for panes that were laid out while they were hidden.
            self._fit_into(size)
        self.changed.emit()

    def open(self, pane: Pane) -> None:
        """Shows a pane, in front of those that share its place; in another workspace, if this one does not have it."""
        if pane is not self.maximised:
            self.give_back()
        name = pane.objectName()
        if name not in WORKSPACES[self.workspace].panes:
            self.enter(next(one for one in (TRAIN, *WORKSPACES) if name in WORKSPACES[one].panes))
            self.moved.emit(pane)
        if name in WORKSPACES[self.workspace].with_run:
            self._show_waiting()
        pane.show()
        pane.raise_()

    def begin_runs(self) -> None:
        """Shows the panes that have waited for the first run."""
        if not self._has_run:
            self._make_absent()
            self._has_run = True
            self.give_back()
            self._show_waiting()

    def _show_waiting(self) -> None:
        state, self._waiting, size = self._waiting, QByteArray(), self._window.size()
        widths = self._sizes.widths()
        if state.isEmpty():
            return
        with self._keeping_focus():
            self._put(state, withhold=False)
            if self.workspace in self._as_first:
                self._bring_in()
            else:
                self._raise_first()
                self._note_columns(divided=True)
                # The layout has the widths that the window had when it was made.
                self._sizes.widen(widths)
        self._fit_into(size)

    def _bring_in(self) -> None:
        """Gives the panes that came with the first run, and the others, their default shares."""
        self._as_first.discard(self.workspace)
        self._raise_first()
        self._note_columns(divided=True)
        self._sizes.forget()
        self.share_room()

    def uncover(self, pane: Pane, others: Sequence[Pane]) -> None:
        """Shows a pane that is behind another; one that is closed only where none of `others` can be seen."""
        behind = not pane.isHidden() and not _is_seen(pane)
        if behind or not any(map(_is_seen, (pane, *others))):
            self.open(pane)

    def _toggled(self, pane: Pane) -> None:
        """Continues after the menu has shown or closed a pane."""
        shown = not pane.isHidden()
        if self.maximised is not None:
            self.give_back()
            pane.setVisible(shown)
        if shown:
            pane.raise_()

    # ---- the height of the window

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            if self._restyled and event.type() == QEvent.Type.Resize and event.spontaneous():
                # By the user, while the text changes its size.
                self._chosen_size = self._noted = self._window.size()
            QTimer.singleShot(0, self, lambda: self._follow_height(self._window.height()))
        return False

    def _change_size(self, size: int) -> None:
        self.give_back()
        self._left[self.workspace] = (self.state(), *self._sizes.chosen)
        self._other_sizes[self._size] = self._left
        self._size, self._left = size, self._other_sizes.pop(size, {})
        self._first.clear()
        with self._keeping_focus():
            self._come_back()
        if not self._window.isMaximized():
            self._fit_window(self._window.size().boundedTo(self._room))

    def _follow_height(self, height: int) -> None:
        """Makes one place of a column's two where they lack height, and two again, unless the user has rearranged it.

        The last column of two places is divided only in a high window.
        """
        if not self._window.isVisible() or self.maximised is not None:
            return
        if self._size < NARROW and self._window.minimumSizeHint().width() > self._room.width():
            # Large text needs more width than there is: as many panes share a place as on a narrow screen.
            self._change_size(NARROW)
        if self._size:
            return
        size, height = self._window.size(), min(height, self._room.height())
        around = self._around
        divided = [(number, *column) for number, column in enumerate(self._columns) if len(column[2]) > 1]
        for number, _, share, places in divided:
            upper, lower = ([self._panes[name] for name in place] for place in places)
            must = height < self._least_height(upper, lower) + around
            low = must or (number == divided[-1][0] and height < _LOW_WINDOW)
            key, lack = (self.workspace, number), low + must
            if key not in self._low and not must:
                self._low[key] = lack  # as the user left it
            elif lack != self._low.get(key):
                with self._keeping_focus():
                    changed = self._change_column(upper, lower, share, low)
                if changed:
                    self._low[key] = lack
                    # It grows while panes are moved, and with the text.
                    self._fit_window(QSize(size.width(), height))

    def note_size(self) -> None:
        """Notes the size of the window before a change of the text's size, for `keep_sizes` after it."""
        if not self._window.isVisible() or self._restyled:
            return
        self._restyled, self._noted, self._line = True, self._window.size(), self._window.fontMetrics().height()
        # Where it is as small as can be, and larger than the user left it, it has grown with what it shows.
        least, left, now = self._window.minimumSizeHint(), self._chosen_size, self._noted
        width = min(now.width(), left.width()) if now.width() == least.width() else now.width()
        height = min(now.height(), left.height()) if now.height() == least.height() else now.height()
        self._chosen_size = QSize(width, height) if left.isValid() else now

    def keep_sizes(self) -> None:
        """Gives window and panes the sizes that the user has chosen, as far as the text leaves room for them."""
        if not self._restyled:
            return
        self._restyled, size = False, self._window.size()
        for stack in self._window.findChildren(QStackedWidget):
            stack.updateGeometry()  # Qt counts the hidden pages, too, but keeps what they needed before
        if self._size != screen_size(self._room) and self._window.fontMetrics().height() < self._line:
            self._change_size(screen_size(self._room))
        # One that is smaller was made so meanwhile.
        if not self._window.isMaximized() and size == size.expandedTo(self._noted.boundedTo(self._chosen_size)):
            self._fit_into(self._chosen_size)
        self._sizes.apply()

    def _note_columns(self, *, divided: bool) -> None:
        """Notes that the columns are divided, as in a high window, or else as the user left them."""
        if self._size:
            return  # every column has one place
        numbers = range(len(self._columns)) if divided else ()
        self._low = {key: value for key, value in self._low.items() if key[0] != self.workspace}
        self._low |= {(self.workspace, number): 0 for number in numbers}

    def _least_height(self, upper: list[Pane], lower: list[Pane]) -> int:
        """The height in which both places of a column have their least height."""
        tabs = max((bar.sizeHint().height() for bar in tab_bars(self._window) if bar.count()), default=0)
        least = 0
        for place in (upper, lower):
            least += max((pane.minimumSizeHint().height() for pane in place if not pane.isHidden()), default=0)
            least += tabs if len(place) > 1 else 0
        separator = self._window.style().pixelMetric(QStyle.PixelMetric.PM_DockWidgetSeparatorExtent)
        return least + separator

    @property
    def _around(self) -> int:
        """The height of what surrounds the panes."""
        window, margins = self._window, self._window.contentsMargins()
        tools = window.findChildren(QToolBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        bars = [window.menuWidget(), window.statusBar(), *tools]
        return margins.top() + margins.bottom() + sum(bar.sizeHint().height() for bar in bars if bar is not None)

    def _change_column(self, upper: list[Pane], lower: list[Pane], share: float, low: bool) -> bool:
        """Joins or divides the places of a column; returns whether it is so now, or the user has rearranged it."""
        # A closed pane moves too, and stays closed.
        above, below = ({pane.objectName() for pane in place if not pane.isHidden()} for place in (upper, lower))
        if upper[0].isHidden() or not below or any(pane.isFloating() for pane in (*upper, *lower)):
            return False
        if not low and self._beside(upper[0]) == (above | below) - {upper[0].objectName()}:
            self._part(upper, lower, share)
        elif low:
            # The geometry of a pane behind a tab means nothing.
            first, second = (next((pane for pane in place if _is_seen(pane)), None) for place in (upper, lower))
            if first is None or second is None or self._beside(first) != above - {first.objectName()}:
                return True
            if self._beside(second) == below - {second.objectName()} and first.x() == second.x():
                self._join(upper, lower, first, second)
        return True

    def _join(self, upper: list[Pane], lower: list[Pane], first: Pane, second: Pane) -> None:
        if second.y() < first.y():
            return
        (at, sizes), widths = self._sizes.chosen, self._sizes.widths()
        for pane in (*upper, *lower):
            if pane in sizes:
                self._heights[self.workspace, pane] = sizes[pane].height() / at.height()
        self._front[self.workspace, upper[0]] = second
        for before, after in itertools.pairwise((upper[-1], *lower)):
            self._window.tabifyDockWidget(before, after)
        # The layout of panes that wait for the first run has two places; they are joined again when it comes.
        if self._waiting.isEmpty():
            self._put(self.state())
        first.raise_()
        self._sizes.choose(at, sizes)
        if not sizes:
            self._sizes.widen(widths)
        self._titles.start()

    def _part(self, upper: list[Pane], lower: list[Pane], share: float) -> None:
        at, sizes = self._sizes.chosen
        fronts = [next((pane for pane in place if _is_seen(pane)), place[0]) for place in (upper, lower)]
        if not _is_seen(fronts[1]):
            fronts[1] = self._front.get((self.workspace, upper[0]), lower[0])
        # Qt cannot split a shared place, and keeps a place for a pane that has left it until the pane is elsewhere.
        for pane in (*upper[1:], *lower):
            self._window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, pane)
        for before, after in itertools.pairwise(lower):
            self._window.tabifyDockWidget(before, after)
        self._window.splitDockWidget(upper[0], lower[0], Qt.Orientation.Vertical)
        for before, after in (*itertools.pairwise(upper), *itertools.pairwise(lower)):
            self._window.tabifyDockWidget(before, after)
        self._put(self.state())
        for pane in fronts:
            pane.raise_()
        for usual, place in ((share, upper), (1 - share, lower)):
            for pane in place:
                if pane in sizes:
                    height = self._heights.get((self.workspace, pane), usual) * at.height()
                    sizes[pane] = QSize(sizes[pane].width(), round(height))
        self._sizes.choose(at, sizes)
        self._titles.start()

    def _beside(self, pane: Pane) -> set[str]:
        """The panes that share a place with one."""
        return {other.objectName() for other in self._window.tabifiedDockWidgets(pane)}

    # ---- the default layout

    def _version(self, workspace: str) -> int:
        # A layout from a larger screen does not fit.
        return _VERSION + 1000 * self._size + 10_000 * WORKSPACES[workspace].number

    @property
    def _columns(self) -> Columns:
        return WORKSPACES[self.workspace].columns(self._size, set(self._names) - self._absent)

    def _put_first(self) -> None:
        if self.workspace not in self._first:
            self._lay_out()
            self._first[self.workspace] = self._window.saveState(self._version(self.workspace))
        # Building the layout also leaves tab bars behind.
        self._put(self._first[self.workspace])
        if not self._has_run:
            self._as_first.add(self.workspace)
        self._raise_first()

    def _lay_out(self) -> None:
        self._panes_of(self.workspace)
        add, panes, columns = self._window.splitDockWidget, self._panes, self._columns
        for pane in panes.values():
            # At the start no pane is in the window, and each call would lay it out.
            if self._window.dockWidgetArea(pane) != Qt.DockWidgetArea.NoDockWidgetArea:
                if pane.isFloating():
                    pane.setFloating(False)
                self._window.removeDockWidget(pane)
        # Qt keeps the places of panes that were taken out.
        self._window.restoreState(self._empty)
        tops = [panes[places[0][0]] for _, _, places in columns]
        self._window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, tops[0])
        for left, right in itertools.pairwise(tops):
            add(left, right, Qt.Orientation.Horizontal)
        for _, _, places in columns:
            for upper, lower in itertools.pairwise(places):
                add(panes[upper[0]], panes[lower[0]], Qt.Orientation.Vertical)
        for _, _, places in columns:
            for place in places:
                for before, after in itertools.pairwise(place):
                    self._window.tabifyDockWidget(panes[before], panes[after])
        own = WORKSPACES[self.workspace].panes
        for name, pane in panes.items():
            pane.setVisible(name in own)
        self._raise_first()

    def _raise_first(self) -> None:
        for _, _, places in self._columns:
            for place in places:
                if len(place) > 1:
                    self._panes[place[0]].raise_()

    def _put(self, state: QByteArray, *, withhold: bool = True) -> str | None:
        """Restores a layout and returns its workspace; None for another version, which changes nothing.

        Qt makes new tab bars for it and leaves the old ones visible, so these are hidden. Panes of other workspaces are
        taken out, and if `withhold`, those that wait for the first run are hidden.
        """
        if state.isEmpty():
            return None
        before = self.state()
        for bar in tab_bars(self._window):
            bar.hide()
        others = () if self._absent else WORKSPACES
        for name in dict.fromkeys((self.workspace, *others)):
            self._panes_of(name)
            if self._window.restoreState(state, self._version(name)):
                self._take_out_others(name)
                self._add_unknown(name)
                waiting = WORKSPACES[name].with_run - self._absent if withhold and not self._has_run else ()
                self._waiting = self._window.saveState(self._version(name)) if waiting else QByteArray()
                for each in waiting:
                    self._panes[each].hide()
                return name
        # It is not known which of the old ones are in use; the new ones all are.
        self._window.restoreState(before, self._version(self.workspace))
        return None

    def _take_out_others(self, workspace: str) -> None:
        for name, pane in self._panes.items():
            if name not in WORKSPACES[workspace].panes:
                # Qt lays the window out for each call, also where nothing changes.
                if pane.isFloating():
                    pane.setFloating(False)
                self._window.removeDockWidget(pane)

    def _add_unknown(self, workspace: str) -> None:
        """Puts the panes that a restored layout does not know into their first places."""
        window, none = self._window, Qt.DockWidgetArea.NoDockWidgetArea
        for *_, places in WORKSPACES[workspace].columns(self._size, set(self._names) - self._absent):
            for place in places:
                panes = [self._panes[name] for name in place]
                known = [pane for pane in panes if window.dockWidgetArea(pane) != none]
                for pane in panes:
                    if pane in known:
                        continue
                    if known:
                        window.tabifyDockWidget(known[0], pane)
                    else:
                        window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, pane)
                    pane.show()

    def share_room(self) -> None:
        """Gives every pane its default share of the window."""
        window, panes = self._window, self._panes
        fronts = [panes[places[0][0]] for _, _, places in self._columns]
        widths = [round(share * window.width()) for share, *_ in self._columns]
        window.resizeDocks(fronts, widths, Qt.Orientation.Horizontal)
        for _, share, places in self._columns:
            if places[0][0] == "compression" and window.height() < _LOW_WINDOW:
                share = max(share, _LOW_CURVES)
            heights = [round(share * window.height()), round((1 - share) * window.height())]
            rows = [panes[place[0]] for place in places]
            if len(rows) == 1 or rows[1] not in window.tabifiedDockWidgets(rows[0]):
                window.resizeDocks(rows, heights[: len(rows)], Qt.Orientation.Vertical)
        self._sizes.remember()

    # ---- focus and titles

    @contextmanager
    def _keeping_focus(self) -> Iterator[None]:
        """After a change, the focus is where it was, or in the window if that is out of sight."""
        window, focus = self._window, self._window.focusWidget()
        before, self.moving = self.moving, True
        try:
            yield
        finally:
            self.moving = before
        self._show_titles()
        if focus is not None and focus is not window.focusWidget():
            behind = (pane.isAncestorOf(focus) and not _is_seen(pane) for pane in self._panes.values())
            gone = focus in tab_bars(window) or not focus.isVisible() or any(behind)
            (window if gone else focus).setFocus()

    def _show_titles(self) -> None:
        """Hides the titles of panes with tabs."""
        for pane in self._panes.values():
            pane.show_title(not self._window.tabifiedDockWidgets(pane))
        for bar in tab_bars(self._window):
            bar.setDrawBase(False)
            # Where many panes share a bar, it scrolls, and no name is cut.
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.setUsesScrollButtons(True)
            bar.setExpanding(False)
            bar.setAccessibleName("Panes")


def _is_seen(pane: Pane) -> bool:
    return not pane.visibleRegion().isEmpty()
