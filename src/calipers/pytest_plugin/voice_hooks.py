"""What pytest looks for in the voice part of the plugin: options, the marker, hooks and fixtures.

Like `hooks`, it is loaded into every pytest of an environment; what is behind it is loaded by the first test that uses it.
"""

import argparse
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from calipers.voice import AudioCache, BatchResult, EvalResult

MARKER = (
    "calipers_voice(prompt, *, expect, prompts=None, runs=1, max_concurrency=None, perturbation=None, task_timeout=None): "
    "say prompts to an agent; the fixture calipers_voice_result is what came of it."
)
RESULT = "calipers_voice_result"
CACHE_DIR = ".calipers/audio"
"""Where sounds are kept, from the root of the tests."""


def add_options(group: Any) -> None:
    """The options of the command line."""
    group.addoption(
        "--calipers-voice-runs",
        type=_count,
        default=None,
        metavar="N",
        help="how often to say each prompt of a voice test that does not say it itself; default: once",
    )
    group.addoption(
        "--calipers-voice-max-concurrency",
        type=_count,
        default=None,
        metavar="N",
        help="how many requests of a voice test to have under way at once, where the test does not say it itself",
    )
    group.addoption(
        "--calipers-voice-cache-dir",
        default=None,
        metavar="DIR",
        help=f"where to keep the sounds of prompts; default: {CACHE_DIR} in the root of the tests",
    )
    group.addoption(
        "--calipers-voice-no-cache",
        action="store_true",
        help="say every prompt anew, and keep no sounds",
    )
    group.addoption(
        "--calipers-voice-clear-cache",
        action="store_true",
        help="forget the sounds that are kept before the first test runs",
    )


def _count(text: str) -> int:
    """A whole number from 1; argparse tells what is none."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return number


class VoiceHooks:
    """The hooks of a session."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Clear the cache, once and not in every worker: pytest-xdist starts those after this."""
        config = session.config
        clears = config.option.calipers_voice_clear_cache and not config.option.collectonly
        if clears and not hasattr(config, "workerinput"):
            from calipers.pytest_plugin.voice import cache_of

            cache_of(config).clear()

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Refuse a test with the marker that does not look at the result: it would pass without a word said."""
        if item.get_closest_marker("calipers_voice") is not None and RESULT not in getattr(
            item, "fixturenames", ()
        ):
            pytest.fail(
                f"the calipers_voice marker comes to nothing: let the test take {RESULT}, and assert something of it",
                pytrace=False,
            )


# ---------------------------------------------------------------------- fixtures


@pytest.fixture
def calipers_voice_result(request: pytest.FixtureRequest) -> "EvalResult | BatchResult":
    """What came of saying the prompts of the calipers_voice marker to the agent.

    assert_tool_calls(calipers_voice_result)
    """
    from calipers.pytest_plugin.voice import result_of

    return result_of(request)


@pytest.fixture
def calipers_voice_evaluator() -> Any:
    """Compares the calls of a voice test; define your own fixture of this name for another one."""
    from calipers.pytest_plugin.voice import ExactEvaluator

    return ExactEvaluator()


@pytest.fixture(scope="session")
def calipers_voice_audio_cache(pytestconfig: pytest.Config) -> "AudioCache":
    """The cache of the sounds of prompts."""
    from calipers.pytest_plugin.voice import cache_of

    return cache_of(pytestconfig)


@pytest.fixture
def calipers_voice_agent() -> Any:
    """The agent of voice tests, which only you can supply: define a fixture of this name."""
    pytest.fail(
        "there is no agent to test: define a fixture calipers_voice_agent, in conftest.py say, that returns one",
        pytrace=False,
    )


@pytest.fixture
def calipers_voice_synthesizer() -> Any:
    """The synthesizer of voice tests, which only you can supply: define a fixture of this name."""
    pytest.fail(
        "there is nobody to say the prompts: define a fixture calipers_voice_synthesizer, in conftest.py say, that "
        "returns a synthesizer, such as EspeakSynthesizer(); one that returns None gives the prompts as text",
        pytrace=False,
    )
