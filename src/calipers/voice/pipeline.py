"""From a prompt to a judgement: say it, let the agent hear it, compare the calls.

`VoiceTask` is a task for a `Dataset` whose cases have the prompt as inputs and the expected calls as expected output. It gives a
`Trace`, so every evaluator of traces or tool calls may judge it. `run` is one prompt with one judgement; `run_concurrent` is
many, on the same runner as every other evaluation.

Without a synthesizer the prompt goes to the agent as text, which needs an agent that reads (`run_text`). Where a prompt is
repeated, a perturbation draws anew for each repeat.
"""

import copy
import inspect
from collections import Counter
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from calipers.data.argument_checks import check_whole_number
from calipers.data.attempt import increment_eval_metric, running_attempt, set_eval_attribute
from calipers.data.case import Case
from calipers.data.context import are_tool_calls
from calipers.data.evaluator_output import read_parts
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationReason, check_score
from calipers.data.result_names import unique
from calipers.data.trace import ToolCall, Trace
from calipers.errors import (
    AgentReplyError,
    AgentTimeoutError,
    InvalidOptionError,
    InvalidOutputError,
    TaskContractError,
)
from calipers.process.interrupt import Terminated
from calipers.report.report import Report
from calipers.run.dataset import Dataset

from .audio import Audio
from .cache import check_folder
from .evaluators import ExactEvaluator
from .expectation import expected_calls
from .function_agent import as_response, called, can_read
from .perturbations import Chain, Perturbation
from .protocols import Agent, Evaluator, Perturbs, Synthesizer, TextAgent, check_options, check_part
from .response import AgentResponse
from .result import BatchResult, EvalResult, SingleRunResult

Record: TypeAlias = ReportCase | ReportCaseFailure

Expectation: TypeAlias = str | ToolCall | Mapping[str, Any] | Sequence[str | ToolCall | Mapping[str, Any]]
"""Expected calls: one or a list of them, each a call, the name of a tool, or plain data; see `expectation`."""

_NAME = 60
"""Characters of a prompt in the name of its case."""


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
        keep_audio: bool | str | Path = True,
        name: str | None = None,
    ) -> None:
        """Store the parts.

        Args:
            agent: hears or reads the prompt.
            synthesizer: says it; without one, the agent reads.
            perturbation: makes it harder to understand.
            keep_audio: whether to keep what the agent heard in memory; or a folder to keep it in, one file per sound.
            name: of the agent in traces and reports; default: its own.
        """
        self.agent = agent
        self.synthesizer = synthesizer
        self.perturbation = perturbation
        self.keep_audio = keep_audio
        self.name = name or _name_of(agent)
        self.__name__ = self.name
        if isinstance(agent, type):
            check_part(agent, Agent, "agent", "run(audio)")
        if synthesizer is None and not can_read(agent):
            raise InvalidOptionError(
                f"{self.name!r} cannot read a text (it has no run_text, or no function for it): give a synthesizer, "
                "so that it can hear it"
            )
        if synthesizer is None and perturbation is not None:
            raise InvalidOptionError("a perturbation changes sound: give a synthesizer")
        if synthesizer is not None:
            check_part(agent, Agent, "agent", "run(audio)")
            check_part(synthesizer, Synthesizer, "synthesizer", "synthesize(text)")
        if perturbation is not None:
            check_part(perturbation, Perturbs, "perturbation", "apply(audio)")
        if not isinstance(keep_audio, bool):
            if not isinstance(keep_audio, str | Path):
                raise InvalidOptionError(f"keep_audio is True, False or a folder, got {keep_audio!r:.200}")
            check_folder(Path(keep_audio))
        check_options(agent, "agent")
        check_options(synthesizer, "synthesizer")

    async def exchange(self, prompt: str) -> Exchange:
        """Say the prompt and hear the answer.

        Raises:
            AgentTimeoutError: the agent had not finished when its time was up.
            AgentReplyError: what it gave is no answer, as its parser found.
            TaskContractError: the prompt is not a text, or a part gave what it should not.
        """
        if not isinstance(prompt, str):
            raise TaskContractError(
                f"the inputs of a spoken case are its prompt, a text, got {prompt!r:.200}"
            )
        timings: dict[str, float] = {}
        audio: Audio | None = None
        start = perf_counter()
        agent: Any = self.agent  # of the kind that is needed: see `__init__`
        if self.synthesizer is None:
            answer = await called(agent.run_text, prompt)
        else:
            audio = _heard(await called(self.synthesizer.synthesize, prompt), self.synthesizer)
            timings["synthesize"], start = perf_counter() - start, perf_counter()
            if self.perturbation is not None:
                audio = _heard(await called(_drawn(self.perturbation).apply, audio), self.perturbation)
                timings["perturb"], start = perf_counter() - start, perf_counter()
            answer = await called(agent.run, audio)
        timings["agent"] = perf_counter() - start
        response = as_response(answer, by=self.name)
        if response.timed_out:
            raise AgentTimeoutError(f"the agent {self.name!r} had not finished when its time was up")
        if response.problems and (why := response.no_answer) is not None:
            raise AgentReplyError(f"the agent {self.name!r} gave no answer: {why}", response=response)
        return Exchange(audio, response, timings)

    async def __call__(self, prompt: str) -> Any:
        """The exchange as a `Trace`; audio, transcript and timings go into the attempt's attributes and metrics.

        To type checkers it is `Any`, since the expected output of a spoken case is not a trace but the calls in it.
        """
        audio, response, timings = await self.exchange(prompt)
        for stage, seconds in timings.items():
            increment_eval_metric(f"{stage}_seconds", seconds)
        if audio is not None and self.keep_audio is not False:
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
        if isinstance(self.keep_audio, bool):
            return audio
        path = Path(self.keep_audio) / f"{audio.digest}.wav"
        return str(path if path.exists() else audio.save(path))


