"""A pytest session of many cases, in this process and with no other plugin than that of Calipers."""

import os
import tempfile
from pathlib import Path
from time import perf_counter

import pytest

HEAD = """
import asyncio
import pytest
from calipers import Case, Dataset
from calipers.evaluators import EqualsExpected
from calipers.testing import assert_passed

dataset = Dataset(
    cases=[Case(name=f"case {{n}}", inputs=n, expected_output=n) for n in range({cases})], evaluators=[EqualsExpected()]
)

async def agent(n):
    await asyncio.sleep({wait})
    return n
"""
TESTS = {
    "together": "@pytest.mark.calipers(dataset, task=agent)\ndef test_it(): ...",
    "one at a time": "@pytest.mark.calipers(dataset, task=agent, concurrent=False)\ndef test_it(): ...",
    "one test": "def test_it(evaluate): assert_passed(evaluate(dataset, agent))",
    "no agent": "@pytest.mark.parametrize('case', range({cases}))\ndef test_it(case): ...",
}
"""What there is after the head, by kind."""


def seconds(kind, cases, wait):
    """How long the tests take, from the start of pytest to its end."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        tests = Path(folder, "test_cases.py")
        tests.write_text(f"{HEAD}\n{TESTS[kind]}\n".format(cases=cases, wait=wait), encoding="utf-8")
        start = perf_counter()
        code = pytest.main(["-qq", "-p", "calipers.pytest_plugin", "-p", "no:cacheprovider", str(tests)])
        taken = perf_counter() - start
    if code != pytest.ExitCode.OK:
        raise SystemExit(f"the tests ended with {code}")
    return taken
