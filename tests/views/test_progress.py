import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import nullcontext
from io import StringIO
from threading import Event

import pytest
from rich.cells import cell_len

from calipers.views.page import Page
from calipers.views.progress import ProgressBar, ProgressCell, show_progress


class Counts:
    def __init__(
        self, finished: int = 0, total: int | None = None, failed: int = 0, in_flight: int = 0
    ) -> None:
        self.finished = finished
        self.total = total
        self.failed = failed
        self.in_flight = in_flight


def line(counts: Counts, width: int = 80, encoding: str = "utf-8") -> str:
    with ProgressBar(counts, delay=60) as bar:
        return bar.line(Page(width, encoding)).plain


# ---------------------------------------------------------------------- what it says


def test_the_bar_shows_how_far_the_run_is():
    shown = line(Counts(finished=30, total=120, failed=2, in_flight=8), width=100)
    assert shown.startswith("━" * 10 + "─" * 30 + "  30/120  2 not passed  1 s left  ")
    assert shown.endswith("/s  8 in flight")


def test_without_a_total_there_is_no_bar():
    assert re.fullmatch(
        r"1,234 done  \S+ µ?s  [\d,]+/s  5 in flight", line(Counts(finished=1234, in_flight=5))
    )


@pytest.mark.parametrize("total", [0, 1, 120])
def test_nothing_finished_promises_nothing(total: int):
    shown = line(Counts(total=total))
    assert f"0/{total}" in shown
    assert "left" not in shown
    assert "/s" not in shown


@pytest.mark.parametrize("width", range(1, 121, 7))
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_bar_fits_and_a_narrow_one_keeps_the_count(width: int, encoding: str):
    shown = line(Counts(finished=5, total=10, failed=1, in_flight=3), width, encoding)
    assert "5/10" in shown
    assert cell_len(shown) < max(width, 20)
    assert encoding != "ascii" or shown.isascii()


# ---------------------------------------------------------------------- where it is shown


@pytest.mark.parametrize(
    ("env", "shown"),
    [
        ({}, "ProgressBar"),
        ({"CI": "false"}, "ProgressBar"),
        ({"CI": "true"}, "nullcontext"),
        ({"CI": "1"}, "nullcontext"),
        ({"TERM": "dumb"}, "nullcontext"),
    ],
)
def test_a_bar_is_for_terminals_that_someone_watches(env: dict[str, str], shown: str):
    source = "from calipers.views.progress import show_progress; print(type(show_progress(None)).__name__)"
    out, _ = on_terminal(source, stdout=subprocess.PIPE, env=env)
    assert out.strip() == shown


def test_no_bar_where_standard_error_is_no_terminal():
    before = sys.stderr
    for stream in (StringIO(), None):
        sys.stderr = stream
        try:
            assert isinstance(show_progress(Counts()), nullcontext)
        finally:
            sys.stderr = before


RUN = """
import sys, time
from calipers import Case, Dataset

def wait_for_the_bar():
    while not hasattr(sys.stderr, "rich_proxied_file") and sys.stderr.isatty():
        time.sleep(0.01)

def task(number):
    wait_for_the_bar()
    print(f"working on [red]{number}[/] :smile: " + "long " * 30)
    return number

report = Dataset(
    cases=[Case(name=str(i), inputs=i) for i in range(8)], evaluators=[lambda output: output != 3]
).evaluate_sync(task, max_concurrency=1)
print("rich" in sys.modules)
"""


def test_nothing_is_written_to_a_pipe_and_rich_is_not_even_loaded():
    source = RUN.replace("wait_for_the_bar()\n    print", "time.sleep(0.12)\n    print")
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "False"


def test_on_a_terminal_the_bar_stays_below_what_the_task_prints():
    _, shown = on_terminal(RUN)
    rows = screen(shown)
    said = f"working on [red]{{}}[/] :smile: {'long ' * 30}".rstrip()
    printed = [said.format(i) for i in range(8)]
    assert [row for row in rows if row.startswith("working")] == printed
    bars = [row for row in rows if "━" in row]
    assert len(bars) == 1
    assert "8/8  1 not passed" in bars[0]
    assert rows[-1] == "True"
    assert rows.index(bars[0]) > rows.index(printed[-1])
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is back"


def test_output_that_goes_elsewhere_is_left_alone():
    out, shown = on_terminal(RUN, stdout=subprocess.PIPE)
    assert out.count("working on [red]") == 8
    assert "working" not in shown
    assert "8/8" in screen(shown)[-1]


