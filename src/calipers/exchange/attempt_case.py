"""One attempt as a case: what was asked, what came of it, and what is expected.

**A case expects what a person has confirmed, and nothing else.** What an agent answered is not the right answer because it answered. Only where
all labels of people to the question are a yes, and are about this output, is the outcome the expectation. Where people differ, also about two attempts with
the same request and output, nothing is expected, and the summary lists the case. An expectation that the case of a kept run stated itself stays.

| of the attempt | in the case |
|---|---|
| what the user said, several times | `turns`; a confirmed answer is expected of the last turn |
| the inputs otherwise | `inputs` |
| the first words of the request, and a digest of all of it | `name`: the same request has the same name in every dataset |
| tags, cluster, metadata of the case | the same |
| where it is from | `source_run`, `source_run_name`, `source_attempt`, `source_trace`, `source_agent`, `source_model`, `source_time` in the metadata |
| what came of it | `source_status`, `source_error`, `source_cost`, `source_seconds`, `source_input_tokens`, `source_output_tokens` |
| how many like it were left out | `source_duplicates` |
| how it was drawn | `sample_stratum`, `sample_probability`, `sample_weight`, `sample_seed` |

Of a number that was not measured the metadata has nothing.
"""

import re
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from calipers.data.case import Case
from calipers.data.context import rollout_of
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.redaction import masked
from calipers.data.spending import COST, INPUT_TOKENS, OUTPUT_TOKENS
from calipers.data.trace import TurnType
from calipers.data.user_turn import ABSENT, UserTurn
from calipers.errors import InvalidOptionError, InvalidTraceError
from calipers.evaluators.tool_calls import FollowsTrajectory
from calipers.gate.human_labels import answers, yes_or_no
from calipers.matching.matcher_data import read_call
from calipers.report.attempt_fields import Record, metric_of, status_of
from calipers.stats.draw import DrawnStratum

from .attempt_name import first_words, name_without_words
from .attempt_source import AttemptSource, began_at
from .near_duplicates import same_text

Expect: TypeAlias = Literal["output", "tool-calls", "trajectory"]
"""What a case may expect of an attempt that a person has confirmed."""
EXPECT: Final[tuple[Expect, ...]] = ("output", "tool-calls", "trajectory")
Confirmation: TypeAlias = Literal["yes", "no", "conflict"]
"""What people answered about an attempt: all yes, none, or some of them."""

IDS: Final = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{8}-\d{9}-[0-9a-f]{6,12}")
"""Ids that programs make: digits in them are no telephone number."""
_OWN_FIELDS: Final = ("source_", "sample_")
"""How the fields of the metadata begin that say where a case is from."""


# ---------------------------------------------------------------------- what was asked, and what people said


class Request(NamedTuple):
    """What was asked."""

    data: Any
    is_conversation: bool
    """Whether it is a list of what the user said in several turns."""


def request_of(record: Record) -> Request | None:
    """What the user asked; `None` if it is not known."""
    turns = record.trace.turns if record.trace is not None else ()
    said = [
        turn.content for turn in turns if turn.turn_type is TurnType.USER_MESSAGE and turn.content.strip()
    ]
    given = plain(record.inputs)
    is_blank = given is None or (isinstance(given, str) and not given.strip())
    are_texts = isinstance(given, list) and all(isinstance(each, str) and each.strip() for each in given)
    if given and are_texts and rollout_of(_output(record)) is not None:  # a case with turns, as runs keep it
        return Request(given, is_conversation=True)
    # A trace is kept without secrets, and inputs are kept as they are.
    if len(said) > 1 and (is_blank or masked(given) in (masked(said), masked(said[0]))):
        return Request(said, is_conversation=True)
    return None if is_blank else Request(given, is_conversation=False)


def _output(record: Record) -> Any:
    return record.output if isinstance(record, ReportCase) else None


def _outcome(record: Record) -> Any:
    """What a confirmed attempt gave: its output, and of a conversation the last answer; `ABSENT` of one that branches."""
    output = _output(record)
    rollout = rollout_of(output)
    if rollout is None:
        return output
    last, after = None, rollout.children
    while len(after) == 1:
        (last,) = after
        after = last.children
    return ABSENT if after or last is None else last.response


def words_of(request: Any) -> str:
    """What a request says, without differences of white space and capitals."""
    if isinstance(request, str):
        return same_text(request)
    if isinstance(request, list) and all(isinstance(each, str) for each in request):
        return same_text("\n".join(request))
    return same_text(msgspec.json.encode(request, order="sorted").decode())


