"""All results of one run, as data: what was tried, what came of it, and what it says together.

The headline is `pass_rate()`: the share of cases that passed, where an attempt passes if its task finished, every
evaluator finished, and every assertion held. Attempts that assert nothing are left out; a failed task never is. Attempts under
faults of the agent's tools are counted apart: `under_faults()`.

Drawing is the views' job; `print()` is a door to one of them.
"""

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar, Unpack, overload

import msgspec

from calipers.data.argument_checks import check_whole_number, is_whole_number
from calipers.data.budget import BudgetUse
from calipers.data.case import field_tags
from calipers.data.context import InputsT, MetadataT, OutputT
from calipers.data.evaluator import Expectation
from calipers.data.jsonable import plain, safe_repr
from calipers.data.limit_use import LimitUse
from calipers.data.pydantic_field import written_as
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluatorFailure
from calipers.data.reuse import Reuse
from calipers.data.trace import Trace
from calipers.data.trace_json import read_trace, trace_data
from calipers.errors import (
    NO_DEFAULT,
    DefaultT,
    InvalidOptionError,
    InvalidTraceError,
    NotKnownError,
    ReportFormatError,
)
from calipers.process.interrupt import Signal
from calipers.report.analysis import Analysis
from calipers.report.averages import Averages, CaseGroup, average, average_of, group_by_case
from calipers.report.case_units import CasePasses
from calipers.report.cost import Costs
from calipers.report.incomplete import Incomplete, Stopping
from calipers.report.passport import Standing
from calipers.report.shard import ShardFacts
from calipers.report.summary import (
    Counts,
    Durations,
    Infrastructure,
    Repeats,
    Slice,
    Summary,
    Tally,
    Totals,
    UnderFaults,
    durations,
    passes,
    tally,
    without_faults,
)
from calipers.scoring.scoring import BlockedLoop
from calipers.stats import Estimate, pass_at_k, pass_hat_k

if TYPE_CHECKING:
    from rich.console import Console

AnalysisT = TypeVar("AnalysisT")

FORMAT_VERSION = 1
"""The version of `to_dict`; a release reads its own version and every earlier one."""


class PrintOptions(TypedDict, total=False):
    """What of a report to show; see `calipers.views.terminal.print_report` for what the options mean."""

    include_cases: bool | Literal["failed"] | None
    include_reasons: bool | None
    include_values: bool
    include_input: bool | None
    include_expected_output: bool | None
    include_output: bool | None
    include_metadata: bool
    include_durations: bool
    include_total_duration: bool
    include_averages: bool
    include_errors: bool
    include_evaluator_failures: bool
    include_analyses: bool
    include_removed_cases: bool
    include_tracebacks: bool
    include_error_stacktrace: bool
    max_cases: int | None
    no_limit: str
    confidence: float


