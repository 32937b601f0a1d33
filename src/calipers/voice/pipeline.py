"""From a prompt to a judgement: say it, let the agent hear it, compare the calls.

`VoiceTask` is the part before the judgement: a task for a `Dataset`, whose cases have the prompt as inputs and the
expected calls as expected output. It gives a `Trace`, so every evaluator that reads traces or tool calls may judge it.
`run` is one prompt with one judgement; `run_concurrent` is many, on the same runner as every other evaluation.

Without a synthesizer the prompt goes to the agent as text, which needs an agent that reads (`run_text`).
"""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from calipers.case import Case
from calipers.context import are_tool_calls
from calipers.dataset import Dataset
from calipers.errors import AgentTimeoutError, InvalidOptionError, TaskContractError
from calipers.record import ReportCase, ReportCaseFailure
from calipers.report import Report
from calipers.task import current_attempt, increment_eval_metric, set_eval_attribute
from calipers.trace import ToolCall, Trace

from .audio import Audio
from .batch import BatchResult, SingleRunResult
from .evaluators import ExactEvaluator
from .function_agent import as_response, called
from .protocols import Agent, Evaluator, Perturbs, Synthesizer, TextAgent
from .response import AgentResponse
from .result import EvalResult

Record: TypeAlias = ReportCase | ReportCaseFailure


class Exchange(NamedTuple):
    """One request and its answer."""

    audio: Audio | None
    """What the agent heard; `None` where it read a text."""
    response: AgentResponse
    timings: dict[str, float]
    """Seconds that each stage took."""


class VoiceTask:
    """Says a prompt to an agent: a task for a `Dataset`."""

    def __init__(
        self,
        agent: Agent | TextAgent,
        synthesizer: Synthesizer | None = None,
        *,
        perturbation: Perturbs | None = None,
        audio_folder: str | Path | None = None,
        name: str | None = None,
    ) -> None:
        """Store the parts.

        Args:
            agent: hears or reads the prompt.
            synthesizer: says it; without one, the agent reads.
            perturbation: makes it harder to understand.
            audio_folder: where to keep what the agent heard, one file per sound; default: in memory, with the result.
            name: of the agent in traces and reports; default: its own.
        """
        self.agent = agent
        self.synthesizer = synthesizer
        self.perturbation = perturbation
        self.audio_folder = audio_folder
        self.name = name or _name_of(agent)
        self.__name__ = self.name
        if synthesizer is None and not isinstance(agent, TextAgent):
            raise InvalidOptionError(
                f"{self.name!r} cannot read a text (it has no run_text): give a synthesizer, so that it can hear it"
            )
        if synthesizer is None and perturbation is not None:
            raise InvalidOptionError("a perturbation changes sound: give a synthesizer")
        if synthesizer is not None and not isinstance(agent, Agent):
            raise InvalidOptionError(f"{agent!r} is no agent: it has no method run(audio)")

    async def exchange(self, prompt: str) -> Exchange:
        """Say the prompt and hear the answer.

        Raises:
            AgentTimeoutError: the agent had not finished when its time was over.
        """
        timings: dict[str, float] = {}
        audio: Audio | None = None
        start = perf_counter()
        if self.synthesizer is None:
            assert isinstance(self.agent, TextAgent)
            answer = await called(self.agent.run_text, prompt)
        else:
            audio = _heard(await called(self.synthesizer.synthesize, prompt), self.synthesizer)
            timings["synthesize"], start = perf_counter() - start, perf_counter()
            if self.perturbation is not None:
                audio = await called(self.perturbation.apply, audio)
                timings["perturb"], start = perf_counter() - start, perf_counter()
            assert isinstance(self.agent, Agent)
            answer = await called(self.agent.run, audio)
        timings["agent"] = perf_counter() - start
        response = as_response(answer, by=self.name)
        if response.timed_out:
            raise AgentTimeoutError(f"the agent {self.name!r} had not finished when its time was over")
        return Exchange(audio, response, timings)

    async def __call__(self, prompt: str) -> Trace:
        """The exchange as a trace; audio, transcript and timings go into the attempt's attributes and metrics."""
        if not isinstance(prompt, str):
            raise TaskContractError(
                f"the inputs of a spoken case are its prompt, a text, got {prompt!r:.200}"
            )
        audio, response, timings = await self.exchange(prompt)
        for stage, seconds in timings.items():
            increment_eval_metric(f"{stage}_seconds", seconds)
        if audio is not None:
            set_eval_attribute("audio", self._kept(audio))
        if response.transcript is not None:
            set_eval_attribute("transcript", response.transcript)
        if response.problems:
            set_eval_attribute("problems", [problem.message for problem in response.problems])
        return Trace(
            agent_name=self.name,
            input_text=prompt,
            output_text=response.text or "",
            tool_calls=response.tool_calls,
            total_latency_ms=timings["agent"] * 1000,
        )

    def _kept(self, audio: Audio) -> Audio | str:
        if self.audio_folder is None:
            return audio
        path = Path(self.audio_folder) / f"{audio.digest}.wav"
        return str(path if path.exists() else audio.save(path))


