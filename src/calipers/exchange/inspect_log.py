"""Logs of Inspect AI: the run, its samples, and the scores.

| there | here |
|---|---|
| a sample, in an epoch | a case, in a repeat |
| `input`, `target`, `output.completion` | inputs, expected output, output |
| `error` of a sample | a task that did not finish |
| a score of `C`, `I`, `P` or `N` | an assertion with a verdict: only `C`, correct, holds; `P` has the score 0.5 |
| a score that is a number, a flag, another text | a score, an assertion, a label |
| a score of several values | a result for each, called `scorer.key` |
| a score of NaN, or none where the log names a scorer | a skipped evaluation |
| messages, with the usage and times of the events | the trace |
| `working_time`, `total_time` | `task_duration`, `total_duration` |

What has no place is kept in the metadata of the run or the case under `inspect_ai`. Events are left out, with a note: they
are most of a log, and repeat what the messages say.

In a trace, a user's message is a turn, an assistant's message is a request to a model, and each tool it calls is a tool call.
Events add tokens and times, found by the ids of messages and calls. A request that is in no message, such as a scorer's, is
not part of the trace. System messages are in the trace's metadata.

A log is a JSON file, or an `.eval` file: a ZIP archive with a file for each sample. The log of a run that was killed has no
`header.json`; its `_journal/start.json` is read instead. Recent logs are compressed with Zstandard, which needs the extra
`parquet`: pyarrow can read it, and the `zipfile` of Python up to 3.13 cannot.
"""

import ast
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final
from zipfile import BadZipFile, ZipFile, ZipInfo

import msgspec

from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure, hide_secrets
from calipers.data.redaction import masked
from calipers.data.result import EvaluationResult, EvaluatorSpec, EvalVerdict, SkippedEvaluation
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn, TurnType
from calipers.errors import InvalidTraceError, ReportFormatError
from calipers.files.parquet_file import load_arrow
from calipers.report.incomplete import Incomplete
from calipers.report.report import Report
from calipers.stores.packing import Record
from calipers.stores.run_info import GitState, RunInfo, Status

from .found_run import FoundAttempt, FoundRun, damaged, is_no_score, is_time, read_document

_KEPT: Final = "inspect_ai"
_STATUS: Final[dict[str, Status]] = {"success": "finished", "error": "failed"}
_LETTERS: Final = {
    "C": (EvalVerdict.PASS, 1.0),
    "P": (EvalVerdict.PARTIAL, 0.5),
    "I": (EvalVerdict.FAIL, 0.0),
    "N": (EvalVerdict.FAIL, 0.0),
}
"""What the letters of a score mean: correct, partially correct, incorrect, no answer."""

Order = Callable[[str], tuple[int, str, int]]
"""Where a sample belongs, by the name of its file."""


class _Eval(msgspec.Struct, kw_only=True):
    task: str
    created: str | None = None
    task_version: int | str | None = None
    dataset: dict[str, Any] = {}
    model: str | None = None
    config: dict[str, Any] = {}
    scorers: list[dict[str, Any]] | None = None
    revision: dict[str, Any] | None = None
    packages: dict[str, Any] = {}


class _Header(msgspec.Struct, kw_only=True):
    eval: _Eval
    status: str = "started"
    stats: dict[str, Any] = {}
    results: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class _Score(msgspec.Struct, kw_only=True):
    value: Any
    answer: str | None = None
    explanation: str | None = None
    reason: str | None = None
    metadata: dict[str, Any] | None = None
    history: list[Any] = []


class Sample(msgspec.Struct, kw_only=True):
    """One sample of a log, as far as it is read."""

    id: int | str
    epoch: int = 1
    input: Any
    target: Any = None
    messages: list[dict[str, Any]] = []
    output: dict[str, Any] = {}
    scores: dict[str, _Score] | None = None
    metadata: dict[str, Any] = {}
    model_usage: dict[str, dict[str, Any]] = {}
    total_time: float | None = None
    working_time: float | None = None
    started_at: str | None = None
    uuid: str | None = None
    error: dict[str, Any] | None = None
    events: list[dict[str, Any]] = []
    attachments: dict[str, str] = {}


_NOT_KEPT: Final = {*Sample.__struct_fields__, "events_data", "timelines"} - {"uuid"}


def is_inspect_log(data: Any) -> bool:
    """Whether a document looks like a log."""
    return isinstance(data, dict) and isinstance(data.get("eval"), dict) and "status" in data


