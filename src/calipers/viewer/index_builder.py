"""Reading the attempts of a run into columns, some hundred at a time, so that a run of any length fits into memory."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from calipers.data.jsonable import plain
from calipers.data.record import ReportCase
from calipers.data.result import EvaluationResult, Kind, kind_of
from calipers.data.result_names import Names
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
    status_of,
    tags_of,
    tokens_of,
    tools_of,
)
from calipers.report.complaints import Complaint, complaints_of, group_id, mask
from calipers.stores.evaluator_slots import scored_places, shared_places
from calipers.stores.packing import unpack
from calipers.stores.run_info import RunInfo
from calipers.stores.stored_attempt import StoredAttempt, StoredCell

from .spool import Spool
from .text_column import TextColumn
from .value_column import GrowingArray, ValueColumns

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
_STATUS: Final = {"passed": 0, "failed": 1, "errored": 2, "unjudged": 3}
BROKEN: Final = 4
"""Added to the status of an attempt of which an evaluator did not finish."""
JUDGED: Final = {"passed": 1, "failed": 2, "errored": 4, "skipped": 8}
PARTS: Final = {"sound": 1, "trace": 2, "expected": 4}


class ResultColumn(msgspec.Struct):
    """A column of results of a run: those of one name and kind."""

    name: str
    kind: Kind
    evaluators: list[str]
    range: tuple[float, float] | None = None
    key: str | None = None


class Group(NamedTuple):
    """Complaints that are alike."""

    id: str
    evaluator: str
    """Empty for the task."""
    said: str
    did_not_finish: bool


class IndexBuilder:
    """The columns of a run, as far as it was read."""

    def __init__(self, info: RunInfo) -> None:
        self.info = info
        self._names = Names(info.columns)
        self._changes = 0
        self._shared = shared_places(info.evaluators)
        self._scored = scored_places(info.evaluators)
        self.size = 0
        """Attempts that were read."""
        self.position = GrowingArray(np.int64)
        self.case = GrowingArray(np.uint64)
        """The first 64 bits of the hash of the case's name."""
        self.outcome = GrowingArray(np.uint8)
        self.values: dict[str, ValueColumns] = {}
        """By the name of a field, such as `cost` or `meta.lang`."""
        self.results: dict[tuple[str, Kind], ResultColumn] = {}
        self.groups: list[Group] = []
        self._group_codes: dict[tuple[str, str, bool], int] = {}
        self._masked: dict[str, str] = {}
        self.spool = Spool()
        self.texts = {name: TextColumn(self.spool) for name in ("case", "input", "output", "remarks")}
        self.peeks: list[int] = []
        """Where in the spool the peeks of each 128 attempts are."""
        self._open_peeks: list[Peek] = []
        self.has_renamed = False
        """Whether a result got another name after it was read: then all is to be read again, with what is known now."""

    def add(self, judged: Iterable[tuple[StoredAttempt, list[StoredCell]]]) -> int:
        """Read attempts, and return how many there were."""
        before = self.size
        chunk: list[tuple[int, Record]] = []
        for attempt, cells in judged:
            record = unpack(
                attempt,
                cells,
                self.info.evaluators,
                shared=self._shared,
                scored=self._scored,
                names=self._names,
            )
            chunk.append((attempt.position, record))
            if len(chunk) == CHUNK:
                self._take(chunk)
                chunk = []
        if chunk:
            self._take(chunk)
        return self.size - before

    def _take(self, chunk: Sequence[tuple[int, Record]]) -> None:
        if self._names.changes != self._changes:
            self._changes = self._names.changes
            self.has_renamed = self.has_renamed or self.size > 0
        rows = _Rows(self.size)
        for _, record in chunk:
            self._read(record, rows)
        records = [record for _, record in chunk]
        names = [record.source_case_name or record.name for record in records]
        self.position.extend([position for position, _ in chunk])
        self.case.extend([case_key(name) for name in names])
        self.outcome.extend(rows.outcomes)
        for name, (where, what) in rows.values.items():
            found = self.values.get(name)
            if found is None:
                found = self.values[name] = ValueColumns()
            found.extend(where, what)
        self.texts["case"].extend([name] for name in names)
        self.texts["input"].extend(rows.inputs)
        self.texts["output"].extend(rows.outputs)
        self.texts["remarks"].extend(rows.remarks)
        self._add_peeks(rows.peeks)
        self.size += len(chunk)

    def _read(self, record: Record, rows: "_Rows") -> None:
        """Note what one attempt has."""
        rows.row += 1
        rows.outcomes.append(
            _STATUS[status_of(record)]
            + (BROKEN if isinstance(record, ReportCase) and record.evaluator_failures else 0)
        )
        inputs, outputs = input_texts(record), output_texts(record)
        rows.inputs.append(inputs)
        rows.outputs.append(outputs)
        rows.remarks.append(remarks(record))
        complaints = complaints_of(record)
        _read_measures(record, rows)
        _read_names(record, rows)
        if complaints:
            rows.add("group", self._groups_of(complaints))
        if isinstance(record, ReportCase):
            self._read_results(record, rows)
        else:
            rows.add("error", (record.error_type,))
            rows.add("not_run", tuple(record.not_run))
        rows.peeks.append(_peek(record, inputs, outputs, complaints))

    def _read_results(self, record: ReportCase, rows: "_Rows") -> None:
        judged: dict[str, int] = {}
        for result in record.results:
            kind = kind_of(result.value)
            self._column(result, kind)
            if kind == "assertion":
                bit = JUDGED["passed" if result.value else "failed"]
                for name in {result.name, result.evaluator}:
                    judged[name] = judged.get(name, 0) | bit
                rows.add(f"held.{result.name}", int(bool(result.value)))
            else:
                rows.add(f"{kind}.{result.name}", result.value)
        for failure in record.evaluator_failures:
            judged[failure.name] = judged.get(failure.name, 0) | JUDGED["errored"]
        for skip in record.skipped:
            for name in {skip.name, skip.evaluator}:
                judged[name] = judged.get(name, 0) | JUDGED["skipped"]
        for each, bits in judged.items():
            rows.add(f"eval.{each}", bits)

    def _column(self, result: EvaluationResult, kind: Kind) -> None:
        found = self.results.get((result.name, kind))
        if found is None:
            bounds = result.source.score_range if kind == "score" else None
            self.results[result.name, kind] = ResultColumn(
                result.name, kind, [result.evaluator], bounds, result.key
            )
        elif result.evaluator not in found.evaluators:
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
            self.peeks.append(self.spool.add(msgspec.msgpack.encode(self._open_peeks[:PEEKS])))
            self._open_peeks = self._open_peeks[PEEKS:]

    def peeks_of(self, block: int) -> "list[Peek]":
        """The peeks of 128 attempts, or of the last ones."""
        if block < len(self.peeks):
            return msgspec.msgpack.decode(self.spool.read(self.peeks[block]), type=list[Peek])
        return list(self._open_peeks)


