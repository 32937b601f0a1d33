"""Where the loss came from: each request as text and as speech, so that mishearing and misjudging can be told apart.

An agent that fails a spoken request may have misheard it, or may not have known what to do. Given the same request as
text, it cannot mishear. So:

- what it gets wrong as **text** is lost in *deciding*;
- what it gets right as text and wrong as **speech** is lost in *hearing*; the difference between the two rates says how
  much, and has an interval made for pairs, since both come from the same requests.

A request whose run failed was not done, whichever way it was given.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from calipers.case import Case
from calipers.errors import InvalidOptionError
from calipers.report import Report
from calipers.stats import Estimate, PairedDifference, paired_difference, rate_from_counts

from .pipeline import VoiceTask, evaluate_calls
from .protocols import Agent, Evaluator, Perturbs, Synthesizer, TextAgent
from .words import WordErrors, entities, lost_entities, word_errors


@dataclass(frozen=True)
class LossSplit:
    """How many requests an agent gets right as text and as speech, and what the difference is due to."""

    text: Estimate
    """The share that is right as text."""
    speech: Estimate
    """The share that is right as speech."""
    hearing: PairedDifference
    """What is lost in hearing: the share right as text minus the share right as speech."""
    words: WordErrors | None
    """Word errors over all requests; `None` if the agent does not tell what it heard."""
    entities: Estimate | None
    """The share of words that matter which were lost; `None` as for `words`, or if no request has any."""
    text_report: Report = field(repr=False)
    speech_report: Report = field(repr=False)

    @property
    def deciding(self) -> float:
        """What is lost in deciding: the share that is wrong even as text."""
        return 1 - self.text.value

    def summary(self) -> str:
        """The split for a person."""
        lost = self.hearing
        lines = [
            f"as text     {_rate(self.text)} right",
            f"as speech   {_rate(self.speech)} right",
            f"deciding    {_points(self.deciding)} lost: wrong even as text",
            f"hearing     {_points(lost.value)} lost {_interval(lost.interval)}: right as text, wrong as speech",
            f"            right only as text: {lost.first_only}, only as speech: {lost.second_only}, neither: {lost.neither}",
        ]
        if self.words is not None:
            lines.append(f"word error rate    {self.words.rate:.1%} of {self.words.words} words")
        if self.entities is not None:
            lines.append(f"entity error rate  {_rate(self.entities)} of the words that matter")
        return "\n".join(lines)


async def split_loss(
    cases: Iterable[Case[str, Any, Any]],
    *,
    agent: Agent,
    synthesizer: Synthesizer,
    evaluator: Evaluator | None = None,
    perturbation: Perturbs | None = None,
    max_concurrency: int | None = None,
    confidence: float = 0.95,
) -> LossSplit:
    """Give an agent every request as text and as speech, and say where the loss comes from.

    Args:
        cases: the prompt as inputs, the expected calls as expected output.
        agent: hears (`run`) and reads (`run_text`).
        synthesizer: says the prompts.
        evaluator: compares the calls; default: `ExactEvaluator`.
        perturbation: makes the speech harder to understand.
        max_concurrency: requests at once.
        confidence: of the intervals.
    """
    listed = list(cases)
    if not listed:
        raise InvalidOptionError("there are no cases, so there is no loss to split")
    if not isinstance(agent, TextAgent):
        raise InvalidOptionError(
            f"{agent!r} cannot read a text (it has no run_text), so hearing cannot be told apart"
        )
    options: dict[str, Any] = {"evaluator": evaluator, "max_concurrency": max_concurrency}
    as_text = await evaluate_calls(listed, VoiceTask(agent), name="as text", **options)
    spoken = VoiceTask(agent, synthesizer, perturbation=perturbation)
    as_speech = await evaluate_calls(listed, spoken, name="as speech", **options)
    read, heard = _passed(as_text), _passed(as_speech)
    names = list(read)
    counts = [
        sum(read[name] == first and heard[name] == second for name in names)
        for first, second in ((True, True), (True, False), (False, True), (False, False))
    ]
    hearing = paired_difference(*counts, confidence=confidence)
    text = rate_from_counts(sum(read.values()), len(names), confidence=confidence)
    speech = rate_from_counts(sum(heard.values()), len(names), confidence=confidence)
    assert hearing is not None
    assert text is not None
    assert speech is not None
    words, lost = _heard_words(as_speech, confidence)
    return LossSplit(text, speech, hearing, words, lost, as_text, as_speech)


def _passed(report: Report) -> dict[str, bool]:
    """Which attempts passed, in one order for every report of the same cases."""
    found = {record.name: record.passed is True for record in report.cases}
    found |= {record.name: False for record in report.failures}
    return {name: found[name] for name in sorted(found)}


def _heard_words(report: Report, confidence: float) -> tuple[WordErrors | None, Estimate | None]:
    """Word errors and lost entities over all requests whose agent told what it heard."""
    total: WordErrors | None = None
    lost = said = 0
    for record in report.cases:
        transcript = record.attributes.get("transcript")
        if not isinstance(transcript, str):
            continue
        errors = word_errors(record.inputs, transcript)
        total = errors if total is None else total + errors
        lost += len(lost_entities(record.inputs, transcript, record.expected_output))
        said += len(entities(record.inputs, record.expected_output))
    return total, rate_from_counts(lost, said, confidence=confidence) if said else None


def _rate(estimate: Estimate) -> str:
    return f"{estimate.value:6.1%} {_interval(estimate.interval)}"


def _points(share: float) -> str:
    return f"{share:6.1%}"


def _interval(interval: Any) -> str:
    return "" if interval is None else f"[{interval.low:.1%}, {interval.high:.1%}]"
