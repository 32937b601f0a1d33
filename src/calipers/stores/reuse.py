"""Reuse: which stored attempts and results a run can take over instead of computing them again.

A stored attempt is taken if case, task and repeat are the same, which the caller checks. If its task looked at the seed, or
at the case's name, tags and the like, these must be the same too. A damaged attempt of another run is made again, and a note
says so. A cell of a stored attempt holds if its evaluator is the same, and also

- if it looked at earlier results: all evaluators before it are the same;
- if it or its task looked at the seed: the seed is the same;
- if its code may read the name of the case: the case has the same name;
- if it looked at the case: name, tags, cluster and timeout are the same;
- if it failed: failures are kept. An `OtherLoopError` is never kept, nor is an attempt that ended in one, or in what no attempt could escape, such as a wrong key;
- if an evaluator changed the output in place: all cells of the attempt hold.

The task is called again where the classes of the output have changed and it cannot be made again from its plain data; and
where not all cells hold, and the output is neither plain data nor can be made again.

Inputs, metadata and expectation of the record come from the present case: the store has only their plain form.
"""

import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from calipers.data.context import rollout_of
from calipers.data.evaluator_styles import RolloutEvaluator
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, is_other_loop, told_calls
from calipers.data.reuse import Cell, Recalled
from calipers.errors import SpanTreeRecordingError, StoreDamagedError
from calipers.identity.case_content import CodeInValues
from calipers.identity.fingerprint import digest
from calipers.identity.value_bytes import written
from calipers.run.work import Work
from calipers.scoring.evaluator_plan import PlannedEvaluator
from calipers.spans import SpanTree

from .attempt_notes import AttemptNotes, CellNotes, attempt_notes, cell_notes, read_metrics
from .identities import EvaluatorIdentities, setting_key
from .packing import Facts, facts_of, unpack, unpack_cells
from .run_info import StoredEvaluator
from .stored_attempt import FORMAT, Known, StoredAttempt, StoredCell


class OutputType:
    """The type that a task returns, so that a stored output can be made again.

    An output is made again only if it comes out exactly as the task returned it: with the same plain data, and with the hash
    of its form, types included, that was noted when it was stored. Otherwise evaluators get the plain data, and the run says so.
    """

    def __init__(self, annotation: Any = None) -> None:
        self.annotation = annotation
        """`None` if the type is not known."""

    def restored(self, data: Any, form: str | None) -> tuple[Any, bool]:
        """The output, and whether it is what the task returned; if not, it is the plain data. `form` is that of `form_of`."""
        if self.annotation is None or form is None:
            return data, False
        try:
            made = self._made(data)
            return (made, True) if plain(made) == data and form_of(made) == form else (data, False)
        except Exception:  # of any library: then its type counts as unknown
            return data, False

    def _made(self, data: Any) -> Any:
        if isinstance(self.annotation, type) and issubclass(self.annotation, msgspec.Struct):
            return msgspec.convert(data, self.annotation)
        return self._adapter.validate_python(data)

    @functools.cached_property
    def _adapter(self) -> Any:
        from pydantic import TypeAdapter

        return TypeAdapter(self.annotation)


def form_of(output: Any) -> str | None:
    """A hash that equal outputs of equal types share; `None` if the output has no form."""
    try:
        return digest(written(output))
    except Exception:  # such as attributes that raise
        return None


def output_type(task: Any, dataset_type: Any = None) -> OutputType:
    """The type of a task's outputs: what the dataset says (`Dataset[str, Answer]`), else the task's return annotation."""
    for annotation in (dataset_type, _returned(task)):
        if annotation not in {None, Any, object, type(None)} and not isinstance(annotation, TypeVar):
            return OutputType(annotation)
    return OutputType()


def _returned(task: Any) -> Any:
    while isinstance(task, functools.partial):
        task = task.func
    if not inspect.isroutine(task):
        task = getattr(task, "invoke", None) or getattr(type(task), "__call__", None)  # noqa: B004 - the method itself
    try:
        return typing.get_type_hints(task).get("return")
    except Exception:  # annotations may name what is not there
        return None


