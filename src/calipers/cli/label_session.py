"""Labelling on a terminal: one attempt after the other, one key for each answer.

A session is blind. It shows what was asked and what came of it, and neither what judges or other people said of it, nor how the answers
so far turned out: who knows would go along. Each answer is written to the store before the next attempt is shown, so whatever ends the session
loses nothing. An attempt that is skipped stays unlabelled, and comes again in the next session.

The order is random: if you stop early, you have still labelled a fair sample. It follows from a seed, which the labels keep. People who
label the same question have the same order, unless they ask for another one, so that their labels meet.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import chain, zip_longest
from random import Random
from typing import NamedTuple, Protocol

import click

from calipers.data.human_label import HumanLabel, Rating
from calipers.errors import InvalidOptionError
from calipers.exchange.label_file import read_attempts
from calipers.gate.human_labels import output_of
from calipers.stats.number_text import plural
from calipers.stores.packing import Record
from calipers.stores.run_info import RunInfo, timestamp
from calipers.stores.store import Store
from calipers.stores.stored_attempt import StoredAttempt
from calipers.views.attempts import attempt_unjudged
from calipers.views.text import visible

_MOST = 10
"""Answers that have a key each."""
_FEWEST_ROWS = 3
"""Rows of an attempt that are shown in the smallest terminal."""
_LONGEST = 5000
"""Characters that are wrapped at once: a line of a megabyte would take long."""
_END = ""
"""What a source of keys gives at its end."""
_COMMANDS = {"c": "note", "s": "skip", "u": "undo", "q": "quit"}
_PAGING = {" ": 1, "pagedown": 1, "down": 1, "b": -1, "pageup": -1, "up": -1}
"""By how many pages a key turns."""


class Keys(Protocol):
    """Where keys come from: a terminal, or a test (`calipers.testing.ScriptedKeys`)."""

    def read(self) -> str:
        """The next key: a character, `enter`, `backspace`, `escape`, `up`, `down`, `pageup` or `pagedown`; "" if there are no more."""
        ...


class Drawn(NamedTuple):
    """An attempt to label."""

    position: int
    probability: float | None
    """With which it was drawn; `None`: the same for all that are in the order."""
    seed: int | None = None
    """Of the draw, where that was an earlier one; `None`: of this one."""


class Answers(NamedTuple):
    """What a person may say, and by which key."""

    by_key: Mapping[str, Rating]
    words: Mapping[str, str]
    """How the answer of each key is shown."""


def yes_or_no() -> Answers:
    """The answers to a question of yes or no."""
    return Answers({"y": True, "n": False}, {"y": "yes", "n": "no"})


def scale(given: str) -> Answers:
    """The answers on a scale such as `1-5`: whole numbers, each by its last digit.

    Raises:
        InvalidOptionError: it is not a scale.
    """
    low, _, high = given.partition("-")
    if not (low.isdecimal() and high.isdecimal() and len(given) < _MOST):
        raise InvalidOptionError(
            f"--scale must be written LOW-HIGH in whole numbers, such as 1-5, got {given!r}"
        )
    numbers = range(int(low), int(high) + 1)
    if not 1 < len(numbers) <= _MOST:
        raise InvalidOptionError(
            f"--scale must have from 2 to {_MOST} numbers, one for each digit, got {given!r}"
        )
    found = {str(number % _MOST): number for number in numbers}
    return Answers(found, {key: str(number) for key, number in found.items()})


def choices(given: str) -> Answers:
    """The answers among words such as `good,bad,unsure`, each by its number.

    Raises:
        InvalidOptionError: they are fewer than two or more than nine, or not all different.
    """
    words = [word.strip() for word in given.split(",")]
    if not all(words) or len(set(words)) < len(words) or not 1 < len(words) < _MOST:
        raise InvalidOptionError(
            f"--choices must be from 2 to {_MOST - 1} different words, separated by commas, got {given!r}"
        )
    found = {str(number): word for number, word in enumerate(words, 1)}
    return Answers(found, dict(found))


def random_order(attempts: Sequence[StoredAttempt], seed: int) -> list[int]:
    """The positions of all attempts in random order: first one attempt at each case, then a second one at each, and so on.

    Attempts at one case are much alike: the first of each tells most.
    """
    draw = Random(seed)  # noqa: S311 - the seed has to repeat the order
    cases: dict[str, list[int]] = {}
    for attempt in attempts:
        cases.setdefault(attempt.case_name, []).append(attempt.position)
    order = list(cases.values())
    draw.shuffle(order)
    for positions in order:
        draw.shuffle(positions)
    return [position for position in chain.from_iterable(zip_longest(*order)) if position is not None]


@dataclass
class LabelSession:
    """One person, who answers one question about attempts of one run."""

    store: Store
    run: RunInfo
    question: str
    person: str
    answers: Answers
    queue: list[Drawn]
    """Attempts without an answer, in the order in which they are shown."""
    seed: int
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
        label = HumanLabel(
            run=self.run.id,
            position=drawn.position,
            case=attempt.case_name,
            repeat=attempt.repeat,
            question=self.question,
            person=self.person,
            value=value,
            note=note,
            at=timestamp(),
            probability=drawn.probability,
            seed=self.seed if drawn.seed is None else drawn.seed,
            about=output_of(record),
        )
        self.store.add_labels([label])
        self.queue.pop(0)
        self._history.append(drawn.position)
        self.added += 1

    def _undo(self) -> bool:
        """Take the last answer back, and show its attempt again; False if there is none."""
        if not self._history:
            return False
        position = self._history.pop()
        own = self.store.labels(run=self.run.id, question=self.question, person=self.person)
        drawn = {label.position: Drawn(position, label.probability, label.seed) for label in own}
        self.store.remove_label(self.run.id, position, question=self.question, person=self.person)
        self.queue.insert(0, drawn.get(position) or Drawn(position, None))
        self.added -= 1
        return True

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
        foot = wrapped(visible(self.session.question), width)
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
    parts = [f"{plural(max(session.added, 0), 'label')} by {session.person} to {session.question!r}"]
    if session.skipped:
        parts.append(f"{session.skipped:,} skipped")
    parts.append(f"{left:,} of {plural(session.total, 'attempt')} left" if left else "none left")
    return ", ".join(parts)