def read_log(data: Any, what: str) -> FoundRun:
    """The run of a log in one document.

    Raises:
        ReportFormatError: it is damaged; the message says where.
    """
    samples = data.get("samples") or []
    header = {name: value for name, value in data.items() if name != "samples"}
    if not isinstance(samples, list):
        raise damaged(what, ValueError(f"its samples are no list but {samples!r:.60}"))
    if not samples:
        raise no_samples(what)

    def in_order(order: Order) -> Iterator[tuple[str, Any]]:
        placed = [(f"samples[{number}] in {what}", sample) for number, sample in enumerate(samples)]
        return iter(sorted(placed, key=lambda each: order(_file_name(each[1]))))

    return read_samples(header, in_order, what)


def no_samples(what: str) -> ReportFormatError:
    """The error of a log that holds only summaries."""
    return ReportFormatError(
        f"{what} has no samples, so there are no attempts to keep: it was written with log_samples=False, or its run ended "
        "before the first sample"
    )


def _file_name(sample: Any) -> str:
    """What a sample's file is called in an archive."""
    return f"samples/{sample.get('id')}_epoch_{sample.get('epoch')}.json" if isinstance(sample, dict) else ""


def read_samples(data: Any, samples: Callable[[Order], Iterator[tuple[str, Any]]], what: str) -> FoundRun:
    """The run of a log; `samples` reads the samples in an order, each with its place for errors."""
    try:
        header = msgspec.convert(data, _Header)
    except msgspec.ValidationError as error:
        raise damaged(what, error) from error
    info = _run(header, data)
    found = FoundRun("log of Inspect AI", info, _report(header, info), lambda: iter(()))
    order = _order_of(header.eval.dataset)

    def attempts() -> Iterator[FoundAttempt]:
        for place, sample in samples(order):
            yield FoundAttempt(_attempt(sample, place, header, info.repeat, found))

    found.attempts = attempts
    return found


def _order_of(dataset: Mapping[str, Any]) -> Order:
    """Samples in the order of their dataset, then by epoch."""
    ids = dataset.get("sample_ids")
    places = {str(each): number for number, each in enumerate(ids)} if isinstance(ids, list) else {}

    def order(name: str) -> tuple[int, str, int]:
        sample, _, epoch = name.removeprefix("samples/").removesuffix(".json").rpartition("_epoch_")
        number = int(epoch) if epoch.isascii() and epoch.isdecimal() else 0
        return places.get(sample, len(places)), sample, number

    return order


# ---------------------------------------------------------------------- the run


def _run(header: _Header, data: Mapping[str, Any]) -> RunInfo:
    task = header.eval
    told = {name: value for name, value in data["eval"].items() if name not in {"dataset", "metadata"}}
    kept = {"eval": told, "dataset": task.dataset}
    kept |= {name: value for name, value in data.items() if name not in {"eval", "metadata", "tags"}}
    own = data["eval"].get("metadata")
    started = header.stats.get("started_at") or task.created
    epochs = task.config.get("epochs")
    return RunInfo(
        name=task.task,
        dataset_name=_text(task.dataset.get("name")),
        task_name=task.task,
        task_version=None if task.task_version is None else str(task.task_version),
        parameters=plain({"model": task.model, "config": task.config}),
        repeat=_whole(epochs) or 1,
        seed=None,
        total=_whole((header.results or {}).get("total_samples")),
        metadata=plain({**(own if isinstance(own, dict) else {}), _KEPT: kept}),
        environment={"made_by": "inspect_ai", **{name: str(each) for name, each in task.packages.items()}},
        git=_git(task.revision),
        status=_STATUS.get(header.status, "interrupted"),
        started_at=_text(started) or "",
        ended_at=_text(header.stats.get("completed_at")),
    )


def _report(header: _Header, info: RunInfo) -> Report:
    incomplete: Incomplete | None = None
    if header.status != "success":
        said = (header.error or {}).get("message")
        reason = f"the log has the status {header.status!r}" + (f": {said}" if said else "")
        incomplete = Incomplete("failed" if header.status == "error" else "interrupted", reason)
    return Report(
        name=info.name,
        cases=[],
        dataset_name=info.dataset_name,
        metadata=info.metadata,
        repeat=info.repeat,
        seed=None,
        started_at=info.started_at or None,
        duration=_seconds(info.started_at, info.ended_at),
        incomplete=incomplete,
    )


def _git(revision: Mapping[str, Any] | None) -> GitState | None:
    commit = (revision or {}).get("commit")
    return (
        GitState(commit=commit, dirty=bool((revision or {}).get("dirty")))
        if isinstance(commit, str)
        else None
    )


def _seconds(start: str | None, end: str | None) -> float | None:
    try:
        return (datetime.fromisoformat(end or "") - datetime.fromisoformat(start or "")).total_seconds()
    except (TypeError, ValueError):
        return None