async def run(
    *,
    prompt: str,
    agent: Agent | TextAgent,
    expect: Sequence[ToolCall],
    evaluator: Evaluator | None = None,
    synthesizer: Synthesizer | None = None,
    perturbation: Perturbs | None = None,
) -> EvalResult:
    """Say one prompt and judge the calls that it led to. What fails raises.

    Args:
        prompt: what to say.
        agent: hears it.
        expect: the calls it should make; an empty list says that it should make none.
        evaluator: compares the calls; default: `ExactEvaluator`, which ignores extra calls unless none are expected.
        synthesizer: says it; without one, the agent reads the prompt.
        perturbation: makes it harder to understand.
    """
    expected = _calls(expect)
    judge = evaluator or _default_evaluator(expected)
    audio, response, timings = await VoiceTask(agent, synthesizer, perturbation=perturbation).exchange(prompt)
    start = perf_counter()
    result = await judged(judge, expected, response.tool_calls)
    timings["evaluate"] = perf_counter() - start
    result.prompt, result.audio, result.response, result.timings = prompt, audio, response, timings
    return result


async def judged(evaluator: Evaluator, expected: list[ToolCall], actual: list[ToolCall]) -> EvalResult:
    """What an evaluator says of the calls.

    Raises:
        TaskContractError: it is no `EvalResult`.
    """
    found = evaluator.evaluate(expected=expected, actual=actual)
    result = await found if inspect.isawaitable(found) else found
    if not isinstance(result, EvalResult):
        raise TaskContractError(
            f"{type(evaluator).__name__}.evaluate must give a calipers.voice.EvalResult, got {result!r:.200}"
        )
    return result


async def run_concurrent(
    *,
    prompts: str | Sequence[str],
    agent: Agent | TextAgent,
    expect: Sequence[ToolCall] | Mapping[str, Sequence[ToolCall]],
    evaluator: Evaluator | None = None,
    synthesizer: Synthesizer | None = None,
    perturbation: Perturbs | None = None,
    runs: int = 1,
    max_concurrency: int | None = None,
    task_timeout: float | None = None,
) -> BatchResult:
    """Say many prompts, each so many times. A run that fails is recorded and ends no other.

    Args:
        prompts: what to say.
        agent: hears it.
        expect: the calls that every prompt should lead to, or those of each prompt, by the prompt.
        evaluator: compares the calls; default: `ExactEvaluator`.
        synthesizer: says it; without one, the agent reads the prompts.
        perturbation: makes it harder to understand.
        runs: how often to say each.
        max_concurrency: how many at once; default: 100.
        task_timeout: seconds one run may take before it counts as failed.
    """
    said = [prompts] if isinstance(prompts, str) else list(prompts)
    if not said:
        raise InvalidOptionError("there are no prompts to say: a batch of nothing proves nothing")
    if isinstance(expect, Mapping) and (missing := [prompt for prompt in said if prompt not in expect]):
        raise InvalidOptionError(
            f"nothing is expected of the prompt {missing[0]!r}: give it calls, or an empty list"
        )
    wanted = [_calls(expect[prompt] if isinstance(expect, Mapping) else expect) for prompt in said]

    cases = [
        Case(name=str(number), inputs=prompt, expected_output=expected)
        for number, (prompt, expected) in enumerate(zip(said, wanted, strict=True), 1)
    ]
    task = _RememberingTask(agent, synthesizer, perturbation=perturbation)
    report = await evaluate_calls(
        cases,
        task,
        evaluator=evaluator,
        repeat=runs,
        max_concurrency=max_concurrency,
        task_timeout=task_timeout,
    )
    records: dict[str, Record] = {record.name: record for record in report.cases}
    records |= {record.name: record for record in report.failures}
    names = [
        (index, f"{number}" if runs == 1 else f"{number} [{index + 1}/{runs}]")
        for number in range(1, len(said) + 1)
        for index in range(runs)
    ]
    found = [_single(records[name], task.exchanges.get(name), index) for index, name in names]
    return BatchResult(found, report)


