"""What `calipers merge` does: the shards of a run as one evaluation that has run already."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from calipers.cli.actions.run import RunOptions, Session
from calipers.cli.evaluation_outcome import Outcome
from calipers.cli.exits import USAGE
from calipers.cli.message import CommandError, note
from calipers.cli.reports import read_file
from calipers.cli.stored_runs import find_run, open_kept
from calipers.cli.target import Evaluation, Finder
from calipers.errors import ShardsError
from calipers.process.loop import run_sync
from calipers.report.merged_shards import NOT_ANALYSED, merge_shards
from calipers.report.report import Report
from calipers.run.dataset import Dataset
from calipers.stores.default_store import is_file_name
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store


@dataclass(frozen=True, kw_only=True)
class MergeOptions(RunOptions):
    """The options of `calipers merge`; its help says what they mean."""

    shards: Sequence[str]
    target: str | None = None


class MergeSession(Session):
    """One `calipers merge`."""

    options: MergeOptions

    @override
    def find(self) -> list[Evaluation]:
        """The merged run, as the one evaluation that there is."""
        if self.options.target is None:
            self._refuse_file_options()
        dataset = None if self.options.target is None else self._dataset(self.options.target)
        with ExitStack() as opened:
            merged = self._merged(opened, dataset)
        name = "".join(each if each.isalnum() or each in "-_" else "-" for each in merged.name)
        return [Evaluation(merged.name, name, lambda: merged)]

    def _merged(self, opened: ExitStack, dataset: Dataset[Any, Any, Any] | None) -> Report:
        labels: list[str] = []
        reports: list[Report] = []
        store: Store | None = None
        for which in self.options.shards:
            if is_file_name(which):
                labels.append(which)
                reports.append(read_file(which, "merged"))
                continue
            store = opened.enter_context(open_kept(self.options.store)) if store is None else store
            for info in _shards_of(store, which):
                if info.id not in labels:  # a name stands for all its shards, also if it is given twice
                    labels.append(info.id)
                    reports.append(store.report(info.id))
        try:
            return merge_shards(
                reports,
                labels=labels,
                evaluators=[] if dataset is None else dataset.evaluators,
                report_evaluators=None if dataset is None else dataset.report_evaluators,
            )
        except ShardsError as error:
            raise CommandError(str(error), USAGE) from error

    def _dataset(self, target: str) -> Dataset[Any, Any, Any]:
        finder = Finder(load_dataset=self._load_dataset, has_task=True)
        found = finder.find([target], self.options.param)
        if len(found) > 1:
            raise CommandError(
                f"--target {target} has {len(found)} evaluations, and a run is of one: name it, such as {found[0].label}",
                USAGE,
            )
        made = found[0].make()
        if not isinstance(made, Report | Dataset | tuple):
            made = run_sync(lambda: _awaited(made))
        dataset = made[0] if isinstance(made, tuple) else made
        if not isinstance(dataset, Dataset):
            raise CommandError(f"--target {target} gives no dataset", USAGE)
        return dataset

    @override
    def _judge(self, outcome: Outcome, report: Report, evaluation: Evaluation) -> None:
        super()._judge(outcome, report, evaluation)
        lacking = [
            failure.name for failure in report.report_evaluator_failures if failure.error_type == NOT_ANALYSED
        ]
        if lacking:
            note(f"To have {', '.join(lacking)} look at the merged run, name what was run: --target TARGET")


async def _awaited(made: Any) -> Any:
    return await made


def _shards_of(store: Store, which: str) -> list[RunInfo]:
    """The shards that a name stands for, or the run of an id."""
    named = store.runs(name=which)
    shards = [info for info in named if info.shard is not None]
    if shards and not store.runs(ids=[which]):
        return shards[::-1]
    return [find_run(store, which)]
