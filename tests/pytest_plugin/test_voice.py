"""`@pytest.mark.calipers_voice` as its users see it."""

import pytest

from calipers.views.formats import read_report

PLUGIN = "calipers.pytest_plugin"
PARTS = """
from dataclasses import dataclass
from pathlib import Path

from calipers.voice import AgentResponse, Audio, BatchResult, EvalResult, ToolCall, assert_tool_calls, tool_call


@dataclass(frozen=True)
class Voice:
    pitch: int = 0

    def synthesize(self, text):
        with Path(__file__).with_name("said.txt").open("a") as file:
            file.write(f"{self.pitch} {text}\\n")
        return Audio(f"{self.pitch} {text}".encode("utf-16-le"), "pcm", sample_rate=16000)


class Ear:
    async def run(self, audio):
        return await self.run_text(audio.pcm.decode("utf-16-le").partition(" ")[2])

    async def run_text(self, text):
        if "crash" in text:
            raise ValueError("fell over")
        verb, _, to = text.partition(" ")
        return AgentResponse([ToolCall(verb, {"to": to})], transcript=text)
"""
CONFTEST = (
    PARTS
    + """
@pytest.fixture
def calipers_voice_agent():
    return Ear()

@pytest.fixture
def calipers_voice_synthesizer():
    return Voice()
"""
)
GO = 'calipers_voice("go LA", expect=[tool_call("go", to="LA")])'


@pytest.fixture
def voice(folder):
    """Run voice tests, each written after the parts they are made of."""
    folder.write("conftest.py", CONFTEST)

    def run(text, *arguments, **options):
        folder.write("test_it.py", PARTS + text)
        return folder.pytest("-q", "-p", "no:cacheprovider", *arguments, **options)

    return run


def said(folder):
    path = folder.path / "said.txt"
    return path.read_text().splitlines() if path.exists() else []


# ---------------------------------------------------------------------- results


def test_one_prompt_gives_a_result_with_everything_that_was_measured(voice):
    done = voice(f"""
@pytest.mark.{GO}
def test_it(calipers_voice_result):
    assert isinstance(calipers_voice_result, EvalResult)
    assert_tool_calls(calipers_voice_result)
    assert calipers_voice_result.prompt == "go LA"
    assert calipers_voice_result.response.transcript == "go LA"
    assert isinstance(calipers_voice_result.audio, Audio)
    assert sorted(calipers_voice_result.timings) == ["agent", "evaluate", "synthesize"]

@pytest.mark.calipers_voice(prompt="go SF", expect=[{{"name": "go", "arguments": {{"to": "SF"}}}}])
class TestClass:
    def test_the_marker_of_the_class(self, calipers_voice_result):
        assert_tool_calls(calipers_voice_result)

    @pytest.mark.calipers_voice("go home", expect=tool_call("go", to="home"))
    def test_its_own_comes_first(self, calipers_voice_result):
        assert_tool_calls(calipers_voice_result)

@pytest.mark.parametrize("name", [pytest.param("x", marks=pytest.mark.calipers_voice("stop now", expect=[tool_call("stop", to="now")]))])
def test_with_parameters(calipers_voice_result, name):
    assert_tool_calls(calipers_voice_result)
""")
    assert done.counts == {"passed": 4}, done.out


def test_a_wrong_call_fails_with_the_summary(voice):
    done = voice("""
@pytest.mark.calipers_voice("go LA", expect=[tool_call("go", to="SF")])
def test_it(calipers_voice_result):
    assert_tool_calls(calipers_voice_result, message="the flight")

@pytest.mark.calipers_voice("go LA", expect=[])
def test_nothing_was_to_be_called(calipers_voice_result):
    assert not calipers_voice_result.passed
""")
    assert done.counts == {"failed": 1, "passed": 1}
    assert "the flight\n" in done.out
    assert "[-] go({'to': 'SF'}) -> go({'to': 'LA'})" in done.out
    assert "to: expected 'SF', got 'LA'" in done.out