def _whole(value: Any) -> int | None:
    return value if type(value) is int and 0 < value < 1 << 31 else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


# ---------------------------------------------------------------------- a sample


def _attempt(data: Any, place: str, header: _Header, epochs: int, found: FoundRun) -> Record:
    try:
        sample = msgspec.convert(data, Sample)
        if sample.attachments:
            sample = msgspec.convert(_attached(data, sample.attachments), Sample)
        trace = read_inspect_trace(sample, header.eval.model or "unknown")
    except (msgspec.ValidationError, InvalidTraceError) as error:
        raise damaged(place, error) from error
    left = {
        name: value for name, value in data.items() if name not in _NOT_KEPT and value not in (None, [], {})
    }
    others = sum(event.get("event") not in {"model", "tool"} for event in sample.events)
    if others:
        found.note("events other than requests to models and calls of tools are left out")
    metadata = plain({**sample.metadata, **({_KEPT: masked(left)} if left else {})})
    common: dict[str, Any] = {
        "name": str(sample.id) if epochs == 1 else f"{sample.id} [{sample.epoch}/{epochs}]",
        "source_case_name": None if epochs == 1 else str(sample.id),
        "inputs": sample.input,
        "metadata": metadata or None,
        "expected_output": sample.target or None,
        "has_expected_output": bool(sample.target),
        "task_duration": _duration(
            sample.working_time if sample.working_time is not None else sample.total_time
        ),
        "total_duration": _duration(sample.total_time),
        "trace": trace,
    }
    if sample.error is not None:
        if sample.scores:
            found.note("scores of samples that ended in an error do not count: they are kept in the metadata")
            common["metadata"] = {**metadata, "scores": plain(data.get("scores"))}
        message = str(sample.error.get("message", ""))
        kind, told = _error(message)
        failed = ReportCaseFailure(
            **common,
            error_type=kind,
            error_message=told,
            error_stacktrace=str(sample.error.get("traceback", "")),
            not_run=tuple(_scorers(header)),
        )
        hide_secrets(failed)
        return failed
    results, skipped = _results(sample, header, found)
    choices = sample.output.get("choices") or [{}]
    attributes = {
        "stop_reason": choices[0].get("stop_reason"),
        "choices": choices if len(choices) > 1 else None,
    }
    record = ReportCase(
        **common,
        output=sample.output.get("completion", ""),
        metrics=usage_of(sample.model_usage.values()),
        attributes={name: value for name, value in attributes.items() if value is not None},
        results=tuple(results),
        skipped=tuple(skipped),
    )
    hide_secrets(record)
    return record


def _attached(value: Any, attachments: Mapping[str, str]) -> Any:
    """The value with attachments put back into their places."""
    if isinstance(value, str):
        return (
            attachments.get(value.removeprefix("attachment://"), value) if "attachment://" in value else value
        )
    if isinstance(value, list):
        return [_attached(item, attachments) for item in value]
    if isinstance(value, dict):
        return {
            name: item if name == "attachments" else _attached(item, attachments)
            for name, item in value.items()
        }
    return value


def _duration(seconds: float | None) -> float:
    return seconds if seconds is not None and is_time(seconds) else 0.0


def _error(message: str) -> tuple[str, str]:
    """The type and the message of an error, from its repr: `ValueError('no')`."""
    found = re.fullmatch(r"([A-Za-z_][\w.]*)\((.*)\)", message, re.DOTALL)
    if found is None:
        return "Exception", message
    try:
        said = ast.literal_eval(found[2])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        said = found[2]
    return found[1], f"{found[1]}: {said}"


# ---------------------------------------------------------------------- scores


def _scorers(header: _Header) -> dict[str, EvaluatorSpec]:
    """The scorers that a log names, with their options."""
    found: dict[str, EvaluatorSpec] = {}
    for each in header.eval.scorers or ():
        options = each.get("options")
        if isinstance(each.get("name"), str):
            arguments = plain(options) if isinstance(options, dict) else {}
            found[each["name"]] = EvaluatorSpec(each["name"], arguments)
    return found


