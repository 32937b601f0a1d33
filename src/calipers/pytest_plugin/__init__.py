"""The pytest plugin: a dataset becomes tests, one per case, and what they measured is summed up at the end.

pytest finds it by its entry point. Until a test uses it, it loads nothing of Calipers but the hooks, and does nothing.

| module | what it holds |
|---|---|
| `hooks` | what pytest looks for: options, hooks, fixtures |
| `session` | what the tests of a session left behind, also across worker processes |
| `marker` | `@pytest.mark.calipers(dataset)`: what it says, and from cases to tests |
| `batch` | `task=` of the marker: cases of several tests attempted together |
| `evaluate_fixtures` | what the fixtures `evaluate` and `evaluate_case` are |
| `gate_fixture` | what the fixture `gate` is |
| `named_plugins` | `--calipers-plugin` |
| `voice` | `@pytest.mark.calipers_voice`: what it says, and what came of it |
| `merged_reports` | many small reports as one |
| `section` | the section at the end of pytest's output |
| `session_report` | `--calipers-out` and `--calipers-store` |
"""

from calipers.pytest_plugin.hooks import (
    calipers_plugins,
    calipers_voice_agent,
    calipers_voice_audio_cache,
    calipers_voice_evaluator,
    calipers_voice_result,
    calipers_voice_synthesizer,
    evaluate,
    evaluate_case,
    gate,
    pytest_addoption,
    pytest_configure,
    pytest_configure_node,
    pytest_generate_tests,
    pytest_pycollect_makeitem,
    pytest_pyfunc_call,
    pytest_runtest_call,
)

__all__ = [
    "calipers_plugins",
    "calipers_voice_agent",
    "calipers_voice_audio_cache",
    "calipers_voice_evaluator",
    "calipers_voice_result",
    "calipers_voice_synthesizer",
    "evaluate",
    "evaluate_case",
    "gate",
    "pytest_addoption",
    "pytest_configure",
    "pytest_configure_node",
    "pytest_generate_tests",
    "pytest_pycollect_makeitem",
    "pytest_pyfunc_call",
    "pytest_runtest_call",
]
