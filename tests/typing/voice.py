# pyright: reportUnnecessaryTypeIgnoreComment=true
"""A voice test as users write it: parts without a base class, results with their types."""

from typing import Any, assert_type

from calipers import Case, Dataset, Report, ToolCall
from calipers.stats import Estimate
from calipers.voice import (
    AgentResponse,
    Audio,
    BatchResult,
    EvalResult,
    ExactEvaluator,
    FunctionAgent,
    LossSplit,
    Sweep,
    TranscriptErrors,
    VoiceFile,
    VoiceTask,
    agent,
    load_voice_file,
    run,
    run_concurrent,
    split_loss,
    sweep,
    tool_call,
    transcript_errors,
)
from calipers.voice.perturbations import Noise


class Voice:
    async def synthesize(self, text: str) -> Audio:
        return Audio(text.encode())


class BlockingVoice:
    def synthesize(self, text: str) -> Audio:
        return Audio(text.encode())


class Ear:
    async def run(self, audio: Audio) -> AgentResponse:
        return AgentResponse()

    async def run_text(self, text: str) -> AgentResponse:
        return AgentResponse()


class Reader:
    def run_text(self, text: str) -> AgentResponse:
        return AgentResponse()


class Judge:
    def evaluate(self, expected: list[ToolCall], actual: list[ToolCall]) -> EvalResult:
        return EvalResult(passed=True, expected=expected, actual=actual)


@agent
async def assistant(audio: Audio) -> AgentResponse:
    return AgentResponse()


async def tests() -> None:
    assert_type(assistant, FunctionAgent)
    expect = [tool_call("go", to="LA")]
    one = await run(prompt="go", synthesizer=Voice(), agent=Ear(), evaluator=Judge(), expect=expect)
    assert_type(one, EvalResult)
    assert_type(await run(prompt="go", agent=Reader(), expect=expect), EvalResult)
    many = await run_concurrent(
        prompts=["go"], synthesizer=BlockingVoice(), agent=assistant, expect={"go": expect}, runs=3, seed=1
    )
    assert_type(many, BatchResult)
    assert_type(many.report, Report)
    cases = [Case(name="go", inputs="go", expected_output=expect)]
    split = await split_loss(cases, agent=Ear(), synthesizer=Voice(), perturbation=Noise(10))
    assert_type(split, LossSplit)
    assert_type(split.text, Estimate)
    curve = await sweep(cases, {None: None, **Noise.levels([10])}, agent=Ear(), synthesizer=Voice())
    assert_type(curve, Sweep)
    assert_type(transcript_errors(many.report), TranscriptErrors | None)
    await run(prompt="go", agent=Ear(), expect=expect, evaluator=object())  # type: ignore[arg-type]
    await run(prompt="go", agent=Voice(), expect=expect)  # type: ignore[arg-type]


def as_a_dataset(file: VoiceFile) -> Report:
    assert_type(load_voice_file("home.yaml"), VoiceFile)
    dataset: Dataset[str, list[ToolCall], Any] = file.dataset()
    dataset.add_evaluator(ExactEvaluator())
    return dataset.evaluate_sync(VoiceTask(Ear(), Voice(), keep_audio="heard"))
