"""A bar on a terminal, or below the cell of a notebook, while a run goes on.

On a terminal it is drawn on standard error, and only where someone can watch it: nothing is written, nor `rich` loaded, when that is
no terminal, a dumb one, or that of a CI job. Runs shorter than half a second show nothing. Cases cost nothing: the
counts are read ten times a second. What the task prints meanwhile appears above the bar. In a notebook it is a line of text that is
replaced twice a second; no widgets are needed, and the last one stays.
"""

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from threading import Event, Lock, Thread, Timer
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

from calipers.process.loop import GRACE_SECONDS
from calipers.stats.number_text import seconds

from .page import Page

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

    from calipers.run.evaluation import Counts

DELAY = 0.5
"""Seconds before the bar appears."""
_PER_SECOND = 10
"""How often it is drawn."""
_SECONDS_BETWEEN = 0.5
"""How long a line stands in a notebook."""
_BAR = (10, 40)
"""The fewest and the most cells of the bar itself."""


def show_progress(counts: "Counts") -> AbstractContextManager[Any]:
    """A block during which a bar shows the counts, in a notebook, or if standard error is a terminal that someone watches."""
    if _is_notebook():
        from IPython.display import display

        return ProgressCell(counts, display)
    return ProgressBar(counts) if _is_watched() else nullcontext()


def _is_notebook() -> bool:
    """Whether a kernel has taken standard error over."""
    return type(sys.stderr).__module__.partition(".")[0] == "ipykernel"


def _is_watched() -> bool:
    if os.environ.get("TERM") == "dumb" or os.environ.get("CI", "").lower() not in {"", "0", "false"}:
        return False
    return _is_terminal(sys.stderr)


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # there is no such stream, or it is closed
        return False


class ProgressBar:
    """Shows the counts from `delay` seconds after the block begins until it ends."""

    def __init__(self, counts: "Counts", *, delay: float = DELAY) -> None:
        self.counts = counts
        self.delay = delay
        self._lock = Lock()
        self._over = False
        self._live: Live | None = None

    def __enter__(self) -> Self:
        self._start = perf_counter()
        self._timer = Timer(self.delay, self._show)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._live is not None:
                for stream in (sys.stdout, sys.stderr):
                    if _is_live(stream):
                        stream.flush()  # a line that was begun and not ended would be lost
                self._live.stop()

    def _show(self) -> None:
        """Begin to draw, unless the run is over or someone else draws on this terminal."""
        with self._lock:
            if self._over or _is_live(sys.stderr) or _is_live(sys.stdout):
                return
            from rich.console import Console
            from rich.live import Live

            # What tasks print goes through this console: it is shown as it is, neither read as markup nor wrapped.
            console = Console(stderr=True, markup=False, emoji=False, highlight=False, soft_wrap=True)
            live = Live(
                console=console,
                get_renderable=lambda: self.line(Page(console.width, console.encoding)),
                refresh_per_second=_PER_SECOND,
                # Output that goes to a file or a pipe does not disturb the bar, and must not end up on the terminal.
                redirect_stdout=_is_terminal(sys.stdout),
            )
            live.start(refresh=True)
            self._live = live

    def line(self, page: Page) -> "Text":
        """The bar as it stands now."""
        return _line(page, self.counts, perf_counter() - self._start, over=self._over)


class ProgressCell:
    """Shows the counts below the cell of a notebook, from `delay` seconds after the block begins until it ends."""

    def __init__(self, counts: "Counts", display: Callable[..., Any], *, delay: float = DELAY) -> None:
        """Takes the counts, `display` of `IPython.display`, and the seconds before the first line."""
        self.counts = counts
        self.delay = delay
        self._display = display
        self._over = Event()

    def __enter__(self) -> Self:
        self._start = perf_counter()
        # A kernel knows by the context to which cell something belongs.
        self._thread = Thread(target=copy_context().run, args=(self._show,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join(GRACE_SECONDS)

    def _show(self) -> None:
        if self._over.wait(self.delay):
            return
        shown = self._display(self._data(), raw=True, display_id=True)
        while not self._over.wait(_SECONDS_BETWEEN):
            shown.update(self._data(), raw=True)
        shown.update(self._data(), raw=True)

    def _data(self) -> dict[str, str]:
        elapsed = perf_counter() - self._start
        return {"text/plain": _line(Page(80), self.counts, elapsed, over=self._over.is_set()).plain}


def _line(page: Page, counts: "Counts", elapsed: float, *, over: bool) -> "Text":
    """The bar; a narrow page shows the first facts only."""
    finished, total, failed, in_flight = counts.finished, counts.total, counts.failed, counts.in_flight
    facts: list[tuple[str, str]] = [
        (f"{finished:,} done" if total is None else f"{finished:,}/{total:,}", "bold")
    ]
    if failed:
        facts.append((f"{failed:,} not passed", "red"))
    facts.append((seconds(elapsed) if over else _time(finished, total, elapsed), ""))
    if finished:
        facts.append((_rate(finished / elapsed), "dim"))
    if not over and (pauses := [pause for pause in getattr(counts, "pauses", ()) if pause[1] >= 1]):
        name, left = max(pauses, key=lambda pause: pause[1])
        facts.insert(1, (f"waits for {name}, {seconds(round(left))} more", "yellow"))
    if in_flight and not over:
        facts.append((f"{in_flight:,} in flight", "dim"))
    if not over and (waiting := getattr(counts, "waiting", 0)):
        facts.append((f"{waiting:,} calls wait", "dim"))
    least, most = (0, 0) if not total else _BAR
    room = page.width - 1  # a line of full width would make some terminals begin a new one
    while len(facts) > 1 and least + sum(len(text) + 2 for text, _ in facts) > room:
        facts.pop()
    line = page.line()
    if total:
        width = max(least, min(most, room - sum(len(text) + 2 for text, _ in facts)))
        done = min(width, width * finished // total)
        line.append(page.glyph("━", "#") * done, "green" if not failed else "yellow")
        line.append(page.glyph("─", "-") * (width - done), "dim")
        line.append("  ")
    for number, (text, style) in enumerate(facts):
        line.append(("  " if number else "") + text, style)
    line.no_wrap = True
    return line


def _is_live(stream: Any) -> bool:
    """Whether a `rich` live display has taken the stream over."""
    return hasattr(stream, "rich_proxied_file")


def _time(finished: int, total: int | None, elapsed: float) -> str:
    """The time left where it can be told, else the time taken."""
    if not finished or total is None or finished >= total:
        return seconds(round(elapsed))
    left = (total - finished) * elapsed / finished
    return f"{seconds(max(1, round(left)))} left"


def _rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s" if per_second >= 10 else f"{per_second:.2g}/s"
