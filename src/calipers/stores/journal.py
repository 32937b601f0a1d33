"""The journal of a run that is kept in a store: it looks up earlier results and records new ones.

`keep_in` is what `Dataset.evaluate(store=...)` uses. There are three ways of running:

- anew: every attempt is made and stored;
- `resume`: go on with a stored run; what it has is taken, what it lacks is made and stored beside it;
- `reuse`: a new run that takes over what any earlier run of the store has under the same keys.

A stored failure counts as done when a run is resumed, so that the run ends as it would have without the crash. With
`rerun_failed` it is made again; an `OtherLoopError` always is, and so is what no attempt could escape (`calipers.data.hopeless`), since that says nothing of the agent. A new run that reuses
results makes every failure again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from calipers.data.argument_checks import check_flag
from calipers.data.attempt import Attempt
from calipers.data.budget import SIDES, BudgetUse, Side, Spent
from calipers.data.jsonable import are_plain
from calipers.data.record import ReportCase, ReportCaseFailure, told_calls
from calipers.data.redaction import masked
from calipers.data.result_names import Names
from calipers.data.reuse import Recalled, Reuse
from calipers.data.spending import paid_now, spent_by_judges, spent_of
from calipers.errors import InvalidOptionError
from calipers.identity.callables import task_identity, with_hooks
from calipers.identity.fingerprint import AnyIdentity, Identity, Unknown
from calipers.identity.libraries import Libraries
from calipers.report.report import Report
from calipers.run.work import Keeping, Setup, Work
from calipers.spans import SpanTree

from .attempt_notes import (
    AttemptNotes,
    CellNotes,
    attempt_notes,
    cell_notes,
    original_of,
    with_attempt_notes,
    with_notes,
)
from .evaluator_slots import EvaluatorSlots, PlanSlots, RunSlots, scored_places
from .identities import EvaluatorIdentities, WorkKeys, setting_key
from .packing import (
    Facts,
    Record,
    evaluator_of,
    facts_of,
    holds_plain_data,
    not_judged,
    pack,
    pack_plain,
    setting_of,
    unpack,
    unpack_cells,
)
from .redaction import redacted_evaluator
from .resumed_run import (
    DoneAttempts,
    changed_evaluators,
    changed_globals,
    check_same,
    find_run,
    last_evaluators,
    stopped_tasks,
    task_at_beginning,
    task_version,
    with_evaluators,
)
from .reuse import CHANGED, MADE_AGAIN, WITHOUT_HIDDEN, OtherRuns, Recaller, Source, form_of, output_type
from .run_info import GitState, RunInfo, Status, StoredEvaluator, git_asked
from .run_report import bare_report, not_all_judged, unjudged_by
from .standings import standings
from .store import Store, patiently
from .store_url import open_store
from .stored_attempt import FORMAT, StoredAttempt, StoredCell
from .writer import Pace, Writer

if TYPE_CHECKING:
    from os import PathLike

_T = TypeVar("_T")

_LOOK_AHEAD = 64
"""Pieces of work whose stored attempts are looked up at once."""


def keep_in(
    store: "str | PathLike[str] | Store",
    *,
    resume: str | bool | None = None,
    reuse: bool = False,
    rerun_failed: bool = False,
    seed: int | None = None,
    dataset_type: Any = None,
    pace: Pace | None = None,
) -> Keeping:
    """A function that opens the journal of a run in a store.

    Args:
        store: a store, or the URL or path of one; one that is opened here is closed at the end of the run.
        resume: the id of a stored run to go on with, "latest", or True for the newest of this dataset and task that
            did not finish, if there is one.
        reuse: take over what any earlier run has under the same keys.
        rerun_failed: when a run is resumed, make failed attempts and failed judgements again.
        seed: the seed that was asked for; `None` if none was.
        dataset_type: the type of outputs that the dataset declares; `None` if it does not.
        pace: how the writer works.

    Raises:
        InvalidOptionError: an option is not valid, or needs another one.
    """
    check_flag("reuse", reuse)
    check_flag("rerun_failed", rerun_failed)
    resuming = resume is not None and resume is not False
    if rerun_failed and not resuming:
        raise InvalidOptionError("rerun_failed needs a run to resume: pass resume= as well")

    def keeping(setup: Setup) -> RunJournal:
        opened = store if isinstance(store, Store) else open_store(store)
        _check_tape(opened, setup.task)
        options: dict[str, Any] = {"dataset_type": dataset_type, "pace": pace, "closes": opened is not store}
        try:
            info = find_run(opened, resume, setup) if resuming else None
            if info is None:
                return _begun(opened, setup, reuse=reuse, **options)
            return _resumed(
                opened, setup, info, reuse=reuse, keep_failures=not rerun_failed, seed=seed, **options
            )
        except BaseException:
            if opened is not store:
                opened.close()
            raise

    return keeping


_INSIDE = ("task", "function", "__self__")
"""Where a task that stands around another one has it."""


def _check_tape(store: Store, task: Any) -> None:
    """Refuse a tape beside a store that hides anything: what is hidden here would stand there."""
    inner: Any = task if getattr(store, "redact", ()) else None
    for _ in range(10):
        if inner is None:
            return
        if getattr(type(inner), "writes_tape", False) and not inner.unredacted:
            raise InvalidOptionError(
                f"the store hides data (redact), and the tape {str(inner.path)!r} would have it: a tape gives back word for word what came. "
                "Record into a store without redact or, if what is recorded may stand on the tape, with RecordedTask(..., unredacted=True)"
            )
        inner = next((found for name in _INSIDE if (found := getattr(inner, name, None)) is not None), None)


def _begun(store: Store, setup: Setup, *, reuse: bool, **options: Any) -> "RunJournal":
    """The journal of a new run."""
    libraries = Libraries()
    with git_asked() as git:
        task = _identity(setup, libraries)
        identities = EvaluatorIdentities(setup.plan, libraries)
        run = _run_info(setup, task, identities, reuse=reuse, git=git)
    notes: list[str] = []
    if reuse and isinstance(task, Unknown):
        notes.append(f"no attempt could be reused, since the task's identity is unknown: {task.reason}")
    if reuse:
        notes += changed_globals(store, setup, task) if isinstance(task, Identity) else []
        notes += [
            f"evaluator {each.name} is computed again, since its identity is unknown: {each.unknown}"
            for each in identities.shared
            if each.unknown is not None
        ]
    info = store.begin_run(run)
    return RunJournal(store, setup, info, task, identities, reuse=reuse, notes=notes, **options)


def _resumed(store: Store, setup: Setup, info: RunInfo, *, seed: int | None, **options: Any) -> "RunJournal":
    """The journal of a run that was begun before."""
    libraries = Libraries()
    task = _identity(setup, libraries)
    identities = EvaluatorIdentities(setup.plan, libraries)
    notes = check_same(info, setup, task, seed=seed)
    task = task_at_beginning(info, task)
    hooks = getattr(store, "redact", ())
    # Notes are stored, so they must not show what hooks hide.
    after = [redacted_evaluator(evaluator, hooks) for evaluator in identities.shared]
    changed, losses = changed_evaluators(last_evaluators(store, info), after)
    notes += changed
    before = bare_report(info).budget
    info = store.resume_run(info.id)
    try:
        info = with_evaluators(store, info, identities.shared)
        done = DoneAttempts(store, info.id)
        return RunJournal(
            store,
            setup,
            info,
            task,
            identities,
            done=done,
            notes=notes,
            losses=losses,
            budget_before=before,
            **options,
        )
    except BaseException:
        # So that it can be resumed again at once.
        with suppress(Exception):
            store.finish_run(info.id, status="interrupted", generation=info.generation)
        raise


def _identity(setup: Setup, libraries: Libraries) -> AnyIdentity:
    """The identity of what makes the attempts: the task, and the hooks around it."""
    task = task_identity(setup.task, libraries=libraries)
    return with_hooks(task, setup.lifecycle, setup.plugins, libraries)


def _run_info(
    setup: Setup,
    task: AnyIdentity,
    identities: EvaluatorIdentities,
    *,
    reuse: bool,
    git: Callable[[], GitState | None],
) -> RunInfo:
    known: dict[str, Any] = {"parts": task.parts}
    if isinstance(task, Unknown):
        known["unknown"] = task.reason
    return RunInfo(
        name=setup.name,
        dataset_name=setup.dataset_name,
        task_name=setup.task_name,
        task_version=task_version(task),
        task_key=task.key if isinstance(task, Identity) else None,
        parameters={**setup.options, "reuse": reuse, "task": known},
        repeat=setup.repeat,
        seed=setup.seed,
        total=setup.total,
        keeps_settings=True,
        metadata=None if setup.metadata is None else dict(setup.metadata),
        evaluators=identities.shared,
        git=git(),
    )


class RunJournal:
    """The journal of one run, kept in a store."""

    def __init__(
        self,
        store: Store,
        setup: Setup,
        info: RunInfo,
        task: AnyIdentity,
        identities: EvaluatorIdentities,
        *,
        notes: list[str],
        losses: list[str] | None = None,
        done: DoneAttempts | None = None,
        budget_before: BudgetUse | None = None,
        reuse: bool = False,
        keep_failures: bool = True,
        dataset_type: Any = None,
        pace: Pace | None = None,
        closes: bool = False,
    ) -> None:
        self.store = store
        self.info = info
        self.name = info.name
        self.seed = info.draw_seed
        self.reuse = Reuse(run=info.id, notes=notes, losses=losses or [])
        self._setup = setup
        self._task = task
        self._identities = identities
        self._keys = WorkKeys(task, identities.libraries, bounded=setup.total is None)
        self._done = done
        self._reuses = reuse
        self._budget_before = budget_before
        self.recalls = done is not None or reuse
        self._keep_failures = keep_failures
        self._closes = closes
        self._judged_redacted = 0
        self._changed = 0
        self._writer = Writer(store, info.id, generation=info.generation, pace=pace)
        self._slots = RunSlots(
            info.evaluators,
            setup.plan,
            stored=lambda planned: identities.of(planned).stored,
            add=lambda new: patiently(lambda: store.add_evaluators(info.id, new, generation=info.generation)),
        )
        self._added = AddedEvaluators(self._slots.evaluators, setup.plan.results)
        self._evaluators_elsewhere: dict[str, Sequence[StoredEvaluator]] = {}
        self._recaller = Recaller(
            identities,
            output_type(setup.task, dataset_type),
            self._evaluators_of,
            seed=self.seed,
        )
        self._others = OtherRuns(lambda keys: self._patiently(lambda: self.store.find(keys)), self._recaller)

    # ------------------------------------------------------------------ before an attempt

    def spent(self) -> dict[Side, Spent]:
        """What the earlier parts of this run have spent: what its attempts tell, and if it ended early what those did that were given up."""
        found: dict[Side, Spent] = dict.fromkeys(SIDES, Spent())
        if self._done is None:
            return found
        evaluators = self._evaluators_of(self.info.id)
        for attempt, cells in self.store.judged(self.info.id, parts=False):
            record = unpack(attempt, [cell for cell in cells if cell.origin is None], evaluators, parts=False)
            if attempt.origin is None:
                found["agent"] += Spent.by(spent_of(record.metrics))
            if isinstance(record, ReportCase):
                for amounts in spent_by_judges(record).values():
                    found["judges"] += Spent.by(amounts)
        use = self._budget_before
        before: Mapping[Side, Spent] = {} if use is None else {"agent": use.agent, "judges": use.judges}
        kept = self.store.spent(self.info.id)
        return {
            side: spent.at_least(before.get(side, Spent())).at_least(kept.get(side, Spent()))
            for side, spent in found.items()
        }

    def follow(self, spent: Callable[[], Mapping[Side, Spent]]) -> None:
        """Keep what the run has spent, some times a second: a killed run must not spend it again."""
        kept: dict[Side, Spent] = {}

        def keep() -> None:
            now = dict(spent())
            if now != kept:
                self.store.keep_spent(self.info.id, now, generation=self.info.generation)
                kept.update(now)

        self._writer.beside = keep

    def prepared(self, items: Iterator[Work]) -> Iterator[Work]:
        """The work with its keys and with what is known of it."""
        self._writer.start()  # the first attempt may take longer than a run may go without a heartbeat
        keyed = self._keys.of(items)
        return keyed if self._done is None and not self._reuses else self._with_recalled(keyed)

    def _with_recalled(self, keyed: Iterator[Work]) -> Iterator[Work]:
        while some := list(islice(keyed, 1 if self._setup.one_by_one else _LOOK_AHEAD)):
            yield from self._recalled(some)

    def _recalled(self, some: Sequence[Work]) -> Iterator[Work]:
        known: dict[int, Recalled | None] = {}
        if self._done is not None:
            known.update(self._from_this_run(self._done, some))
            self._done.all_seen = len(some) < _LOOK_AHEAD and not self._setup.one_by_one
        if self._reuses:
            known.update(self._others.recall([work for work in some if work.position not in known]))
        for work in some:
            recalled = known.get(work.position)
            if recalled is not None and self._setup.lifecycle is not None and not _is_whole(recalled, work):
                # Hooks may prepare what evaluators see, which is impossible for a stored attempt.
                if self._done is not None and recalled.source.attempt.run == self.info.id:
                    self._done.keep_place(work, recalled.source.attempt.position)
                recalled = None
            work.recalled = recalled
            yield work

    def _from_this_run(self, done: DoneAttempts, some: Sequence[Work]) -> dict[int, Recalled | None]:
        places = {work.position: place for work in some if (place := done.take(work)) is not None}
        wanted = sorted(places.values())
        judged = self._patiently(lambda: list(self.store.judged_at(self.info.id, wanted)))
        stored = {attempt.position: (attempt, cells) for attempt, cells in judged}
        found: dict[int, Recalled | None] = {}
        evaluators = self._evaluators_of(self.info.id)
        for work in some:
            place = places.get(work.position)
            if place is None or place not in stored:
                continue
            attempt, cells = stored[place]
            by_key = {
                key: cell for cell in cells if (key := evaluator_of(cell, evaluators).identity) is not None
            }
            recalled = self._recaller.recall(work, attempt, by_key, keep_failures=self._keep_failures)
            if recalled is not None:
                recalled.source.scored = self._added.cells_of(cells)
                found[work.position] = recalled
            else:
                done.keep_place(work, place)
        return found

    # ------------------------------------------------------------------ after it

    def append(self, work: Work, attempt: Attempt, record: ReportCase | ReportCaseFailure) -> None:
        """Hand a finished attempt to the writer, unless it is stored as it is."""
        asked = attempt.asked
        placed = self._slots.of(work.plan)
        if self._done is not None:
            self._done.finished(work)
        elif asked is not None and not placed.has_rollouts:
            plainly = pack_plain(work, attempt, record, placed.slots)
            if plainly is not None:
                self.reuse.attempts_made += 1
                self.reuse.cells_computed += len(asked)
                self._writer.add(plainly)
                return
        recalled = attempt.recalled
        source = origin = None
        scored: list[StoredCell] = []
        if recalled is None:
            place = work.position if self._done is None else self._done.place(work)
            self.reuse.attempts_made += 1
            if asked is not None:
                self.reuse.cells_computed += len(asked)
        else:
            source = recalled.source
            origin = None if recalled.origin == self.info.id else recalled.origin
            self._count_recalled(work, attempt, record, source)
            if source.attempt.run == self.info.id:
                place = source.attempt.position
                scored = [cell for cell in source.scored if not asked or cell_notes(cell.body).after is None]
                if not asked and _is_stored_as_is(source.attempt, work, placed.slots):
                    self._added.show(record, scored)
                    return
            else:
                place = work.position if self._done is None else self._done.place(work)
        looked = asked is not None and asked is not work.plan.nothing_noted and any(asked.values())
        changed = attempt.changed_from is not None and isinstance(record, ReportCase)
        noted = recalled is not None or placed.has_rollouts or looked or changed
        as_is = isinstance(record, ReportCase) and holds_plain_data(record, attempt, work)
        self._changed += changed
        stored, cells = pack(
            msgspec.structs.replace(record, output=_before(attempt)) if changed else record,
            place,
            placed.slots,
            repeat=work.repeat_index,
            # An earlier attempt was made by the task of that time, which may be unknown.
            key=work.attempt_key if source is None else source.attempt.key,
            case_hash=work.case_key,
            origin=origin,
            in_row=not noted,
            as_is=as_is,
            timeout=work.case.timeout,
        )
        if source is not None:
            stored.output = with_attempt_notes(
                stored.output, self._taken_over(source, attempt, changed=changed)
            )
        elif (
            not as_is
            or changed
            or attempt.hidden
            or attempt.attributes
            or attempt.seed_was_read
            or attempt.case_was_read
            or work.plan.needs_spans
        ):
            self._note(stored, work, attempt)
        if noted:
            self._note_cells(cells, placed, work, attempt, record, source)
        self._writer.add(stored, (*cells, *scored))
        self._added.show(record, scored)

    def _count_recalled(
        self, work: Work, attempt: Attempt, record: ReportCase | ReportCaseFailure, source: Source
    ) -> None:
        counts = self.reuse
        counts.attempts_reused += 1
        counts.agent_cost_reused += paid_now(spent_of(record.metrics))
        asked = attempt.asked
        if isinstance(record, ReportCase):
            spent = spent_by_judges(record)
            taken = [amounts for name, amounts in spent.items() if name not in (asked or {})]
            counts.judge_cost_reused += sum(map(paid_now, taken))
        if asked is not None:
            counts.cells_computed += len(asked)
            counts.cells_reused += len(work.plan.evaluators) - len(asked)
            if asked and source.as_plain:
                counts.judged_as_plain += 1
                self._judged_redacted += source.redacted

    def _taken_over(self, source: Source, attempt: Attempt, *, changed: bool) -> AttemptNotes:
        """The notes of an attempt that was taken over, as it is now."""
        known = attempt_notes(source.attempt.output)
        known = msgspec.structs.replace(known, changed=True) if changed else known
        if known.output_code is None or source.as_plain:
            return known
        code = self._recaller.code.of(attempt.output, attempt.attributes)
        return msgspec.structs.replace(known, output_code=code)

    def _note(self, stored: StoredAttempt, work: Work, attempt: Attempt) -> None:
        """Add the notes by which a later run tells whether the attempt still holds."""
        case = work.case
        keeps_spans = work.plan.needs_spans and isinstance(attempt.spans, SpanTree)
        changed = attempt.changed_from is not None
        rich = not are_plain(attempt.output) or (changed and attempt.output is not attempt.changed_from)
        notes = AttemptNotes(
            rich=rich,
            changed=changed,
            # A hash of what was hidden would confirm a guess.
            form=form_of(attempt.output) if rich and not attempt.hidden else None,
            redacted=attempt.hidden,
            rich_attributes=not are_plain(attempt.attributes),
            output_code=self._recaller.code.of(attempt.output, attempt.attributes),
            rich_case=not are_plain(case.inputs, case.metadata, case.expected_output)
            or any("shown" in call for call in told_calls(case.expected_tool_calls or [])),
            code=work.case_code,
            seed=self.seed if attempt.seed_was_read else None,
            case=(
                setting_key(case, work.name if attempt.name_was_read else work.case_name)
                if attempt.case_was_read
                else None
            ),
            spans=attempt.spans.to_dict() if keeps_spans else None,
        )
        stored.output = with_attempt_notes(stored.output, notes)

    def _note_cells(
        self,
        cells: Sequence[StoredCell],
        placed: PlanSlots,
        work: Work,
        attempt: Attempt,
        record: ReportCase | ReportCaseFailure,
        source: Source | None,
    ) -> None:
        """Add the notes by which a later run tells whether the results still hold."""
        asked = attempt.asked or {}
        changed = attempt.changed_from is not None
        for cell in cells:
            planned = placed.planned[cell.evaluator]
            if planned.name not in asked and source is not None:
                origin, notes = source.cells[planned.name]
                cell.origin = None if origin == self.info.id else origin
            else:
                looked = asked.get(planned.name, frozenset())
                notes = CellNotes(
                    after=self._identities.before(work.plan, planned)
                    if "results" in looked or changed
                    else None,
                    seed=self.seed if "seed" in looked else None,
                    case=setting_key(work.case, work.case_name) if "case" in looked else None,
                    as_plain=source is not None and source.as_plain,
                    original=original_of(record, planned) if isinstance(record, ReportCase) else None,
                )
            cell.body = with_notes(cell.body, notes)

    def recorded(self) -> Iterator[Record]:
        """What the run that is resumed has, without outputs and results; nothing of a run that begins."""
        if self._done is not None:
            for attempt in self.store.attempts(self.info.id, parts="given"):
                yield unpack(attempt, (), self._slots.evaluators, parts="given")

    # ------------------------------------------------------------------ the end

    def finish(self, report: Report | None, *, broken: bool = False) -> Reuse:
        """Store the rest, mark the run as over, and return how much of it was reused."""
        stopped_tasks.note(self.info.id, self._task, self._task_now())
        counts = self.reuse
        if report is not None:
            report.reuse = counts  # also where it cannot be stored: it has the id to resume by
        if self._keys.unknown_cases:
            counts.notes.append(
                f"cases run every time, since their content cannot be compared: {self._keys.unknown_cases}"
            )
        counts.notes += [
            f"cases run every time, since the code they hold is unknown: {count} ({reason})"
            for reason, count in self._keys.unknown_code.items()
        ]
        counts.notes += self._others.notes()
        counts.notes += self._added.notes()
        if again := self._recaller.made_again:
            counts.notes.append(f"{MADE_AGAIN}: {again} (name its type as the task's return annotation)")
        if self._judged_redacted:
            counts.notes.append(f"{WITHOUT_HIDDEN}: {self._judged_redacted}")
        if self._changed:
            counts.notes.append(f"{CHANGED}: {self._changed}")
        try:
            try:
                self._writer.close()
            except BaseException:
                with suppress(Exception):  # the writer has waited long enough
                    self._end("interrupted", patience=0)
                raise
            # A case that a rule left out, or that was not begun, is not gone.
            complete = report is not None and report.came_to_end
            if self._done is not None:
                all_seen = complete and report is not None and report.stopping is None
                self._leave_out(self._done, all_seen=all_seen)
            if report is None:
                self._end("failed" if broken else "interrupted")
                return counts
            self._end("finished" if complete else "interrupted", report)
            # Not stored: it holds until the run is scored.
            report.incomplete = report.incomplete or not_all_judged(report, self._added.lacking)
            report.passports = standings(self.store, self._slots.evaluators)
            return counts
        finally:
            if self._closes:
                self.store.close()

    def ended_late(self) -> None:
        """Note what a call changed that was given up, and has ended now."""
        stopped_tasks.note_late(self.info.id, self._task_now)

    def _task_now(self) -> AnyIdentity:
        try:
            return _identity(self._setup, Libraries())
        except Exception as error:  # a call that was given up may change a value while it is read
            return Unknown(f"its values cannot be read: {error!r}")

    def _end(self, status: Status, report: Report | None = None, *, patience: float | None = None) -> None:
        self._patiently(
            lambda: self.store.finish_run(
                self.info.id, status=status, report=report, generation=self.info.generation
            ),
            patience,
        )

    def _patiently(self, call: Callable[[], _T], patience: float | None = None) -> _T:
        """The store's answer, asked again while the store is unavailable."""
        return patiently(call, patience=self._writer.pace.patience if patience is None else patience)

    def _evaluators_of(self, run: str) -> Sequence[StoredEvaluator]:
        """The evaluators of any run of the store."""
        if run == self.info.id:
            return self._slots.evaluators
        found = self._evaluators_elsewhere.get(run)
        if found is None:
            found = self._evaluators_elsewhere[run] = self._patiently(lambda: self.store.run(run)).evaluators
        return found

    def _leave_out(self, done: DoneAttempts, *, all_seen: bool) -> None:
        """Remove the attempts of cases that are gone or have changed."""
        gone = done.left() if all_seen else done.outdated()
        if gone:
            self._patiently(
                lambda: self.store.remove_attempts(self.info.id, gone, generation=self.info.generation)
            )
        if count := len(gone) + done.replaced:
            loss = f"stored attempts left out, since their cases are gone or changed: {count}"
            self.reuse.notes.append(loss)
            self.reuse.losses.append(loss)