def _results(
    sample: Sample, header: _Header, found: FoundRun
) -> tuple[list[EvaluationResult], list[SkippedEvaluation]]:
    scorers = _scorers(header)
    scores = sample.scores or {}
    results: list[EvaluationResult] = []
    skipped = [
        SkippedEvaluation(name, "the log has no score of it") for name in scorers if name not in scores
    ]
    for scorer, score in scores.items():
        spec = scorers.get(scorer, EvaluatorSpec(scorer))
        for name, value in _values(scorer, score.value):
            if value is None or is_no_score(value):
                said = [each for each in (score.reason, score.explanation) if each]
                reason = ": ".join(said) or "the scorer gave no value"
                skipped.append(SkippedEvaluation(name, reason, None if name == scorer else scorer))
            elif isinstance(value, bool | int | float | str):
                results.append(_result(name, value, score, scorer, spec))
            else:
                found.note(
                    f"the score {name!r} of sample {sample.id!r} is no value: {value!r:.60}; it counts as skipped"
                )
                skipped.append(
                    SkippedEvaluation(name, f"no value: {value!r:.60}", None if name == scorer else scorer)
                )
    return results, skipped


def _values(scorer: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The values of a score, each under its name."""
    if isinstance(value, dict):
        yield from ((f"{scorer}.{key}", each) for key, each in value.items())
    elif isinstance(value, list):
        yield from ((f"{scorer}.{number}", each) for number, each in enumerate(value, 1))
    else:
        yield scorer, value


def _result(name: str, value: Any, score: _Score, scorer: str, spec: EvaluatorSpec) -> EvaluationResult:
    verdict, grade = _LETTERS.get(value, (None, None)) if isinstance(value, str) else (None, None)
    said = {"answer": score.answer, "reason": score.reason, "history": score.history or None}
    noted = {key: each for key, each in said.items() if each is not None}
    if verdict is not None:
        noted["value"] = value
    metadata = plain({**noted, **(score.metadata or {})})
    return EvaluationResult(
        name=name,
        value=value if verdict is None else verdict is EvalVerdict.PASS,
        reason=score.explanation,
        evaluator=scorer,
        source=spec,
        verdict=verdict,
        score=grade,
        metadata=metadata or None,
    )


# ---------------------------------------------------------------------- archives

_ZSTANDARD: Final = 93
_LOCAL_HEADER: Final = 30
"""Bytes before the name of a file in an archive."""


def read_archive(path: Path) -> FoundRun:
    """The run of a log.

    Raises:
        ReportFormatError: the archive is damaged, or is no log; the message says which file in it.
        MissingExtraError: it is compressed with Zstandard, and pyarrow is not installed.
    """
    what = repr(str(path))
    with _opened(path) as archive:
        files = {info.filename: info for info in archive.infolist()}
        place = next((name for name in ("header.json", "_journal/start.json") if name in files), None)
        if place is None:
            raise ReportFormatError(
                f"{what} is an archive and no log of Inspect AI: it has no header.json, but {list(files)!r:.100}"
            )
        header = read_document(_file_content(archive, files[place], what), f"{place} in {what}")
        if isinstance(header, dict) and "reductions.json" in files:
            reductions = _file_content(archive, files["reductions.json"], what)
            header["reductions"] = read_document(reductions, f"reductions.json in {what}")
    names = [name for name in files if name.startswith("samples/") and name.endswith(".json")]
    if not names:
        raise no_samples(what)
    return read_samples(header, lambda order: _samples(path, sorted(names, key=order)), what)


def _samples(path: Path, names: list[str]) -> Iterator[tuple[str, Any]]:
    """The samples of an archive, each with its place."""
    what = repr(str(path))
    with _opened(path) as archive:
        for name in names:
            place = f"{name} in {what}"
            yield place, read_document(_file_content(archive, archive.getinfo(name), what), place)


def _opened(path: Path) -> ZipFile:
    try:
        return ZipFile(path)
    except BadZipFile as error:
        raise ReportFormatError(
            f"{str(path)!r} is a damaged archive: {error}; a log that is still being written cannot be read"
        ) from error


def _file_content(archive: ZipFile, info: ZipInfo, what: str) -> bytes:
    try:
        if info.compress_type != _ZSTANDARD:
            return archive.read(info)
        found = _unpacked(archive, info)
    except (BadZipFile, EOFError, OSError, RuntimeError, ValueError, zlib.error) as error:
        raise ReportFormatError(f"{info.filename} in {what} is damaged: {error}") from error
    if len(found) != info.file_size or zlib.crc32(found) != info.CRC:
        raise ReportFormatError(f"{info.filename} in {what} is damaged: its content is not what was written")
    return found


def _unpacked(archive: ZipFile, info: ZipInfo) -> bytes:
    """The content of a file that `zipfile` cannot decompress."""
    arrow: Any = load_arrow(what="Reading logs that are compressed with Zstandard")
    raw: IO[bytes] | None = archive.fp
    if raw is None:
        raise EOFError("the archive is closed")
    raw.seek(info.header_offset)
    head = raw.read(_LOCAL_HEADER)
    if len(head) < _LOCAL_HEADER or head[:4] != b"PK\x03\x04":
        raise BadZipFile("there is no file at its place")
    raw.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
    packed = arrow.BufferReader(raw.read(info.compress_size))
    with arrow.CompressedInputStream(packed, "zstd") as stream:
        # One byte more than it should have, so that a larger file is noticed without reading all of it.
        content: bytes = stream.read(info.file_size + 1)
    return content


# ---------------------------------------------------------------------- traces


_USAGE = ("input_tokens", "output_tokens", "total_tokens")
_BEGINNING = datetime.fromtimestamp(0, UTC)


def read_inspect_trace(sample: Sample, model: str) -> Trace | None:
    """The trace of a sample, `None` without messages; `model` is for messages that name none."""
    messages, events = sample.messages, sample.events
    if not messages:
        return None
    requests, calls = dict(_requests(events)), dict(_calls(events))
    turns: list[Turn] = []
    answers = {each.get("tool_call_id"): each for each in messages if each.get("role") == "tool"}
    for number, message in enumerate(messages):
        place = str(message.get("id") or number)
        if message.get("role") == "user":
            turns.append(Turn(turn_type=TurnType.USER_MESSAGE, content=_content(message), turn_id=place))
        elif message.get("role") == "assistant":
            call = _llm_call(message, requests.get(place, {}), model)
            turns.append(Turn(llm_call=call, turn_id=place, timestamp=call.timestamp))
            for index, asked in enumerate(_objects(message.get("tool_calls"))):
                name = asked.get("function")
                if isinstance(name, str) and name:
                    key = asked.get("id")
                    used = _tool_call(name, asked, answers.get(key, {}), calls.get(str(key), {}))
                    turns.append(Turn(tool_call=used, turn_id=f"{place}.{index}", timestamp=used.timestamp))
    system = [_content(message) for message in messages if message.get("role") == "system"]
    said = sample.output.get("completion")
    return Trace(
        input_text=next((turn.content for turn in turns if turn.turn_type is TurnType.USER_MESSAGE), ""),
        output_text=said if isinstance(said, str) else "",
        turns=turns,
        metadata={"system": system} if system else {},
        records_calls=True,  # the messages of a log have every call that the model asked for
        trace_id=sample.uuid or "unknown",
        created_at=_time(sample.started_at) or _BEGINNING,
    )


def usage_of(usages: Iterable[Mapping[str, Any]]) -> dict[str, int | float]:
    """The tokens of all models together, as far as they were counted."""
    found: dict[str, int | float] = {}
    for usage in usages:
        for name in _USAGE:
            if _count(usage.get(name)):
                found[name] = found.get(name, 0) + _count(usage.get(name))
    return found


def _requests(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Requests to models, by the id of the message that came of them."""
    for event in events:
        if event.get("event") == "model":
            for choice in _objects(_object(event.get("output")).get("choices")):
                yield str(_object(choice.get("message")).get("id")), event


def _calls(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Calls of tools, by their ids."""
    return ((str(event.get("id")), event) for event in events if event.get("event") == "tool")


def _llm_call(message: Mapping[str, Any], event: Mapping[str, Any], model: str) -> LLMCall:
    usage = _object(_object(event.get("output")).get("usage"))
    named = message.get("model")
    return LLMCall(
        model=named if isinstance(named, str) else model,
        input_tokens=_count(usage.get("input_tokens")),
        output_tokens=_count(usage.get("output_tokens")),
        output_text=_content(message),
        latency_ms=_milliseconds(event.get("working_time")),
        timestamp=_time(event.get("timestamp")),
    )


def _tool_call(
    name: str, asked: Mapping[str, Any], answer: Mapping[str, Any], event: Mapping[str, Any]
) -> ToolCall:
    arguments, error = asked.get("arguments"), answer.get("error") or event.get("error")
    key = asked.get("id")
    return ToolCall(
        name,
        arguments if isinstance(arguments, Mapping) else {},
        output=_content(answer) if answer else event.get("result"),
        error=None if error is None else str(_object(error).get("message", error)),
        latency_ms=_milliseconds(event.get("working_time")),
        call_id=key if isinstance(key, str) else None,
        timestamp=_time(event.get("timestamp")),
    )


def _content(message: Mapping[str, Any]) -> str:
    """The text of a message; what is not text is named in brackets."""
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    parts = _objects(content)
    return "\n".join(str(part["text"]) if "text" in part else f"[{part.get('type')}]" for part in parts)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def _milliseconds(seconds: Any) -> float | None:
    return seconds * 1000 if isinstance(seconds, int | float) and 0 <= seconds < 1e12 else None


def _time(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
