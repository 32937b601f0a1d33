"""Labelling on a terminal: one attempt after the other, one key for each answer.

A session is blind. It shows what was asked and what came of it, and neither what judges or other people said of it, nor how the answers
so far turned out: who knows would go along. Each answer is written to the store before the next attempt is shown, so whatever ends the session
loses nothing. An attempt that is skipped stays unlabelled, and comes again in the next session.

`calipers.stores.label_queue` says which attempts are shown, and in which order.
"""

import codecs
import os
import re
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from types import TracebackType
from typing import Any, Final, Protocol, Self

import click

from calipers.data.human_label import Rating
from calipers.data.label_answers import Answers
from calipers.stats.number_text import plural
from calipers.stores.label_queue import Drawn, LabelQueue, read_attempts
from calipers.stores.packing import Record
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.stores.stored_attempt import StoredAttempt
from calipers.views.attempts import attempt_unjudged
from calipers.views.text import visible

_FEWEST_ROWS = 3
"""Rows of an attempt that are shown in the smallest terminal."""
_LONGEST = 5000
"""Characters that are wrapped at once: a line of a megabyte would take long."""
_END = ""
"""What a source of keys gives at its end."""
_COMMANDS = {"c": "note", "s": "skip", "u": "undo", "q": "quit"}
_PAGING = {" ": 1, "pagedown": 1, "down": 1, "b": -1, "pageup": -1, "up": -1}
"""By how many pages a key turns."""
_KEY_NAMES: Final = {
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\b": "backspace",
    "\x1b": "escape",
    "\x04": "",
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1b[5~": "pageup",
    "\x1b[6~": "pagedown",
}
"""What a session calls the keys that give no character; Ctrl-D is the end."""
_SEQUENCE: Final = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O.)")
"""What a key that gives no character sends, all at once."""
_READ = 4096
"""Bytes that are read from the terminal at once."""


class Keys(Protocol):
    """Where keys come from: a terminal, or a test (`calipers.testing.ScriptedKeys`)."""

    def read(self) -> str:
        """The next key: a character, `enter`, `backspace`, `escape`, `up`, `down`, `pageup` or `pagedown`; "" if there are no more."""
        ...


@dataclass
class LabelSession:
    """One person, who answers one question about attempts of one run."""

    labelling: LabelQueue
    answers: Answers
    queue: list[Drawn]
    """Attempts without an answer, in the order in which they are shown."""
    earlier: list[int] = field(default_factory=list)
    """Positions that the person labelled before, the newest last."""
    shows_expected: bool = True
    shows_metadata: bool = False
    added: int = 0
    """Answers of this session that stand."""
    skipped: int = 0

    def __post_init__(self) -> None:
        self.total = len(self.queue) + len(self.earlier)
        self._history = list(self.earlier)

    def go(self, keys: Keys) -> None:
        """Show attempts and take answers, until all have one or the person quits."""
        while self.queue:
            drawn = self.queue[0]
            found = next(read_attempts(self.store, self.run, [drawn.position]), None)
            if found is None:  # it was removed meanwhile, by a run that goes on
                self.queue.pop(0)
            elif not self._answer(drawn, *found, _Screen(self, *found), keys):
                return

    def _answer(
        self, drawn: Drawn, attempt: StoredAttempt, record: Record, screen: "_Screen", keys: Keys
    ) -> bool:
        """Take the keys for one attempt; False if the person quits."""
        note = ""
        screen.draw(note)
        while True:
            key = keys.read()
            if key in {_END, "q"}:
                return False
            if key in self.answers.by_key:
                self._write(drawn, attempt, record, self.answers.by_key[key], note)
                return True
            if key == "s":
                self.queue.pop(0)
                self.skipped += 1
                return True
            if key == "u":
                if self._undo():
                    return True
            elif key == "c":
                note = screen.ask_note(note, keys)
            screen.turn(_PAGING.get(key, 0))
            screen.draw(note)

    def _write(self, drawn: Drawn, attempt: StoredAttempt, record: Record, value: Rating, note: str) -> None:
        self.store.add_labels([self.labelling.label(drawn, attempt, record, value, note)])
        self.queue.pop(0)
        self._history.append(drawn.position)
        self.added += 1

    def _undo(self) -> bool:
        """Take the last answer back, and show its attempt again; False if there is none."""
        if not self._history:
            return False
        self.queue.insert(0, self.labelling.take_back(self._history.pop()))
        self.added -= 1
        return True

    @property
    def store(self) -> Store:
        """Where the answers are kept."""
        return self.labelling.store

    @property
    def run(self) -> RunInfo:
        """The run that is labelled."""
        return self.labelling.run

    @property
    def place(self) -> int:
        """The number of the attempt that is shown, from 1."""
        return self.total - len(self.queue) + 1


