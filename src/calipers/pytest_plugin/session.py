"""What the tests of a session measured, and how it gets to the process that sums it up.

A *run* is one evaluation: of a whole dataset in one test, or of one case. It is kept as plain data and travels with the
report that pytest makes of the test's next phase. Under pytest-xdist these reports are what workers send, so every
worker's runs arrive without a channel of their own, and a worker that crashes takes no more than its current test along. An
interrupt ends that: reports on their way are not read any more. So workers note their runs in a file each, too, which the main process
reads after an interrupt, when they have ended.

Like `hooks`, this is loaded into every pytest of an environment, whatever its version: it keeps to what pytest 7 has.
"""

import json
from collections import Counter
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from pluggy import Result

    from calipers.gate.verdict import Outcome
    from calipers.plugins import PluginManager
    from calipers.views.view import View

SEVERAL_MARKERS = (
    "this test has several calipers markers, and only one dataset can be what it is about: write one test for each, "
    "or one Dataset with all the cases"
)
ATTRIBUTE = "calipers_runs"
"""Where a pytest report carries runs."""
INCONCLUSIVE = "calipers_inconclusive"
"""Where a pytest report carries what gates could not decide."""
GATED = "calipers_gated"
"""Where a pytest report carries what came of the gates of its test."""
PLUGIN_FAILURES = "calipers_plugin_failures"
"""Where the output of a worker carries what went wrong in its plugins."""


_FROM_GOOD_TO_BAD: "tuple[Outcome, ...]" = ("PASS", "INCONCLUSIVE", "WORSE", "FAIL")


