"""Settings for the whole suite."""

import compileall
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test asserts how long something takes, so hypothesis does not either: machines differ, and are busy.
# The same source is tested with the same examples, so that a change is not blamed for what another draw would have found;
# more of them would find little more each time, and `make search` draws others.
settings.register_profile(
    "calipers",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    max_examples=25,
)
settings.load_profile("calipers")
# On the second and third Python, what laws hold is not the question any more, but whether the code runs.
settings.register_profile("brief", settings.get_profile("calipers"), max_examples=5)
# `make search` tries new examples each time.
settings.register_profile("search", settings.get_profile("calipers"), derandomize=False, max_examples=1000)

# A job started in the background by a shell ignores Ctrl-C, and so would every program that tests interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Programs print otherwise when they believe that a CI service, or a colour terminal, reads them. Tests mean the same
# on a desk and in CI: those that want such a variable set it themselves.
for name in list(os.environ):
    if name.startswith(("GITHUB_", "CALIPERS_")) and name != "CALIPERS_CHROMIUM":
        del os.environ[name]
for name in ("CI", "BUILD_NUMBER", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "PYTEST_ADDOPTS"):
    os.environ.pop(name, None)

# Compiled tests are kept for the workers and for the next time, and so is what the programs that tests start compile.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


QUIET_CHROMIUM = [
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
"""A browser that asks for nothing by itself."""


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium."""
    # One for the module and not for the session: playwright keeps an event loop running, which tests of other modules
    # must not meet.
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("CALIPERS_CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium was found: install it, or name its path in CALIPERS_CHROMIUM")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, headless=True, args=QUIET_CHROMIUM)
        yield chromium
        chromium.close()


FEW = 3
"""Tests of a file that show whether its code runs at all."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--brief", action="store_true", help="of a test's parameters, try only the first")
    parser.addoption(
        "--few-of", action="append", default=[], help="with --brief: of each file of this folder, a few tests"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Compile the source once: hundreds of programs that tests start read it, and some of them may store nothing."""
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(Path(__file__).parent.parent / "src", quiet=2)


@pytest.hookimpl(optionalhook=True)  # some programs that tests start are pytest without its plugins
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: tests wait for other processes, for clocks and for a browser."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture
def no_tracer_provider() -> Generator[None]:
    """As in a process that has not configured OpenTelemetry: an evaluator that wants spans sets a provider up, and it stays."""
    from opentelemetry import trace

    once = trace._TRACER_PROVIDER_SET_ONCE
    before = trace._TRACER_PROVIDER, once._done
    trace._TRACER_PROVIDER, once._done = None, False
    yield
    trace._TRACER_PROVIDER, once._done = before


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.pluginmanager.hasplugin("calipers-signals"):
        for item in items:
            item.add_marker("calipers_sends_signals")
    if not config.getoption("--brief"):
        return
    first: dict[str, pytest.Item] = {}
    few = tuple(f"{folder}/" for folder in config.getoption("--few-of"))
    of_file: Counter[str] = Counter()
    for item in items:
        name, file = item.nodeid.partition("[")[0], item.nodeid.partition("::")[0]
        if name in first or (file.startswith(few) and of_file[file] == FEW):
            continue
        of_file[file] += 1
        first[name] = item
    kept = set(first.values())
    left_out = [item for item in items if item not in kept]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item in kept]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Run the tests in an empty folder.

    What one of them leaves behind is not left in the checkout, and a run that is kept
    there does not ask git about the state of thousands of files.
    """
    if session.config.option.collectonly:
        return
    folder = tempfile.TemporaryDirectory(prefix="calipers-tests-")
    session.config.add_cleanup(folder.cleanup)
    session.config.add_cleanup(partial(os.chdir, session.config.invocation_params.dir))
    os.chdir(folder.name)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector the million objects that ten thousand tests are; they live to the end anyway.

    It would go through them again and again while they are collected, and at every full round after that.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