class _Screen:
    """One attempt on a terminal, a page at a time."""

    def __init__(self, session: LabelSession, attempt: StoredAttempt, record: Record) -> None:
        self.session = session
        self.attempt = attempt
        self.lines = list(
            attempt_unjudged(record, expected=session.shows_expected, metadata=session.shows_metadata)
        )
        self.page = 0
        self._rows: list[str] = []
        self._width = 0

    def _in(self, width: int) -> list[str]:
        """The rows of the attempt in a terminal of that width; an attempt may be long, so they are made once."""
        if width != self._width:
            self._rows, self._width = [row for line in self.lines for row in wrapped(line, width)], width
        return self._rows

    def turn(self, by: int) -> None:
        """Go some pages on or back; `draw` stops at the ends."""
        self.page = max(0, self.page + by)

    def draw(self, note: str, *, typing: bool = False) -> None:
        """Show the page, the question and the keys."""
        width, height = shutil.get_terminal_size()
        rows = self._in(width)
        named = f"{self.attempt.case_name}{f', attempt {self.attempt.repeat}' if self.session.run.repeat > 1 else ''}"
        head = wrapped(visible(f"{self.session.place} of {self.session.total}  {named}"), width)
        foot = wrapped(visible(self.session.labelling.question), width)
        foot += _side_by_side([f"{key} {word}" for key, word in self.session.answers.words.items()], width)
        if typing:
            foot += [*wrapped("note (enter keeps it, escape leaves it as it was):", width)]
        if note or typing:
            foot += wrapped(visible(f"note: {note}") + "_" * typing, width)
        commands = [f"{key} {word}" for key, word in _COMMANDS.items()]
        room = max(_FEWEST_ROWS, height - len(head) - len(foot) - len(_side_by_side(commands, width)) - 3)
        pages = max(1, -(-len(rows) // room))
        self.page = min(self.page, pages - 1)
        if pages > 1:
            commands += [f"page {self.page + 1} of {pages}", "space next", "b back"]
        click.clear()
        for row in head:
            click.secho(row, bold=True)
        shown = rows[self.page * room : (self.page + 1) * room]
        click.echo("\n".join([*shown, ""]))
        for row in foot:
            click.secho(row, bold=True)
        for row in _side_by_side(commands, width):
            click.secho(row, dim=True)

    def ask_note(self, note: str, keys: Keys) -> str:
        """What the person types, up to the end of the line; what was there before, if they leave."""
        text = note
        while True:
            self.draw(text, typing=True)
            key = keys.read()
            match key:
                case "enter":
                    return text.strip()
                case "escape" | "":
                    return note
                case "backspace":
                    text = text[:-1]
                case _ if len(key) == 1:
                    text += key


def wrapped(line: str, width: int) -> list[str]:
    """A line that is safe to show, in rows of a terminal; what is indented stays so."""
    from rich.console import Console
    from rich.text import Text

    bare = line.lstrip(" ")
    if not bare:
        return [""]
    indent = min(len(line) - len(bare), width // 4)
    console = Console(file=StringIO(), width=width)
    parts = [bare[start : start + _LONGEST] for start in range(0, len(bare), _LONGEST)]
    rows = [
        row for part in parts for row in Text(part).wrap(console, max(width - indent, 1), overflow="fold")
    ]
    return [" " * indent + row.plain.rstrip() for row in rows]


def _side_by_side(items: Sequence[str], width: int) -> list[str]:
    """Short texts side by side, in as many rows as they need."""
    from rich.cells import cell_len

    rows: list[str] = []
    for item in map(visible, items):
        longer = f"{rows[-1]}   {item}" if rows else item
        if rows and cell_len(longer) <= width:
            rows[-1] = longer
        else:
            rows += wrapped(item, width)
    return rows


def told(session: LabelSession) -> str:
    """What came of a session, in words."""
    left = len(session.queue) + session.skipped
    parts = [
        f"{plural(max(session.added, 0), 'label')} by {session.labelling.person} to {session.labelling.question!r}"
    ]
    if session.skipped:
        parts.append(f"{session.skipped:,} skipped")
    parts.append(f"{left:,} of {plural(session.total, 'attempt')} left" if left else "none left")
    return ", ".join(parts)


class TerminalKeys:
    """The keys of the terminal that standard input is, one at a time, as they are pressed.

    The terminal is told to hand out keys at once, and not to show them, for as long as the block lasts; Ctrl-C stays what it is. What was
    typed ahead is kept: `click.getchar` would drop it, since it switches the terminal back after each key. It is used on Windows alone.
    """

    def __init__(self) -> None:
        self._typed = ""
        self._restore: Any = None
        self._resumed: Any = None
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def __enter__(self) -> Self:
        if sys.platform != "win32":
            import termios

            self._restore = termios.tcgetattr(sys.stdin.fileno())
            self._hand_out_keys()
            # A shell that stopped us by Ctrl-Z may have changed the terminal meanwhile.
            self._resumed = signal.signal(signal.SIGCONT, self._hand_out_keys)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if sys.platform != "win32":
            import termios

            signal.signal(signal.SIGCONT, self._resumed)
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._restore)

    def _hand_out_keys(self, *_: object) -> None:
        if sys.platform != "win32":
            import termios
            import tty

            tty.setcbreak(sys.stdin.fileno(), termios.TCSADRAIN)

    def read(self) -> str:
        """The next key; "" at the end of the input."""
        if sys.platform == "win32":
            key = click.getchar()
            return _KEY_NAMES.get(key, key)
        while not self._typed:
            data = os.read(sys.stdin.fileno(), _READ)
            if not data:
                return ""
            self._typed += self._decode(data)
        found = _SEQUENCE.match(self._typed)
        key = self._typed[0] if found is None else found[0]
        self._typed = self._typed[len(key) :]
        return _KEY_NAMES.get(key, "unknown" if len(key) > 1 or not key.isprintable() else key)