async def run(
    *,
    prompt: str,
    agent: Agent | TextAgent,
    expect: Expectation,
    evaluator: Evaluator | None = None,
    synthesizer: Synthesizer | None = None,
    perturbation: Perturbs | None = None,
) -> EvalResult:
    """Say one prompt and judge the calls that it led to. What fails raises.

    Args:
        prompt: what to say.
        agent: hears it.
        expect: the calls it should make, or the names of tools; an empty list says that it should make none.
        evaluator: compares the calls; default: `ExactEvaluator`.
        synthesizer: says it; without one, the agent reads the prompt.
        perturbation: makes it harder to understand.

    Raises:
        InvalidOutputError: the evaluator's verdict is not a bool, or its score is not a finite number.
    """
    expected, evaluator = expected_calls(expect), _checked(evaluator)
    audio, response, timings = await VoiceTask(agent, synthesizer, perturbation=perturbation).exchange(prompt)
    result = await evaluated(evaluator, expected, response.tool_calls, by_name=_takes_names(evaluator))
    read_parts(result)
    result.prompt, result.audio, result.response = prompt, audio, response
    result.timings = {**timings, **result.timings}
    return result


async def evaluated(
    evaluator: Evaluator, expected: list[ToolCall], actual: list[ToolCall], *, by_name: bool
) -> EvalResult:
    """What an evaluator says of the calls, and how long it took; `by_name` passes them by the names of its parameters."""
    found = _asked(evaluator, expected, actual, by_name=by_name)
    return await found if inspect.isawaitable(found) else found


def _asked(
    evaluator: Evaluator, expected: list[ToolCall], actual: list[ToolCall], *, by_name: bool
) -> EvalResult | Awaitable[EvalResult]:
    """The same, to be waited for only if the evaluator has to be."""
    start = perf_counter()
    ask: Any = evaluator.evaluate
    wanted, made = list(expected), list(actual)
    found = ask(expected=wanted, actual=made) if by_name else ask(wanted, made)

    def timed(said: Any) -> EvalResult:
        result = _as_result(said, evaluator, expected, actual)
        result.timings = {**result.timings, "evaluate": perf_counter() - start}
        return result

    async def later() -> EvalResult:
        return timed(await found)

    return later() if inspect.isawaitable(found) else timed(found)


def _as_result(
    said: Any, evaluator: Evaluator, expected: list[ToolCall], actual: list[ToolCall]
) -> EvalResult:
    """A judgement in our words. A bare score passes from the `threshold` of its evaluator on, or where it is full."""
    if isinstance(said, EvalResult):
        return copy.copy(said)  # an evaluator may give one object for several requests
    value, reason = (said.value, said.reason or "") if isinstance(said, EvaluationReason) else (said, "")
    if isinstance(value, bool):
        return EvalResult(value, expected, actual, reason=reason)
    try:
        check_score(value)
    except InvalidOutputError:
        raise TaskContractError(
            f"{type(evaluator).__name__}.evaluate must give a calipers.voice.EvalResult, a bool or a score from 0 to 1, "
            f"got {said!r:.200}"
        ) from None
    threshold = getattr(evaluator, "threshold", None)
    least = 1.0 if threshold is None else float(threshold)
    way_out = "" if threshold is not None else ": give the evaluator a `threshold` from which a score passes"
    why = reason or f"score {float(value):.3g}, passes from {least:.3g}{way_out}"
    return EvalResult(float(value) >= least, expected, actual, score=float(value), reason=why)


