"""What a filter can ask about an attempt: the fields of `calipers.report.attempt_filter`, and how each is read from a record.

A field gives its values in an attempt, or `None` where they are not known. Some things are not in the record: when the attempt began, or
what came of the other attempts at its case. `Beside` brings them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import kind_of
from calipers.data.spending import COST, INPUT_TOKENS, OUTPUT_TOKENS, REQUESTS

from .complaints import complaints_of

Record: TypeAlias = ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any]
Kind: TypeAlias = Literal["word", "name", "text", "number", "seconds", "time", "any"]
"""How values are compared: `word` is one of few, `any` is a text or a number."""

STATUSES: Final = ("passed", "failed", "errored", "unjudged")
"""What can have come of an attempt."""
JUDGEMENTS: Final = ("passed", "failed", "errored", "skipped")
"""What an evaluator can say of one."""
TRAITS: Final = ("flaky", "labelled", "errored", "new")
"""What an attempt can be."""
PARTS: Final = ("sound", "trace", "expected")
"""What an attempt can have."""
FLIPS: Final = ("worse", "better", "moved", "any")
"""Which way a case can flip from one run to another."""
SUPPORT: Final = ("agrees", "disagrees")
"""What people can make of what a judge says."""


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an attempt beside its record; `None`: nothing."""

    at: datetime | None = None
    """When it began."""
    is_flaky: bool | None = None
    """Whether some attempts at its case passed and others did not."""
    is_new: bool | None = None
    """Whether the run that it is compared with lacks its case."""


_NOTHING: Final = Beside()


class Unsure(str):
    """A word of which it is not known whether it holds."""

    __slots__ = ()


class Field(NamedTuple):
    """Something that a term can ask about."""

    kind: Kind
    read: Callable[[Record, str, Beside], Sequence[Any] | None]
    """Its values in an attempt, by the key and what is known beside; `None`: not known."""
    about: str
    """What it means, in a few words."""
    is_keyed: bool = False
    """Whether a dot and a key belong to its name."""
    choices: tuple[str, ...] = ()
    compares: bool = False
    """Whether it means something only where two things are compared: two runs, or a judge and people."""
    unless_absent: bool = False
    """Whether an attempt without a value is known to have none, so that it meets the opposite of every term."""


# ---------------------------------------------------------------------- outcome


def status_of(record: Record) -> str:
    """What came of an attempt: one of `STATUSES`."""
    if isinstance(record, ReportCaseFailure):
        return "errored"
    return "unjudged" if record.passed is None else "passed" if record.passed else "failed"


def did_not_finish(record: Record) -> bool:
    """Whether the task of an attempt, or one of its evaluators, did not finish."""
    return isinstance(record, ReportCaseFailure) or bool(record.evaluator_failures)


def judgements_of(record: Record, name: str) -> list[str] | None:
    """What an evaluator, or one of its results, said of an attempt: some of `JUDGEMENTS`; `None` if nothing."""
    if isinstance(record, ReportCaseFailure):
        return None
    found = [
        "passed" if result.value else "failed"
        for result in record.results
        if name in {result.name, result.evaluator} and isinstance(result.value, bool)
    ]
    found += ["errored" for failure in record.evaluator_failures if failure.name == name]
    found += ["skipped" for skip in record.skipped if name in {skip.name, skip.key_of}]
    return found or None


def _scores(record: Record, name: str) -> list[Any] | None:
    results = record.results if isinstance(record, ReportCase) else ()
    return [each.value for each in results if each.name == name and kind_of(each.value) == "score"] or None


def labels_of(record: Record, name: str) -> list[Any] | None:
    """The label that an evaluator gave, and what people answered to the question of that name; `None` if there is neither."""
    results = record.results if isinstance(record, ReportCase) else ()
    found: list[Any] = [each.value for each in results if each.name == name and isinstance(each.value, str)]
    found += [label.value for label in record.human_labels if label.question == name]
    return found or None


def _traits(record: Record, beside: Beside) -> list[str]:
    known = {
        "flaky": beside.is_flaky,
        "labelled": bool(record.human_labels),
        "errored": did_not_finish(record),
        "new": beside.is_new,
    }
    return [Unsure(word) if held is None else word for word, held in known.items() if held is not False]


def _parts(record: Record) -> list[str]:
    found = {
        "sound": has_sound(record),
        "trace": record.trace is not None,
        "expected": states_expectation(record),
    }
    return [word for word, held in found.items() if held]


def states_expectation(record: Record) -> bool:
    """Whether the case says what it expects: an output or tool calls."""
    return record.has_expected_output or None not in (record.expected_output, record.expected_tool_calls)