def test_a_quick_run_shows_nothing():
    out, shown = on_terminal(RUN.replace("wait_for_the_bar()\n    print", "print"), stdout=subprocess.PIPE)
    assert shown == ""
    assert out.splitlines()[-1] == "False"


SHOWN = """
import sys, time
from calipers.views.progress import ProgressBar

class Counts:
    finished, total, failed, in_flight = 0, 10, 0, 2

counts, before = Counts(), (sys.stdout, sys.stderr)
bar = ProgressBar(counts, delay=0)
def wait():
    while bar._live is None:
        time.sleep(0.01)
"""


def test_an_error_restores_the_terminal_and_the_streams():
    source = (
        SHOWN
        + """
try:
    with bar:
        wait()
        counts.finished = 4
        held = sys.stdout  # as a log handler would
        print("[/unfinished] line", end="")
        raise KeyboardInterrupt
except KeyboardInterrupt:
    print((sys.stdout, sys.stderr) == before)
"""
    )
    _, shown = on_terminal(source)
    rows = screen(shown)
    assert rows[0] == "[/unfinished] line"
    assert "4/10" in rows[1]
    assert "left" not in rows[1]
    assert "in flight" not in rows[1]
    assert rows[2:] == ["True"]
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is back"


def test_where_someone_else_draws_there_is_no_second_bar():
    source = (
        SHOWN
        + """
from rich.console import Console
from rich.live import Live
from threading import enumerate as threads

with Live("their own display", console=Console(), auto_refresh=False), bar:
    bar._timer.join()
    assert bar._live is None
"""
    )
    _, shown = on_terminal(source)
    assert "their own display" in shown
    assert "0/10" not in shown


# ---------------------------------------------------------------------- a terminal


def on_terminal(
    source: str, *, stdout: int | None = None, env: dict[str, str] | None = None
) -> tuple[str, str]:
    """What a program writes to standard output, if that is a pipe, and to a terminal of 100 columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    unset = {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CI"}
    known = {name: value for name, value in os.environ.items() if name not in unset} | {"TERM": "xterm"}
    child = subprocess.Popen(
        [sys.executable, "-c", source],
        stdout=slave if stdout is None else stdout,
        stderr=slave,
        env=known | (env or {}),
    )
    os.close(slave)
    found = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        found += chunk
    os.close(master)
    out = child.stdout.read().decode() if child.stdout else ""
    if child.stdout:
        child.stdout.close()
    assert child.wait() == 0, found.decode()
    return out, found.decode().replace("\r\n", "\n")


def screen(written: str) -> list[str]:
    """The lines that a terminal without a right margin shows after all that was written to it."""
    rows, row, column = [""], 0, 0
    for code, move, text in re.findall(r"(\x1b\[[0-9;?]*([A-Za-z]))|([^\x1b])", written, re.DOTALL):
        if move == "A":
            row -= int(code[2:-1] or 1)
        elif move == "K":
            rows[row] = ""
        elif text == "\r":
            column = 0
        elif text == "\n":
            row, column = row + 1, 0
            rows += [""] * (row + 1 - len(rows))
        elif text:
            rows[row] = rows[row][:column].ljust(column) + text + rows[row][column + 1 :]
            column += 1
    return [found.rstrip() for found in rows if found.strip()]


# ---------------------------------------------------------------------- in a notebook


class Shown:
    """What `IPython.display.display` does: shows some data, and gives a handle that replaces it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.first = Event()

    def __call__(self, data: dict[str, str], *, raw: bool, display_id: bool) -> "Shown":
        assert raw
        assert display_id
        self.update(data, raw=raw)
        self.first.set()
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        self.lines.append(data["text/plain"])


def test_in_a_notebook_a_line_of_text_is_replaced_and_the_last_one_says_how_it_ended():
    shown, counts = Shown(), Counts(finished=30, total=120, failed=2, in_flight=8)
    with ProgressCell(counts, shown, delay=0):
        assert shown.first.wait(60)
        counts.finished, counts.in_flight = 120, 0
    assert "30/120  2 not passed" in shown.lines[0]
    assert re.match("━+  120/120  2 not passed  ", shown.lines[-1])


def test_a_short_run_shows_nothing_in_a_notebook():
    shown = Shown()
    with ProgressCell(Counts(finished=1, total=1), shown, delay=60):
        pass
    assert shown.lines == []
