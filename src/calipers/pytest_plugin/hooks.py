"""What pytest looks for in the plugin: options, hooks and fixtures. Everything behind them is loaded by the first use."""

import argparse
import os
import sys
from functools import wraps
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

import pytest

from calipers.pytest_plugin.session import SESSION, Session, SummaryGuard

if TYPE_CHECKING:
    from collections.abc import Generator

    from pluggy import Result

    from calipers.plugins import PluginManager
    from calipers.pytest_plugin.evaluate_fixtures import Evaluate, EvaluateCase
    from calipers.pytest_plugin.gate_fixture import Gate
    from calipers.voice import AudioCache, BatchResult, EvalResult

MARKER = (
    "calipers(dataset, *, task=None, repeat=1, min_pass=None, concurrent=None, **options): "
    "one test per case of a calipers Dataset; with task=, or the name of a fixture there, the test fails if the attempt does not "
    "pass."
)

SIGNALS_MARKER = "calipers_sends_signals: the test stops a run by Ctrl-C or SIGTERM itself, and so that signal does not end the session"
VOICE_MARKER = (
    "calipers_voice(prompt, *, expect, prompts=None, runs=1, max_concurrency=None, perturbation=None, task_timeout=None): "
    "say prompts to an agent; the fixture calipers_voice_result is what came of it."
)
_VOICE_RESULT = "calipers_voice_result"
CACHE_DIR = ".calipers/audio"
"""Where sounds are kept, from the root of the tests."""
_AWAITED = pytest.StashKey[bool]()
"""Whether a test awaits its attempt itself."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the command line."""
    group = parser.getgroup("calipers", "measuring with calipers")
    group.addoption(
        "--calipers-out",
        action="append",
        default=[],
        metavar="FORMAT:PATH",
        help="write what was measured as one report, such as junit:out.xml or report.html; may be repeated",
    )
    group.addoption(
        "--calipers-plugin",
        action="append",
        default=[],
        metavar="NAME",
        help="a plugin of calipers that takes part: a folder of them, such as ./plugins, or an installed one by its name, "
        "which must be there; may be repeated; default: all that are installed",
    )
    group.addoption(
        "--calipers-no-plugins",
        action="store_true",
        help="leave out installed plugins of calipers, but for those that --calipers-plugin names",
    )
    group.addoption(
        "--calipers-seed",
        type=int,
        default=None,
        metavar="N",
        help="from which the randomness of every evaluation follows; default: drawn, and shown at the end",
    )
    group.addoption(
        "--calipers-store",
        default=None,
        metavar="URL",
        help="keep what was measured as one run in a store: a file, sqlite:///PATH or postgresql://USER@HOST/DATABASE",
    )
    group.addoption(
        "--calipers-inconclusive",
        choices=("warn", "fail"),
        default="warn",
        help="what an INCONCLUSIVE verdict of the fixture gate does to its test: a warning, or a failure; default: warn",
    )
    _add_voice_options(group)


def _add_voice_options(group: Any) -> None:
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
        help="say every prompt again, and keep no sounds",
    )
    group.addoption(
        "--calipers-voice-clear-cache",
        action="store_true",
        help="forget the sounds that are kept before the first test runs",
    )


def _count(text: str) -> int:
    """A whole number from 1, for argparse."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return number


def pytest_configure(config: pytest.Config) -> None:
    """Get ready to note what tests measure."""
    config.addinivalue_line("markers", MARKER)
    config.addinivalue_line("markers", SIGNALS_MARKER)
    config.addinivalue_line("markers", VOICE_MARKER)
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    seed = config.option.calipers_seed
    if seed is None:
        seed = int.from_bytes(os.urandom(4), "big") if worker is None else worker["calipers_seed"]
    named = None
    if config.option.calipers_plugin:
        from calipers.pytest_plugin.named_plugins import load_named

        named = load_named(config.option.calipers_plugin)
    session = Session(config, seed=seed, named=named, is_worker=worker is not None)
    config.stash[SESSION] = session
    config.pluginmanager.register(session, "calipers-session")
    config.pluginmanager.register(SummaryGuard(session), "calipers-summary-guard")
    config.pluginmanager.register(SignalHooks(), "calipers-signals")
    config.pluginmanager.register(VoiceHooks(), "calipers-voice")
    if config.option.calipers_out and worker is None:
        from calipers.pytest_plugin.session_report import checked_targets

        session.targets = checked_targets(config.option.calipers_out, session)
    if config.option.calipers_store is not None and worker is None:
        from calipers.pytest_plugin.session_report import checked_store

        session.store = checked_store(config.option.calipers_store, session)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give every worker of pytest-xdist the seed of the session."""
    node.workerinput["calipers_seed"] = node.config.stash[SESSION].seed
    node.workerinput["calipers_notes"] = node.config.stash[SESSION].notes_folder()
    # What a worker has been given may go to another one, and would then be measured twice.
    node.workerinput["calipers_together"] = node.config.getoption("dist", "no") != "worksteal"


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> None:
    """Let a test use the fixture that its marker names as the task."""
    if not collector.istestfunction(obj, name):
        return
    own = [mark for mark in getattr(obj, "pytestmark", ()) if mark.name == "calipers"]
    mark = own[-1] if own else collector.get_closest_marker("calipers")
    task = None if mark is None else mark.kwargs.get("task")
    if isinstance(task, str):
        pytest.mark.usefixtures(task)(obj)