def digest_of(request: Any) -> bytes:
    """What a request is known by. The number 1 is not the text "1", and two messages are not one."""
    is_text = isinstance(request, str)
    key = request if is_text else msgspec.json.encode(request, order="sorted").decode()
    return blake2b(
        same_text(key).encode("utf-8", "replace"), digest_size=16, person=b"" if is_text else b"data"
    ).digest()


def confirmation(record: Record, question: str) -> tuple[Confirmation | None, int]:
    """What people answered about an attempt, `None` if no one did; and how many labels are of an output that it no longer has.

    Raises:
        InvalidOptionError: they answered by numbers.
    """
    labels, outdated = answers(record, question)
    if not labels:
        return None, outdated
    found = {_is_yes(label.value, question) for label in labels}
    if len(found) > 1:
        return "conflict", outdated
    # What did not come cannot be right.
    return ("yes" if found == {True} and isinstance(record, ReportCase) else "no"), outdated


def _is_yes(value: Any, question: str) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise InvalidOptionError(
            f"{question!r} was answered by numbers such as {value!r}: confirmed_by needs a question that is answered by yes or no"
        )
    try:
        return yes_or_no(value)
    except InvalidOptionError:  # another word, such as unsure, is no yes
        return False


# ---------------------------------------------------------------------- the case


class CasePlace(NamedTuple):
    """What became of an attempt among the others."""

    duplicates: int = 0
    """How many attempts were left out for it."""
    drawn_of: DrawnStratum | None = None
    """The stratum that it was drawn from; `None` where nothing is drawn."""
    seed: int | None = None
    """Of the draw."""
    is_contested: bool = False
    """Whether people said different things of the same outcome of the same request."""


class MadeCase(NamedTuple):
    """A case, and what is to be said of it."""

    case: Case[Any, Any, Any]
    answer: Confirmation | None
    """What people said of the attempt."""
    lacks_calls: bool
    """Whether it was to expect tool calls, and it is not known which."""


