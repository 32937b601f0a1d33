"""From a prompt to a judgement."""

import asyncio
import json
import re

import pytest

from calipers import Case, Dataset, ToolCall
from calipers.errors import (
    AgentReplyError,
    AgentTimeoutError,
    InvalidOptionError,
    InvalidOutputError,
    TaskContractError,
)
from calipers.evaluators import EvaluationReason
from calipers.report.incomplete import Incomplete
from calipers.report.report import Report
from calipers.voice import (
    AgentResponse,
    Audio,
    EvalResult,
    ExactEvaluator,
    VoiceTask,
    agent,
    run,
    run_concurrent,
    tool_call,
)
from calipers.voice.parsers import JsonResponseParser
from calipers.voice.perturbations import Gain


class Voice:
    """Says a text by putting it into the samples."""

    def synthesize(self, text):
        if text == "mute":
            raise RuntimeError("lost its voice")
        return Audio(text.encode("utf-16-le"), "pcm", sample_rate=16000)


class AsyncVoice(Voice):
    async def synthesize(self, text):
        return super().synthesize(text)


@agent
async def ear(audio):
    """Does what it hears: `go LA` calls go(to='LA')."""
    heard = audio.pcm.decode("utf-16-le")
    if heard == "late":
        return AgentResponse(timed_out=True)
    if heard == "crash":
        raise ValueError("fell over")
    name, _, to = heard.partition(" ")
    return AgentResponse([ToolCall(name, {"to": to})], transcript=heard)


ear = ear.for_text(lambda text: [ToolCall("read", {"to": text})])


def do(**options):
    return asyncio.run(run(**{"agent": ear, "synthesizer": Voice(), **options}))


def batch(**options):
    return asyncio.run(run_concurrent(**{"agent": ear, "synthesizer": Voice(), **options}))


@pytest.mark.parametrize("voice", [Voice(), AsyncVoice()])
def test_a_prompt_is_said_heard_and_judged(voice):
    result = do(prompt="go LA", synthesizer=voice, expect=[tool_call("go", to="LA")])
    assert result.passed
    assert result.prompt == "go LA"
    assert result.audio == voice.synthesize("go LA") if voice is Voice else result.audio is not None
    assert result.response.transcript == "go LA"
    assert list(result.timings) == ["synthesize", "agent", "evaluate"]


def test_without_a_synthesizer_the_agent_reads():
    result = do(prompt="hello", synthesizer=None, expect=[tool_call("read", to="hello")])
    assert result.passed
    assert result.audio is None


def test_an_evaluator_may_be_async_and_gets_lists_by_name():
    class Judge:
        async def evaluate(self, *, expected, actual):
            return EvalResult(
                passed=len(expected) == len(actual), expected=expected, actual=actual, score=0.5
            )

    result = do(prompt="go LA", expect=(tool_call("stay"),), evaluator=Judge())
    assert (result.passed, result.score, type(result.expected)) == (True, 0.5, list)


def test_an_evaluator_may_call_its_parameters_as_it_likes():
    class Judge:
        def evaluate(self, e, a):
            return EvalResult(passed=e[0].name == "stay" and a[0].name == "go", expected=e, actual=a)

    class Turned:
        def evaluate(self, actual, expected):
            return EvalResult(passed=expected[0].name == "stay", expected=expected, actual=actual)

    for judge in (Judge(), Turned()):
        assert do(prompt="go LA", expect=[tool_call("stay")], evaluator=judge).passed


def test_in_a_batch_the_number_of_runs_has_one_name():
    with pytest.raises(InvalidOptionError, match="repeat=3 is called runs here: pass runs="):
        asyncio.run(run_concurrent(prompts=["go LA"], agent=ear, expect=[], repeat=3))


def test_calls_where_none_are_expected_do_not_pass():
    assert not do(prompt="go LA", expect=[]).passed
    silent = agent(lambda audio: [])
    assert do(prompt="go LA", agent=silent, expect=[]).passed


def test_expected_calls_may_be_written_as_mappings():
    assert do(prompt="go LA", expect=[{"name": "go", "arguments": {"to": "LA"}}]).passed


