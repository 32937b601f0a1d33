"""`@pytest.mark.calipers_voice`: what a voice test says, and what came of it.

The prompts are said by `calipers_voice_synthesizer` to `calipers_voice_agent`, and `calipers_voice_evaluator` compares the calls.
One prompt that is said once gives an `EvalResult`; `prompts=`, or more than one run, a `BatchResult`. What the marker says comes
before the command line, and that before the default.

A run that fails ends no batch: it is recorded. Where there is one run alone, there is no result to look at, so the test ends in an
error that says what failed.

Sounds are cached by wrapping the synthesizer in a `CachedSynthesizer`, which asks one that cannot tell its configuration every
time, and so never serves another voice.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from calipers.data.argument_checks import is_whole_number
from calipers.errors import CalipersError
from calipers.process.loop import run_sync
from calipers.pytest_plugin.evaluate_fixtures import defaults, kept, unlost
from calipers.pytest_plugin.hooks import CACHE_DIR
from calipers.pytest_plugin.session import SESSION
from calipers.testing.failure_text import attempts_lines
from calipers.voice.cache import AudioCache, CachedSynthesizer
from calipers.voice.evaluators import ExactEvaluator
from calipers.voice.pipeline import run_concurrent
from calipers.voice.result import BatchResult, EvalResult

if TYPE_CHECKING:
    from calipers.views.outcome import Record

__all__ = ["ExactEvaluator", "Marked", "cache_of", "read_mark", "result_of"]

_OPTIONS = ("prompt", "prompts", "expect", "runs", "max_concurrency", "perturbation", "task_timeout")
_MARK = "@pytest.mark.calipers_voice"


@dataclass(frozen=True)
class Marked:
    """What a marker says."""

    prompts: tuple[str, ...]
    is_list: bool
    """Whether the prompts were given as a list, if of one."""
    expect: Any
    runs: int | None
    """`None`: what the command line says."""
    max_concurrency: int | None
    perturbation: Any
    task_timeout: float | None


def read_mark(mark: pytest.Mark) -> Marked:
    """What a marker says, checked; what is wrong fails the test."""
    given: dict[str, Any] = dict(mark.kwargs)
    if len(mark.args) > 1:
        _refuse(
            f"{_MARK} takes one prompt, or a list of them, and then options by name, got {mark.args!r:.200}"
        )
    if mark.args and (twice := [name for name in ("prompt", "prompts") if name in given]):
        _refuse(
            f"{_MARK} gives the prompt twice, as {mark.args[0]!r:.200} and in {twice[0]}=: remove one of them"
        )
    if mark.args:
        given["prompt" if isinstance(mark.args[0], str) else "prompts"] = mark.args[0]
    if unknown := [name for name in given if name not in _OPTIONS]:
        near = difflib.get_close_matches(unknown[0], _OPTIONS, n=1)
        hint = f", did you mean {near[0]!r}?" if near else "."
        _refuse(f"{_MARK} knows no option {unknown[0]!r}{hint} It takes {', '.join(_OPTIONS)}")
    if len(given.keys() & {"prompt", "prompts"}) != 1:
        _refuse(f"{_MARK} needs a prompt, or prompts as a list, and not both")
    if "expect" not in given:
        _refuse(
            f"{_MARK} needs expect=, the calls that should be made: [] says that no tool should be called"
        )
    is_list = "prompts" in given
    prompts = given["prompts"] if is_list else [given["prompt"]]
    if (
        isinstance(prompts, str)
        or not isinstance(prompts, Sequence)
        or not prompts
        or not all(isinstance(each, str) for each in prompts)
    ):
        _refuse(f"{_MARK}: a prompt is a text, and prompts are a list of them, got {prompts!r:.200}")
    for name in ("runs", "max_concurrency"):
        value = given.get(name)
        if value is not None and not is_whole_number(value, at_least=1):
            _refuse(f"{_MARK}: {name}= is a whole number from 1, got {value!r}")
    return Marked(
        tuple(prompts),
        is_list,
        *(given.get(name) for name in ("expect", "runs", "max_concurrency", "perturbation", "task_timeout")),
    )


def result_of(request: pytest.FixtureRequest) -> EvalResult | BatchResult:
    """What came of saying the prompts of a test to the agent; the session takes note of it."""
    mark = request.node.get_closest_marker("calipers_voice")
    on_test = [each for each in request.node.own_markers if each.name == "calipers_voice"]
    if len(on_test) > 1:
        _refuse(
            f"{_MARK} stands {len(on_test)} times at this test, and one result cannot be of all: "
            "write one with prompts=[...], or a test for each"
        )
    if mark is None:
        _refuse(
            "calipers_voice_result is what came of a prompt, and there is none: mark the test with "
            f"{_MARK}(prompt, expect=[...])"
        )
    marked = read_mark(mark)
    options = request.config.option
    runs = marked.runs or options.calipers_voice_runs or 1
    session = request.config.stash[SESSION]
    names = ("agent", "synthesizer", "evaluator")
    parts = {name: request.getfixturevalue(f"calipers_voice_{name}") for name in names}
    parts["synthesizer"] = _cached(request, parts["synthesizer"])
    parts |= defaults(session)
    parts["max_concurrency"] = (
        marked.max_concurrency or options.calipers_voice_max_concurrency or parts["max_concurrency"]
    )
    parts["task_timeout"] = marked.task_timeout or parts["task_timeout"]
    alone = not marked.is_list and runs == 1
    try:
        with unlost(session):
            batch = run_sync(
                lambda: run_concurrent(
                    prompts=marked.prompts,
                    expect=marked.expect,
                    runs=runs,
                    perturbation=marked.perturbation,
                    **parts,
                )
            )
            records: list[Record] = [*batch.report.cases, *batch.report.failures]
            kept(session, batch.report, items={records[0].name: request.node} if alone else None)
    except CalipersError as error:
        problem = f"{type(error).__name__}: {error}"
    else:
        if not alone:
            return batch
        if batch.runs[0].error is None:
            return batch.runs[0].eval_result
        problem = "\n".join(attempts_lines(records))
    # Not raised in the handler: pytest would show what is handled there once more.
    raise pytest.fail.Exception(problem, pytrace=False)


def _cached(request: pytest.FixtureRequest, synthesizer: Any) -> Any:
    """The synthesizer with a cache around it, unless it has one or there should be none."""
    if request.config.option.calipers_voice_no_cache:
        return synthesizer.inner if isinstance(synthesizer, CachedSynthesizer) else synthesizer
    if synthesizer is None or isinstance(synthesizer, CachedSynthesizer):
        return synthesizer
    cache: AudioCache = request.getfixturevalue("calipers_voice_audio_cache")
    return CachedSynthesizer(synthesizer, cache=cache)


def cache_of(config: pytest.Config) -> AudioCache:
    """The cache that the command line names, else the one in the root of the tests."""
    given = config.option.calipers_voice_cache_dir
    return AudioCache(
        Path(config.rootpath, CACHE_DIR) if given is None else config.invocation_params.dir / given
    )


def _refuse(message: str) -> NoReturn:
    # What is wrong is said in words, and where is the test itself: a traceback of the plugin would hide both.
    pytest.fail(message, pytrace=False)