def _takes_names(evaluator: Evaluator) -> bool:
    """Whether an evaluator's parameters have our names, in any order."""
    parameters = inspect.signature(evaluator.evaluate).parameters.values()
    return {"expected", "actual"} <= {
        each.name for each in parameters if each.kind is not each.POSITIONAL_ONLY
    }


async def run_concurrent(
    *,
    prompts: str | Sequence[str],
    agent: Agent | TextAgent,
    expect: Expectation | Mapping[str, Expectation],
    evaluator: Evaluator | None = None,
    synthesizer: Synthesizer | None = None,
    perturbation: Perturbs | None = None,
    runs: int = 1,
    max_concurrency: int | None = None,
    task_timeout: float | None = None,
    **options: Any,
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
        **options: further ones of `Dataset.evaluate`, such as `retry` and `seed`.
    """
    refuse_name(options, "repeat", instead="runs")
    if not isinstance(prompts, Iterable):
        raise InvalidOptionError(f"prompts is a text, or a list of texts, got {prompts!r:.200}")
    check_whole_number("runs", runs, at_least=1)
    said = [prompts] if isinstance(prompts, str) else list(prompts)
    if not said:
        raise InvalidOptionError("there are no prompts to say: a batch of nothing proves nothing")
    if isinstance(expect, Mapping) and (missing := [prompt for prompt in said if prompt not in expect]):
        raise InvalidOptionError(
            f"nothing is expected of the prompt {missing[0]!r}: expect has the calls of each prompt, by the prompt, or a list "
            "for all of them"
        )
    wanted = [expected_calls(expect[prompt] if isinstance(expect, Mapping) else expect) for prompt in said]
    cases = [
        Case(name=name, inputs=prompt, expected_output=expected)
        for name, prompt, expected in zip(case_names(said), said, wanted, strict=True)
    ]
    task = _RememberingTask(agent, synthesizer, perturbation=perturbation)
    report = await evaluate_calls(
        cases,
        task,
        evaluator=evaluator,
        repeat=runs,
        max_concurrency=max_concurrency,
        task_timeout=task_timeout,
        **options,
    )
    records: dict[str, Record] = {record.name: record for record in report.cases}
    records |= {record.name: record for record in report.failures}
    attempts = [
        (index, f"{case.name}" if runs == 1 else f"{case.name} [{index + 1}/{runs}]")
        for case in cases
        for index in range(runs)
    ]
    found = [
        _single(records[name], task.exchanges.get(name), index) for index, name in attempts if name in records
    ]
    return BatchResult(found, report)


async def evaluate_calls(
    cases: Iterable[Case[str, Any, Any]],
    task: VoiceTask,
    *,
    evaluator: Evaluator | None = None,
    name: str = "voice",
    **options: Any,
) -> Report:
    """Run spoken cases on the common runner, judged by a voice evaluator; the options are those of `Dataset.evaluate`."""
    checked = _checked(evaluator)
    by_name = _takes_names(checked)
    listed = [_with_calls(case) for case in cases]

    async def waits(expected: list[ToolCall], actual: list[ToolCall]) -> EvalResult:
        return await evaluated(checked, expected, actual, by_name=by_name)

    def calls(expected: list[ToolCall], actual: list[ToolCall]) -> EvalResult | Awaitable[EvalResult]:
        return _asked(checked, expected, actual, by_name=by_name)

    waits.__name__ = calls.__name__
    judge = waits if inspect.iscoroutinefunction(checked.evaluate) else calls
    dataset: Dataset[str, Any, Any] = Dataset(name=name, cases=listed, evaluators=[judge])
    chosen: dict[str, Any] = {"progress": False, **options}
    return await dataset.evaluate(task, name=name, **chosen)


def whole(report: Report) -> Report:
    """The report, if all of it is there: several that are compared must be of the same cases.

    Raises:
        KeyboardInterrupt: the run was ended by Ctrl-C or SIGTERM, which is meant for the comparison as a whole.
    """
    if report.interrupted_by is not None:
        raise Terminated if report.interrupted_by == "SIGTERM" else KeyboardInterrupt
    return report


def shown_errors(report: Report) -> str:
    """How many runs ended in an error, and in which; "" if none did. They count as wrong, as if the agent had misheard."""
    kinds = Counter(record.error_type for record in report.failures)
    kinds.update(
        record.evaluator_failures[0].error_type for record in report.cases if record.evaluator_failures
    )
    if not kinds:
        return ""
    runs = len(report.cases) + len(report.failures)
    listed = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
    return f"{kinds.total()} of {runs} ended in an error and count as wrong: {listed}"


class _RememberingTask(VoiceTask):
    """Keeps what was said, for the results of a batch."""

    exchanges: dict[str, Exchange]
    """By the name of the attempt."""

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self.exchanges = {}

    async def exchange(self, prompt: str) -> Exchange:
        found = await super().exchange(prompt)
        if (attempt := running_attempt()) is not None:
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
        result = EvalResult(passed=False, expected=record.expected_output or [], actual=[])
    result.prompt = prompt
    if exchange is not None:
        result.audio, result.response = exchange.audio, exchange.response
        result.timings = {**exchange.timings, **result.timings}
    return SingleRunResult(prompt, index, result, error)


# ---------------------------------------------------------------------- what is given


def _checked(evaluator: Evaluator | None) -> Evaluator:
    """The evaluator, or the default; checked before anything is said, rather than once for each request."""
    if evaluator is None:
        return ExactEvaluator()
    check_part(evaluator, Evaluator, "evaluator", "evaluate(expected, actual)")
    return evaluator


def _with_calls(case: Case[str, Any, Any]) -> Case[str, Any, Any]:
    """The case, with its expectation as a list of calls."""
    if isinstance(case, Case) and not case.has_expected_output:
        raise InvalidOptionError(
            f"nothing is expected of {case.inputs!r:.200}: give it the calls as expected_output, or an empty list"
        )
    if not isinstance(case, Case) or are_tool_calls(case.expected_output):
        return case
    found = copy.copy(case)
    found.expected_output = expected_calls(case.expected_output)
    return found


def check_cases(cases: Any) -> list[Case[str, Any, Any]]:
    """The cases, as a list."""
    if isinstance(cases, Dataset):
        raise InvalidOptionError(
            "cases is a list of cases, got a Dataset: give dataset.cases; evaluator= says how they are judged"
        )
    if isinstance(cases, Case):
        raise InvalidOptionError(f"cases is a list of cases, got one: give [{cases!r:.200}]")
    if not isinstance(cases, Iterable) or isinstance(cases, str | Mapping):
        raise InvalidOptionError(f"cases is a list of cases, got {cases!r:.200}")
    return list(cases)


def refuse_name(options: Mapping[str, Any], name: str, *, instead: str) -> None:
    """Refuse an option that has another name here."""
    if name in options:
        raise InvalidOptionError(f"{name}={options[name]!r:.200} is called {instead} here: pass {instead}=")


def case_names(prompts: Iterable[Any], *, taken: Iterable[str] = ()) -> Iterator[str]:
    """A name of its own for each prompt, different from those that are taken."""
    known = set(taken)
    for prompt in prompts:
        text = str(prompt) or "(nothing)"
        known.add(name := unique(text if len(text) <= _NAME else f"{text[:_NAME]}…", known))
        yield name


def _drawn(perturbation: Perturbs) -> Perturbs:
    """The perturbation as the current repeat of its case draws it; the first one as it was given."""
    attempt = running_attempt()
    again = 0 if attempt is None else attempt.repeat_index - 1
    if not again or not isinstance(perturbation, Perturbation):
        return perturbation
    return Chain(*(part.with_seed(getattr(part, "seed", 0) + again) for part in perturbation.parts))


def _heard(audio: Any, by: Any) -> Audio:
    if not isinstance(audio, Audio):
        raise TaskContractError(f"{type(by).__name__} must give an Audio, got {audio!r:.200}")
    if audio.is_empty:  # an agent that hears nothing does nothing, which must not pass for understanding
        raise TaskContractError(
            f"{type(by).__name__} gave an Audio without a single frame: there is nothing to hear"
        )
    return audio


def _name_of(agent: Any) -> str:
    for attribute in ("name", "__name__"):
        if isinstance(given := getattr(agent, attribute, None), str) and given:
            return given
    return type(agent).__name__
