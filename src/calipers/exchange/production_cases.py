"""Cases out of production: attempts that were made become cases of a dataset. `dataset_from`.

Each step leaves some attempts out, and the summary counts them:

1. **Filter** (`calipers.report.attempt_filter`), and attempts of which the request is not known.
2. **Duplicates**: of attempts with the same request one stays, the first whose outcome a person has confirmed, else the first. Personal data does
   not make a difference: requests are compared as they will stand in the file. With `near`, requests that say nearly the same are duplicates too
   (`calipers.exchange.near_duplicates`), in the same order of preference.
3. **Sample**: the first `limit`, or `sample` of them at random, with shares for strata (`calipers.stats.draw`).
4. **Personal data** and secrets are replaced (`calipers.exchange.placeholders`).

`calipers.exchange.attempt_case` says what becomes of an attempt in a case, and what a case expects.
"""

import os
import secrets as random_secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from calipers.data.argument_checks import check_choice, check_number, check_whole_number
from calipers.data.case import Case
from calipers.data.human_label import output_digest
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase
from calipers.data.result_names import unique
from calipers.errors import InvalidOptionError, NotKnownError
from calipers.report.attempt_fields import Beside, Record
from calipers.report.attempt_filter import AttemptFilter, Term, all_of, field_named
from calipers.run.dataset import Dataset
from calipers.stats.draw import DrawnStratum, Shares, draw_by_strata
from calipers.stats.number_text import plural
from calipers.stores.store import Redact, Store

from .attempt_case import (
    EXPECT,
    IDS,
    CaseMaker,
    CasePlace,
    Confirmation,
    Expect,
    confirmation,
    digest_of,
    request_of,
    words_of,
)
from .attempt_name import name_without_words
from .attempt_source import Asked, AttemptSource, open_sources
from .near_duplicates import NearOne, Vectors
from .placeholders import Hidden