def test_a_perturbation_is_applied_and_timed():
    result = do(prompt="go LA", perturbation=Gain(0), expect=[])
    assert list(result.timings) == ["synthesize", "perturb", "agent", "evaluate"]


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"prompt": "mute"}, RuntimeError, "lost its voice"),
        ({"prompt": "crash"}, ValueError, "fell over"),
        ({"prompt": "late"}, AgentTimeoutError, "had not finished"),
        ({"agent": object()}, InvalidOptionError, "no method run"),
        ({"agent": object(), "synthesizer": None}, InvalidOptionError, "no run_text"),
        ({"synthesizer": None, "perturbation": Gain(1)}, InvalidOptionError, "give a synthesizer"),
        ({"expect": None}, InvalidOptionError, "list of tool calls"),
        ({"prompt": 3}, TaskContractError, "a text, got 3"),
        ({"evaluator": "exact"}, InvalidOptionError, "'exact' is not a valid evaluator"),
        (
            {"synthesizer": "espeak"},
            InvalidOptionError,
            "'espeak' is not a valid synthesizer: it has no method synthesize(text)",
        ),
        (
            {"perturbation": "noise"},
            InvalidOptionError,
            "'noise' is not a valid perturbation: it has no method apply(audio)",
        ),
        (
            {"synthesizer": Voice},
            InvalidOptionError,
            "give one of its objects as the synthesizer, such as Voice()",
        ),
        ({"evaluator": ExactEvaluator}, InvalidOptionError, "such as ExactEvaluator()"),
        (
            {"perturbation": type("Wrong", (), {"apply": lambda self, audio: b""})()},
            TaskContractError,
            "Wrong must give an Audio",
        ),
        (
            {"evaluator": type("Wrong", (), {"evaluate": lambda self, expected, actual: "yes"})()},
            TaskContractError,
            "Wrong.evaluate must give a calipers.voice.EvalResult, a bool or a score from 0 to 1, got 'yes'",
        ),
        (
            {"synthesizer": type("Wrong", (), {"synthesize": lambda self, text: b""})()},
            TaskContractError,
            "an Audio",
        ),
    ],
)
def test_what_fails_raises_with_what_it_was(options, error, says):
    with pytest.raises(error, match=re.escape(says)):
        do(**{"prompt": "go LA", "expect": [tool_call("go", to="LA")], **options})


@pytest.mark.parametrize("judgement", [{"passed": "no"}, {"passed": True, "score": float("nan")}])
def test_what_is_no_judgement_does_not_pass(judgement):
    class Judge:
        def evaluate(self, expected, actual):
            return EvalResult(expected=expected, actual=actual, **judgement)

    with pytest.raises(InvalidOutputError):
        do(prompt="go LA", expect=[], evaluator=Judge())
    assert not batch(prompts=["go LA"], expect=[], evaluator=Judge()).passed


# ---------------------------------------------------------------------- batches


def test_an_evaluator_may_keep_its_result_and_change_its_lists():
    class Judge:
        same = EvalResult(True, [], [])

        def evaluate(self, expected, actual):
            assert expected == [tool_call("go")]
            expected.clear()
            actual.clear()
            return self.same

    found = batch(prompts=["go LA", "go SF"], expect=[tool_call("go")], runs=2, evaluator=Judge())
    assert [each.error for each in found.runs] == [None] * 4
    assert [each.eval_result.prompt for each in found.runs] == ["go LA", "go LA", "go SF", "go SF"]
    assert all(each.eval_result.response.tool_calls for each in found.runs)
    assert Judge.same == EvalResult(True, [], [])


def test_a_batch_goes_prompt_by_prompt_and_a_failing_run_ends_no_other():
    result = batch(
        prompts=["go LA", "crash", "late", "mute", "go SF"],
        expect=[tool_call("go", to="LA")],
        runs=2,
        max_concurrency=3,
    )
    assert [(run.prompt, run.run_index) for run in result.runs] == [
        (prompt, index) for prompt in ("go LA", "crash", "late", "mute", "go SF") for index in (0, 1)
    ]
    assert (result.total, result.passed_count, result.failed_count, result.error_count) == (10, 2, 8, 6)
    assert (result.passed, result.pass_rate, result.match_rate) == (False, 0.2, 0.2)
    assert [run.error for run in result.runs[::2]] == [
        None,
        "ValueError: fell over",
        "AgentTimeoutError: the agent 'ear' had not finished when its time was up",
        "RuntimeError: lost its voice",
        None,
    ]
    assert result.runs[0].eval_result.response.transcript == "go LA"
    assert result.runs[0].eval_result.audio is not None
    assert sorted(result.runs[0].eval_result.timings) == ["agent", "evaluate", "synthesize"]
    assert result.runs[2].eval_result.audio is None


def test_the_summary_of_a_batch_goes_prompt_by_prompt():
    result = batch(prompts=["go LA", "crash"], expect=[tool_call("go", to="LA")], runs=2)
    assert result.summary() == (
        "FAILED (50% pass rate, 4 runs)\n"
        "  Passed: 2/4\n"
        "  Prompt: 'go LA'\n"
        "    2/2 passed\n"
        "    [+] run 0: 100% match\n"
        "    [+] run 1: 100% match\n"
        "  Prompt: 'crash'\n"
        "    0/2 passed\n"
        "    [-] run 0: ValueError: fell over\n"
        "    [-] run 1: ValueError: fell over"
    )


