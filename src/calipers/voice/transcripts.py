"""How well the agent heard, over all requests of a report: word error rate and entity error rate, with intervals.

Only requests whose agent told what it heard (`transcript`) are counted. The *word error rate* is that of all words
together, errors over words said, so a long request weighs more; its interval is that of a ratio of sums over requests, by
linearization (Cochran, *Sampling Techniques*, chapter 6), since the words of one request are not independent. Where no
word was misheard there is no spread to go by, and the interval is Wilson's for requests with an error. The *entity error
rate* is the mean over requests of the share of their entities that was lost. Repeats of a request count together.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from calipers.errors import InvalidOptionError
from calipers.record import ReportCase
from calipers.report import Report
from calipers.stats import Estimate, mean, rate

from .expectation import expected_calls
from .words import WordErrors, entities, has_words, lost_entities, word_errors


@dataclass(frozen=True)
class TranscriptErrors:
    """What was misheard in a report."""

    words: WordErrors
    """The errors of all requests together."""
    word_error_rate: Estimate
    """Errors per word that was said, with its interval over requests."""
    entity_error_rate: Estimate | None
    """The share of the words that matter which were lost; `None` if no request has any."""

    def summary(self) -> str:
        """Both rates for a person."""
        lines = [
            f"word error rate    {shown_rate(self.word_error_rate)} of {self.words.words} words",
        ]
        if self.entity_error_rate is not None:
            lines.append(f"entity error rate  {shown_rate(self.entity_error_rate)} of the words that matter")
        return "\n".join(lines)


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
        MissingExtraError: jiwer is not installed.
    """
    requests: dict[str, _Request] = {}
    for record in report.cases:
        transcript = record.attributes.get("transcript")
        if isinstance(transcript, str) and has_words(record.inputs):
            name = record.source_case_name or record.name
            _count(requests.setdefault(name, _Request(record.cluster)), record, transcript)
    if not requests:
        return None
    counted = list(requests.values())
    total = counted[0].words
    for each in counted[1:]:
        total += each.words
    with_entities = [each for each in counted if each.said]
    return TranscriptErrors(
        words=total,
        word_error_rate=_ratio(counted, total, confidence),
        entity_error_rate=rate(
            [(each.lost, each.said) for each in with_entities],
            clusters=named_clusters([each.cluster for each in with_entities]),
            confidence=confidence,
        ),
    )


def _count(request: _Request, record: ReportCase, transcript: str) -> None:
    request.words += word_errors(record.inputs, transcript)
    try:
        calls = expected_calls(record.expected_output)
    except InvalidOptionError:  # another kind of expectation, which names no words
        return
    request.said += len(entities(record.inputs, calls))
    request.lost += len(lost_entities(record.inputs, transcript, calls))


def _ratio(requests: list[_Request], total: WordErrors, confidence: float) -> Estimate:
    """The rate, and the interval of the mean of what each request contributes to it."""
    clusters = named_clusters([each.cluster for each in requests])
    if not total.errors:
        none = rate([(0, 1)] * len(requests), clusters=clusters, confidence=confidence)
        assert none is not None
        return none
    words = total.words / len(requests)
    shares = [[total.rate + (each.words.errors - total.rate * each.words.words) / words] for each in requests]
    found = mean(shares, clusters=clusters, confidence=confidence)
    assert found is not None
    interval = found.interval
    if interval is not None:
        interval = msgspec.structs.replace(interval, low=max(0.0, interval.low))
    return msgspec.structs.replace(found, value=total.rate, interval=interval)


def named_clusters(clusters: Sequence[str | None]) -> list[Hashable] | None:
    """The cluster of each request, one without a name being alone in its own; `None` if no request has one."""
    if all(cluster is None for cluster in clusters):
        return None
    return [number if cluster is None else cluster for number, cluster in enumerate(clusters)]


def shown_rate(estimate: Estimate) -> str:
    """A rate in percent, with its interval."""
    return f"{estimate.value:6.1%} {shown_interval(estimate.interval)}".rstrip()


def shown_interval(interval: Any) -> str:
    """An interval in percent; empty where there is none."""
    return "" if interval is None else f"[{interval.low:.1%}, {interval.high:.1%}]"
