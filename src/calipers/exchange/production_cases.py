"""Cases out of production: attempts that were made become cases of a dataset. `dataset_from`.

Each step leaves some attempts out, and the summary counts them:

1. **Filter** (`calipers.report.attempt_filter`), and attempts of which the request is not known.
2. **Duplicates**: of attempts with the same request one stays, the first whose outcome a person has confirmed, else the first. Personal data does
   not make a difference: requests are compared as they will stand in the file. With `near`, requests that say nearly the same are duplicates too
   (`calipers.exchange.near_duplicates`), in the same order of preference.
3. **Sample**: the first `limit`, or `sample` of them at random, with shares for strata (`calipers.stats.draw`).
4. **Personal data** and secrets are replaced (`calipers.exchange.placeholders`).

**A case expects what a person has confirmed, and nothing else.** What an agent answered is not the right answer because it answered. Only where
all labels of people to the question are a yes, and are about this output, is the outcome the expectation. Where people differ, nothing is
expected, and the summary lists the case. An expectation that the case of a kept run stated itself stays.

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

import os
import re
import secrets as random_secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from calipers.data.argument_checks import check_choice, check_number, check_whole_number
from calipers.data.case import Case
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.redaction import masked
from calipers.data.result_names import unique
from calipers.data.spending import COST, INPUT_TOKENS, OUTPUT_TOKENS
from calipers.data.trace import TurnType
from calipers.data.user_turn import UserTurn
from calipers.errors import InvalidOptionError, NotKnownError
from calipers.evaluators.tool_calls import FollowsTrajectory
from calipers.gate.human_labels import answers, yes_or_no
from calipers.matching.matcher_data import read_call
from calipers.report.attempt_filter import Record, Term, all_of, field_named, metric_of, status_of
from calipers.run.dataset import Dataset
from calipers.stats.draw import DrawnStratum, Shares, draw_by_strata
from calipers.stats.number_text import plural
from calipers.stores.store import Redact, Store

from .attempt_source import AttemptSource, began_at, open_sources
from .near_duplicates import NearOne, Vectors, same_text
from .placeholders import Hidden

Expect: TypeAlias = Literal["output", "tool-calls", "trajectory"]
"""What a case may expect of an attempt that a person has confirmed."""
EXPECT: Final[tuple[Expect, ...]] = ("output", "tool-calls", "trajectory")

_LONGEST_NAME: Final = 48
_UNKNOWN: Final = "unknown"
_SEED_BITS: Final = 32
_IDS: Final = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{8}-\d{9}-[0-9a-f]{6,12}")
"""Ids that programs make: digits in them are no telephone number."""


class DuplicateCase(msgspec.Struct, frozen=True):
    """An attempt that was left out, since another has its request."""

    attempt: str
    """Its name."""
    of: str
    """The name of the attempt that stays; of a case that was there before, that of the case."""
    similarity: float
    """1 for the same request, else how near they are."""


class DatasetSummary(msgspec.Struct, kw_only=True):
    """What became of the attempts."""

    read: int = 0
    filtered: int = 0
    """Left out by the filter."""
    without_request: int = 0
    """Left out, since what was asked is not known."""
    duplicates: list[DuplicateCase] = []
    """Left out, since another one has the same request."""
    near_duplicates: list[DuplicateCase] = []
    """Left out, since another one says nearly the same."""
    not_drawn: int = 0
    """Left out by the limit or the draw."""
    written: int = 0
    """Cases."""
    strata: list[DrawnStratum] = []
    """How many each stratum of the draw had and gave."""
    seed: int | None = None
    """Of the draw; `None` where nothing was drawn."""
    confirmed: int = 0
    """Cases that expect what a person has confirmed."""
    conflicting: list[str] = []
    """Names of cases of which people said different things: they expect nothing."""
    outdated_labels: int = 0
    """Labels of outputs that their attempts no longer have; they do not count."""
    unknown_calls: int = 0
    """Confirmed cases that expect no tool calls, since it is not known which were made."""
    redacted: dict[str, int] | None = None
    """By kind, how many pieces of personal data and secrets were replaced; `None`: nothing was looked for."""
    redacted_cases: int = 0
    """Cases in which something was replaced."""
    notes: list[str] = []
    """What could not be read of the sources."""


class ProductionCases(NamedTuple):
    """A dataset out of production."""

    dataset: Dataset[Any, Any, Any]
    summary: DatasetSummary


def dataset_from(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    store: Store | str | os.PathLike[str] | None = None,
    filter: str | Sequence[str] = (),  # noqa: A002 - the word users know
    near: float | None = None,
    limit: int | None = None,
    sample: int | None = None,
    by: str | Sequence[str] = (),
    shares: Shares = "proportional",
    seed: int | None = None,
    confirmed_by: str | None = None,
    expect: Sequence[Expect] = ("output",),
    keep_personal_data: bool = False,
    redact: Sequence[Redact] = (),
    beside: Iterable[Case[Any, Any, Any]] = (),
) -> ProductionCases:
    """The cases that attempts of a run or of traces are.

    Attempts are read as a stream, twice: only those that become cases are in memory at once.

    Args:
        sources: kept runs (`latest`, an id, a name), files of reports and exported runs, files and folders of traces.
        store: of the runs; default: the one that commands use.
        filter: which attempts, as in `calipers.report.attempt_filter`; of several, all have to be met.
        near: requests with at least this similarity, above 0 and at most 1, are duplicates; `None`: only equal ones are.
        limit: the most cases, the first ones; `None`: all.
        sample: how many to draw at random instead.
        by: fields of the filter, such as `status` or `meta.lang`, by whose values the draw has strata.
        shares: how the draw is divided among strata.
        seed: of the draw; default: a random one, which the cases and the summary keep.
        confirmed_by: a question of `calipers label`. Where people said yes, the outcome is the expectation.
        expect: what is expected then: the output, the tool calls, the trajectory of the calls.
        keep_personal_data: leave personal data and secrets as they are.
        redact: hooks that hide more, as stores take them; they come first.
        beside: cases that are there already: their requests and names are taken.

    Raises:
        InvalidOptionError: an option is not valid, or no one was asked the question.
        MissingExtraError: what finds personal data, or compares requests, is not installed.
        NotKnownError: no case is left; the message says which step left out the last ones.
        ReportFormatError: a file is none that can be read.
        StoreError: there is no such run.
        OSError: a file cannot be read.
    """
    named = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    check_number("near", near, above=0, at_most=1, or_none=True)
    check_whole_number("limit", limit, at_least=1, or_none=True)
    check_whole_number("sample", sample, at_least=1, or_none=True)
    if limit is not None and sample is not None:
        raise InvalidOptionError(
            f"limit={limit} takes the first cases and sample={sample} random ones: give one of them"
        )
    strata = [field_named(each, why="by") for each in ([by] if isinstance(by, str) else by)]
    if sample is None and strata:
        raise InvalidOptionError("by says how a sample is divided: give sample too")
    for each in expect:
        check_choice("expect", each, EXPECT)
    wanted = all_of([filter] if isinstance(filter, str) else filter)
    # What is missing is reported before anything is read.
    hidden = None if keep_personal_data else Hidden(redact)
    vectors = Vectors() if near is not None else None
    found, opened = open_sources(named, store)
    try:
        survey = _Survey(found, strata, confirmed_by, hidden, vectors, beside)
        survey.read(wanted.terms)
        chosen = survey.without_duplicates(near)
        drawn = _draw(chosen, survey, limit, sample, shares, seed)
        maker = _CaseMaker(survey, confirmed_by, tuple(expect))
        cases = maker.cases(drawn)
    finally:
        if opened is not None:
            opened.close()
    summary = survey.summary
    summary.written = len(cases)
    summary.notes = list(dict.fromkeys(note for source in found for note in source.notes))
    name = found[0].name if len(found) == 1 else None
    return ProductionCases(Dataset(name=name, cases=cases), summary)


# ---------------------------------------------------------------------- what was asked, and what people said


class _Request(NamedTuple):
    """What was asked."""

    data: Any
    is_conversation: bool
    """Whether it is a list of what the user said in several turns."""


def _request_of(record: Record) -> _Request | None:
    """What the user asked; `None` if it is not known."""
    turns = record.trace.turns if record.trace is not None else ()
    said = [
        turn.content for turn in turns if turn.turn_type is TurnType.USER_MESSAGE and turn.content.strip()
    ]
    given = plain(record.inputs)
    is_blank = given is None or (isinstance(given, str) and not given.strip())
    # A trace is kept without secrets, and inputs are kept as they are.
    if len(said) > 1 and (is_blank or masked(given) in (masked(said), masked(said[0]))):
        return _Request(said, is_conversation=True)
    return None if is_blank else _Request(given, is_conversation=False)


def _key_of(request: Any) -> str:
    """A request as it is compared with others."""
    if isinstance(request, str):
        return same_text(request)
    if isinstance(request, list) and all(isinstance(each, str) for each in request):
        return same_text("\n".join(request))
    return same_text(msgspec.json.encode(request, order="sorted").decode())


def _digest(key: str) -> bytes:
    return blake2b(key.encode("utf-8", "replace"), digest_size=16).digest()


_Said: TypeAlias = Literal["yes", "no", "conflict"] | None


def _said(record: Record, question: str) -> tuple[_Said, int]:
    """What people said of an attempt, and how many labels are of another output."""
    labels, outdated = answers(record, question)
    if not labels:
        return None, outdated
    said = {_is_yes(label.value, question) for label in labels}
    return ("conflict" if len(said) > 1 else "yes" if said == {True} else "no"), outdated


def _is_yes(value: Any, question: str) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise InvalidOptionError(
            f"{question!r} was answered by numbers such as {value!r}: confirmed_by needs a question that is answered by yes or no"
        )
    try:
        return yes_or_no(value)
    except InvalidOptionError:  # another word, such as unsure, is no yes
        return False


# ---------------------------------------------------------------------- reading


class _Candidate(msgspec.Struct):
    """An attempt that may become a case, with what the steps need to know of it."""

    source: int
    position: int
    name: str
    stratum: str
    is_confirmed: bool
    duplicates: int = 0
    """How many attempts were left out for it."""
    drawn_of: DrawnStratum | None = None
    """The stratum that it was drawn from; `None` where nothing is drawn."""


class _Survey:
    """A first reading of all attempts."""

    def __init__(
        self,
        sources: Sequence[AttemptSource],
        strata: Sequence[Term],
        question: str | None,
        hidden: Hidden | None,
        vectors: Vectors | None,
        beside: Iterable[Case[Any, Any, Any]],
    ) -> None:
        self.sources = sources
        self.summary = DatasetSummary()
        self.hidden = hidden
        self.names: set[str] = set()
        """Names of cases that are taken."""
        self._strata, self._question, self._vectors = strata, question, vectors
        self._places: dict[bytes, int] = {}
        """The place of a request among all that differ."""
        self._there: list[str] = []
        """Names of the cases that are there already, by place: they come first."""
        self._candidates: list[_Candidate] = []
        """One for each further place."""
        self._same: list[tuple[str, int]] = []
        """The names of attempts that were left out, each with the place of its request."""
        for number, case in enumerate(beside, 1):
            self.names.update([case.name] if case.name else ())
            key = _key_of(plain(case.inputs))
            if self._places.setdefault(_digest(key), len(self._there)) == len(self._there):
                self._there.append(case.name or f"case {number}")
                self._add_vector(key)

    def read(self, terms: Sequence[Term]) -> None:
        """Read all attempts, and keep those that may become cases."""
        summary = self.summary
        met: Counter[int] = Counter()
        asked: set[str] = set()
        for number, source in enumerate(self.sources):
            for position, record in source.attempts():
                summary.read += 1
                asked.update(label.question for label in record.human_labels)
                at = began_at(record, source)
                held = [term.matches(record, at) is True for term in terms]
                met.update(place for place, holds in enumerate(held) if holds)
                if not all(held):
                    summary.filtered += 1
                    continue
                request = _request_of(record)
                if request is None:
                    summary.without_request += 1
                    continue
                self._add(number, position, record, request.data, self._stratum(record, at))
        if not summary.read:
            raise NotKnownError("the sources hold no attempts")
        if summary.filtered == summary.read:
            each = ", ".join(f"{term} holds for {met[place]:,}" for place, term in enumerate(terms))
            raise NotKnownError(f"the filter left none of {plural(summary.read, 'attempt')}: {each}")
        self._check_question(asked)
        if not self._candidates and not self._same:
            left = plural(summary.without_request, "attempt")
            raise NotKnownError(f"no case can be made: of {left} it is not known what was asked")

    def _check_question(self, asked: set[str]) -> None:
        if self._question is None or self._question in asked:
            return
        there = f"there are {', '.join(map(repr, sorted(asked)))}" if asked else "it has no labels of people"
        raise InvalidOptionError(
            f"no one was asked {self._question!r} about this; {there}. `calipers label` asks about a kept run, and `calipers import` "
            "keeps traces as one"
        )

    def _add(self, number: int, position: int, record: Record, request: Any, stratum: str) -> None:
        said, outdated = (None, 0) if self._question is None else _said(record, self._question)
        self.summary.outdated_labels += outdated
        # As it will stand in the file: two that differ in an address alone are the same there.
        shown = request if self.hidden is None else self.hidden.of({"request": request})["request"]
        key = _key_of(shown)
        is_confirmed = said == "yes" and isinstance(record, ReportCase)
        new = _Candidate(number, position, record.name, stratum, is_confirmed)
        place = self._places.setdefault(_digest(key), len(self._there) + len(self._candidates))
        index = place - len(self._there)
        if index == len(self._candidates):
            self._candidates.append(new)
            self._add_vector(key)
        elif index < 0:
            self._same.append((new.name, place))
        else:
            old = self._candidates[index]
            stays, goes = (new, old) if new.is_confirmed and not old.is_confirmed else (old, new)
            stays.duplicates = old.duplicates + 1
            self._candidates[index] = stays
            self._same.append((goes.name, place))

    def _add_vector(self, key: str) -> None:
        if self._vectors is not None:
            self._vectors.add(key)

    def _stratum(self, record: Record, at: Any) -> str:
        parts: list[str] = []
        for field in self._strata:
            found = field.values_in(record, at)
            name = f"{field.field}.{field.key}" if field.key else field.field
            values = (
                [_UNKNOWN] if found is None else sorted({_shown_value(each) for each in found}) or ["none"]
            )
            parts.append(f"{name}={', '.join(values)}")
        return "; ".join(parts)

    def without_duplicates(self, near: float | None) -> list[_Candidate]:
        """The attempts of different requests, in their order; with `near`, of requests that are not near each other."""
        summary, there = self.summary, len(self._there)
        names = [*self._there, *(self.shown(each.name) for each in self._candidates)]
        summary.duplicates = [
            DuplicateCase(self.shown(name), names[place], 1.0) for name, place in self._same
        ]
        found: dict[int, NearOne] = {}
        if self._vectors is not None and near is not None:
            confirmed_first = sorted(
                range(there, len(names)), key=lambda place: not self._candidates[place - there].is_confirmed
            )
            found = self._vectors.near([*range(there), *confirmed_first], near, settled=there)
        left: list[_Candidate] = []
        for place, each in enumerate(self._candidates, there):
            one = found.get(place)
            if one is None:
                left.append(each)
                continue
            summary.near_duplicates.append(DuplicateCase(names[place], names[one.of], one.similarity))
            if one.of >= there:
                self._candidates[one.of - there].duplicates += each.duplicates + 1
        if not left:
            count = plural(len(summary.duplicates) + len(summary.near_duplicates), "attempt")
            raise NotKnownError(f"no new case: the requests of {count} are in the dataset already")
        return sorted(left, key=lambda each: (each.source, each.position))

    def shown(self, name: str) -> str:
        """The name of an attempt as it may be shown."""
        if self.hidden is None or _IDS.fullmatch(name):
            return name
        return str(self.hidden.of(name))


def _shown_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# ---------------------------------------------------------------------- drawing


def _draw(
    chosen: Sequence[_Candidate],
    survey: _Survey,
    limit: int | None,
    sample: int | None,
    shares: Shares,
    seed: int | None,
) -> list[_Candidate]:
    """Those that become cases, each with its probability if it was drawn."""
    summary = survey.summary
    if sample is None:
        taken = list(chosen[:limit])
    else:
        summary.seed = random_secrets.randbits(_SEED_BITS) if seed is None else seed
        draw = draw_by_strata([each.stratum for each in chosen], sample, seed=summary.seed, shares=shares)
        by_stratum = {each.stratum: each for each in draw.strata}
        taken = [chosen[place] for place in draw.places]
        for each in taken:
            each.drawn_of = by_stratum[each.stratum]
        summary.strata = [
            msgspec.structs.replace(each, stratum=survey.shown(str(each.stratum))) for each in draw.strata
        ]
    summary.not_drawn = len(chosen) - len(taken)
    return taken


# ---------------------------------------------------------------------- making cases

_OWN_FIELDS: Final = ("source_", "sample_")
"""How the fields of the metadata begin that say where a case is from."""


class _CaseMaker:
    """Makes cases of attempts, in a second reading."""

    def __init__(self, survey: _Survey, question: str | None, expect: tuple[Expect, ...]) -> None:
        self._survey, self._question, self._expect = survey, question, expect
        self._redacted: Counter[str] = Counter()

    def cases(self, drawn: Iterable[_Candidate]) -> list[Case[Any, Any, Any]]:
        """The cases, in the order of their sources."""
        by_source: dict[int, dict[int, _Candidate]] = {}
        for each in drawn:
            by_source.setdefault(each.source, {})[each.position] = each
        made = [
            self._case(record, source, by_source[number][position])
            for number, source in enumerate(self._survey.sources)
            if number in by_source
            for position, record in source.attempts(by_source[number].keys())
        ]
        if self._survey.hidden is not None:
            self._survey.summary.redacted = dict(self._redacted)
        return made

    def _case(self, record: Record, source: AttemptSource, candidate: _Candidate) -> Case[Any, Any, Any]:
        request = _request_of(record)
        assert request is not None
        summary = self._survey.summary
        said = None if self._question is None else _said(record, self._question)[0]
        is_confirmed = said == "yes" and isinstance(record, ReportCase)
        calls = self._calls(record) if is_confirmed else None
        parts: dict[str, Any] = {
            "request": request.data,
            "stated": record.expected_output if record.has_expected_output else None,
            "stated calls": record.expected_tool_calls,
            "answer": record.output if isinstance(record, ReportCase) and is_confirmed else None,
            "calls": calls,
            "given": _given_metadata(record.metadata),
            "facts": _words_about(record, source, candidate),
            "tags": list(dict.fromkeys((*record.tags, *(record.trace.tags if record.trace else ())))),
            "cluster": record.cluster,
        }
        parts = self._hide(plain(parts))
        name = unique(_name_of(parts["request"]), self._survey.names)
        self._survey.names.add(name)
        if said == "conflict":
            summary.conflicting.append(name)
        fields: dict[str, Any] = {}
        if record.has_expected_output and not request.is_conversation:
            fields["expected_output"] = parts["stated"]
        elif is_confirmed and "output" in self._expect:
            fields["expected_output"] = parts["answer"]
        stated = _readable_calls(parts["stated calls"])
        if stated is not None:
            fields["expected_tool_calls"] = stated
        elif parts["calls"] is not None and "tool-calls" in self._expect:
            fields["expected_tool_calls"] = parts["calls"]
        if parts["calls"] and "trajectory" in self._expect:
            steps = [{"name": each} if isinstance(each, str) else each for each in parts["calls"]]
            fields["evaluators"] = [FollowsTrajectory({"steps": steps})]
        summary.confirmed += is_confirmed
        if request.is_conversation:
            turns = [UserTurn(text) for text in parts["request"]]
            if "expected_output" in fields:
                turns[-1] = UserTurn(turns[-1].user, expected_output=fields.pop("expected_output"))
            fields["turns"] = turns
        else:
            fields["inputs"] = parts["request"]
        return Case(
            name=name,
            metadata={
                **parts["given"],
                **_ids(record, source),
                **parts["facts"],
                **_numbers(record, self._survey, candidate),
            },
            tags=parts["tags"],
            cluster=parts["cluster"],
            **fields,
        )

    def _calls(self, record: Record) -> list[Any] | None:
        """The calls that a confirmed case may expect; `None` if it is not known which were made, or no one asks."""
        if not {"tool-calls", "trajectory"}.intersection(self._expect):
            return None
        trace = record.trace
        if trace is None or not trace.calls_known or trace.recorded_tools is not None:
            self._survey.summary.unknown_calls += 1
            return None
        return [
            call.name if "arguments" in call.unknown else {"name": call.name, "arguments": call.arguments}
            for call in trace.tool_calls
            if call.success
        ]

    def _hide(self, parts: dict[str, Any]) -> dict[str, Any]:
        hidden = self._survey.hidden
        if hidden is None:
            return parts
        counts: Counter[str] = Counter()
        made: dict[str, Any] = hidden.of(parts, counts)
        self._redacted += counts
        self._survey.summary.redacted_cases += bool(counts)
        return made


def _readable_calls(told: Any) -> list[Any] | None:
    """Expected calls as a record keeps them, without those whose matchers have no plain form; `None` if there are none."""
    if told is None:
        return None
    return [read_call(each) for each in told if "shown" not in each] or (None if told else [])


def _given_metadata(given: Any) -> dict[str, Any]:
    """The metadata that the case had, without what an earlier dataset said of where it is from."""
    data = plain(given)
    fields = data if isinstance(data, dict) else {} if data is None else {"metadata": data}
    return {key: value for key, value in fields.items() if not key.startswith(_OWN_FIELDS)}


def _ids(record: Record, source: AttemptSource) -> dict[str, Any]:
    """Where an attempt is from, by what programs call it: there is no personal data in it."""
    found: dict[str, Any] = {"source_run": source.run or None}
    for key, value in (("source_attempt", record.name), ("source_trace", _trace_id(record))):
        found[key] = value if value is not None and _IDS.fullmatch(value) else None
    at = began_at(record, source)
    found["source_time"] = None if at is None else at.isoformat()
    found["source_status"] = status_of(record)
    return {key: value for key, value in found.items() if value is not None}


def _trace_id(record: Record) -> str | None:
    return record.trace.trace_id if record.trace is not None else record.trace_id


def _words_about(record: Record, source: AttemptSource, candidate: _Candidate) -> dict[str, str]:
    """What else is said of it in words, which may hold anything."""
    trace = record.trace
    models = dict.fromkeys(call.model for call in trace.llm_calls) if trace is not None else {}
    found = {
        "source_attempt": "" if _IDS.fullmatch(record.name) else record.name,
        "source_run_name": source.name,
        "source_agent": trace.agent_name if trace is not None else "",
        "source_model": (trace.model or ", ".join(models)) if trace is not None else "",
        "source_error": record.error_type if isinstance(record, ReportCaseFailure) else "",
        "sample_stratum": candidate.stratum if candidate.drawn_of is not None else "",
    }
    return {key: value for key, value in found.items() if value}


def _numbers(record: Record, survey: _Survey, candidate: _Candidate) -> dict[str, int | float]:
    """What was measured of it, and how it was drawn."""
    found: dict[str, int | float | None] = {
        "source_cost": metric_of(record, COST),
        "source_seconds": record.task_duration or None,
        "source_input_tokens": metric_of(record, INPUT_TOKENS),
        "source_output_tokens": metric_of(record, OUTPUT_TOKENS),
        "source_duplicates": candidate.duplicates or None,
    }
    if (drawn := candidate.drawn_of) is not None:
        found |= {
            "sample_probability": drawn.probability,
            "sample_weight": drawn.size / drawn.drawn,
            "sample_seed": survey.summary.seed,
        }
    return {key: value for key, value in found.items() if value is not None}


def _name_of(request: Any) -> str:
    """The first words of a request, and a digest of all of it."""
    key = _key_of(request)
    slug = ""
    for word in re.findall(r"\w+", key):
        if len(slug) + len(word) > _LONGEST_NAME:
            break
        slug += f"{word}-"
    return f"{slug}{_digest(key).hex()[:10]}"