def test_the_summary_of_a_batch_says_what_differed():
    result = batch(prompts="go SF", expect=[tool_call("go", to="LA")])
    assert result.summary().splitlines()[-3:] == [
        "    [-] run 0: 0% match",
        "        [-] go({'to': 'LA'}) -> go({'to': 'SF'})",
        "            to: expected 'LA', got 'SF'",
    ]


def test_each_prompt_may_have_its_own_expectation():
    result = batch(
        prompts=["go LA", "go SF"],
        expect={"go LA": [tool_call("go", to="LA")], "go SF": [tool_call("go", to="SF")]},
    )
    assert result.passed
    assert result.report.pass_rate().interval is not None


def test_the_report_of_a_batch_is_named_for_its_prompts():
    result = batch(prompts=["go LA", "go LA", "go " + "far " * 50], expect=[])
    names = [case.name for case in result.report.cases]
    assert names[:2] == ["go LA", "go LA_2"]
    assert len(names[2]) == 61


def test_a_batch_that_was_interrupted_did_not_pass():
    result = batch(prompts="go LA", expect=[tool_call("go", to="LA")])
    assert result.passed
    result.report.incomplete = Incomplete(
        "interrupted", "interrupted by Ctrl-C after 1 of 2 attempts", by="Ctrl-C"
    )
    assert not result.passed


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"prompts": []}, "no prompts"),
        ({"max_concurrency": 0}, "max_concurrency"),
        ({"expect": {"go SF": []}}, "nothing is expected of the prompt 'go LA'"),
    ],
)
def test_a_batch_of_nothing_proves_nothing(options, says):
    with pytest.raises(InvalidOptionError, match=says):
        batch(**{"prompts": "go LA", "expect": [], **options})


# ---------------------------------------------------------------------- as a dataset


def test_spoken_cases_run_as_a_dataset_with_evaluators_of_every_room():
    def took_time(trace) -> bool:
        return trace.latency_measured and trace.input_text == "go LA"

    dataset = Dataset(
        cases=[Case(name="LA", inputs="go LA", expected_output=[tool_call("go", to="LA")])],
        evaluators=[ExactEvaluator(), took_time],
    )
    (case,) = dataset.evaluate_sync(VoiceTask(ear, Voice()), progress=False).cases
    assert {name: result.value for name, result in case.assertions.items()} == {
        "ExactEvaluator": True,
        "took_time": True,
    }
    assert case.attributes["transcript"] == "go LA"
    assert case.attributes["audio"].pcm.decode("utf-16-le") == "go LA"
    assert sorted(case.metrics) == ["agent_seconds", "synthesize_seconds"]
    assert case.trace.tool_calls == (tool_call("go", to="LA"),)


def test_audio_may_be_kept_in_a_folder(tmp_path):
    dataset = Dataset(cases=[Case(inputs="go LA"), Case(inputs="go LA")])
    report = dataset.evaluate_sync(VoiceTask(ear, Voice(), keep_audio=tmp_path), progress=False)
    paths = {case.attributes["audio"] for case in report.cases}
    assert len(paths) == 1
    assert Audio.load(paths.pop()).pcm.decode("utf-16-le") == "go LA"


def test_audio_need_not_be_kept():
    report = Dataset(cases=[Case(inputs="go LA")]).evaluate_sync(
        VoiceTask(ear, Voice(), keep_audio=False), progress=False
    )
    assert "audio" not in report.cases[0].attributes


def test_a_stored_report_does_not_hold_the_sound():
    report = Dataset(cases=[Case(inputs="go " * 10_000)]).evaluate_sync(
        VoiceTask(ear, Voice()), progress=False
    )
    stored = json.dumps(report.to_dict()["cases"][0]["attributes"]["audio"])
    assert len(stored) < 200


def test_inputs_that_are_no_text_fail_with_the_reason():
    report = Dataset(cases=[Case(inputs=3)]).evaluate_sync(VoiceTask(ear, Voice()), progress=False)
    assert "the inputs of a spoken case are its prompt" in report.failures[0].error_message


@pytest.mark.parametrize("answer", [{}, {"error": "overloaded"}, {"status": "ok"}], ids=str)
def test_an_answer_that_is_none_fails_its_run_even_where_no_call_is_expected(answer):
    @agent
    def confused(audio):
        return JsonResponseParser().parse(answer)

    found = batch(prompts="Be quiet", agent=confused, expect=[])
    assert not found.passed
    assert "the agent 'confused' gave no answer" in found.runs[0].error
    with pytest.raises(AgentReplyError, match="gave no answer"):
        do(prompt="Be quiet", agent=confused, expect=[])