_REPEAT: Final = re.compile(r" \[([0-9]{1,9})/[0-9]{1,9}\]")


def repeat_of(record: Record) -> int:
    """Which attempt at its case it is, from 1, as its name says."""
    if record.source_case_name is None:
        return 1
    found = _REPEAT.fullmatch(record.name.removeprefix(record.source_case_name))
    return int(found[1]) if found else 1


# ---------------------------------------------------------------------- measures


def metric_of(record: Record, name: str) -> int | float | None:
    """A number that was measured of an attempt: a metric, or what its trace adds up to; `None` if it was not measured."""
    if name in record.metrics:
        return record.metrics[name]
    trace = record.trace
    if trace is None:
        return None
    if name == COST:
        return trace.total_cost
    if name in {INPUT_TOKENS, OUTPUT_TOKENS} and trace.tokens_measured:
        return trace.total_input_tokens if name == INPUT_TOKENS else trace.total_output_tokens
    return len(trace.llm_calls) if name == REQUESTS and trace.llm_calls else None


def tokens_of(record: Record) -> int | float | None:
    """Tokens in and out, as far as they are known; `None` if nothing is."""
    parts = [metric_of(record, name) for name in (INPUT_TOKENS, OUTPUT_TOKENS)]
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _metric(name: str) -> Callable[[Record, str, Beside], list[int | float] | None]:
    return lambda record, _key, _beside: _listed(metric_of(record, name))


def _listed(value: Any) -> list[Any] | None:
    return None if value is None else [value]


# ---------------------------------------------------------------------- names and texts


def tags_of(record: Record) -> list[str]:
    """The tags of the case and of the trace."""
    return [*record.tags, *(record.trace.tags if record.trace else ())]


def tools_of(record: Record) -> list[str] | None:
    """The tools that were called; `None` if calls would not have been seen."""
    trace = record.trace
    return [call.name for call in trace.tool_calls] if trace is not None and trace.calls_known else None


def metadata_of(record: Record, key: str) -> list[Any]:
    """The values of a field of the metadata that can be compared."""
    return comparable(record.metadata.get(key)) if isinstance(record.metadata, Mapping) else []


def comparable(value: Any) -> list[Any]:
    """What of a field of the metadata can be compared: texts, numbers and flags, alone or in a list."""
    listed = value if isinstance(value, list | tuple) else [] if value is None else [value]
    return [each for each in listed if isinstance(each, str | int | float)]


