"""No code under test decides the exit code: whatever it raises, a command says what happened and ends with 3."""

import itertools
import json
import subprocess
import sys
from textwrap import dedent

from calipers.cli.exits import ERRORED

HARMS = {
    "exit": "raise SystemExit(0)",
    "exit 1": "raise SystemExit(1)",
    "generator": "raise GeneratorExit",
    "cancelled": "raise asyncio.CancelledError",
    "interrupt": "raise KeyboardInterrupt",
    "panic": "raise type('Panic', (BaseException,), {})('at the disco')",
    "unreadable": "raise Unreadable",
    "cancel all": "[task.cancel() for task in asyncio.all_tasks()]; await asyncio.sleep(0)",
}

HEAD = """
import asyncio
from calipers import Case, CaseLifecycle, Dataset
from calipers.data.lifecycle import CaseLifecycle

class Unreadable(Exception):
    def __str__(self):
        raise SystemExit(0)
    __repr__ = __str__

def fine(output):
    return True

async def same(inputs):
    return inputs

def cases():
    return [Case(name=str(number), inputs=number) for number in range(3)]
"""

PLACES = {
    "async task": """
        async def task(inputs):
            if inputs == 1:
                {harm}
            return inputs
        def eval_it():
            return Dataset(cases=cases(), evaluators=[fine]), task
    """,
    "task": """
        def task(inputs):
            if inputs == 1:
                {harm}
            return inputs
        def eval_it():
            return Dataset(cases=cases(), evaluators=[fine]), task
    """,
    "async evaluator": """
        async def bad(inputs):
            if inputs == 1:
                {harm}
            return True
        def eval_it():
            return Dataset(cases=cases(), evaluators=[fine, bad]), same
    """,
    "evaluator": """
        def bad(inputs):
            if inputs == 1:
                {harm}
            return True
        def eval_it():
            return Dataset(cases=cases(), evaluators=[fine, bad]), same
    """,
    "cases": """
        def lazy():
            yield Case(inputs=0)
            {harm}
        def eval_it():
            return Dataset(cases=lazy(), evaluators=[fine]), same
    """,
    "output": """
        class Output:
            def __repr__(self):
                {harm}
            def __eq__(self, other):
                {harm}
            __bool__ = __len__ = __repr__
            __hash__ = None
        def task(inputs):
            return Output()
        def truthy(output):
            return bool(output)
        def eval_it():
            return Dataset(cases=cases(), evaluators=[truthy]), task
    """,
    "report evaluator": """
        def bad(report):
            {harm}
        def eval_it():
            return Dataset(cases=cases(), evaluators=[fine], report_evaluators=[bad]), same
    """,
    "evaluation": """
        def eval_it():
            {harm}
    """,
    "async evaluation": """
        async def eval_it():
            {harm}
    """,
    "import": """
        {harm}
        def eval_it():
            return Dataset(cases=cases(), evaluators=[fine]), same
    """,
}

WITHOUT_REPORT = {"import", "evaluation", "async evaluation"}
"""Where there is nothing to run yet."""


def program(place, harm):
    return dedent(HEAD) + dedent(PLACES[place]).format(harm=HARMS[harm])


def test_no_code_under_test_decides_the_exit_code(calipers, write):
    number = 0
    for place, harm, limits in itertools.product(
        PLACES, HARMS, [(), ("--task-timeout", "9", "--evaluator-timeout", "9")]
    ):
        if "await" in HARMS[harm] and "async" not in place:
            continue
        number += 1
        write(f"eval_{number}.py", program(place, harm))
        done = calipers("run", f"eval_{number}.py", "--json", "--no-store", *limits)
        about = (place, harm, limits, done.output)
        assert done.exit_code == ERRORED, about
        if place in WITHOUT_REPORT:
            continue
        (found,) = json.loads(done.stdout)["evaluations"]
        assert found["report"]["attempts"] >= 1, about


def test_an_evaluator_that_judges_a_kept_run_does_not_decide_the_exit_code(calipers, write):
    write("eval_it.py", program("task", "exit").replace("if inputs == 1", "if inputs == 9"))
    assert calipers("run", "eval_it.py").exit_code == 0
    for harm, limits in itertools.product(HARMS, [(), ("--evaluator-timeout", "9")]):
        name = f"bad_{len(harm)}{harm[-1]}{len(limits)}"
        write(
            f"{name}.py",
            f"{dedent(HEAD)}\nasync def {name}(inputs):\n    if inputs == 1:\n        {HARMS[harm]}\n    return True\n",
        )
        done = calipers("score", "latest", "--evaluators", f"{name}.py:{name}", *limits)
        assert done.exit_code == ERRORED, (harm, limits, done.output)
        calipers("score", "latest", "--drop", name)


def test_a_clean_up_that_fails_is_an_error_unless_errors_are_allowed(calipers, write):
    write(
        "eval_it.py",
        HEAD
        + dedent("""
        class Hooks(CaseLifecycle):
            def teardown(self, record):
                raise SystemExit(0)
        async def eval_it():
            return await Dataset(cases=cases(), evaluators=[fine]).evaluate(same, lifecycle=Hooks, progress=False)
        """),
    )
    done = calipers("run", "--quiet")
    assert done.exit_code == ERRORED
    assert done.stderr.startswith("Error: clean-up failed after 3 attempts")
    assert calipers("run", "--quiet", "--allow-errors").exit_code == 0


def test_a_process_ends_with_the_code_of_its_run(write):
    for place, limits in [
        ("async task", ["--task-timeout", "9"]),
        ("async evaluator", ["--evaluator-timeout", "9"]),
        ("cases", []),
        ("output", []),
    ]:
        path = write("eval_it.py", program(place, "exit"))
        done = subprocess.run(
            [sys.executable, "-m", "calipers", "run", str(path), "--json", *limits],
            capture_output=True,
            check=False,
            cwd=path.parent,
        )
        assert done.returncode == ERRORED, (place, done.stderr)
        assert json.loads(done.stdout)["evaluations"][0]["report"]["attempts"] >= 1