class CaseMaker:
    """Makes cases of attempts.

    Args:
        question: whose labels confirm an outcome; `None`: none do.
        expect: what is expected then.
        hide: takes personal data out of all parts of a case.
    """

    def __init__(
        self,
        question: str | None,
        expect: tuple[Expect, ...],
        hide: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> None:
        self._question, self._expect, self._hide = question, expect, hide

    def case_of(self, record: Record, request: Request, source: AttemptSource, place: CasePlace) -> MadeCase:
        """The case that an attempt with a known request is."""
        answer = None if self._question is None else confirmation(record, self._question)[0]
        if place.is_contested:
            answer = "conflict"
        outcome = _outcome(record)
        wants_calls = answer == "yes" and not {"tool-calls", "trajectory"}.isdisjoint(self._expect)
        calls = _calls_made(record) if wants_calls else None
        words = _words_about(record, source, place)
        parts = self._hide(
            plain(
                {
                    "request": request.data,
                    "stated": record.expected_output,
                    "stated calls": record.expected_tool_calls,
                    "outcome": [outcome] if answer == "yes" and outcome is not ABSENT else [],
                    "calls": calls,
                    "given": _given_metadata(record.metadata),
                    "words": list(words.values()),
                    "tags": list(dict.fromkeys((*record.tags, *(record.trace.tags if record.trace else ())))),
                    "cluster": record.cluster,
                }
            )
        )
        case: Case[Any, Any, Any] = Case(
            name=_name_of(parts["request"]),
            metadata={
                **parts["given"],
                **_ids(record, source),
                **dict(zip(words, parts["words"], strict=True)),
                **_numbers(record, place),
            },
            tags=parts["tags"],
            cluster=parts["cluster"],
            **self._expected_path(parts),
            **self._asked_and_expected(parts, record, request),
        )
        lacks_calls = case.expected_tool_calls is None and record.expected_tool_calls is not None
        return MadeCase(case, answer, lacks_calls=lacks_calls or (wants_calls and calls is None))

    def _asked_and_expected(self, parts: dict[str, Any], record: Record, request: Request) -> dict[str, Any]:
        """Inputs or turns, with the answer that is expected."""
        expected: dict[str, Any] = {}
        if record.has_expected_output and not request.is_conversation:
            expected["expected_output"] = parts["stated"]
        elif parts["outcome"] and "output" in self._expect:
            (expected["expected_output"],) = parts["outcome"]
        if not request.is_conversation:
            return {"inputs": parts["request"], **expected}
        *before, last = parts["request"]
        return {"turns": [*before, UserTurn(last, **expected)]}

    def _expected_path(self, parts: dict[str, Any]) -> dict[str, Any]:
        """The tool calls that are expected, and the order of them."""
        calls = parts["calls"]
        fields: dict[str, Any] = {}
        stated = _readable_calls(parts["stated calls"])
        if stated is not None or "tool-calls" in self._expect:
            fields["expected_tool_calls"] = calls if stated is None else stated
        if calls and "trajectory" in self._expect:
            steps = [{"name": each} if isinstance(each, str) else each for each in calls]
            fields["evaluators"] = [FollowsTrajectory({"steps": steps})]
        return fields


def _calls_made(record: Record) -> list[Any] | None:
    """The calls of an attempt that did not fail; `None` if it is not known which were made."""
    trace = record.trace
    if trace is None or not trace.calls_known or trace.recorded_tools is not None:
        return None
    return [
        call.name if "arguments" in call.unknown else {"name": call.name, "arguments": call.arguments}
        for call in trace.tool_calls
        if call.success
    ]


def _readable_calls(told: Any) -> list[Any] | None:
    """The calls that a case of a kept run stated; `None` if it stated none, or if one of them cannot be read: the others alone say another thing.

    A matcher of the user's own has no plain form, and one of a telephone number has none without the number.
    """
    if told is None or any("shown" in each for each in told):
        return None
    try:
        return [read_call(each) for each in told]
    except (InvalidOptionError, InvalidTraceError):
        return None


def _given_metadata(given: Any) -> dict[str, Any]:
    """The metadata that the case had, without what an earlier dataset said of where it is from."""
    data = plain(given)
    fields = data if isinstance(data, dict) else {} if data is None else {"metadata": data}
    return {key: value for key, value in fields.items() if not key.startswith(_OWN_FIELDS)}


def _ids(record: Record, source: AttemptSource) -> dict[str, Any]:
    """Where an attempt is from, by what programs call it: there is no personal data in it."""
    found: dict[str, Any] = {"source_run": source.run or None}
    for key, value in (("source_attempt", record.name), ("source_trace", _trace_id(record))):
        found[key] = value if value is not None and IDS.fullmatch(value) else None
    at = began_at(record, source)
    found["source_time"] = None if at is None else at.isoformat()
    found["source_status"] = status_of(record)
    return {key: value for key, value in found.items() if value is not None}


def _trace_id(record: Record) -> str | None:
    return record.trace.trace_id if record.trace is not None else record.trace_id


def _words_about(record: Record, source: AttemptSource, place: CasePlace) -> dict[str, str]:
    """What else is said of it in words, which may hold anything."""
    trace, name = record.trace, name_without_words(record)
    models = dict.fromkeys(call.model for call in trace.llm_calls) if trace is not None else {}
    found = {
        "source_attempt": "" if IDS.fullmatch(name) else name,
        "source_run_name": source.name,
        "source_agent": trace.agent_name if trace is not None else "",
        "source_model": (trace.model or ", ".join(models)) if trace is not None else "",
        "source_error": record.error_type if isinstance(record, ReportCaseFailure) else "",
        "sample_stratum": str(place.drawn_of.stratum) if place.drawn_of is not None else "",
    }
    return {key: value for key, value in found.items() if value}


def _numbers(record: Record, place: CasePlace) -> dict[str, int | float]:
    """What was measured of it, and how it was drawn."""
    found: dict[str, int | float | None] = {
        "source_cost": metric_of(record, COST),
        "source_seconds": record.task_duration or None,
        "source_input_tokens": metric_of(record, INPUT_TOKENS),
        "source_output_tokens": metric_of(record, OUTPUT_TOKENS),
        "source_duplicates": place.duplicates or None,
    }
    if (drawn := place.drawn_of) is not None:
        found |= {
            "sample_probability": drawn.probability,
            "sample_weight": drawn.size / drawn.drawn,
            "sample_seed": place.seed,
        }
    return {key: value for key, value in found.items() if value is not None}


def _name_of(request: Any) -> str:
    """The first words of a request, and a digest of all of it."""
    return f"{first_words(words_of(request))}-{digest_of(request).hex()[:10]}".lstrip("-")
