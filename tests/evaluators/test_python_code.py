import asyncio

import pytest

from calipers.errors import InvalidOptionError
from calipers.evaluators import RunsPython
from calipers.sandbox import SandboxError, run_python_sync


@pytest.fixture(scope="module")
def protection():
    """The sentence on what holds a program on this system."""
    return run_python_sync("").protection_note


@pytest.mark.parametrize(
    ("output", "options", "passes", "words"),
    [
        ("print(1)", {}, True, "exit code 0"),
        ("Sure:\n```python\nprint(1)\n```\nIt prints 1.", {}, True, "exit code 0"),
        ("1 / 0", {}, False, "exit code 1: ZeroDivisionError: division by zero"),
        ("def", {}, False, "SyntaxError"),
        ("raise SystemExit(3)", {}, False, "exit code 3"),
        ("while True: pass", {"seconds": 0.2}, False, "the time limit"),
        ("x = bytearray(1 << 30)", {"memory_bytes": 256 << 20}, False, "memory"),
        ("print(input() * 2)", {"stdin": "ab\n", "expected_stdout": "abab"}, True, "exit code 0"),
        ("print(1)", {"expected_stdout": "1"}, True, "exit code 0"),
        ("print(1, end='')", {"expected_stdout": "1\n"}, True, "exit code 0"),
        ("print(1)", {"expected_stdout": " 1"}, False, "printed something else"),
        ("print(1)", {"expected_stdout": "2"}, False, "printed something else: expected '2', got '1'"),
        ("pass", {"expected_stdout": ""}, True, "exit code 0"),
        ("print(1)", {"expected_stdout": ""}, False, "printed something else"),
        ("print(1); 1 / 0", {"expected_stdout": "1"}, False, "ZeroDivisionError"),
    ],
)
def test_code_runs_to_its_end_or_the_reason_says_why_not(judge, protection, output, options, passes, words):
    result = judge(RunsPython(**options), output)
    assert result.value is passes
    assert words in result.reason
    assert result.reason.endswith(f"({protection})")


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (None, "expected Python code, got None"),
        (b"print(1)", "expected Python code, got b'print(1)' (bytes)"),
        ("", "expected code, got none"),
        ("```\n```", "expected code, got none"),
        ("```py\n1\n```\n```py\n2\n```", "expected one code block, got 2"),
    ],
)
def test_what_is_not_one_piece_of_code_is_not_run(judge, output, reason):
    result = judge(RunsPython(), output)
    assert result.value is False
    assert result.reason == reason


def test_without_isolation_the_reason_says_so(judge, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))  # where there is no bubblewrap
    result = judge(RunsPython(), "print(1)")
    assert result.value is True
    assert "resource limits only" in result.reason


def test_isolation_can_be_required(judge, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match="isolation is required"):
        judge(RunsPython(require_isolation=True), "print(1)")


def test_several_run_at_once(context):
    async def run_all():
        return await asyncio.gather(*(RunsPython().evaluate_async(context(f"print({n})")) for n in range(4)))

    assert all(result.value for result in asyncio.run(run_all()))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"seconds": 0}, InvalidOptionError),
        ({"seconds": "1"}, InvalidOptionError),
        ({"memory_bytes": -1}, InvalidOptionError),
        ({"stdin": b""}, InvalidOptionError),
        ({"expected_stdout": 1}, InvalidOptionError),
    ],
)
def test_options_are_checked_when_they_are_given(options, error):
    with pytest.raises(error):
        RunsPython(**options)