def test_several_prompts_or_runs_give_a_batch(voice):
    done = voice("""
@pytest.mark.calipers_voice(prompts=["go LA"], expect=[tool_call("go", to="LA")])
def test_a_list_of_one(calipers_voice_result):
    assert isinstance(calipers_voice_result, BatchResult)
    assert (calipers_voice_result.total, calipers_voice_result.passed) == (1, True)

@pytest.mark.calipers_voice(["go LA", "go SF"], expect={"go LA": [tool_call("go", to="LA")], "go SF": [tool_call("go", to="SF")]}, max_concurrency=1)
def test_each_with_its_own_expectation(calipers_voice_result):
    assert_tool_calls(calipers_voice_result)

@pytest.mark.calipers_voice("go LA", expect=[tool_call("go", to="LA")], runs=3)
def test_runs(calipers_voice_result):
    assert calipers_voice_result.summary().startswith("PASSED (100% pass rate, 3 runs)")

@pytest.mark.calipers_voice(prompts=["go LA", "crash", "go SF"], expect=[tool_call("go", to="LA")])
def test_a_run_that_fails_ends_no_other(calipers_voice_result):
    assert [run.error for run in calipers_voice_result.runs] == [None, "ValueError: fell over", None]
    assert (calipers_voice_result.passed_count, calipers_voice_result.error_count) == (1, 1)
""")
    assert done.counts == {"passed": 4}, done.out


@pytest.mark.parametrize(
    ("arguments", "runs", "own_runs"),
    [([], 1, 2), (["--calipers-voice-runs=3"], 3, 2)],
    ids=["default", "option"],
)
def test_the_marker_comes_before_the_command_line_and_that_before_the_default(
    voice, arguments, runs, own_runs
):
    done = voice(
        f"""
def runs_of(result):
    return result.total if isinstance(result, BatchResult) else 1

@pytest.mark.{GO}
def test_it(calipers_voice_result):
    assert runs_of(calipers_voice_result) == {runs}

@pytest.mark.{GO[:-1]}, runs=2)
def test_with_its_own(calipers_voice_result):
    assert runs_of(calipers_voice_result) == {own_runs}
""",
        *arguments,
    )
    assert done.counts == {"passed": 2}, done.out


def test_no_more_requests_are_under_way_than_the_test_or_the_command_line_says(voice):
    done = voice(
        """
import asyncio

class Counter(Ear):
    now = most = 0

    async def run_text(self, text):
        Counter.now += 1
        Counter.most = max(Counter.most, Counter.now)
        await asyncio.sleep(0.02)
        Counter.now -= 1
        return await super().run_text(text)

@pytest.fixture
def calipers_voice_agent():
    Counter.most = 0
    return Counter()

PROMPTS = [f"go {n}" for n in range(8)]

@pytest.mark.calipers_voice(prompts=PROMPTS, expect=[])
def test_command_line(calipers_voice_result):
    assert Counter.most == 3

@pytest.mark.calipers_voice(prompts=PROMPTS, expect=[], max_concurrency=2)
def test_marker(calipers_voice_result):
    assert Counter.most == 2
""",
        "--calipers-voice-max-concurrency=3",
    )
    assert done.counts == {"passed": 2}, done.out


def test_an_evaluator_of_ones_own_and_a_perturbation_take_part(voice):
    done = voice("""
from calipers.voice import FuzzyEvaluator
from calipers.voice.perturbations import Gain, Perturbation

@pytest.fixture
def calipers_voice_evaluator():
    return FuzzyEvaluator()

@pytest.mark.calipers_voice("go la", expect=[tool_call("GO", to="LA")])
def test_fuzzy(calipers_voice_result):
    assert_tool_calls(calipers_voice_result)

@pytest.mark.calipers_voice("go la", expect=[tool_call("GO", to="LA")], perturbation=Gain(0), task_timeout=30)
def test_perturbed(calipers_voice_result):
    assert "perturb" in calipers_voice_result.timings
""")
    assert done.counts == {"passed": 2}, done.out


def test_without_a_voice_the_agent_reads(voice, folder):
    done = voice(f"""
@pytest.fixture
def calipers_voice_synthesizer():
    return None

@pytest.mark.{GO}
def test_it(calipers_voice_result):
    assert_tool_calls(calipers_voice_result)
    assert calipers_voice_result.audio is None
""")
    assert done.counts == {"passed": 1}, done.out
    assert not said(folder)