async def evaluate_calls(
    cases: Sequence[Case[str, Any, Any]],
    task: VoiceTask,
    *,
    evaluator: Evaluator | None = None,
    name: str = "voice",
    **options: Any,
) -> Report:
    """Run spoken cases on the common runner, judged by a voice evaluator; the options are those of `Dataset.evaluate`."""

    async def calls(expected: list[ToolCall], actual: list[ToolCall]) -> EvalResult:
        return await judged(evaluator or _default_evaluator(expected), expected, actual)

    dataset: Dataset[str, Any, Any] = Dataset(name=name, cases=cases, evaluators=[calls])
    return await dataset.evaluate(task, name=name, **{"progress": False, **options})


class _RememberingTask(VoiceTask):
    """Keeps what was said, for the results of a batch."""

    exchanges: dict[str, Exchange]
    """By the name of the attempt."""

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self.exchanges = {}

    async def exchange(self, prompt: str) -> Exchange:
        found = await super().exchange(prompt)
        if (attempt := current_attempt()) is not None:
            self.exchanges[attempt.name] = found
        return found


def _single(record: Record, exchange: Exchange | None, index: int) -> SingleRunResult:
    """One run of a batch, from its record."""
    prompt: str = record.inputs
    result: EvalResult | None = None
    error: str | None = None
    if isinstance(record, ReportCaseFailure):
        error = record.error_message
    elif record.evaluator_failures:
        error = record.evaluator_failures[0].error_message
    else:
        result = record.results[0].original
    if result is None:
        result = EvalResult(passed=False, expected=record.expected_output, actual=[])
    result.prompt = prompt
    if exchange is not None:
        result.audio, result.response, result.timings = exchange
    return SingleRunResult(prompt, index, result, error)


# ---------------------------------------------------------------------- what is given


def _default_evaluator(expected: list[ToolCall]) -> Evaluator:
    """Exact; and where no call is expected, every call is one too many."""
    return ExactEvaluator(ignore_extra_calls=bool(expected))


def _calls(expect: Any) -> list[ToolCall]:
    """The expected calls; each may be written as a mapping with `name` and `arguments`."""
    if isinstance(expect, ToolCall):
        expect = [expect]
    listed = [ToolCall(**call) if isinstance(call, Mapping) else call for call in expect]
    if not are_tool_calls(listed):
        raise InvalidOptionError(f"expect is a list of tool calls, got {expect!r:.200}")
    return list(listed)


def _heard(audio: Any, synthesizer: Any) -> Audio:
    if not isinstance(audio, Audio):
        raise TaskContractError(
            f"{type(synthesizer).__name__}.synthesize must give an Audio, got {audio!r:.200}"
        )
    return audio


def _name_of(agent: Any) -> str:
    for attribute in ("name", "__name__"):
        if isinstance(given := getattr(agent, attribute, None), str) and given:
            return given
    return type(agent).__name__