class AddedEvaluators:
    """The evaluators that were added to a run by scoring it, and are not part of the resumed run."""

    def __init__(self, evaluators: Sequence[StoredEvaluator], names: Names) -> None:
        self._evaluators = evaluators
        self._added = {place: evaluators[place].name for place in scored_places(evaluators)}
        self._names = names
        self._names.meet(self._added.values())
        self.lacking: Counter[str] = Counter()
        """By the evaluator's name: attempts that it has not judged yet."""

    def cells_of(self, cells: Iterable[StoredCell]) -> list[StoredCell]:
        """The cells of an attempt that these evaluators gave."""
        return [cell for cell in cells if cell.evaluator in self._added] if self._added else []

    def show(self, record: Record, cells: Sequence[StoredCell]) -> None:
        """Add their results to a record, and count the evaluators that have not judged it yet."""
        if not self._added:
            return
        if not isinstance(record, ReportCase):
            record.not_run = (*record.not_run, *self._added.values())
            return
        facts = Facts(format=FORMAT, task_duration=0.0, total_duration=0.0)
        results, failures, skipped = unpack_cells(cells, facts, self._evaluators)
        failures += not_judged(cells, self._evaluators, self._added)
        record.results, record.skipped = self._names.named(
            (*record.results, *results), (*record.skipped, *skipped)
        )
        record.evaluator_failures = (*record.evaluator_failures, *failures)
        self.lacking.update(unjudged_by(record))

    def notes(self) -> list[str]:
        """A line for each evaluator that has attempts left to judge."""
        return [
            f"evaluator {name} was added by scoring the run, and has not judged {count} of its attempts: score the run with "
            "it again"
            for name, count in self.lacking.items()
        ]


def _is_stored_as_is(attempt: StoredAttempt, work: Work, slots: EvaluatorSlots) -> bool:
    """Whether a stored attempt of this run equals what would be written now."""
    facts = facts_of(attempt)
    return (
        attempt.name == work.name
        and attempt.case_name == work.case_name
        and facts.cluster == work.case.cluster
        and setting_of(attempt) == (work.case.tags, work.case.timeout)
        and facts.evaluators == slots.stored
    )


def _before(attempt: Attempt) -> Any:
    """The output before an evaluator changed it, masked where hooks hide something."""
    return masked(attempt.changed_from) if attempt.hidden else attempt.changed_from


def _is_whole(recalled: Recalled, work: Work) -> bool:
    """Whether nothing is left to compute."""
    if isinstance(recalled.record, ReportCaseFailure):
        return True
    return all(planned.name in recalled.cells for planned in work.plan.evaluators)