# ---------------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("mark", "problem"),
    [
        ('calipers_voice("go LA")', "needs expect=, the calls that should be made: [] says that no tool"),
        ("calipers_voice(expect=[])", "needs a prompt, or prompts as a list, and not both"),
        (
            'calipers_voice(prompt="a", prompts=["b"], expect=[])',
            "needs a prompt, or prompts as a list, and not both",
        ),
        ('calipers_voice("a", "b", expect=[])', "takes one prompt, or a list of them"),
        ('calipers_voice("a", prompt="b", expect=[])', "gives the prompt twice, as 'a' and in prompt="),
        ('calipers_voice("a", prompts=["b"], expect=[])', "gives the prompt twice, as 'a' and in prompts="),
        (
            'calipers_voice("a", expect=[])\n@pytest.mark.calipers_voice("b", expect=[])',
            "stands 2 times at this test, and one result cannot be of all",
        ),
        (
            'calipers_voice("a", expect=[], timeout=3)',
            "knows no option 'timeout', did you mean 'task_timeout'?",
        ),
        ('calipers_voice("a", expects=[])', "knows no option 'expects', did you mean 'expect'?"),
        (
            "calipers_voice(prompts=[], expect=[])",
            "a prompt is a text, and prompts are a list of them, got []",
        ),
        (
            'calipers_voice(prompts="go", expect=[])',
            "a prompt is a text, and prompts are a list of them, got 'go'",
        ),
        ("calipers_voice(3, expect=[])", "a prompt is a text, and prompts are a list of them, got 3"),
        ('calipers_voice("a", expect=[], runs=0)', "runs= is a whole number from 1, got 0"),
        (
            'calipers_voice("a", expect=[], max_concurrency=True)',
            "max_concurrency= is a whole number from 1, got True",
        ),
        (
            'calipers_voice("a", expect=[3])',
            "InvalidOptionError: no call can be expected as 3: an expected call is the name of a tool",
        ),
        ('calipers_voice(prompts=["a"], expect={"b": []})', "nothing is expected of the prompt 'a'"),
        ('calipers_voice("crash it", expect=[])', "crash it: the task failed: ValueError: fell over"),
    ],
    ids=lambda value: value[:60],
)
def test_a_test_that_cannot_be_run_is_an_error_that_says_why(voice, mark, problem):
    done = voice(f"@pytest.mark.{mark}\ndef test_it(calipers_voice_result): ...\n")
    assert done.counts == {"error": 1}
    assert problem in done.out
    assert "pytest_plugin/voice.py" not in done.out, "no traceback of the plugin"


def test_nothing_passes_without_a_word_said(voice):
    done = voice(f"""
def test_unmarked(calipers_voice_result): ...

@pytest.mark.{GO}
def test_without_the_result(): ...
""")
    assert done.counts == {"error": 2}
    assert "mark the test with @pytest.mark.calipers_voice(prompt, expect=[...])" in done.out
    assert "the calipers_voice marker has no effect: let the test take calipers_voice_result" in done.out


@pytest.mark.parametrize(
    ("fixtures", "problem"),
    [
        ("", "there is no agent to test: define a fixture calipers_voice_agent"),
        (
            "@pytest.fixture\ndef calipers_voice_agent(): return Ear()\n",
            "there is no synthesizer to say the prompts: define a fixture calipers_voice_synthesizer",
        ),
        (
            "@pytest.fixture\ndef calipers_voice_agent(): return 3\n@pytest.fixture\ndef calipers_voice_synthesizer(): return Voice()\n",
            "3 is not a valid agent: it has no method run(audio)",
        ),
    ],
    ids=["no agent", "no voice", "no such thing"],
)
def test_parts_that_are_missing_are_asked_for_by_name(folder, fixtures, problem):
    folder.write(
        "test_it.py", f"{PARTS}{fixtures}\n@pytest.mark.{GO}\ndef test_it(calipers_voice_result): ...\n"
    )
    done = folder.pytest("-q", "-p", "no:cacheprovider")
    assert done.counts == {"error": 1}, done.out
    assert problem in done.out


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        ("--calipers-voice-runs=0", "expected a whole number from 1, got '0'"),
        ("--calipers-voice-max-concurrency=many", "expected a whole number from 1, got 'many'"),
    ],
)
def test_an_option_that_cannot_be_is_refused_before_anything_runs(voice, argument, problem):
    done = voice("def test_it(): raise SystemExit('ran')", argument)
    assert done.code == 4
    assert problem in done.err