# Last, so that the case comes last in the name of the test, after whatever else it is parametrized by.
@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each case for functions that carry the marker."""
    mark = metafunc.definition.get_closest_marker("calipers")
    if mark is not None:
        from calipers.pytest_plugin.marker import parametrize

        parametrize(metafunc, mark)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """For a marker with `task=`, make the attempt before the body of the test runs."""
    mark = pyfuncitem.get_closest_marker("calipers")
    if mark is not None and "task" in mark.kwargs and _AWAITED not in pyfuncitem.stash:
        from calipers.pytest_plugin.batch import attempt

        attempt(pyfuncitem, mark)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> "Generator[None, Result[None], None]":
    """For an async test whose task is a fixture, await the attempt on the event loop that the test and its fixtures have."""
    item.config.stash[SESSION].evaluated = False
    mark = item.get_closest_marker("calipers")
    named = mark is not None and isinstance(mark.kwargs.get("task"), str)
    if not (named and isinstance(item, pytest.Function) and iscoroutinefunction(item.function)):
        yield
        return
    from calipers.pytest_plugin.batch import attempt_on_loop

    assert mark is not None
    body = item.obj

    @wraps(body)
    async def attempted(*arguments: Any, **named: Any) -> Any:
        await attempt_on_loop(item, mark)
        return await body(*arguments, **named)

    item.obj = attempted
    item.stash[_AWAITED] = True
    try:
        yield
    finally:
        item.obj = body


class SignalHooks:
    """Let the Ctrl-C or SIGTERM that ended a run also end the session, whatever the test makes of the unfinished report."""

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> "Generator[None, Result[None], None]":
        """For runs of fixtures."""
        yield from _passing_on_signals(item)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> "Generator[None, Result[None], None]":
        """For runs of the test itself."""
        yield from _passing_on_signals(item)


def _passing_on_signals(item: pytest.Item) -> "Generator[None, Result[None], None]":
    before = _signals_taken()
    outcome = yield
    if _signals_taken() == before or item.get_closest_marker("calipers_sends_signals") is not None:
        return
    if outcome.excinfo is None or not issubclass(outcome.excinfo[0], KeyboardInterrupt):
        outcome.force_exception(KeyboardInterrupt())


def _signals_taken() -> int:
    # Where the module is not loaded yet, there was no run.
    interrupt = sys.modules.get("calipers.process.interrupt")
    return 0 if interrupt is None else interrupt.signals_taken()


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
        if item.get_closest_marker("calipers_voice") is not None and _VOICE_RESULT not in getattr(
            item, "fixturenames", ()
        ):
            pytest.fail(
                f"the calipers_voice marker has no effect: let the test take {_VOICE_RESULT}, and assert something of it",
                pytrace=False,
            )


# ---------------------------------------------------------------------- fixtures


@pytest.fixture(scope="session")
def evaluate(pytestconfig: pytest.Config) -> "Evaluate":
    """Runs a task over a calipers dataset and gives the report.

    report = evaluate(dataset, task, repeat=3)
    """
    from calipers.pytest_plugin.evaluate_fixtures import Evaluate

    return Evaluate(pytestconfig.stash[SESSION])


@pytest.fixture(scope="session")
def gate(pytestconfig: pytest.Config) -> "Gate":
    """Fails a test whose agent is shown to be worse than a limit, or than a baseline.

    gate(report, at_least=0.9)
    """
    from calipers.pytest_plugin.gate_fixture import Gate

    return Gate(pytestconfig.stash[SESSION])


@pytest.fixture(scope="session")
def calipers_plugins(pytestconfig: pytest.Config) -> "PluginManager":
    """The plugins that take part, as a PluginManager: installed ones, and those that --calipers-plugin names.

    dataset = Dataset.from_file("cases.yaml", evaluator_types=calipers_plugins.get_evaluator_types())
    """
    from calipers.pytest_plugin.named_plugins import load_named

    plugins = pytestconfig.stash[SESSION].plugins
    return load_named([]) if plugins is None else plugins


@pytest.fixture
def evaluate_case(request: pytest.FixtureRequest) -> "EvaluateCase":
    """Makes one attempt at the case of a test that has the calipers marker, and gives its record.

    record = evaluate_case(task)
    """
    from calipers.pytest_plugin.evaluate_fixtures import EvaluateCase
    from calipers.pytest_plugin.marker import case_of, read_mark

    mark = request.node.get_closest_marker("calipers")
    if mark is None:
        pytest.fail(
            "evaluate_case is about the case of a test: mark the test with @pytest.mark.calipers(dataset), "
            "or use evaluate(dataset, task)",
            pytrace=False,
        )
    marked = read_mark(mark)
    session = request.config.stash[SESSION]
    session.unmeasured = request.node
    return EvaluateCase(session, marked.dataset, case_of(request.node), marked.options, request.node)


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
        "there is no synthesizer to say the prompts: define a fixture calipers_voice_synthesizer, in conftest.py say, that "
        "returns one, such as EspeakSynthesizer(); one that returns None gives the prompts as text",
        pytrace=False,
    )