class Session:
    """The runs of a session, and the hooks that collect them."""

    def __init__(
        self, config: pytest.Config, *, seed: int, named: "PluginManager | None", is_worker: bool
    ) -> None:
        self.config = config
        self.seed = seed
        self.is_worker = is_worker
        self._named = named
        self.targets: list[str] = []
        """Report files to write at the end: `FORMAT:PATH`."""
        self.store: str | None = None
        """Where to keep what was measured."""
        self.kept: str | None = None
        """The command that shows what was kept."""
        self.item: pytest.Item | None = None
        """The test that runs, or ran last."""
        self.runs: list[dict[str, Any]] = []
        """Runs that have arrived; stays empty in a worker."""
        self.case_ids: dict[int, str] = {}
        """What pytest calls a case in the name of its test, by `id` of the case."""
        self.ended_early: list[tuple[Literal["interrupted", "stopped", "failed"], str]] = []
        """Why some of what was to be measured is not among the runs: what kind of `Incomplete`, and a sentence."""
        self.problems: list[str] = []
        """Report files that could not be written, and what could not be kept."""
        self.plugin_failures: list[str] = []
        """What went wrong in plugins, in whichever process."""
        self.written: list[str] = []
        """Report files that were written."""
        self.unmeasured: pytest.Item | None = None
        """A test that took `evaluate_case` and has made no attempt with it yet."""
        self.evaluated = False
        """Whether the body of the present test has used `evaluate` or `evaluate_case`."""
        self.inconclusive: list[str] = []
        """What gates of the present test could not decide."""
        self.verdicts: list[Outcome] = []
        """What gates of the present test came to."""
        self.lacks_baseline = False
        """Whether a gate of the present test found no run to compare with."""
        self.gated: dict[str, Outcome] = {}
        """What came of the gates of tests, by the names of tests; stays empty in a worker."""
        self.shown_tracebacks: set[str] = set()
        """Those of failed attempts at marked cases: one outage fails many cases, and is shown once."""
        self.started_at = datetime.now(UTC).isoformat()
        self._start = perf_counter()
        self.shift = 0.0
        """Seconds by which the present call of a test seems shorter than it is to be told: cases of several tests run together."""
        self._unsent: list[dict[str, Any]] = []
        self._positions: dict[pytest.Item, int] = {}
        self._selected: Counter[str] = Counter()
        """How many cases of each test were selected to run."""
        self._notes: Path | None = None
        """A folder in which workers note their runs; `None` without workers."""
        self._count = 0
        self._signals = ExitStack()
        self._hears_sigterm = False

    @cached_property
    def plugins(self) -> "PluginManager | None":
        """Those of `--calipers-plugin`, and the installed ones or those that the project's file chooses; `None` if there are none.

        Installed ones are loaded when something is measured, so that a session that measures nothing does not wait for them.
        """
        if not self.config.option.calipers_no_plugins:
            from calipers.pytest_plugin.named_plugins import with_chosen

            return with_chosen(self._named, self.config.invocation_params.dir)
        return self._named

    @property
    def views(self) -> "Mapping[str, View] | None":
        """The views of plugins, which report files may be made by."""
        return None if self.plugins is None else self.plugins.views

    @property
    def duration(self) -> float:
        """Seconds since the session began."""
        return perf_counter() - self._start

    @property
    def _loaded(self) -> "PluginManager | None":
        """The plugins that were loaded so far."""
        return self.plugins if "plugins" in vars(self) else self._named

    def keep(
        self,
        report: dict[str, Any],
        *,
        items: "Mapping[str, pytest.Item] | None" = None,
        apart: str | None = None,
    ) -> None:
        """Keep the report of a run, as plain data, as something that the current test measured.

        Args:
            report: what `Report.to_dict` gives.
            items: by the names of cases, the tests that are each about one of them; `None`: the run is part of the current test.
            apart: the fixture that keeps cases from being attempted together, if one does.
        """
        item = self.item
        if items is not None:
            self.unmeasured = None
        assert item is not None, "fixtures are only ever used by tests"
        if not self._positions:
            self._positions = {each: number for number, each in enumerate(item.session.items)}
            self._selected = Counter(map(self.test_of, item.session.items))
        self._count += 1
        worker: dict[str, Any] = getattr(self.config, "workerinput", {})
        self._unsent.append(
            {
                "id": f"{worker.get('workerid', 'main')} {self._count}",
                "test": self.test_of(item),
                "item": item.nodeid,
                "position": self._positions.get(item, -1),
                "items": {
                    name: [self._positions.get(each, -1), each.nodeid] for name, each in (items or {}).items()
                },
                "apart": apart,
                "chosen": None if items is None else self._chosen(item),
                "report": report,
            }
        )
        if "calipers_notes" in worker:
            with (
                suppress(OSError),  # a worker on another machine
                Path(worker["calipers_notes"], worker["workerid"]).open("a", encoding="utf-8") as file,
            ):
                file.write(f"{json.dumps(self._unsent[-1])}\n")

    def hear_sigterm(self) -> None:
        """Let a SIGTERM end the session like Ctrl-C from now on, so that what was measured is reported."""
        if self._hears_sigterm:
            return
        from calipers.process.interrupt import terminating

        self._hears_sigterm = True
        self._signals.enter_context(terminating())

    def notes_folder(self) -> str:
        """The folder for the notes of workers."""
        if self._notes is None:
            self._notes = Path(mkdtemp(prefix="calipers-"))
        return str(self._notes)

    def _read_notes(self) -> None:
        """Take the runs that workers noted and that did not arrive."""
        known = {run["id"] for run in self.runs}
        for path in sorted(self._notes.iterdir()) if self._notes is not None else ():
            for line in path.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):  # its worker was ended in the middle of it
                    run = json.loads(line)
                    self.runs += [run] if run["id"] not in known else []

    def test_of(self, item: pytest.Item) -> str:
        """The name of the test without the case: what all tests of one dataset share."""
        callspec = getattr(item, "callspec", None)
        case_id = None if callspec is None else self.case_ids.get(id(callspec.params.get("case")))
        if callspec is None or case_id is None:
            return item.nodeid
        start = item.nodeid.removesuffix(f"[{callspec.id}]")
        others = callspec.id.removesuffix(case_id).removesuffix("-")
        return f"{start}[{others}]" if others else start

    def _chosen(self, item: pytest.Item) -> tuple[int, int] | None:
        """How many cases of a marked test were selected, and of how many; `None` if all were.

        However that came about (`-k`, `--lf`, names of tests, another plugin), it need not have been at random.
        """
        if item.get_closest_marker("calipers") is None:
            return None
        mark = marks_of(item)[0]
        total = len((mark.args[0] if mark.args else mark.kwargs["dataset"]).cases)
        selected = self._selected[self.test_of(item)]
        return (selected, total) if selected < total else None

    # ------------------------------------------------------------------ hooks

    def pytest_sessionstart(self) -> None:
        """Be ready for a SIGTERM where what was measured is to be written, in workers too."""
        if self.config.option.calipers_out or self.config.option.calipers_store is not None:
            self.hear_sigterm()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Note which test runs, and refuse one whose marker made no cases: it would pass without any."""
        self.item = item
        self.unmeasured = None
        self.shift = 0.0
        self.inconclusive = []
        self.verdicts = []
        self.lacks_baseline = False
        if len(marks_of(item)) > 1:
            pytest.fail(SEVERAL_MARKERS, pytrace=False)
        if item.get_closest_marker("calipers") is not None:
            callspec = getattr(item, "callspec", None)
            if callspec is None or id(callspec.params.get("case")) not in self.case_ids:
                pytest.fail(
                    "the calipers marker makes no cases of this test: pytest parametrizes functions and methods of "
                    "plain classes only, not of unittest.TestCase",
                    pytrace=False,
                )

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """After a body that ran to its end, refuse a test that could have made an attempt at its case and did not."""
        if self.unmeasured is item:
            pytest.fail(
                "nothing was measured: the test takes evaluate_case and made no attempt with it; "
                "call evaluate_case(task), or take case alone",
                pytrace=False,
            )

        if self.evaluated and isinstance(item, pytest.Function):
            from calipers.pytest_plugin.evaluate_fixtures import warn_if_unasserted

            warn_if_unasserted(item)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: "pytest.CallInfo[None]"
    ) -> "Generator[None, Result[pytest.TestReport], None]":
        """Let a report take along what was measured since the last one, and tell how long its own case took."""
        outcome = yield
        try:
            report = outcome.get_result()
            if call.when == "call":
                self._tell(report, item, failed=call.excinfo is not None)
            if self._unsent:
                setattr(report, ATTRIBUTE, self._unsent)
                self._unsent = []
        except KeyboardInterrupt as interrupt:  # pluggy makes a warning of what is raised here
            outcome.force_exception(interrupt)

    def _tell(self, report: pytest.TestReport, item: pytest.Item, *, failed: bool) -> None:
        """Let the report of a test tell how long its own case took, and what came of its gates."""
        report.duration = max(0.0, report.duration + self.shift)
        if self.inconclusive:
            setattr(report, INCONCLUSIVE, self.inconclusive)
        if (gated := self._gated(item, failed=failed)) is not None:
            setattr(report, GATED, gated)

    def _gated(self, item: pytest.Item, *, failed: bool) -> "Outcome | None":
        """What came of the gates of a test; `None` if it has none, or lacks a baseline, which its results may be from now on.

        A test that failed in another way did not pass its gate either: what it measured is no baseline.
        """
        if self.lacks_baseline:
            return None
        worst = max(self.verdicts, key=_FROM_GOOD_TO_BAD.index, default=None)
        if failed and worst in (None, "PASS") and "gate" in getattr(item, "fixturenames", ()):
            return "FAIL"
        return worst

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        """Count a test whose gate could not decide as what it is."""
        if getattr(report, INCONCLUSIVE, None) and report.passed:
            return "inconclusive", "?", ("INCONCLUSIVE", {"yellow": True})
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the runs of a report, whichever process it comes from."""
        if self.is_worker:
            return
        if runs := getattr(report, ATTRIBUTE, []):
            self.hear_sigterm()  # in the main process, too, where workers measure
            self.runs += runs
        if (gated := getattr(report, GATED, None)) is not None:
            self.gated[report.nodeid] = gated
        if report.when not in {"setup", "call", "teardown"}:  # pytest-xdist's report of a worker that crashed
            reason = f"a worker crashed while it ran {report.nodeid}"
            self.ended_early.append(("failed", reason))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the report files. What a test measured before it was interrupted is part of them."""
        self.runs += self._unsent
        self._unsent = []
        self._tell_of_plugins()
        if self.is_worker or self.config.option.collectonly or exitstatus == pytest.ExitCode.USAGE_ERROR:
            return
        ended = session.shouldfail or session.shouldstop
        if exitstatus == pytest.ExitCode.INTERRUPTED:
            self._read_notes()
            ended = ended or "interrupted"
        if ended:
            reason = f"the tests ended early: {ended}"
            is_interrupted = exitstatus == pytest.ExitCode.INTERRUPTED
            self.ended_early.append(("interrupted" if is_interrupted else "stopped", reason))
        if self.targets or self.store is not None:
            from calipers.pytest_plugin.session_report import write_reports

            write_reports(self)
            if self.problems and exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def _tell_of_plugins(self) -> None:
        """Note what went wrong in plugins; a worker lets the process know that sums everything up."""
        plugins = self._loaded
        failures = [] if plugins is None else [f"plugin {each}" for each in plugins.failures]
        if self.is_worker:
            workeroutput: dict[str, Any] = self.config.workeroutput  # type: ignore[attr-defined]
            workeroutput[PLUGIN_FAILURES] = failures
        self.plugin_failures += failures

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker of pytest-xdist has to tell of its plugins; one that crashed has nothing."""
        found: list[str] = getattr(node, "workeroutput", {}).get(PLUGIN_FAILURES, [])
        self.plugin_failures += [each for each in found if each not in self.plugin_failures]

    def pytest_unconfigure(self) -> None:
        """Unload the plugins, remove the notes of workers, and leave SIGTERM to others."""
        self._signals.close()
        if self._notes is not None:
            rmtree(self._notes, ignore_errors=True)
        if self._loaded is not None:
            self._loaded.unload_all()

    def pytest_terminal_summary(self, terminalreporter: "pytest.TerminalReporter") -> None:
        """Show what was measured, if anything was, and which files hold it."""
        if (
            self.problems
            or self.plugin_failures
            or ((self.runs or self.written) and terminalreporter.verbosity >= -1)
        ):
            from calipers.pytest_plugin.section import show_section

            show_section(self, terminalreporter)


class SummaryGuard:
    """The hook around the summaries of pytest and of all plugins, `Session`'s among them."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: "pytest.TerminalReporter"
    ) -> "Generator[None, Result[None], None]":
        """Keep GitHub Actions from obeying what was measured; a session that measured nothing is left as it is."""
        if not self.session.runs:
            yield
            return
        from calipers.pytest_plugin.section import without_commands

        with without_commands(terminalreporter):
            yield


def marks_of(node: Any) -> list[pytest.Mark]:
    """The calipers markers of a test that stand nearest to it: on the function, else on its class, else in its module."""
    found = list(node.iter_markers_with_node("calipers"))
    return [mark for holder, mark in found if holder is found[0][0]]


SESSION = pytest.StashKey[Session]()