# ---------------------------------------------------------------------- sounds


TWICE = f"""
@pytest.mark.{GO}
def test_once(calipers_voice_result):
    assert_tool_calls(calipers_voice_result)

@pytest.mark.{GO}
def test_twice(calipers_voice_result, calipers_voice_audio_cache):
    assert_tool_calls(calipers_voice_result)
    print(calipers_voice_audio_cache.size())
"""


def test_each_prompt_is_said_once_and_never_in_another_voice(voice, folder):
    assert voice(TWICE).counts == {"passed": 2}
    assert voice(TWICE).counts == {"passed": 2}
    assert said(folder) == ["0 go LA"]
    assert len(list((folder.path / ".calipers" / "audio").glob("*.audio"))) == 1
    folder.write("conftest.py", CONFTEST.replace("return Voice()", "return Voice(pitch=7)"))
    assert voice(TWICE).counts == {"passed": 2}
    assert said(folder) == ["0 go LA", "7 go LA"]


def test_a_voice_that_does_not_say_how_it_is_set_is_asked_every_time(voice, folder):
    changed = CONFTEST.replace("@dataclass(frozen=True)\nclass Voice:", "class Voice:\n    client = None")
    folder.write(
        "conftest.py",
        changed.replace("return Voice()", "voice = Voice()\n    voice.client = object()\n    return voice"),
    )
    done = voice(TWICE, "-W", "default")
    assert done.counts["passed"] == 2
    assert "the sound of Voice is not cached" in done.out
    assert said(folder) == ["0 go LA", "0 go LA"]


@pytest.mark.parametrize(
    ("arguments", "times", "kept"),
    [
        ([], 1, [".calipers"]),
        (["--calipers-voice-no-cache"], 4, []),
        (["--calipers-voice-cache-dir=sounds"], 1, ["sounds"]),
        (["--calipers-voice-clear-cache"], 2, [".calipers"]),
    ],
    ids=["default", "no cache", "elsewhere", "cleared"],
)
def test_the_cache_may_be_left_out_elsewhere_or_cleared(voice, folder, arguments, times, kept):
    for _ in range(2):
        assert voice(TWICE, *arguments).counts == {"passed": 2}
    assert len(said(folder)) == times
    assert [path.name for path in folder.path.iterdir() if path.name in {".calipers", "sounds"}] == kept


def test_a_voice_with_a_cache_of_its_own_keeps_it_unless_there_should_be_none(voice, folder):
    own = "from calipers.voice import AudioCache, CachedSynthesizer\n    return CachedSynthesizer(Voice(), cache=AudioCache('own'))"
    folder.write("conftest.py", CONFTEST.replace("return Voice()", own))
    assert voice(TWICE).counts == {"passed": 2}
    assert (len(said(folder)), len(list((folder.path / "own").glob("*.audio")))) == (1, 1)
    assert not (folder.path / ".calipers").exists()
    assert voice(TWICE, "--calipers-voice-no-cache").counts == {"passed": 2}
    assert len(said(folder)) == 3


def test_looking_at_the_tests_clears_nothing(voice, folder):
    voice(TWICE)
    assert voice(TWICE, "--collect-only", "--calipers-voice-clear-cache").code == 0
    assert len(list((folder.path / ".calipers" / "audio").glob("*.audio"))) == 1


# ---------------------------------------------------------------------- what is left behind


