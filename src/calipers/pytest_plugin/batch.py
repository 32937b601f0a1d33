"""The cases of a marked test, attempted together.

When the first test of a marker with `task=` is called, the attempts at its case and at those of the tests after it are made in one
run, as many at once as the marker allows, and every test is handed the attempts at its own case. What is argued here, once:

- Only tests that this process is going to run take part: those that were selected, and under pytest-xdist those that the worker
  has been given so far. A worker that others may take tests from (`--dist worksteal`) attempts one case at a time.
- A test that is marked to be skipped, or to fail, where the present one is not, takes no part.
- A fixture that is made anew for each test may be what an attempt depends on (a patched setting, an empty database). Where a test
  uses one, each case is attempted alone, between the setup and the teardown of its own test; `concurrent=` of the marker says
  otherwise. What only the body of a test or the plugin that runs it can notice does not count: `HARMLESS`.
- Where pytest ends the session after some failures (`-x`, `--maxfail`, `--stepwise`), one run is as many attempts as may be in flight
  at once, so that a failure early on saves the rest. What was measured for tests that do not run any more is in the report.
- The time of a test is that of its slowest attempt and of its body, as if it had been alone. What an attempt prints or logs belongs
  to its test.
"""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import pytest

from calipers.data.attempt import running_attempt
from calipers.errors import CalipersError
from calipers.pytest_plugin.evaluate_fixtures import defaults, kept, on_asyncio, unlost, with_cases
from calipers.pytest_plugin.marker import Marked, case_of, read_mark
from calipers.pytest_plugin.session import SESSION
from calipers.report.report import Report
from calipers.run.runner import AUTO_CONCURRENCY, DEFAULT_CONCURRENCY
from calipers.run.task import TaskLike, is_task
from calipers.testing.assertions import missing_passes
from calipers.views.outcome import Record

if TYPE_CHECKING:
    from calipers.run.dataset import Dataset, EvaluateOptions

HARMLESS: Final = frozenset(
    {
        "evaluate_case",
        "monkeypatch",
        "record_property",
        "record_xml_attribute",
        "subtests",
        "tmp_path",
        "tmpdir",
    }
)
"""Fixtures of a single test on which no attempt depends: what uses them to some effect is a fixture of its own."""
_RUNNERS: Final = ("anyio.", "pytest_asyncio.")
"""Where fixtures are from that run async tests, which attempts have nothing to do with."""
_DIRECT: Final = "get_direct_param_fixture_func"
"""What pytest calls the function behind a parameter, which it treats as a fixture."""
_OF_XUNIT: Final = {
    "_xunit_setup_method_fixture_": "setup_method",
    "_xunit_setup_function_fixture_": "setup_function",
}
"""How pytest begins the names of the fixtures that it makes of these."""


_CAPTURING = "LogCaptureHandler"
"""The class of pytest's handlers that keep log messages for the report of a test."""


@dataclass
class Said:
    """What the attempts at one case said."""

    written: list[tuple[str, str]] = field(default_factory=list)
    """`stdout` or `stderr`, and the text."""
    logged: list[tuple[logging.Handler, logging.LogRecord]] = field(default_factory=list)
    """What a handler of pytest would have taken."""

    def repeat(self) -> None:
        """Say it again, now that the test is called which it belongs to."""
        for stream, text in self.written:
            getattr(sys, stream).write(text)
        for handler, record in self.logged:
            handler.handle(record)
        self.written.clear()
        self.logged.clear()


@contextmanager
def divided(said: Mapping[str, Said], config: pytest.Config) -> Iterator[None]:
    """Let what attempts say inside the block go to the case that it belongs to."""
    if not said:
        yield
        return
    captured = config.getoption("capture", "no") != "no"
    streams = {name: getattr(sys, name) for name in ("stdout", "stderr") if captured}
    handlers = [each for each in logging.getLogger().handlers if type(each).__name__.endswith(_CAPTURING)]
    filters = [(handler, _Sorted(said, handler)) for handler in handlers]
    for name, stream in streams.items():
        setattr(sys, name, _Divided(said, name, stream))
    for handler, sort in filters:
        handler.addFilter(sort)
    try:
        yield
    finally:
        for handler, sort in filters:
            handler.removeFilter(sort)
        for name, stream in streams.items():
            setattr(sys, name, stream)