@pytest.mark.parametrize(
    "sound",
    [Audio(b""), Audio(b"", "pcm"), Audio(b"x", "pcm"), Audio(b"", "mp3"), Audio.silence(0)],
    ids=["bytes", "pcm", "half a frame", "mp3", "wav"],
)
def test_a_request_that_was_not_said_fails_even_where_no_call_is_expected(sound):
    class Mute:
        def synthesize(self, text):
            return sound

    @agent
    def deaf(audio):
        return []

    found = batch(prompts="Be quiet", agent=deaf, synthesizer=Mute(), expect=[])
    assert not found.passed
    assert "Mute gave an Audio without a single frame" in found.runs[0].error


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"prompts": None}, "prompts is a text, or a list of texts, got None"),
        ({"runs": 0}, "runs must be a whole number from 1, got 0"),
        ({"runs": 1.5}, "runs must be a whole number from 1, got 1.5"),
        ({"runs": True}, "runs must be a whole number from 1, got True"),
        ({"agent": agent(lambda audio: []), "synthesizer": None}, "cannot read a text"),
    ],
    ids=["no prompts", "no runs", "a run and a half", "truth", "only hears"],
)
def test_what_a_batch_cannot_be_is_told_before_anything_is_said(options, says):
    with pytest.raises(InvalidOptionError, match=re.escape(says)):
        batch(**{"prompts": ["go LA"], "expect": [], **options})


def test_what_a_report_keeps_of_spoken_requests_is_small_plain_data_that_can_be_judged_again(tmp_path):
    expected = {"go LA": "go", "stop now": [{"name": "stop", "arguments": {"to": "now"}}], "go SF": []}
    cases = [Case(name=text, inputs=text, expected_output=calls) for text, calls in expected.items()]
    dataset = Dataset(name="stored", cases=cases, evaluators=[ExactEvaluator()])
    for keep in (True, tmp_path / "heard"):
        task = VoiceTask(ear, Voice(), perturbation=Gain(0), keep_audio=keep)
        report = dataset.evaluate_sync(task, repeat=2, progress=False)
        text = json.dumps(report.to_dict())
        stored = Report.from_dict(json.loads(text))
        assert len(text) < 20_000
        assert stored.pass_rate() == report.pass_rate()
        for record, before in zip(stored.cases, report.cases, strict=True):
            judged = ExactEvaluator().evaluate(record.expected_output, record.trace)
            assert judged.passed is before.results[0].value
            heard, kept = record.attributes["audio"], before.attributes["audio"]
            assert heard == (str(kept) if keep is not True else kept.plain_data())
    assert len(list((tmp_path / "heard").iterdir())) == 3


class Confidence:
    """Gives a score instead of a verdict."""

    def __init__(self, said):
        self.said = said

    def evaluate(self, expected, actual):
        return self.said


class Tolerant(Confidence):
    threshold = 0.75


@pytest.mark.parametrize(
    ("evaluator", "passed", "score", "reason"),
    [
        (Confidence(0.8), False, 0.8, "score 0.8, passes from 1: give the evaluator a `threshold`"),
        (Confidence(1.0), True, 1.0, "score 1, passes from 1"),
        (Tolerant(0.8), True, 0.8, "score 0.8, passes from 0.75"),
        (Tolerant(0.7), False, 0.7, "score 0.7, passes from 0.75"),
        (Tolerant(EvaluationReason(0.8, "close enough")), True, 0.8, "close enough"),
        (Confidence(True), True, None, ""),
        (Confidence(EvaluationReason(False, "wrong city")), False, None, "wrong city"),
    ],
)
def test_an_evaluator_may_give_a_score_or_only_whether_it_passed(evaluator, passed, score, reason):
    options = {"prompt": "go LA", "expect": [tool_call("go", to="LA")], "evaluator": evaluator}
    result = do(**options)
    assert (result.passed, result.score) == (passed, score)
    assert result.reason.startswith(reason)
    assert result.reason in result.summary()
    many = batch(prompts=[options.pop("prompt")], **options)
    assert many.passed is passed
    (record,) = many.report.cases
    assert (record.results[0].value, record.results[0].score) == (passed, score)


@pytest.mark.parametrize("said", [1.7, -0.1, float("nan"), None, "0.8", [0.8]], ids=repr)
def test_what_is_neither_is_refused(said):
    with pytest.raises(TaskContractError, match="a bool or a score from 0 to 1, got"):
        do(prompt="go LA", expect=[tool_call("go", to="LA")], evaluator=Confidence(said))
