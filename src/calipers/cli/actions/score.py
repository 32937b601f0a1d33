"""What `calipers score` does: a kept run as an evaluation whose attempts are made already.

The exit code is about the whole report, old results and new ones. A run that is not complete is an error, whatever its
attempts say: those that are missing might say something else.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from calipers.cli.actions.run import RunOptions, Session
from calipers.cli.address import load_object
from calipers.cli.dataset_files import DatasetFiles
from calipers.cli.evaluation_outcome import Complaint, Outcome
from calipers.cli.exits import ERRORED, FROM_OUTSIDE
from calipers.cli.keeper import Keeper
from calipers.cli.named_evaluators import NamedEvaluators
from calipers.cli.stored_runs import MOST_IN_MEMORY, find_run, open_kept
from calipers.cli.target import Evaluation
from calipers.errors import InvalidOptionError
from calipers.report.report import Report
from calipers.stats.number_text import plural
from calipers.stores.rescoring import score_again
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.views.progress import show_progress


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(RunOptions):
    """The options of `calipers score`; its help says what they mean."""

    run: str
    evaluators: Sequence[str]
    output_type: str | None = None
    replace: bool = False
    drop: Sequence[str] = ()
    processes: int = 1


class ScoreSession(Session):
    """One `calipers score`."""

    options: ScoreOptions

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keeper = _Place(store=self.options.store)
        self.keeper.dropped = self.options.drop
        self.info: RunInfo | None = None

    @override
    def run(self) -> int:
        with open_kept(self.options.store, redact=self.options.redact) as store:
            self.keeper.store = store
            return super().run()

    @override
    def find(self) -> list[Evaluation]:
        """The run, as the one evaluation that there is."""
        options = self.options
        store = self.keeper.store
        assert store is not None
        if not options.evaluators and not options.drop:
            raise InvalidOptionError(
                "there is nothing to do: give --evaluators, or --drop with the name of one"
            )
        if options.replace and not options.evaluators:
            raise InvalidOptionError("--replace needs --evaluators: it says to ask them again")
        self.info = info = find_run(store, options.run)
        files = DatasetFiles(
            types=options.types,
            evaluator_types=options.evaluator_type,
            allow_modules=options.allow_module,
            plugins=self.plugins,
        )
        kinds = [load_object(address) for address in options.evaluator_type]
        if self.plugins is not None:
            kinds += self.plugins.get_evaluator_types()
        named = NamedEvaluators(files, kinds, options.allow_module)
        evaluators = named.find(options.evaluators)
        output_type = None if options.output_type is None else load_object(options.output_type)

        def make() -> Report:
            return score_again(
                store,
                info.id,
                evaluators=evaluators,
                replace=options.replace,
                drop=options.drop,
                dataset=named.datasets[0] if len(named.datasets) == 1 else None,
                output_type=output_type,
                evaluator_timeout=options.evaluator_timeout or self.project.evaluator_timeout,
                retry_evaluators=self.retry_evaluators,
                max_concurrency=options.max_concurrency or self.project.max_concurrency,
                budget=self.budget,
                processes=options.processes,
                keep=self._keep(info),
                progress=show_progress if options.progress and not options.quiet else None,
            )

        name = "".join(each if each.isalnum() or each in "-_" else "-" for each in info.name)
        return [Evaluation(info.id, name, make)]

    def _keep(self, info: RunInfo) -> str:
        options = self.options
        whole = options.out or options.include_cases == "all" or info.attempts <= MOST_IN_MEMORY
        return "all" if whole else "failed"

    @override
    def _finished(self, evaluation: Evaluation, report: Report) -> Report:
        return report

    @override
    def _judge(self, outcome: Outcome, report: Report, evaluation: Evaluation) -> None:
        super()._judge(outcome, report, evaluation)
        assert self.info is not None
        if self.info.status != "finished":
            # It was the run that was interrupted, some day, and not this command.
            outcome.complaints = [
                Complaint(ERRORED, f"the run is incomplete: {message}")
                if code in FROM_OUTSIDE.values()
                else Complaint(code, message)
                for code, message in outcome.complaints
            ]


class _Place(Keeper):
    """The store in which the run is already."""

    store: Store | None
    dropped: Sequence[str] = ()

    @contextmanager
    @override
    def opened(self, folder: Path, labels: Sequence[str]) -> Iterator[None]:
        yield

    @override
    def lines(self, report: Report) -> Iterator[str]:
        """How much was judged, and where to see it."""
        counts = report.reuse
        if counts is None:
            return
        if self.dropped:
            yield f"Left out from now on: {', '.join(self.dropped)}"
        known = f", {counts.cells_reused:,} were there already" if counts.cells_reused else ""
        if counts.attempts_reused:
            yield f"Judged {plural(counts.attempts_reused, 'attempt')}: {plural(counts.cells_computed, 'new judgement')}{known}"
        if counts.judged_as_plain:
            what = plural(counts.judged_as_plain, "attempt")
            yield f"  - judged by plain data, where the task or the case had an object: {what} (--output-type, --types)"
        yield from (f"  - {note}" for note in counts.notes)
        yield self._ways_to_see(counts.run)

    @override
    def way_to_resume(self, report: Report, **_: Any) -> str | None:
        """The same command, if it was this one that ended early and not the run itself, some day."""
        ended_now = report.incomplete is not None and report.incomplete.during == "scoring"
        return "Give the same command again to go on with it" if ended_now else None