def as_text(value: Any) -> str:
    """A value as it is searched: a text as it is, and anything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(plain(value)).decode()


def input_texts(record: Record) -> list[str]:
    """What was asked."""
    trace = record.trace
    asked = [turn.content for turn in trace.turns if turn.turn_type == "user_message"] if trace else []
    return [as_text(record.inputs), *asked]


def output_texts(record: Record) -> list[str]:
    """What was answered."""
    trace = record.trace
    said = [turn.content for turn in trace.turns if turn.turn_type == "agent_message"] if trace else []
    return [*said, *([as_text(record.output)] if isinstance(record, ReportCase) else [])]


def remarks(record: Record) -> list[str]:
    """What was said about an attempt: errors, and the reasons that evaluators gave."""
    if isinstance(record, ReportCaseFailure):
        return [record.error_message]
    found = [result.reason for result in record.results if result.reason]
    if record.evaluator_failures or record.skipped:
        found += [failure.error_message for failure in record.evaluator_failures]
        found += [skip.reason for skip in record.skipped if skip.reason]
    return found


def _texts(record: Record) -> list[str]:
    return [*input_texts(record), *output_texts(record), *remarks(record)]


# ---------------------------------------------------------------------- sound

SOUND_FILES: Final = (".wav", ".mp3", ".ogg", ".flac", ".pcm", ".raw")
_LONGEST_PATH: Final = 4096
_SOUND_DATA: Final = frozenset({"digest", "duration", "format"})
_DEEPEST: Final = 6
_MOST: Final = 200
"""Items of one list or mapping that are looked at."""


def sounds_in(value: Any, deep: int = 0) -> Iterator[Any]:
    """The sounds in a value: the names of sound files, and what a stored report keeps of a sound."""
    if isinstance(value, str):
        if len(value) < _LONGEST_PATH and value[-5:].lower().endswith(SOUND_FILES):
            yield value
    elif isinstance(value, Mapping):
        if value.keys() >= _SOUND_DATA:
            yield value
        elif deep < _DEEPEST:
            for item in list(value.values())[:_MOST]:
                yield from sounds_in(item, deep + 1)
    elif isinstance(value, list | tuple):
        for item in value[:_MOST] if deep < _DEEPEST else ():
            yield from sounds_in(item, deep + 1)
    elif callable(own := getattr(type(value), "plain_data", None)) and deep < _DEEPEST:
        yield from sounds_in(own(value), deep + 1)


def has_sound(record: Record) -> bool:
    """Whether an attempt has something to listen to."""
    output = record.output if isinstance(record, ReportCase) else None
    for value in (record.attributes, output, record.inputs):
        if value is not None and value != {}:
            for _ in sounds_in(value):
                return True
    return False


# ---------------------------------------------------------------------- all of them

FIELDS: Final[Mapping[str, Field]] = {
    "status": Field("word", lambda record, _key, _beside: [status_of(record)], "what came of the attempt", choices=STATUSES),
    "tag": Field("name", lambda record, _key, _beside: tags_of(record), "a tag of the case", unless_absent=True),
    "tool": Field("name", lambda record, _key, _beside: tools_of(record), "a tool that was called"),
    "eval": Field("word", lambda record, key, _beside: judgements_of(record, key), "what an evaluator said", is_keyed=True, choices=JUDGEMENTS),
    "score": Field("number", lambda record, key, _beside: _scores(record, key), "the score of an evaluator", is_keyed=True),
    "label": Field("any", lambda record, key, _beside: labels_of(record, key), "a label of an evaluator, or what people answered", is_keyed=True),
    "metric": Field("number", lambda record, key, _beside: _listed(metric_of(record, key)), "a metric of the attempt", is_keyed=True),
    "meta": Field("any", lambda record, key, _beside: metadata_of(record, key), "a field of the metadata", is_keyed=True, unless_absent=True),
    "cost": Field("number", _metric(COST), "US dollars"),
    "duration": Field("seconds", lambda record, _key, _beside: _listed(record.task_duration or None), "how long the task took"),
    "tokens": Field("number", lambda record, _key, _beside: _listed(tokens_of(record)), "tokens in and out"),
    "input_tokens": Field("number", _metric(INPUT_TOKENS), "tokens that models read"),
    "output_tokens": Field("number", _metric(OUTPUT_TOKENS), "tokens that models wrote"),
    "requests": Field("number", _metric(REQUESTS), "requests to models"),
    "time": Field("time", lambda _record, _key, beside: _listed(beside.at), "when the attempt began"),
    "agent": Field("name", lambda record, _key, _beside: _listed(record.trace.agent_name or None) if record.trace else None, "the name of the agent"),
    "model": Field("name", lambda record, _key, _beside: _listed(record.trace.model) if record.trace else None, "the model of the agent"),
    "case": Field("name", lambda record, _key, _beside: [record.source_case_name or record.name], "the name of the case"),
    "cluster": Field("name", lambda record, _key, _beside: [] if record.cluster is None else [record.cluster], "the cluster of the case", unless_absent=True),
    "rep": Field("number", lambda record, _key, _beside: [repeat_of(record)], "which attempt at its case, from 1"),
    "error": Field("name", lambda record, _key, _beside: [record.error_type] if isinstance(record, ReportCaseFailure) else [], "the type of the task's error", unless_absent=True),
    "group": Field("name", lambda record, _key, _beside: [each.group for each in complaints_of(record)], "failures that are alike, by id", unless_absent=True),
    "is": Field("word", lambda record, _key, beside: _traits(record, beside), "what the attempt is", choices=TRAITS),
    "has": Field("word", lambda record, _key, _beside: _parts(record), "what the attempt has", choices=PARTS),
    "flip": Field("word", lambda _record, _key, _beside: None, "how the case differs from the other run", choices=FLIPS, compares=True),
    "judge": Field("word", lambda _record, _key, _beside: None, "whether people agree with a judge", is_keyed=True, choices=SUPPORT, compares=True),
    "text": Field("text", lambda record, _key, _beside: _texts(record), "what was asked, answered, raised or given as a reason"),
    "input": Field("name", lambda record, _key, _beside: input_texts(record), "what was asked"),
    "output": Field("name", lambda record, _key, _beside: output_texts(record), "what was answered"),
}  # fmt: skip
"""What a term can ask about, by its name."""


def beside(known: "Beside | datetime | None") -> Beside:
    """What is known beside a record; a time alone says when the attempt began."""
    if known is None:
        return _NOTHING
    return Beside(at=known) if isinstance(known, datetime) else known