_UNKNOWN: Final = "unknown"
_SEED_BITS: Final = 32


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
    """Cases that were to expect tool calls and say nothing of them, since it is not known which."""
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
        beside: cases that are there already: their requests, names and clusters are taken.

    Raises:
        InvalidOptionError: an option is not valid, or no one was asked the question.
        MissingExtraError: what finds personal data, or compares requests, is not installed.
        NotKnownError: no case is left; the message says which step left out the last ones.
        ReportFormatError: a file cannot be read.
        StoreError: there is no such run.
        OSError: a file cannot be read.
    """
    named = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    strata = [field_named(each, why="by") for each in ([by] if isinstance(by, str) else by)]
    _check_options(near, limit, sample, strata, expect)
    wanted = all_of([filter] if isinstance(filter, str) else filter)
    # What is missing is reported before anything is read.
    hidden = Hidden(redact, finds=not keep_personal_data) if redact or not keep_personal_data else None
    vectors = Vectors() if near is not None else None
    found, opened = open_sources(named, store)
    try:
        survey = _Survey(found, strata, confirmed_by, hidden, vectors, beside)
        survey.read(wanted)
        chosen = survey.without_duplicates(near)
        drawn = _draw(chosen, survey, limit, sample, shares, seed)
        cases = _make_cases(drawn, survey, confirmed_by, tuple(expect))
    finally:
        if opened is not None:
            opened.close()
    summary = survey.summary
    summary.notes = list(dict.fromkeys(note for source in found for note in source.notes))
    name = found[0].name if len(found) == 1 else None
    return ProductionCases(Dataset(name=name, cases=cases), summary)


def _check_options(
    near: float | None,
    limit: int | None,
    sample: int | None,
    strata: Sequence[Term],
    expect: Sequence[Expect],
) -> None:
    check_number("near", near, above=0, at_most=1, or_none=True)
    check_whole_number("limit", limit, at_least=1, or_none=True)
    check_whole_number("sample", sample, at_least=1, or_none=True)
    if limit is not None and sample is not None:
        raise InvalidOptionError(
            f"limit={limit} takes the first cases and sample={sample} random ones: give one of them"
        )
    if sample is None and strata:
        raise InvalidOptionError("by says how a sample is divided: give sample too")
    for each in expect:
        check_choice("expect", each, EXPECT)


# ---------------------------------------------------------------------- reading


class _Candidate(msgspec.Struct):
    """An attempt that may become a case, with what the steps need to know of it."""

    source: int
    position: int
    name: str
    stratum: str
    is_confirmed: bool
    outcome: tuple[bytes, str] | None = None
    """What its request and outcome are known by, if people said something of them."""
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
        self.clusters: set[str] = set()
        """Names of clusters that are taken."""
        self._strata, self._question, self._vectors = strata, question, vectors
        self._places: dict[bytes, int] = {}
        """The place of a request among all that differ."""
        self._there: list[str] = []
        """Names of the cases that are there already, by place: they come first."""
        self._candidates: list[_Candidate] = []
        """One for each further place."""
        self._same: list[tuple[str, int]] = []
        """The names of attempts that were left out, each with the place of its request."""
        self._said: dict[tuple[bytes, str], set[Confirmation]] = {}
        """By request and outcome, what people said of attempts that had them."""
        for number, case in enumerate(beside, 1):
            self.names.update([case.name] if case.name else ())
            self.clusters.update([case.cluster] if case.cluster else ())
            request = plain(case.inputs)
            if self._places.setdefault(digest_of(request), len(self._there)) == len(self._there):
                self._there.append(case.name or f"case {number}")
                self._add_vector(request)

    def read(self, wanted: AttemptFilter) -> None:
        """Read all attempts, and keep those that may become cases."""
        summary, terms = self.summary, wanted.terms
        met: Counter[int] = Counter()
        asked: set[str] = set()
        for number, source in enumerate(self.sources):
            filtered = Asked(source, wanted)
            for position, record in source.attempts():
                summary.read += 1
                asked.update(label.question for label in record.human_labels)
                known = filtered.beside(record)
                held = [term.matches(record, known) is True for term in terms]
                met.update(place for place, holds in enumerate(held) if holds)
                if not all(held):
                    summary.filtered += 1
                    continue
                request = request_of(record)
                if request is None:
                    summary.without_request += 1
                    continue
                self._add(number, position, record, request.data, self._stratum(record, known))
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
        answer, outdated = (None, 0) if self._question is None else confirmation(record, self._question)
        self.summary.outdated_labels += outdated
        # As it will stand in the file: two that differ in an address alone are the same there.
        shown = request if self.hidden is None else self.hidden.of({"request": request})["request"]
        known_by = digest_of(shown)
        new = _Candidate(number, position, name_without_words(record), stratum, answer == "yes")
        if answer is not None and isinstance(record, ReportCase):
            new.outcome = known_by, output_digest(record.output)
            self._said.setdefault(new.outcome, set()).add(answer)
        place = self._places.setdefault(known_by, len(self._there) + len(self._candidates))
        index = place - len(self._there)
        if index == len(self._candidates):
            self._candidates.append(new)
            self._add_vector(shown)
        elif index < 0:
            self._same.append((new.name, place))
        else:
            old = self._candidates[index]
            stays, goes = (new, old) if new.is_confirmed and not old.is_confirmed else (old, new)
            stays.duplicates = old.duplicates + 1
            self._candidates[index] = stays
            self._same.append((goes.name, place))

    def _add_vector(self, request: Any) -> None:
        if self._vectors is not None:
            self._vectors.add(words_of(request))

    def _stratum(self, record: Record, known: Beside) -> str:
        parts: list[str] = []
        for field in self._strata:
            found = field.values_in(record, known)
            name = f"{field.field}.{field.key}" if field.key else field.field
            values = (
                [_UNKNOWN] if found is None else sorted({_shown_value(each) for each in found}) or ["none"]
            )
            parts.append(f"{name}={', '.join(values)}")
        return "; ".join(parts)

    def without_duplicates(self, near: float | None) -> list[_Candidate]:
        """The attempts of different requests, in their order; with `near`, of requests that are not near each other."""
        summary, there = self.summary, len(self._there)
        summary.duplicates = [
            DuplicateCase(self.shown(name), self._name_at(place), 1.0) for name, place in self._same
        ]
        found: dict[int, NearOne] = {}
        if self._vectors is not None and near is not None:
            confirmed_first = sorted(
                range(there, there + len(self._candidates)),
                key=lambda place: not self._candidates[place - there].is_confirmed,
            )
            found = self._vectors.near([*range(there), *confirmed_first], near, settled=there)
        left: list[_Candidate] = []
        for place, each in enumerate(self._candidates, there):
            one = found.get(place)
            if one is None:
                left.append(each)
                continue
            left_out = DuplicateCase(self._name_at(place), self._name_at(one.of), one.similarity)
            summary.near_duplicates.append(left_out)
            if one.of >= there:
                self._candidates[one.of - there].duplicates += each.duplicates + 1
        if not left:
            count = plural(len(summary.duplicates) + len(summary.near_duplicates), "attempt")
            raise NotKnownError(f"no new case: the requests of {count} are in the dataset already")
        return sorted(left, key=lambda each: (each.source, each.position))

    def is_contested(self, candidate: _Candidate) -> bool:
        """Whether people said different things of the same outcome of the same request."""
        return candidate.outcome is not None and len(self._said[candidate.outcome]) > 1

    def _name_at(self, place: int) -> str:
        """What the request in some place is known by."""
        there = len(self._there)
        return self._there[place] if place < there else self.shown(self._candidates[place - there].name)

    def shown(self, name: str) -> str:
        """The name of an attempt as it may be shown."""
        if self.hidden is None or IDS.fullmatch(name):
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


def _make_cases(
    drawn: Iterable[_Candidate], survey: _Survey, question: str | None, expect: tuple[Expect, ...]
) -> list[Case[Any, Any, Any]]:
    """The cases, in the order of their sources, from a second reading."""
    summary = survey.summary
    redacted: Counter[str] = Counter()

    def hide(parts: dict[str, Any]) -> dict[str, Any]:
        if survey.hidden is None:
            return parts
        counts: Counter[str] = Counter()
        hidden: dict[str, Any] = survey.hidden.of(parts, counts)
        summary.redacted_cases += bool(counts)
        redacted.update(counts)
        return hidden

    by_source: dict[int, dict[int, _Candidate]] = {}
    for each in drawn:
        by_source.setdefault(each.source, {})[each.position] = each
    maker = CaseMaker(question, expect, hide)
    cases: list[Case[Any, Any, Any]] = []
    clusters: dict[str, str] = {}
    for number, wanted in sorted(by_source.items()):
        source = survey.sources[number]
        for position, record in source.attempts(wanted.keys()):
            request = request_of(record)
            if request is None:  # a run that goes on may have replaced the attempt
                continue
            each = wanted[position]
            place = CasePlace(each.duplicates, each.drawn_of, summary.seed, survey.is_contested(each))
            made = maker.case_of(record, request, source, place)
            made.case.name = unique(str(made.case.name), survey.names)
            survey.names.add(made.case.name)
            if (
                record.cluster is not None
                and made.case.cluster is not None
                and made.case.cluster != record.cluster
            ):
                # Each case numbers its placeholders anew, and two clusters must not become one: error bars depend on them.
                if record.cluster not in clusters:
                    clusters[record.cluster] = unique(made.case.cluster, survey.clusters)
                    survey.clusters.add(clusters[record.cluster])
                made.case.cluster = clusters[record.cluster]
            cases.append(made.case)
            summary.confirmed += made.answer == "yes"
            summary.unknown_calls += made.lacks_calls
            if made.answer == "conflict":
                summary.conflicting.append(made.case.name)
    summary.written = len(cases)
    if survey.hidden is not None and survey.hidden.finds:
        summary.redacted = dict(redacted)
    return cases