class Peek(msgspec.Struct, array_like=True):
    """What a table shows of an attempt, each on one line."""

    name: str
    """Of the case."""
    input: str
    output: str
    expected: str | None
    why: str
    """The first complaint."""


class _Rows:
    """What is read of some hundred attempts, before it goes into columns."""

    def __init__(self, before: int) -> None:
        self.row = before - 1
        self.outcomes: list[int] = []
        self.values: dict[str, tuple[list[int], list[Any]]] = {}
        self.inputs: list[list[str]] = []
        self.outputs: list[list[str]] = []
        self.remarks: list[list[str]] = []
        self.peeks: list[Peek] = []

    def add(self, name: str, value: Any) -> None:
        """Note a value of the attempt that is being read."""
        found = self.values.get(name)
        if found is None:
            found = self.values[name] = ([], [])
        found[0].append(self.row)
        found[1].append(value)


def _read_measures(record: Record, rows: _Rows) -> None:
    if record.task_duration:
        rows.add("duration", record.task_duration)
    for name in ("cost", "input_tokens", "output_tokens", "requests"):
        value = metric_of(record, name)
        if value is not None:
            rows.add(name, value)
    tokens = tokens_of(record)
    if tokens is not None:
        rows.add("tokens", tokens)
    for name, value in record.metrics.items():
        if name not in {"cost", "input_tokens", "output_tokens", "requests"}:
            rows.add(f"metric.{name}", value)
    rows.add("rep", repeat_of(record))


def _read_names(record: Record, rows: _Rows) -> None:
    tags = tags_of(record)
    if tags:
        rows.add("tag", tuple(tags))
    if record.cluster is not None:
        rows.add("cluster", record.cluster)
    if isinstance(record.metadata, Mapping):
        for key, value in record.metadata.items():
            some = comparable(value)
            if some:
                rows.add(f"meta.{key}", some[0] if len(some) == 1 else tuple(some))
    bits = PARTS["expected"] * states_expectation(record) + PARTS["sound"] * has_sound(record)
    trace = record.trace
    if trace is not None:
        bits += PARTS["trace"]
        tools = tools_of(record)
        if tools is not None:
            rows.add("tool", tuple(dict.fromkeys(tools)))
        if trace.agent_name:
            rows.add("agent", trace.agent_name)
        if trace.model is not None:
            rows.add("model", trace.model)
        if trace.created_at.timestamp() > 0:
            rows.add("time", microseconds(trace.created_at))
    if bits:
        rows.add("has", bits)


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
    return " ".join(text[: 2 * PEEK].split())[:PEEK]


def _peek(
    record: Record, inputs: Sequence[str], outputs: Sequence[str], complaints: Sequence[Complaint]
) -> Peek:
    expected: str | None = None
    if record.has_expected_output or record.expected_output is not None:
        given = record.expected_output
        expected = one_line(given if isinstance(given, str) else msgspec.json.encode(plain(given)).decode())
    first = complaints[0] if complaints else None
    why = "" if first is None else f"{first.evaluator}: {first.why}" if first.evaluator else first.why
    output = outputs[-1] if isinstance(record, ReportCase) else ""
    return Peek(
        name=record.source_case_name or record.name,
        input=one_line(inputs[0]),
        output=one_line(output),
        expected=expected,
        why=one_line(why),
    )