MIXED = f"""
@pytest.mark.{GO}
def test_one(calipers_voice_result):
    assert_tool_calls(calipers_voice_result)

@pytest.mark.calipers_voice(prompts=["go LA", "go <b>SF</b>"], expect=[tool_call("go", to="LA")], runs=2)
def test_batch(calipers_voice_result):
    assert_tool_calls(calipers_voice_result)

@pytest.mark.calipers_voice("crash", expect=[])
def test_crash(calipers_voice_result): ...

def test_other(evaluate):
    assert_passed(evaluate(dataset, right))
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_results_are_in_the_section_and_in_report_files_like_any_other(voice, folder, workers):
    plugins = (PLUGIN, "xdist.plugin") if workers else (PLUGIN,)
    done = voice(
        MIXED,
        *workers,
        "--calipers-out=all.json",
        "--calipers-out=all.html",
        "--calipers-seed=5",
        plugins=plugins,
    )
    assert done.counts == {"failed": 1, "passed": 2, "error": 1}, done.out
    assert "test_it.py::test_one\nPassed 1 of 1 case" in done.section
    assert "test_it.py::test_batch\nPassed 2 of 4 attempts at 2 cases" in done.section
    assert "test_it.py::test_crash\n1 of 1 task failed" in done.section
    assert "test_it.py::test_other" in done.section
    report = read_report(folder.path / "all.json")
    names = sorted(record.name for record in [*report.cases, *report.failures])
    assert names == [
        "test_it.py::test_batch go <b>SF</b> [1/2]",
        "test_it.py::test_batch go <b>SF</b> [2/2]",
        "test_it.py::test_batch go LA [1/2]",
        "test_it.py::test_batch go LA [2/2]",
        "test_it.py::test_crash",
        "test_it.py::test_one",
        "test_it.py::test_other Chad",
        "test_it.py::test_other France",
        "test_it.py::test_other Peru",
    ]
    one = next(case for case in report.cases if case.name.endswith("test_one"))
    assert one.attributes["transcript"] == "go LA"
    assert "data" not in one.attributes["audio"], "a report does not hold the sound"
    assert "<b>SF</b>" not in (folder.path / "all.html").read_text(encoding="utf-8")


def test_workers_that_share_a_cache_say_each_prompt_once(voice, folder):
    tests = "\n".join(
        f"@pytest.mark.{GO}\ndef test_{number}(calipers_voice_result): assert_tool_calls(calipers_voice_result)\n"
        for number in range(4)
    )
    arguments = ["-n", "2", "--calipers-voice-clear-cache"]
    assert voice(tests, *arguments, plugins=(PLUGIN, "xdist.plugin")).counts == {"passed": 4}
    assert said(folder) == ["0 go LA"]
    assert voice(tests, *arguments, plugins=(PLUGIN, "xdist.plugin")).counts == {"passed": 4}
    assert said(folder) == ["0 go LA", "0 go LA"]


def test_async_tests_and_fixtures_of_a_plugin_work_and_none_is_needed(voice):
    done = voice(
        f"""
import pytest_asyncio

@pytest_asyncio.fixture
async def calipers_voice_agent():
    return Ear()

@pytest.mark.asyncio
@pytest.mark.{GO}
async def test_async(calipers_voice_result):
    assert_tool_calls(calipers_voice_result)

@pytest.mark.{GO}
def test_sync(calipers_voice_result):
    assert_tool_calls(calipers_voice_result)
""",
        "-o",
        "asyncio_default_fixture_loop_scope=function",
        plugins=(PLUGIN, "pytest_asyncio.plugin"),
    )
    assert done.counts == {"passed": 2}, done.out


def test_other_tests_load_nothing_of_it(folder):
    folder.write(
        "test_it.py",
        """
import sys

def test_other(evaluate):
    assert_passed(evaluate(dataset, right))
    assert not {"calipers.pytest_plugin.voice", "calipers.voice.pipeline"} & set(sys.modules)
""",
    )
    assert folder.pytest("-q", fresh=True).counts == {"passed": 1}


def test_its_marker_options_and_fixtures_are_told_to_those_who_ask(folder):
    folder.write("test_it.py", "")
    assert (
        "@pytest.mark.calipers_voice(prompt, *, expect, prompts=None, runs=1"
        in folder.pytest("--markers").out
    )
    shown = folder.pytest("--help").out
    for option in ("runs=N", "max-concurrency=N", "cache-dir=DIR", "no-cache", "clear-cache"):
        assert f"--calipers-voice-{option}" in shown
    fixtures = folder.pytest("--fixtures").out
    assert "calipers_voice_audio_cache [session scope]" in fixtures
    for name in ("result", "evaluator", "agent", "synthesizer"):
        assert f"calipers_voice_{name} -- " in fixtures
