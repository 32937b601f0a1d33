"""Reading the attempts of a run into columns, some hundred at a time, so that a run of any length fits into memory."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import numpy as np

from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, Kind
from calipers.data.result_names import Names
from calipers.errors import ValueAwayError
from calipers.report.attempt_fields import (
    Record,
    comparable,
    has_sound,
    input_texts,
    metric_of,
    output_texts,
    remarks,
    repeat_of,
    states_expectation,
    tags_of,
    tokens_of,
    tools_of,
)
from calipers.report.complaints import Complaint, complaints_of, group_id, mask
from calipers.stores.blobs import is_reference
from calipers.stores.evaluator_slots import scored_places, shared_places
from calipers.stores.packing import unpack
from calipers.stores.run_info import RunInfo
from calipers.stores.stored_attempt import StoredAttempt, StoredCell

from .index_source import Group, Numbered, Peek, ResultColumn
from .spool import Spool
from .stored_trace import StoredTrace
from .text_column import GrowingText
from .trace_outline import outline_of
from .value_column import Array, GrowingArray, ValueColumns

CHUNK: Final = 1000
"""Attempts after which those that were read can be asked about."""
PEEK: Final = 200
"""Characters of a value that a table shows."""
PEEKS: Final = 128
"""Attempts whose peeks are read together."""
MOST_GROUPS: Final = 20_000
"""Groups of alike failures; later failures that are like none of these are in no group."""

OUTCOMES: Final = "pfeu"
"""Passed, failed, did not finish, was not judged."""
BROKEN: Final = 4
"""Added to the status of an attempt of which an evaluator did not finish."""
JUDGED: Final = {"passed": 1, "failed": 2, "errored": 4, "skipped": 8}
PARTS: Final = {"sound": 1, "trace": 2, "expected": 4}


class IndexBuilder:
    """The columns of a run, as far as it was read."""

    def __init__(
        self,
        info: RunInfo,
        *,
        shared: Iterable[str] = (),
        long_trace: Callable[[int], StoredTrace | None] | None = None,
    ) -> None:
        """Columns without attempts.

        Args:
            info: of the run.
            shared: keys that are known to come from several evaluators; see `calipers.data.result_names`.
            long_trace: gives the trace of an attempt, by its position, where that was left in the store since it is long.
        """
        self.info = info
        self._long_trace = long_trace
        self._names = Names(info.columns, shared=shared)
        self._changes = 0
        self._shared = shared_places(info.evaluators)
        self._scored = scored_places(info.evaluators)
        self.size = 0
        """Attempts that were read."""
        self.lacks_values = False
        """Whether large values of some could not be read, so that the index is not worth keeping."""
        self.numbered: Numbered | None = None
        """Cases are numbered when they are asked for, since earlier ones may still come."""
        self._arrays = {
            "position": GrowingArray(np.int64),
            "outcome": GrowingArray(np.uint8),
            "case": GrowingArray(np.uint64),
        }
        self._values: dict[str, ValueColumns] = {}
        self._results: dict[tuple[str, Kind], ResultColumn] = {}
        self.groups: list[Group] = []
        self._group_codes: dict[tuple[str, str, bool], int] = {}
        self._masked: dict[str, str] = {}
        self.spool = Spool()
        self._texts = {name: GrowingText(self.spool) for name in ("case", "input", "output", "remarks")}
        self._peeks: list[int] = []
        """Where in the spool the peeks of each 128 attempts are."""
        self._open_peeks: list[Peek] = []
        self.has_renamed = False
        """Whether a result got another name after it was read: then all is to be read again, with what is known now."""

    def go_on(self, info: RunInfo) -> None:
        """Take in that the run has more evaluators by now."""
        self.info = info
        self._names.meet(info.columns)
        self._shared = shared_places(info.evaluators)
        self._scored = scored_places(info.evaluators)

    @property
    def shared_keys(self) -> list[str]:
        """The keys that several evaluators give, as far as is known."""
        return self._names.shared

    def add(self, judged: Iterable[tuple[StoredAttempt, list[StoredCell]]]) -> int:
        """Read attempts, and return how many there were."""
        before = self.size
        chunk: list[tuple[int, Record]] = []
        for attempt, cells in judged:
            self.lacks_values = self.lacks_values or attempt.unread is not None
            is_long = is_reference(attempt.trace)
            if is_long:
                attempt.trace = None
            record = unpack(
                attempt,
                cells,
                self.info.evaluators,
                shared=self._shared,
                scored=self._scored,
                names=self._names,
            )
            if is_long:
                self._outline(attempt.position, record)
            chunk.append((attempt.position, record))
            if len(chunk) == CHUNK:
                self._take(chunk)
                chunk = []
        if chunk:
            self._take(chunk)
        return self.size - before

    def _outline(self, position: int, record: Record) -> None:
        """Give a record what the index needs of its long trace."""
        try:
            trace = None if self._long_trace is None else self._long_trace(position)
        except ValueAwayError:
            self.lacks_values = True
            return
        if trace is not None:
            outline = outline_of(trace)
            record.trace = outline.trace
            record.metrics = {**outline.metrics, **record.metrics}

    def _take(self, chunk: Sequence[tuple[int, Record]]) -> None:
        if self._names.changes != self._changes:
            self._changes = self._names.changes
            self.has_renamed = self.has_renamed or self.size > 0
        records = [record for _, record in chunk]
        names = [record.source_case_name or record.name for record in records]
        texts = [(input_texts(record), output_texts(record)) for record in records]
        complaints = [complaints_of(record) for record in records]
        self._arrays["position"].extend([position for position, _ in chunk])
        self._arrays["outcome"].extend([_outcome(record) for record in records])
        self._arrays["case"].extend([case_key(name) for name in names])
        found = _Chunk(self.size)
        _read_measures(records, found)
        _read_names(records, found)
        _read_traces(records, found)
        self._read_results(chunk, found)
        found.column("group", [self._groups_of(each) if each else None for each in complaints])
        for name, (rows, values) in found.values.items():
            known = self._values.get(name)
            if known is None:
                known = self._values[name] = ValueColumns()
            known.extend(rows, values)
        self._texts["case"].extend([name] for name in names)
        self._texts["input"].extend(asked for asked, _ in texts)
        self._texts["output"].extend(answered for _, answered in texts)
        self._texts["remarks"].extend(map(remarks, records))
        self._add_peeks(
            [
                _peek(record, name, asked[0], answered, why)
                for record, name, (asked, answered), why in zip(
                    records, names, texts, complaints, strict=True
                )
            ]
        )
        self.size += len(chunk)

    def _read_results(self, chunk: Sequence[tuple[int, Record]], found: "_Chunk") -> None:
        """What evaluators said."""
        columns = self._results
        for row, (position, record) in enumerate(chunk, found.first):
            if isinstance(record, ReportCaseFailure):
                found.add("error", row, (record.error_type,))
                found.add("not_run", row, tuple(record.not_run))
                continue
            judged: dict[str, int] = {}
            for number, result in enumerate(record.results):
                value = result.value
                kind: Kind = (
                    "assertion"
                    if value is True or value is False
                    else "label"
                    if isinstance(value, str)
                    else "score"
                )
                name = result.name
                column = columns.get((name, kind))
                if column is None or position < column.first[0] or result.evaluator not in column.evaluators:
                    self._column(result, kind, (position, number))
                if kind == "assertion":
                    found.add(f"held.{name}", row, 1 if value else 0)
                    bit = 1 if value else 2
                    judged[name] = judged.get(name, 0) | bit
                    if result.evaluator != name:
                        judged[result.evaluator] = judged.get(result.evaluator, 0) | bit
                else:
                    found.add(f"{kind}.{name}", row, value)
            if record.evaluator_failures or record.skipped:
                _read_missing(record, judged)
            for name, bits in judged.items():
                found.add(f"eval.{name}", row, bits)

    def _column(self, result: EvaluationResult, kind: Kind, place: tuple[int, int]) -> None:
        """Take note of a column of results, of another evaluator of it, or of an earlier place."""
        found = self._results.get((result.name, kind))
        if found is None:
            bounds = result.source.score_range if kind == "score" else None
            self._results[result.name, kind] = ResultColumn(
                result.name, kind, [result.evaluator], bounds, place
            )
            return
        found.first = min(found.first, place)
        if result.evaluator not in found.evaluators:
            found.evaluators.append(result.evaluator)

    def _groups_of(self, complaints: Iterable[Complaint]) -> tuple[int, ...]:
        """The numbers of the groups of an attempt."""
        found: dict[int, None] = {}
        for each in complaints:
            said = self._masked.get(each.why)
            if said is None:
                said = mask(each.why)
                if len(self._masked) < MOST_GROUPS:
                    self._masked[each.why] = said
            key = (each.evaluator, said, each.did_not_finish)
            code = self._group_codes.get(key)
            if code is None:
                if len(self.groups) == MOST_GROUPS:
                    continue
                code = self._group_codes[key] = len(self.groups)
                self.groups.append(
                    Group(group_id(each.evaluator, said, did_not_finish=each.did_not_finish), *key)
                )
            found[code] = None
        return tuple(found)

    def _add_peeks(self, peeks: Sequence["Peek"]) -> None:
        self._open_peeks += peeks
        while len(self._open_peeks) >= PEEKS:
            self._peeks.append(self.spool.add(msgspec.msgpack.encode(self._open_peeks[:PEEKS])))
            self._open_peeks = self._open_peeks[PEEKS:]

    # ------------------------------------------------------------------ what was read

    @property
    def results(self) -> list[ResultColumn]:
        """The columns of results."""
        return sorted(self._results.values(), key=lambda column: column.first)

    def array(self, name: str) -> Array:
        """A value of every attempt."""
        return self._arrays[name].view()

    def values(self, name: str) -> ValueColumns:
        """The columns of a field."""
        return self._values.get(name) or ValueColumns()

    def sizes(self) -> dict[str, int]:
        """By field, how many attempts have a value."""
        return {name: columns.size for name, columns in list(self._values.items())}

    def text(self, name: str) -> GrowingText:
        """The texts of attempts."""
        return self._texts[name]

    def peeks(self, blocks: Sequence[int]) -> dict[int, Sequence[Peek]]:
        """What a table shows of 128 attempts each, or of the last ones."""
        return {block: self._peeks_of(block) for block in blocks}

    def _peeks_of(self, block: int) -> list[Peek]:
        last = self._open_peeks  # first, since it may be put away in between
        if block >= len(self._peeks):
            return list(last)
        return msgspec.msgpack.decode(self.spool.read(self._peeks[block]), type=list[Peek])


class _Chunk:
    """What is read of some hundred attempts, before it goes into columns."""

    def __init__(self, first: int) -> None:
        self.first = first
        """The row of the first."""
        self.values: dict[str, tuple[list[int], list[Any]]] = {}

    def add(self, name: str, row: int, value: Any) -> None:
        """Note a value of one attempt."""
        found = self.values.get(name)
        if found is None:
            found = self.values[name] = ([], [])
        found[0].append(row)
        found[1].append(value)

    def column(self, name: str, values: Sequence[Any]) -> None:
        """Note a value of each attempt; `None`: it has none."""
        if None not in values:
            self.values[name] = (list(range(self.first, self.first + len(values))), list(values))
            return
        rows = [row for row, value in enumerate(values, self.first) if value is not None]
        if rows:
            self.values[name] = (rows, [value for value in values if value is not None])


def _outcome(record: Record) -> int:
    """The status of an attempt, and whether an evaluator did not finish."""
    if isinstance(record, ReportCaseFailure):
        return 2
    if record.evaluator_failures:
        return 1 + BROKEN
    passed = record.passed
    return 3 if passed is None else 0 if passed else 1


def _read_missing(record: ReportCase, judged: dict[str, int]) -> None:
    """What evaluators did not say."""
    for failure in record.evaluator_failures:
        judged[failure.name] = judged.get(failure.name, 0) | JUDGED["errored"]
    for skip in record.skipped:
        for name in {skip.name, skip.evaluator}:
            judged[name] = judged.get(name, 0) | JUDGED["skipped"]


_TRACED: Final = ("cost", "input_tokens", "output_tokens", "requests")
"""Metrics that a trace may tell."""


def _read_measures(records: Sequence[Record], found: _Chunk) -> None:
    found.column("duration", [record.task_duration or None for record in records])
    if any(record.source_case_name is not None for record in records):
        found.column("rep", [repeat_of(record) for record in records])
    else:
        found.column("rep", [1] * len(records))
    for name in _TRACED:
        found.column(name, [metric_of(record, name) for record in records])
    if "input_tokens" in found.values or "output_tokens" in found.values:
        found.column("tokens", [tokens_of(record) for record in records])
    for row, record in enumerate(records, found.first):
        for name, value in record.metrics.items():
            if name not in _TRACED:
                found.add(f"metric.{name}", row, value)


def _read_names(records: Sequence[Record], found: _Chunk) -> None:
    found.column("tag", [tuple(tags_of(record)) or None for record in records])
    found.column("cluster", [record.cluster for record in records])
    for row, record in enumerate(records, found.first):
        if isinstance(record.metadata, Mapping):
            for key, value in record.metadata.items():
                kind = type(value)
                if kind is str or kind is int or kind is float:
                    found.add(f"meta.{key}", row, value)
                elif some := comparable(value):
                    found.add(f"meta.{key}", row, some[0] if len(some) == 1 else tuple(some))


def _read_traces(records: Sequence[Record], found: _Chunk) -> None:
    """What traces tell, and which parts an attempt has."""
    bits: list[int | None] = []
    for row, record in enumerate(records, found.first):
        parts = PARTS["expected"] * states_expectation(record) + PARTS["sound"] * has_sound(record)
        trace = record.trace
        if trace is not None:
            parts += PARTS["trace"]
            tools = tools_of(record)
            if tools is not None:
                found.add("tool", row, tuple(dict.fromkeys(tools)))
            if trace.agent_name:
                found.add("agent", row, trace.agent_name)
            if trace.model is not None:
                found.add("model", row, trace.model)
            if trace.created_at.timestamp() > 0:
                found.add("time", row, microseconds(trace.created_at))
        bits.append(parts or None)
    found.column("has", bits)


def microseconds(at: datetime) -> int:
    """A moment as a whole number; one without a zone is in UTC."""
    known = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    since = known - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def case_key(name: str) -> int:
    """The first 64 bits of the hash of a case's name; `case_id` is the first 48 of them."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass")).digest()[:8], "big")


def one_line(text: str) -> str:
    """The beginning of a text on one line."""
    short = text[:PEEK]
    if short.isprintable() and "  " not in short and len(text) <= PEEK:
        return short.strip()
    return " ".join(text[: 2 * PEEK].split())[:PEEK]


def _peek(
    record: Record, name: str, asked: str, answered: Sequence[str], complaints: Sequence[Complaint]
) -> "Peek":
    expected: str | None = None
    if record.has_expected_output or record.expected_output is not None:
        given = record.expected_output
        expected = one_line(given if isinstance(given, str) else msgspec.json.encode(plain(given)).decode())
    why = ""
    if complaints:
        first = complaints[0]
        why = one_line(f"{first.evaluator}: {first.why}" if first.evaluator else first.why)
    output = one_line(answered[-1]) if isinstance(record, ReportCase) else ""
    return Peek(name, one_line(asked), output, expected, why)
