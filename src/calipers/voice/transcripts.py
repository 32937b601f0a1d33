"""What the agent misheard: word error rate and entity error rate, of one request or of a report.

Both compare texts as they are spoken (`spelling`). The *entities* of a request are the argument values of the expected calls that
are said in it; one is lost if it is not in what was heard. An agent may mishear every other word and still do the right thing.

Of a report, only requests whose agent says what it heard (`transcript`) are counted. The *word error rate* is errors over words
said, of all requests together; the *entity error rate* is values lost over values said. So a long request weighs more, and
repeats of a request count together. The words of one request are not independent, so both intervals go by how requests differ: the spread of a ratio of sums by
linearization (Cochran, *Sampling Techniques*, chapter 6), and Wilson's interval for as many independent words as would have
that spread (`calipers.stats.clusters`). Requests that all agree do not make it a point. A word error rate may exceed 1, where
more was heard than said; a request of which that is true makes the interval Student's t, and there is none if all agree.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from calipers.data.record import ReportCase
from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError, MissingExtraError
from calipers.report.report import Report
from calipers.stats import Estimate, Interval, clustered_interval, clustered_variance
from calipers.stats.clusters import cluster_degrees, effective_size, independent_groups
from calipers.stats.interval import wilson_of_rate
from calipers.stats.number_text import plural

from .expectation import expected_calls
from .spelling import compared_words, spoken_words

_NO_WIDTH = 1e-9
"""An interval narrower than this is the rounding of a point."""


@dataclass(frozen=True)
class WordErrors:
    """How what was heard differs from what was said."""

    substitutions: int
    """Words heard as other words."""
    deletions: int
    """Words that were not heard."""
    insertions: int
    """Words heard that were not said."""
    words: int
    """Words that were said."""

    @property
    def errors(self) -> int:
        """All of them."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float:
        """Errors per word that was said; more than 1 if much was heard that was not said."""
        return self.errors / self.words

    def __add__(self, other: "WordErrors") -> "WordErrors":
        return WordErrors(
            self.substitutions + other.substitutions,
            self.deletions + other.deletions,
            self.insertions + other.insertions,
            self.words + other.words,
        )


def word_errors(said: str, heard: str) -> WordErrors:
    """The errors of one text heard as another, with the fewest edits.

    Raises:
        InvalidOptionError: nothing was said, or one of them is not a text.
    """
    for what, text in (("said", said), ("heard", heard)):
        if not isinstance(text, str):
            raise InvalidOptionError(
                f"what was {what} is a text, got {text!r:.200}: an agent that does not tell what it heard has no errors"
            )
    reference, hypothesis = compared_words(said), compared_words(heard)
    if not reference:
        raise InvalidOptionError(f"there are no words in {said!r}, so none can be misheard")
    try:
        import jiwer
    except ImportError:
        raise MissingExtraError.of("the word error rate", "voice") from None
    found = jiwer.process_words(" ".join(reference), " ".join(hypothesis))
    return WordErrors(found.substitutions, found.deletions, found.insertions, len(reference))


def entities(said: str, calls: Sequence[ToolCall]) -> list[str]:
    """The argument values of the calls that are said in the text, as they are spoken, each as often as it is expected."""
    values = (" ".join(spoken_words(_text(value))) for call in calls for value in _leaves(call.arguments))
    return [value for value in values if value and _is_said(value, said)]


def lost_entities(said: str, heard: str, calls: Sequence[ToolCall]) -> list[str]:
    """Those of the entities of a request that cannot be found in what was heard."""
    return [entity for entity in entities(said, calls) if not _is_said(entity, heard)]


