"""Where the loss came from: each request as text and as speech, so that mishearing and misjudging can be told apart.

An agent that fails a spoken request may have misheard it, or may not have known what to do. Given the same request as
text, it cannot mishear. So:

- what it gets wrong as **text** is lost in *deciding*, with the interval of that rate;
- what it gets right as text and wrong as **speech** is lost in *hearing*. Some requests may go the other way, by luck, so both
  directions are told; their difference, the net loss, has an interval made for pairs, since both come from the same requests.

A request whose run failed was not done, whichever way it was given. Where requests are repeated, or belong to clusters, the
difference is the mean over requests of the difference between their two shares.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any

import msgspec

from calipers.data.case import Case
from calipers.errors import InvalidOptionError, MissingExtraError
from calipers.report.report import Report
from calipers.stats import Estimate, PairedDifference, mean, paired_difference
from calipers.voice.pipeline import VoiceTask, check_cases, evaluate_calls, refuse_name, shown_errors, whole
from calipers.voice.protocols import Agent, Evaluator, Perturbs, Synthesizer, TextAgent
from calipers.voice.transcripts import (
    TranscriptErrors,
    named_clusters,
    shown_interval,
    shown_rate,
    transcript_errors,
    within,
)


@dataclass(frozen=True)
class LossSplit:
    """How many requests an agent gets right as text and as speech, and what the difference is due to."""

    text: Estimate
    """The share that is right as text."""
    speech: Estimate
    """The share that is right as speech."""
    hearing: PairedDifference | Estimate
    """The net loss in hearing: the share right as text minus the share right as speech, over the same requests."""
    misheard: float
    """The share that is right as text and wrong as speech; of repeated requests, by how much their shares fell."""
    gained: float
    """The share that is wrong as text and right as speech; `hearing.value` is `misheard` less this."""
    transcripts: TranscriptErrors | None
    """What was misheard; `None` if the agent does not tell what it heard, or jiwer is not installed."""
    text_report: Report = field(repr=False)
    speech_report: Report = field(repr=False)

    @classmethod
    def of_reports(cls, text: Report, speech: Report, *, confidence: float = 0.95) -> "LossSplit":
        """The split between two reports of the same requests, given as text and as speech.

        Raises:
            InvalidOptionError: they are not of the same requests, or nothing was asserted in one of them.
        """
        read, heard = _passed(text), _passed(speech)
        if not read or read.keys() != heard.keys():
            raise InvalidOptionError(
                f"the reports {text.name!r} and {speech.name!r} are not of the same requests, so nothing can be compared"
            )
        as_text, as_speech = (
            text.pass_rate(None, confidence=confidence),
            speech.pass_rate(None, confidence=confidence),
        )
        if as_text is None or as_speech is None:
            raise InvalidOptionError("nothing was asserted of the requests, so none was right or wrong")
        try:
            transcripts = transcript_errors(speech, confidence=confidence)
        except MissingExtraError:
            transcripts = None
        hearing = _difference(text, read, heard, confidence)
        changes = [_share(read[name]) - _share(heard[name]) for name in read]
        misheard, gained = (
            fsum(max(0.0, sign * each) for each in changes) / len(changes) for sign in (1, -1)
        )
        return cls(as_text, as_speech, hearing, misheard, gained, transcripts, text, speech)

    @property
    def deciding(self) -> Estimate:
        """What is lost in deciding: the share that is wrong even as text, with its interval."""
        text, right = self.text, self.text.interval
        wrong = right and msgspec.structs.replace(right, low=1 - right.high, high=1 - right.low)
        return msgspec.structs.replace(text, value=1 - text.value, interval=wrong)

    def summary(self, *, columns: int | None = None) -> str:
        """The split for a person, in lines of at most so many columns."""
        lost = self.hearing
        ways = f"{self.misheard:.1%} right only as text, {self.gained:.1%} right only as speech"
        lines = [
            f"as text     {shown_rate(self.text)} right",
            f"as speech   {shown_rate(self.speech)} right",
            f"deciding    {shown_rate(self.deciding)} lost: wrong even as text",
            f"hearing     {lost.value:6.1%} {shown_interval(lost.interval)} lost, net: {ways}",
        ]
        if isinstance(lost, PairedDifference):
            counts = f"only as text: {lost.first_only}, only as speech: {lost.second_only}, neither: {lost.neither}"
            lines.append(f"            right {counts}")
        for way, report in (("as text", self.text_report), ("as speech", self.speech_report)):
            if errors := shown_errors(report):
                lines.append(f"errors      {way}, {errors}")
        told = within(columns, lines, indent=12)
        return told if self.transcripts is None else f"{told}\n{self.transcripts.summary(columns=columns)}"


async def split_loss(
    cases: Iterable[Case[str, Any, Any]],
    *,
    agent: Agent,
    synthesizer: Synthesizer,
    evaluator: Evaluator | None = None,
    perturbation: Perturbs | None = None,
    repeat: int = 1,
    max_concurrency: int | None = None,
    confidence: float = 0.95,
    **options: Any,
) -> LossSplit:
    """Give an agent every request as text and as speech, and say where the loss comes from.

    Args:
        cases: the prompt as inputs, the expected calls as expected output.
        agent: hears (`run`) and reads (`run_text`).
        synthesizer: says the prompts.
        evaluator: compares the calls; default: `ExactEvaluator`.
        perturbation: makes the speech harder to understand.
        repeat: how often to give each request, each way.
        max_concurrency: requests at once.
        confidence: of the intervals.
        **options: further ones of `Dataset.evaluate`, such as `task_timeout`, `retry`, `seed` and `store`.
    """
    refuse_name(options, "runs", instead="repeat")
    listed = check_cases(cases)
    if not listed:
        raise InvalidOptionError("there are no cases, so there is no loss to split")
    if not isinstance(agent, TextAgent):
        raise InvalidOptionError(
            f"{agent!r} cannot read a text (it has no run_text), so hearing cannot be told apart"
        )
    options |= {"evaluator": evaluator, "repeat": repeat, "max_concurrency": max_concurrency}
    spoken = VoiceTask(agent, synthesizer, perturbation=perturbation)
    as_text = whole(await evaluate_calls(listed, VoiceTask(agent), name="as text", **options))
    as_speech = whole(await evaluate_calls(listed, spoken, name="as speech", **options))
    return LossSplit.of_reports(as_text, as_speech, confidence=confidence)


def _passed(report: Report) -> dict[str, list[bool]]:
    """Which attempts at each case passed."""
    found: dict[str, list[bool]] = {}
    for record in report.cases:
        found.setdefault(record.source_case_name or record.name, []).append(record.passed is True)
    for failure in report.failures:
        found.setdefault(failure.source_case_name or failure.name, []).append(False)
    return found


def _difference(
    report: Report, read: dict[str, list[bool]], heard: dict[str, list[bool]], confidence: float
) -> PairedDifference | Estimate:
    """How much more often the requests were right when they were read."""
    known = {record.source_case_name or record.name: record.cluster for record in report.cases}
    known |= {record.source_case_name or record.name: record.cluster for record in report.failures}
    clusters = named_clusters([known[name] for name in read])
    shares = [(_share(read[name]), _share(heard[name])) for name in read]
    pairs = [(text >= 0.5, speech >= 0.5) for text, speech in shares]
    paired = paired_difference(
        *(pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))),
        confidence=confidence,
    )
    assert paired is not None
    if clusters is None and all(len(each) == 1 for passed in (read, heard) for each in passed.values()):
        return paired
    differences = [text - speech for text, speech in shares]
    found = mean([[each] for each in differences], clusters=clusters, confidence=confidence)
    assert found is not None
    if len(set(differences)) > 1 or found.n_units < 2 or found.n_clusters == 1:
        return found
    # Without a spread between requests the interval would be a point, which a few requests cannot prove.
    return msgspec.structs.replace(found, interval=paired.interval)


def _share(passed: Sequence[bool]) -> float:
    return sum(passed) / len(passed)