NOT_CAPTURED = SpanTreeRecordingError(
    "the spans of this attempt were not kept, since it was not made by a run of Calipers: what could be read of it is its trace"
)
NO_SPANS = SpanTreeRecordingError(
    "the spans of this attempt were not kept, since no evaluator of its run read them: run it again, without reuse"
)

WITHOUT_HIDDEN = "attempts judged without what redaction hid"

MADE_AGAIN = (
    "attempts made again for new or changed evaluators, since the store has only plain data of the outputs"
)

CHANGED = "outputs that an evaluator changed in place: it failed, and those after it were not asked"


class Source(msgspec.Struct, kw_only=True):
    """Where a recalled attempt was found."""

    attempt: StoredAttempt
    as_plain: bool
    """Whether evaluators would not see it as the task left it: it is plain data of an object, or redacted."""
    redacted: bool = False
    """Whether something was taken out before it was stored."""
    cells: dict[str, tuple[str, CellNotes]]
    """By evaluator: the run that computed the recalled cell, and its notes."""
    scored: list[StoredCell] = []
    """Cells of evaluators that are not part of the run, but were added by scoring it."""


class Recaller:
    """Decides what a run can take over of a stored attempt."""

    def __init__(
        self,
        identities: EvaluatorIdentities,
        output: OutputType,
        evaluators: Callable[[str], Sequence[StoredEvaluator]],
        *,
        seed: int,
    ) -> None:
        """A recaller for one run; `evaluators` gives those of any run of the store."""
        self.identities = identities
        self.code = CodeInValues(identities.libraries)
        self.output = output
        self.evaluators = evaluators
        self.seed = seed
        self.made_again = 0
        """Attempts that are made again, since evaluators would see plain data."""

    def recall(
        self, work: Work, attempt: StoredAttempt, cells: Mapping[str, StoredCell], *, keep_failures: bool
    ) -> Recalled | None:
        """The attempt with the cells that hold; `None` if it has to be made again.

        Args:
            work: what is to be done.
            attempt: a stored one for it.
            cells: of the attempt, by the evaluator's key.
            keep_failures: whether a stored failure counts as done.
        """
        if attempt.failed:
            facts = facts_of(attempt)
            if not keep_failures or facts.hopeless is not None or is_other_loop(facts.error_type or ""):
                return None
        notes = attempt_notes(attempt.output)
        if notes.seed is not None and (notes.seed != self.seed or attempt.case_name != work.case_name):
            return None
        if notes.case is not None and notes.case not in _seen_of(work):
            return None
        if notes.code != work.case_code:
            return None
        source = Source(attempt=attempt, as_plain=False, redacted=notes.redacted, cells={})
        record = unpack(attempt, (), self.evaluators(attempt.run))
        _make_present(record, work)
        if not isinstance(record, ReportCase):
            return Recalled(record=record, source=source, origin=attempt.origin or attempt.run)
        if notes.rich:
            record.output, restored = self.output.restored(record.output, notes.form)
            source.as_plain = not restored
        reusable = work.plan.evaluators
        if notes.output_code is not None and not self.code.holds(notes.output_code):
            if source.as_plain:
                return None  # no evaluator can see it as it would be now
            reusable = ()
        # Evaluators of rollouts read a rollout back from its data.
        converted = notes.rich_attributes or (source.as_plain and rollout_of(record.output) is None)
        source.as_plain = converted or notes.redacted
        found: dict[str, Cell] = {}
        for planned in reusable:
            key = self.identities.of(planned).key
            cell = None if key is None else cells.get(key)
            taken = None if cell is None else self._cell(work, planned, attempt, cell, source)
            if converted and cell is not None and cell_notes(cell.body).as_plain:
                taken = None  # a result for plain data does not hold for the object
            if cell is not None and taken is not None and _holds(taken, keep_failures=keep_failures):
                found[planned.name] = taken
                source.cells[planned.name] = (cell.origin or cell.run, cell_notes(cell.body))
        if notes.changed and len(found) < len(work.plan.evaluators):
            # An evaluator has to see the output as those before it leave it.
            found, source.cells = {}, {}
        if converted and len(found) < len(work.plan.evaluators):
            self.made_again += 1
            return None
        return Recalled(
            record=record,
            cells=found,
            spans=_spans(notes),
            origin=attempt.origin or attempt.run,
            source=source,
        )

    def _cell(
        self,
        work: Work,
        planned: PlannedEvaluator,
        attempt: StoredAttempt,
        stored: StoredCell,
        source: Source,
    ) -> Cell | None:
        """A stored cell, if it holds."""
        judged_as = attempt.case_name if stored.case_name is None else stored.case_name
        renamed = judged_as != work.case_name
        if self.identities.of(planned).reads_name and renamed:
            return None
        notes = cell_notes(stored.body)
        if notes.seed is not None and (notes.seed != self.seed or renamed):
            return None
        if notes.case is not None and (
            not notes.case or notes.case != setting_key(work.case, work.case_name)
        ):
            return None
        if notes.as_plain and not source.as_plain:
            return None
        if notes.after is not None and (
            not notes.after or notes.after != self.identities.before(work.plan, planned)
        ):
            return None
        only = Facts(format=FORMAT, task_duration=0.0, total_duration=0.0, evaluators=(stored.evaluator,))
        results, failures, skipped = unpack_cells([stored], only, self.evaluators(stored.run))
        original = read_metrics(notes.original) if isinstance(planned.evaluator, RolloutEvaluator) else None
        if original is not None:
            results = tuple(msgspec.structs.replace(result, original=original) for result in results)
        return Cell(results=results, failures=failures, skipped=skipped, saw_results=notes.after is not None)