def _text(value: Any) -> str:
    """A value as it is said: a whole number without `.0`."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list | tuple | AbstractSet):
        for each in value:
            yield from _leaves(each)
    elif value is not None and not isinstance(value, bool):  # None and True are not said
        yield value


def _is_said(entity: str, text: str) -> bool:
    """Whether the words of an entity stand in a text, as it is spoken or with its numbers said in one way.

    Both, since the hour of half past fourteen is said in `fourteen thirty`, and is no part of the number 1430.
    """
    return any(_stands_in(read(entity), read(text)) for read in (spoken_words, compared_words))


def _stands_in(part: Sequence[str], whole: Sequence[str]) -> bool:
    width = len(part)
    return any(list(whole[at : at + width]) == list(part) for at in range(len(whole) - width + 1))


# ---------------------------------------------------------------------- of a report


@dataclass(frozen=True)
class TranscriptErrors:
    """What was misheard in a report."""

    words: WordErrors
    """The errors of all requests together."""
    word_error_rate: Estimate
    """Errors per word that was said, with its interval over requests."""
    entity_error_rate: Estimate | None
    """The share of the expected values said that were lost, with its interval over requests; `None` if none was said."""
    entities: int = 0
    """Expected values that were said, in all requests together: what the entity error rate is a share of."""

    def summary(self, *, columns: int | None = None) -> str:
        """Both rates for a person, in lines of at most so many columns."""
        lines = [
            f"word error rate    {shown_rate(self.word_error_rate)} of {plural(self.words.words, 'word')}",
        ]
        if self.entity_error_rate is not None:
            lines.append(
                f"entity error rate  {shown_rate(self.entity_error_rate)} of {plural(self.entities, 'expected value')}"
            )
        return within(columns, lines, indent=19)


class _Request:
    """What became of one request, over all its repeats."""

    def __init__(self, cluster: str | None) -> None:
        self.cluster = cluster
        self.words = WordErrors(0, 0, 0, 0)
        self.said = 0
        self.lost = 0


def transcript_errors(report: Report, *, confidence: float = 0.95) -> TranscriptErrors | None:
    """The word and entity error rates of a report of spoken requests.

    Args:
        report: made by a `VoiceTask`, in this process or another.
        confidence: of the intervals.

    Returns:
        `None` if no agent told what it heard.

    Raises:
        InvalidOptionError: the report does not keep every attempt.
    """
    report.check_whole("word error rates")
    requests: dict[str, _Request] = {}
    for record in report.cases:
        transcript = record.attributes.get("transcript")
        if isinstance(transcript, str) and isinstance(record.inputs, str) and spoken_words(record.inputs):
            name = record.source_case_name or record.name
            _count(requests.setdefault(name, _Request(record.cluster)), record, transcript)
    if not requests:
        return None
    counted = list(requests.values())
    total = counted[0].words
    for each in counted[1:]:
        total += each.words
    words = [(each.words.errors, each.words.words, each.cluster) for each in counted]
    values = [(each.lost, each.said, each.cluster) for each in counted if each.said]
    return TranscriptErrors(
        words=total,
        word_error_rate=_ratio(words, confidence),
        entity_error_rate=_ratio(values, confidence) if values else None,
        entities=sum(said for _, said, _ in values),
    )


def _count(request: _Request, record: ReportCase, transcript: str) -> None:
    request.words += word_errors(record.inputs, transcript)
    try:
        calls = expected_calls(record.expected_output)
    except InvalidOptionError:  # another kind of expectation, which names no words
        return
    request.said += len(entities(record.inputs, calls))
    request.lost += len(lost_entities(record.inputs, transcript, calls))


def _ratio(requests: list[tuple[int, int, str | None]], confidence: float) -> Estimate:
    """Errors over all that was said, from the two of each request and its cluster."""
    errors, said = sum(each[0] for each in requests), sum(each[1] for each in requests)
    clusters = named_clusters([cluster for _, _, cluster in requests])
    groups: Sequence[Hashable] = range(len(requests)) if clusters is None else clusters
    value = errors / said
    # What each request has above or below its part, per word of an average request: their mean is 0, their spread the rate's.
    size = said / len(requests)
    above = [(wrong - value * of) / size for wrong, of, _ in requests]
    interval: Interval | None = None
    if any(wrong > of for wrong, of, _ in requests):
        interval = clustered_interval([value + each for each in above], groups, confidence=confidence)
        interval = None if interval is None or interval.width < _NO_WIDTH else _from_0_up(interval)
    elif clusters is None or len(set(clusters)) > 1:  # one cluster does not show how clusters differ
        sizes: Counter[Hashable] = Counter()
        for group, (_, of, _) in zip(groups, requests, strict=True):
            sizes[group] += of
        interval = _of_share(value, said, clustered_variance(above, groups), sizes, confidence)
    return Estimate(value, interval, len(requests), said, None if clusters is None else len(set(clusters)))


def _from_0_up(interval: Interval) -> Interval:
    return Interval(max(0.0, interval.low), interval.high, interval.confidence, interval.method)


def _of_share(
    value: float, said: int, variance: float | None, sizes: "Counter[Hashable]", confidence: float
) -> Interval:
    """Wilson's interval of a share, for as many independent trials as would have its spread over groups of these sizes."""
    trials = independent_groups(sizes.values())
    if variance is not None and 0 < value < 1:
        trials = effective_size(
            value,
            variance,
            n_observations=said,
            df=cluster_degrees(sizes.values()),
            at_least=trials,
            confidence=confidence,
        )
    return wilson_of_rate(value, trials, confidence=confidence, method="clustered-wilson")


def named_clusters(clusters: Sequence[str | None]) -> list[Hashable] | None:
    """The cluster of each request, one without a name being alone in its own; `None` if no request has one."""
    if all(cluster is None for cluster in clusters):
        return None
    return [number if cluster is None else cluster for number, cluster in enumerate(clusters)]


def within(columns: int | None, lines: Sequence[str], *, indent: int) -> str:
    """The lines, those that are too long broken between words and indented from their second row on."""
    if columns is None:
        return "\n".join(lines)
    after = " " * min(indent, columns // 2)
    return "\n".join(
        row
        for line in lines
        for row in wrap(line, max(columns, 20), subsequent_indent=after, break_long_words=False)
    )


def shown_rate(estimate: Estimate) -> str:
    """A rate in percent, with its interval."""
    return f"{estimate.value:6.1%} {shown_interval(estimate.interval)}".rstrip()


def shown_interval(interval: Any) -> str:
    """An interval in percent; empty where there is none."""
    return "" if interval is None else f"[{interval.low:.1%}, {interval.high:.1%}]"