def _whose(said: Mapping[str, Said]) -> Said | None:
    attempt = running_attempt()
    return None if attempt is None else said.get(attempt.case_name)


class _Divided:
    """A stream that is written to by several attempts."""

    def __init__(self, said: Mapping[str, Said], name: str, stream: Any) -> None:
        self._said = said
        self._name = name
        self._stream = stream

    def write(self, text: str) -> int:
        """Keep the text for the case that it belongs to."""
        whose = _whose(self._said)
        if whose is None:
            return int(self._stream.write(text))
        whose.written.append((self._name, text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Sorted(logging.Filter):
    """Keeps messages from a handler that belong to another test than the one that is called."""

    def __init__(self, said: Mapping[str, Said], handler: logging.Handler) -> None:
        super().__init__()
        self._said = said
        self._handler = handler

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the message may go on."""
        whose = _whose(self._said)
        if whose is not None:
            whose.logged.append((self._handler, record))
        return whose is None


@dataclass
class Handed:
    """What a test is handed: the attempts at its case, or why there are none."""

    records: list[Record] = field(default_factory=list)
    problem: str | None = None
    said: Said = field(default_factory=Said)
    is_alone: bool = True
    """Whether no other case was attempted with it."""

    @property
    def seconds(self) -> float:
        """Those of the slowest attempt."""
        return max((record.total_duration for record in self.records), default=0.0)


_HANDED = pytest.StashKey[Handed]()
"""What waits for a test to be called."""
_BEGUN = pytest.StashKey[bool]()
"""Whether the case of a test was attempted."""


def attempt(item: pytest.Function, mark: pytest.Mark) -> None:
    """Make the attempts that a marker with `task=` asks for, and fail the test if too few of them pass."""
    if _HANDED not in item.stash:
        batch = _Batch(item, mark)
        with batch.running():
            batch.report = batch.dataset.evaluate_sync(batch.task, **batch.options)
    _hand_out(item, mark)


async def attempt_on_loop(item: pytest.Function, mark: pytest.Mark) -> None:
    """The same on the event loop of an async test."""
    if _HANDED not in item.stash:
        batch = _Batch(item, mark)
        with batch.running():
            on_asyncio("a marker whose task= names a fixture")
            batch.report = await batch.dataset.evaluate(batch.task, **batch.options)
    _hand_out(item, mark)


def _hand_out(item: pytest.Function, mark: pytest.Mark) -> None:
    """Take what waits for a test, and fail the test if it does not pass."""
    handed = item.stash[_HANDED]
    del item.stash[_HANDED]
    handed.said.repeat()
    item.config.stash[SESSION].unmeasured = None
    if not handed.is_alone:
        item.config.stash[SESSION].shift += handed.seconds
    problem = handed.problem
    if problem is None:
        shown = item.config.stash[SESSION].shown_tracebacks
        problem = missing_passes(handed.records, min_pass=read_mark(mark).min_pass, shown=shown)
    if problem is not None:  # not failed in the handler: pytest would show what is handled there once more
        pytest.fail(problem, pytrace=False)


class _Batch:
    """Tests of one marker whose cases are attempted in one run, the present one first."""

    def __init__(self, item: pytest.Function, mark: pytest.Mark) -> None:
        marked = read_mark(mark)
        self.task = _task_of(item, marked)
        self._session = item.config.stash[SESSION]
        self._apart = apart_by(item, marked)
        companions = [] if self._apart is not None else _companions(item, mark, marked)
        self.items = {case_of(each).name or "": each for each in [item, *companions]}
        """By the name of the case."""
        for each in self.items.values():
            each.stash[_BEGUN] = True
            each.stash[_HANDED] = Handed(is_alone=len(self.items) == 1)
        self.dataset: Dataset[Any, Any, Any] = with_cases(
            marked.dataset, [case_of(each) for each in self.items.values()]
        )
        self.options: EvaluateOptions = {
            **defaults(self._session),
            **marked.options,
            "repeat": marked.repeat,
        }
        self.report: Report | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Around the run: what it says goes to the tests that are part of it."""
        handed = {name: each.stash[_HANDED] for name, each in self.items.items()}
        start = perf_counter()
        alone = len(handed) == 1
        said = {} if alone else {name: each.said for name, each in handed.items()}
        with unlost(self._session):
            with divided(said, self._session.config):
                try:
                    yield
                except Exception as error:
                    for each in handed.values():
                        each.problem = f"{type(error).__name__}: {error}"
                    if not isinstance(error, CalipersError):  # where it was raised is news, and told once
                        raise
            if not alone:
                self._session.shift -= perf_counter() - start
            if self.report is not None:
                self._sort(self.report, handed)

    def _sort(self, report: Report, handed: Mapping[str, Handed]) -> None:
        """Give every test its attempts."""
        records: list[Record] = [*report.cases, *report.failures]
        for record in records:
            handed[record.source_case_name or record.name].records.append(record)
        for each in handed.values():
            if not each.records and report.incomplete is not None:
                each.problem = f"the run is incomplete: {report.incomplete}"
        kept(self._session, report, items=self.items, apart=self._apart or None)


def _task_of(item: pytest.Function, marked: Marked) -> TaskLike:
    """The task of the marker, or what the fixture is that it names."""
    if not isinstance(marked.task, str):
        assert marked.task is not None
        return marked.task
    found = item.funcargs.get(marked.task)
    if not is_task(found):
        pytest.fail(
            f"the fixture {marked.task!r} is to be the task: a function of a case's inputs, or an object with invoke, got "
            f"{found!r:.200}",
            pytrace=False,
        )
    return found


def apart_by(item: pytest.Function, marked: Marked) -> str | None:
    """The fixture that keeps the case of a test from being attempted with others; empty if the marker does, `None` if nothing does."""
    options = marked.options
    if marked.concurrent is False or options.get("max_concurrency") == 1 or "stop_when" in options:
        return ""
    if marked.concurrent is True:
        return None
    definitions: Mapping[str, Any] = item._fixtureinfo.name2fixturedefs  # noqa: SLF001 - there is no other way to ask
    for name in item.fixturenames:
        for definition in definitions.get(name, ())[-1:]:
            is_direct = getattr(definition.func, "__name__", None) == _DIRECT
            origin = getattr(definition.func, "__module__", None) or ""
            if (
                definition.scope == "function"
                and not is_direct
                and name not in HARMLESS
                and not origin.startswith(_RUNNERS)
            ):
                return next(
                    (said for start, said in _OF_XUNIT.items() if name.startswith(start)),
                    f"the fixture {name}",
                )
    return None


def _companions(item: pytest.Function, mark: pytest.Mark, marked: Marked) -> list[pytest.Function]:
    """The tests after this one whose cases can be attempted with its own."""
    session = item.config.stash[SESSION]
    test, conditions = session.test_of(item), _conditions(item)
    taken = {id(case_of(item))}
    found: list[pytest.Function] = []
    for each in _to_come(item):
        if (
            isinstance(each, pytest.Function)
            and _BEGUN not in each.stash
            and each.get_closest_marker("calipers") is mark
            and session.test_of(each) == test
            and all(condition in conditions for condition in _conditions(each))
            and id(case_of(each)) not in taken
        ):
            taken.add(id(case_of(each)))
            found.append(each)
    if not (item.config.getoption("maxfail", 0) or item.config.getoption("stepwise", False)):
        return found
    limit = marked.options.get("max_concurrency") or defaults(session).get("max_concurrency")
    most = AUTO_CONCURRENCY if limit == "auto" else limit or DEFAULT_CONCURRENCY
    return found[: max(0, most // marked.repeat - 1)]


def _to_come(item: pytest.Function) -> list[pytest.Item]:
    """The tests that this process is known to run after this one."""
    items = item.session.items
    worker: Mapping[str, Any] | None = getattr(item.config, "workerinput", None)
    if worker is None:
        return items[items.index(item) + 1 :]
    if not worker.get("calipers_together", False):
        return []
    for plugin in item.config.pluginmanager.get_plugins():
        queue, first = getattr(plugin, "torun", None), getattr(plugin, "nextitem_index", None)
        if queue is not None and hasattr(queue, "lock"):
            with queue.lock() as waiting:
                return [items[index] for index in (first, *waiting) if isinstance(index, int)]
    return []


def _conditions(item: pytest.Item) -> list[pytest.Mark]:
    return [mark for mark in item.iter_markers() if mark.name in {"skip", "skipif", "xfail"}]