def _holds(cell: Cell, *, keep_failures: bool) -> bool:
    """Whether the evaluator need not be asked again."""
    if not keep_failures:
        return not cell.failures
    return not any(each.hopeless is not None or is_other_loop(each.error_type) for each in cell.failures)


def _make_present(record: Any, work: Work) -> None:
    """Let a record say what the present case says."""
    case = work.case
    record.name = work.name
    record.source_case_name = work.case_name if work.name is not work.case_name else None
    record.inputs, record.metadata = case.inputs, case.metadata
    record.expected_output, record.has_expected_output = case.expected_output, case.has_expected_output
    calls = case.expected_tool_calls
    record.expected_tool_calls = None if calls is None else told_calls(calls)
    record.cluster, record.tags, record.fault = case.cluster, case.tags, case.fault
    if not isinstance(record, ReportCase):
        record.not_run = work.plan.awaiting(case)


def _seen_of(work: Work) -> set[str]:
    """Hashes of what a task may see of its case beside the content, with or without the repeat."""
    return {setting_key(work.case, name) for name in (work.case_name, work.name)} - {""}


def _spans(notes: AttemptNotes) -> Any:
    return NO_SPANS if notes.spans is None else SpanTree.from_dict(notes.spans)


class OtherRuns:
    """Finds attempts of other runs, and counts those that are damaged."""

    def __init__(self, find: Callable[[Sequence[bytes]], dict[bytes, Known]], recaller: Recaller) -> None:
        self._find = find
        self._recaller = recaller
        self._damaged = 0
        self._first = ""

    def recall(self, some: Sequence[Work]) -> dict[int, Recalled | None]:
        """What can be taken for the work, by its position."""
        works = {work.attempt_key: work for work in some if work.attempt_key is not None}
        found: dict[int, Recalled | None] = {}
        for key, known in self._known([*works]).items():
            work = works[key]
            try:
                found[work.position] = self._recaller.recall(
                    work, known.attempt, known.cells, keep_failures=False
                )
            except (StoreDamagedError, msgspec.DecodeError) as error:
                self._note(error)
        return found

    def notes(self) -> list[str]:
        """A line about what was damaged, if anything was."""
        if not self._damaged:
            return []
        what = "attempts made again, since their stored form cannot be read"
        return [f"{what}: {self._damaged}; the first: {self._first}"]

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, Known]:
        """What is known by key. Where something is damaged, halves are asked for until the damage stands alone."""
        try:
            return self._find(keys)
        except StoreDamagedError as error:
            if len(keys) == 1:
                self._note(error)
                return {}
        half = len(keys) // 2
        return {**self._known(keys[:half]), **self._known(keys[half:])}

    def _note(self, error: Exception) -> None:
        self._damaged += 1
        self._first = self._first or str(error)