class Report(msgspec.Struct, Generic[InputsT, OutputT, MetadataT], kw_only=True):
    """All results of one run."""

    name: str
    """What was run: the experiment's name, else the task's."""
    cases: list[ReportCase[InputsT, OutputT, MetadataT]]
    """Attempts whose task finished, in the dataset's order."""
    failures: list[ReportCaseFailure[InputsT, OutputT, MetadataT]] = []
    """Attempts whose task did not."""
    totals: Totals | None = None
    """What all attempts say together, where `cases` and `failures` are only some of them (`keep="failed"`)."""
    analyses: list[Analysis] = []
    """What report evaluators found."""
    report_evaluator_failures: list[EvaluatorFailure] = []
    dataset_name: str | None = None
    metadata: dict[str, Any] | None = None
    """What the caller noted about the run."""
    repeat: int = 1
    seed: int | None = 0
    """From which every attempt's seed, and every random draw of the report, follows. `None` if no run of Calipers made the attempts, as
    of recorded traces: none can be made again."""
    started_at: str | None = None
    """When the run began: ISO 8601, UTC."""
    duration: float | None = None
    """Seconds the run took."""
    incomplete: Incomplete | None = None
    """Why not all results of the run are here; `None` if they are."""
    stopping: Stopping | None = None
    """What came of the rule that could end the run (`stop_when`), which looked at it many times; `None`: it had none."""
    sought: bool = False
    """Whether a search chose its cases to find failures, so that no rate of them tells how often the system fails."""
    budget: BudgetUse | None = None
    """What became of the budget of the run; `None`: it had none."""
    limits: tuple[LimitUse, ...] = ()
    """What became of the limits that its calls shared; of a resumed run, in its last part."""
    unfinished: int = 0
    """Attempts that were begun and given up when the run ended early."""
    blocked: dict[str, BlockedLoop] = {}
    """Synchronous evaluators that held up the event loop, by name; an async task that did is called `(task)`."""
    unread_expectations: dict[Expectation, int] = {}
    """Cases that state an expectation which none of their evaluators reads, by what they expect, where that is known."""
    prices: list[str] = []
    """Which prices costs were taken from, where models were asked: your own, and the library with its version."""
    reuse: Reuse | None = None
    """How much of it was taken from a store, and under which id it is there; `None`: it was not kept."""
    shard: ShardFacts | None = None
    """Which shard of a run it is; `None`: it is of a whole run. See `calipers.report.merge_shards`."""
    passports: dict[str, Standing] = {}
    """By the name of an evaluator that is a judge: whether it has a passport, as the store knew when the report was read from it."""

    # ------------------------------------------------------------------ what it says

    @property
    def experiment_metadata(self) -> dict[str, Any] | None:
        """The same as `metadata`, which cases have too."""
        return self.metadata

    @property
    def interrupted_by(self) -> Signal | None:
        """The signal that ended the run; `None` if no signal did."""
        return None if self.incomplete is None else self.incomplete.by

    @property
    def came_to_end(self) -> bool:
        """Whether the run did all it was asked to do; that of a shard is asked for a part."""
        return self.incomplete is None or (self.incomplete.kind == "shard" and self.shard is not None)

    def summaries(self, *, confidence: float = 0.95) -> dict[str, Summary]:
        """One summary per column of results, by name."""
        totals = self._counted(confidence)
        if totals is not None:
            return totals.summaries
        return self._tally().summaries(confidence=confidence)

    @overload
    def pass_rate(self, *, confidence: float = 0.95) -> Estimate: ...
    @overload
    def pass_rate(self, default: DefaultT, *, confidence: float = 0.95) -> Estimate | DefaultT: ...
    def pass_rate(self, default: Any = NO_DEFAULT, *, confidence: float = 0.95) -> Any:
        """The share of cases that passed.

        Args:
            default: what to return if nothing was asserted, such as `None`.
            confidence: of the interval.

        Raises:
            NotKnownError: nothing was asserted, or every attempt was made under a fault, and there is no default.
        """
        totals = self._counted(confidence)
        found = self._tally().pass_rate(confidence=confidence) if totals is None else totals.pass_rate
        return _or_default(found, default, "pass_rate", "nothing was asserted")

    def under_faults(self, *, confidence: float = 0.95) -> UnderFaults | None:
        """What became of the attempts under faults of the agent's tools, which no other number counts; `None` if there are none.

        `slices()` has the pass rate under each fault, and the analysis `FaultTolerance` what each fault does.
        """
        totals = self._counted(confidence)
        return self._tally().under_faults(confidence=confidence) if totals is None else totals.under_faults

    def analysis(self, kind: type[AnalysisT], *, title: str | None = None) -> AnalysisT:
        """The analysis of this kind: `report.analysis(ConfusionMatrix).accuracy`.

        Args:
            kind: the class of the analysis.
            title: which of several.

        Raises:
            NotKnownError: there is none, or more than one.
        """
        found = [each for each in self.analyses if isinstance(each, kind)]
        if title is not None:
            found = [each for each in found if getattr(each, "title", None) == title]
        if len(found) != 1:
            there = ", ".join(f"{type(each).__name__} {each.title!r}" for each in self.analyses) or "none"
            called = "" if title is None else f" called {title!r}"
            raise NotKnownError(
                f"the report has {len(found)} analyses of {kind.__name__}{called}, and not one; it has: {there}"
            )
        return found[0]

    def slices(self, *, confidence: float = 0.95) -> dict[str, Slice]:
        """What the cases with each tag say together, by tag, the tag with the most attempts first.

        A case with several tags is in several slices. At most 1,000 tags are counted.
        """
        totals = self._counted(confidence)
        if totals is not None:
            return totals.slices
        return self._tally().slices(confidence=confidence)

    def sliced_by(self, *fields: str) -> "Report":
        """The same report, in which the value of a metadata field is a tag too: `difficulty=hard`.

        Raises:
            InvalidOptionError: the report does not keep every attempt, or no case has such a field.
        """
        self.check_whole("slices by metadata")
        records: list[ReportCase | ReportCaseFailure] = [*self.cases, *self.failures]
        for field in fields:
            if not any(field_tags(record.metadata, field) for record in records):
                raise InvalidOptionError(
                    f"the metadata of no case has a field {field!r} that holds a text, a number or a flag"
                )
        return msgspec.structs.replace(
            self,
            cases=[msgspec.structs.replace(one, tags=_tags_of(one, fields)) for one in self.cases],
            failures=[msgspec.structs.replace(one, tags=_tags_of(one, fields)) for one in self.failures],
            totals=None,
        )

    @overload
    def pass_at_k(self, k: int, *, evaluator: str | None = None, confidence: float = 0.95) -> Estimate: ...
    @overload
    def pass_at_k(
        self, k: int, default: DefaultT, *, evaluator: str | None = None, confidence: float = 0.95
    ) -> Estimate | DefaultT: ...
    def pass_at_k(
        self, k: int, default: Any = NO_DEFAULT, *, evaluator: str | None = None, confidence: float = 0.95
    ) -> Any:
        """The chance that at least one of `k` attempts at a case passes, by the unbiased estimate.

        Args:
            k: how many attempts; at most `repeat`.
            default: what to return if nothing was asserted, such as `None`.
            evaluator: judge by the assertion of this name alone; default: by the whole attempt.
            confidence: of the interval.

        Raises:
            NotKnownError: nothing was asserted, and there is no default.
        """
        return self._of_repeats(pass_at_k, k, default, evaluator, confidence)

    @overload
    def pass_hat_k(self, k: int, *, evaluator: str | None = None, confidence: float = 0.95) -> Estimate: ...
    @overload
    def pass_hat_k(
        self, k: int, default: DefaultT, *, evaluator: str | None = None, confidence: float = 0.95
    ) -> Estimate | DefaultT: ...
    def pass_hat_k(
        self, k: int, default: Any = NO_DEFAULT, *, evaluator: str | None = None, confidence: float = 0.95
    ) -> Any:
        """The chance that all of `k` attempts at a case pass (pass^k), by the unbiased estimate; see `pass_at_k`."""
        return self._of_repeats(pass_hat_k, k, default, evaluator, confidence)

    def _of_repeats(
        self, estimate: Callable[..., Any], k: int, default: Any, evaluator: str | None, confidence: float
    ) -> Any:
        check_whole_number(
            "k", int(k) if isinstance(k, Integral) and not isinstance(k, int) else k, at_least=1
        )
        if (
            evaluator is None
            and not self.keeps_all
            and (kept := self._kept_repeats(k, confidence)) is not None
        ):
            return kept.any_of if estimate is pass_at_k else kept.all_of
        found = self._passes(evaluator)
        rate = found and estimate(found[0], k, clusters=found[1], confidence=confidence)
        why = "nothing was asserted" if evaluator is None else f"no attempt has an assertion {evaluator!r}"
        return _or_default(rate, default, estimate.__name__, why)

    def _kept_repeats(self, k: int, confidence: float) -> Repeats | None:
        """What was counted of so many attempts at each case, where not all attempts are kept."""
        totals = self._counted(confidence)
        repeats = None if totals is None else totals.repeats
        return repeats if repeats is not None and repeats.k == k else None

    @overload
    def durations(self) -> Durations: ...
    @overload
    def durations(self, default: DefaultT) -> Durations | DefaultT: ...
    def durations(self, default: Any = NO_DEFAULT) -> Any:
        """How long the finished tasks took.

        Raises:
            NotKnownError: no task finished, and there is no default.
        """
        found = durations(self.cases) if self.totals is None else self.totals.durations
        return _or_default(found, default, "durations", "no task finished")

    def metrics(self, *, confidence: float = 0.95) -> dict[str, Estimate | None]:
        """The mean of each metric over the finished attempts that have it, by name; `None` for numbers too large to average.

        `judge_cost` is what the evaluators of an attempt cost, where that is known; see `costs`.

        Raises:
            InvalidOptionError: the report does not keep every attempt and comes from a version that did not count metrics.
        """
        totals = self._counted(confidence)
        if totals is not None and totals.metrics is not None:
            return totals.metrics
        self.check_whole("metrics")
        return self._tally().metrics(confidence=confidence)

    def costs(self, *, confidence: float = 0.95) -> Costs:
        """What the agent and its judges cost, apart: US dollars, over all attempts.

        Raises:
            InvalidOptionError: the report does not keep every attempt and comes from a version that did not count costs.
        """
        totals = self._counted(confidence)
        if totals is not None and totals.costs is not None:
            return totals.costs
        self.check_whole("costs")
        return self._tally().costs(confidence=confidence)

    def infrastructure(self, *, confidence: float = 0.95) -> Infrastructure | None:
        """Attempts that got no answer, and the pass rate in other readings; `None` if there are none."""
        totals = self._counted(confidence)
        if totals is not None:
            return totals.infrastructure
        return self._tally().infrastructure(confidence=confidence)

    def counts(self) -> Counts:
        """How many attempts the run made, kept or not, and what became of them."""
        return self._tally().counts() if self.totals is None else self.totals.counts

    def with_totals(self, *, confidence: float = 0.95) -> "Report[InputsT, OutputT, MetadataT]":
        """The same report with everything it says counted once, for a reader that asks often."""
        if self.totals is not None:
            return self
        totals = self._tally().totals(confidence=confidence)
        totals.durations = self.durations(None)
        return msgspec.structs.replace(self, totals=totals)

    def without_faults(self) -> "Report[InputsT, OutputT, MetadataT]":
        """The same report without the attempts under faults of the agent's tools; the report itself if there are none.

        Raises:
            InvalidOptionError: there are some, and the report does not keep every attempt.
        """
        if self.totals is None:
            if all(record.fault is None for part in (self.cases, self.failures) for record in part):
                return self
        elif self.totals.under_faults is None:
            return self
        self.check_whole("attempts without faults")
        return msgspec.structs.replace(
            self, cases=without_faults(self.cases), failures=without_faults(self.failures), totals=None
        )

    def _tally(self) -> Tally:
        return tally(self.cases, self.failures)

    def _counted(self, confidence: float) -> Totals | None:
        """The totals, if there are any of this confidence; where every attempt is there, others can be counted."""
        totals = self.totals
        if totals is None or confidence == totals.confidence:
            return totals
        if self.keeps_all:
            return None
        raise InvalidOptionError(
            f"this report does not keep every attempt, so its intervals stay at confidence="
            f"{totals.confidence!r}, got {confidence!r}: run with keep='all' to choose another"
        )

    @property
    def keeps_all(self) -> bool:
        """Whether `cases` and `failures` are every attempt of the run, and not only those that did not pass."""
        return self.totals is None or self.totals.counts.attempts == len(self.cases) + len(self.failures)

    def check_whole(self, what: str) -> None:
        """Refuse to compute something of the attempts where only some are kept.

        Args:
            what: needs every attempt, in the plural, for the error: `slices by metadata`.

        Raises:
            InvalidOptionError: the report does not keep every attempt.
        """
        if not self.keeps_all:
            kept, made = len(self.cases) + len(self.failures), self.counts().attempts
            raise InvalidOptionError(
                f"{what} need every attempt, and this report keeps {kept:,} of {made:,}: run with keep='all', or read a "
                "stored run with Store.report(run)"
            )

    def _passes(self, assertion: str | None) -> CasePasses | None:
        self.check_whole("pass@k and pass^k")
        return passes(self.cases, self.failures, assertion)

    @overload
    def averages(self) -> Averages: ...
    @overload
    def averages(self, default: DefaultT) -> Averages | DefaultT: ...
    def averages(self, default: Any = NO_DEFAULT) -> Any:
        """Plain averages over the finished attempts without faults, two-level under repeats.

        Raises:
            InvalidOptionError: the report does not keep every attempt; `summaries` and `metrics` are of all of them.
            NotKnownError: no task finished, and there is no default.
        """
        self.check_whole("averages")
        clean = self.without_faults()
        groups = clean.case_groups()
        found = average_of([group.summary for group in groups]) if groups else average(clean.cases)
        return _or_default(found, default, "averages", "no task finished")

    def case_groups(self) -> list[CaseGroup[InputsT, OutputT, MetadataT]]:
        """The attempts by case; empty when nothing was repeated. Cases that only ever failed come last.

        Raises:
            InvalidOptionError: the report does not keep every attempt.
        """
        self.check_whole("groups of attempts")
        if self.repeat == 1:
            return []
        return group_by_case([*self.cases, *self.failures])

    def __repr__(self) -> str:
        # Short: a report of many cases must not become megabytes of text in a log or a notebook.
        if not self.keeps_all:
            kept, made = len(self.cases) + len(self.failures), self.counts().attempts
            return f"Report(name={self.name!r}, keeps {kept:,} of {made:,} attempts)"
        cases = "1 case" if len(self.cases) == 1 else f"{len(self.cases)} cases"
        failures = "1 failure" if len(self.failures) == 1 else f"{len(self.failures)} failures"
        return f"Report(name={self.name!r}, {cases}, {failures})"

    # ------------------------------------------------------------------ in and out

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON data, with a version. `from_dict` reads it back.

        Inside the records, what has its default value is left out: a reason not given, an evaluator not skipped.
        """
        return {
            "calipers_report": FORMAT_VERSION,
            **{name: _part(name, getattr(self, name)) for name in self.__struct_fields__},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Report":
        """A report from what `to_dict` gave. Inputs, outputs and what traces hold come back as plain data.

        Raises:
            ReportFormatError: the data is no stored report, or one of a later version.
        """
        version = data.get("calipers_report") if isinstance(data, Mapping) else None
        if not is_whole_number(version, at_least=1):
            raise ReportFormatError(
                f"this is no stored report: it has no 'calipers_report' version, got {safe_repr(data):.200}"
            )
        if version > FORMAT_VERSION:
            raise ReportFormatError(
                f"the report has format version {version}, and this release reads up to {FORMAT_VERSION}: "
                "install a newer calipers"
            )
        try:
            parts = {name: part for name, part in data.items() if name != "calipers_report"}
            for name in ("cases", "failures"):
                if name in parts:
                    parts[name] = _with_traces(parts[name])
            if isinstance(reason := parts.get("incomplete"), str):  # as earlier releases wrote it
                parts["incomplete"] = Incomplete("other", reason)
            report: Report = msgspec.convert(parts, cls)
        except (msgspec.ValidationError, InvalidTraceError) as error:
            raise ReportFormatError(f"the stored report is damaged: {error}") from error
        _check_numbers(report.cases)
        return report

    def print(
        self,
        *,
        baseline: "Report | None" = None,
        console: "Console | None" = None,
        width: int | None = None,
        **options: Unpack[PrintOptions],
    ) -> None:
        """Show the report in the terminal; see `calipers.views.terminal.print_report` for the options.

        With a baseline, show instead what changed since that report; the options that choose parts of a report do not apply.
        """
        if baseline is not None:
            from calipers.comparison.comparison import compare_reports
            from calipers.views.comparison.terminal import print_comparisons

            confidence = options.get("confidence", 0.95)
            compared = compare_reports(baseline, self, confidence=confidence)
            print_comparisons([compared], console=console, width=width)
            return
        from calipers.views.terminal import print_report

        print_report(self, console=console, width=width, **options)

    def render(
        self, *, baseline: "Report | None" = None, width: int = 80, **options: Unpack[PrintOptions]
    ) -> str:
        """What `print` shows, as plain text without colours."""
        if baseline is not None:
            from calipers.comparison.comparison import compare_reports
            from calipers.views.comparison.terminal import comparisons_text

            confidence = options.get("confidence", 0.95)
            return comparisons_text([compare_reports(baseline, self, confidence=confidence)], width=width)
        from calipers.views.terminal import report_text

        return report_text(self, width=width, **options)

    def to_rows(self) -> list[dict[str, Any]]:
        """One dict for each attempt, all with the same keys; see `calipers.views.frames` for what they are.

        Raises:
            InvalidOptionError: the report does not keep every attempt.
        """
        from calipers.views.frames import report_rows

        self.check_whole("rows and frames")
        return report_rows(self)

    def to_arrow(self) -> Any:
        """The rows as a `pyarrow.Table`. Needs the extra `parquet`."""
        from calipers.views.frames import arrow_table

        self.check_whole("rows and frames")
        return arrow_table(self)

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`. Needs the extra `pandas`."""
        from calipers.views.frames import pandas_frame

        self.check_whole("rows and frames")
        return pandas_frame(self)

    def to_polars(self) -> Any:
        """The rows as a `polars.DataFrame`. Needs the extra `polars`."""
        from calipers.views.frames import polars_frame

        self.check_whole("rows and frames")
        return polars_frame(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from calipers.views.notebook import report_cell

        return report_cell(self)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """How a pydantic model with a field of this type reads and writes it: as `from_dict` and `to_dict` do."""
        return written_as(cls, cls.from_dict, cls.to_dict)


def _or_default(found: Any, default: Any, method: str, why: str) -> Any:
    """What was found, else the default; an error where there is neither."""
    if found is not None:
        return found
    if default is NO_DEFAULT:
        given = "k, None" if method.startswith(("pass_at", "pass_hat")) else "None"
        raise NotKnownError(f"{why}, so there is no {method}(): {method}({given}) gives None then")
    return default


def _tags_of(record: ReportCase | ReportCaseFailure, fields: Sequence[str]) -> tuple[str, ...]:
    more = [tag for field in fields for tag in field_tags(record.metadata, field)]
    return tuple(dict.fromkeys((*record.tags, *more)))


_GIVEN = frozenset(
    {"inputs", "metadata", "expected_output", "expected_tool_calls", "output", "attributes", "arguments"}
)
"""Fields that hold what users gave, in any shape."""


def _part(name: str, value: Any) -> Any:
    """A part of the report as plain data."""
    if name not in _GIVEN:
        if isinstance(value, tuple | list):
            return [_part(name, item) for item in value]
        if isinstance(value, msgspec.Struct):
            return _record(value)
        if isinstance(value, Trace):
            return trace_data(value)
    return plain(value)


def _record(value: msgspec.Struct) -> dict[str, Any]:
    """The fields of a record, without those that have their default."""
    tag = value.__struct_config__.tag
    found: dict[str, Any] = {} if tag is None else {"type": tag}
    for name, default, may_be_empty in _layout(type(value)):
        part = getattr(value, name)
        if part is default or (may_be_empty and not part):
            continue
        # Most fields are short texts, flags and numbers: they need no further look.
        kind = type(part)
        simple = (kind is str and part.isascii()) or kind is bool or (kind is float and math.isfinite(part))
        found[name] = part if simple else _part(name, part)
    return found


@functools.cache
def _layout(kind: type[msgspec.Struct]) -> list[tuple[str, Any, bool]]:
    """The fields that are stored, with their defaults; `original` lives in memory only."""
    return [
        (field.name, field.default, field.default_factory in {dict, list})
        for field in msgspec.structs.fields(kind)
        if field.name != "original"
    ]


def _with_traces(records: Any) -> Any:
    """Stored records with their traces read; whatever else this is, it is not for this function to refuse."""
    if not isinstance(records, list):
        return records
    return [
        {**record, "trace": _trace_of(record)}
        if isinstance(record, dict) and record.get("trace") is not None
        else record
        for record in records
    ]


def _trace_of(record: dict[str, Any]) -> Trace:
    try:
        return read_trace(record["trace"])
    except InvalidTraceError as error:
        raise InvalidTraceError(f"the trace of case {record.get('name')!r:.200}: {error}") from None


def _check_numbers(cases: Iterable[ReportCase]) -> None:
    """Refuse what strict JSON cannot hold, and lax JSON lets in."""
    for case in cases:
        bad = any(type(metric) is float and not math.isfinite(metric) for metric in case.metrics.values())
        for result in case.results:
            value, score = result.value, result.score
            if type(value) is float and not math.isfinite(value):
                bad = True
            if score is not None and not math.isfinite(score):
                bad = True
        if bad or not math.isfinite(case.task_duration) or not math.isfinite(case.total_duration):
            raise ReportFormatError(
                f"the stored report is damaged: case {case.name!r} has a number that is not finite"
            )
