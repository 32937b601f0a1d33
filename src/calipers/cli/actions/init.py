"""The example that `calipers init` writes: a help desk that is wrong in one place, so that there is something to see."""

import shlex
from pathlib import Path
from typing import Final

import click

from calipers.cli.exits import PASSED, USAGE
from calipers.cli.message import CommandError

CASES: Final = """\
# The cases, and the evaluators that judge all of them.
# Check this file with:  calipers check cases.yaml --evaluator-type eval_helpdesk.py:Polite
name: help desk
cases:
  - name: opening hours
    inputs: When are you open?
    expected_output: We are open from 9 to 17. Thank you for asking!
    tags: [facts]
  - name: refund
    inputs: I want my money back
    evaluators:
      - Contains: refund form
    tags: [policy]
  # This one fails on purpose, to show what a failure looks like.
  - name: unknown question
    inputs: Can I bring my parrot?
    evaluators:
      - Contains:
          value: I do not know
          evaluation_name: honest
    tags: [policy]
evaluators:
  - EqualsExpected
  - Polite
  - MaxDuration: 1.0
"""

EVAL: Final = '''\
"""An evaluation: cases, a task, and an evaluator of your own. Run it with `calipers run`."""

from dataclasses import dataclass
from pathlib import Path

from calipers import EvaluationReason, Evaluator, EvaluatorContext
from calipers.files import load_dataset

ANSWERS = {
    "open": "We are open from 9 to 17. Thank you for asking!",
    "money": "Please fill in the refund form. Thank you!",
}


def answer(question: str) -> str:
    """The task: the thing under test. Call your own agent here; it may be async."""
    for word, text in ANSWERS.items():
        if word in question.lower():
            return text
    # Wrong on purpose: it should be "I do not know. Thank you!" instead. Fix it, and run again.
    return "Yes, of course. Thank you!"


@dataclass
class Polite(Evaluator):
    """The answer thanks the customer. An evaluator of your own; cases.yaml names it."""

    word: str = "thank you"

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        found = self.word in ctx.output.lower()
        return EvaluationReason(value=found, reason=f"{self.word!r} is {'' if found else 'not '}in the answer")


def eval_helpdesk():
    """What `calipers run` looks for: a function named eval_*, which returns a dataset and a task."""
    dataset = load_dataset(Path(__file__).with_name("cases.yaml"), evaluator_types=[Polite])
    return dataset, answer
'''

SETTINGS: Final = """\
# The settings of this project, for `calipers` and pytest. The command line comes before them.
# store = ".calipers/runs.db"    # where runs are kept, beside this file; or a URL
max_concurrency = 20             # attempts in flight
task_timeout = 60                # seconds; evaluator_timeout says the same for evaluators
# plugins = false                # true: all that are installed; or a list of some
# redact = ["email", "api_key"]  # fields masked before a run is kept; files of --out are not masked
"""

WORKFLOW: Final = """\
# Runs the evaluations on every push. The job fails when the exit code is not 0.
name: evals
on: [push, pull_request]
jobs:
  evals:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install calipers  # or the path or URL that you install it from
      - run: calipers run --fail-under 0.6 --out markdown:report.md --out junit:report.xml --out github:-
      - run: cat report.md >> "$GITHUB_STEP_SUMMARY"
        if: always()
"""

README: Final = """\
# Evaluations

| file | what it is |
|---|---|
| `cases.yaml` | what to try, what to expect, and who judges |
| `eval_helpdesk.py` | the task, an evaluator of your own, and the evaluation |
| `calipers.toml` | the settings of the project |
| `.github/workflows/evals.yml` | the same in CI |

    calipers run                      run everything
    calipers run --tag policy         only some of it
    calipers run --out report.html    with a report for the browser
    calipers evaluators               which evaluators there are

To let your editor complete and check `cases.yaml`, write its schema, and name that in the first line of the file:

    calipers schema --evaluator-type eval_helpdesk.py:Polite --out cases.schema.json
    # yaml-language-server: $schema=cases.schema.json

One case fails on purpose. Its reason says what was expected and what came; a comment in `answer` says how to fix it.
"""

FILES: Final = {
    "cases.yaml": CASES,
    "eval_helpdesk.py": EVAL,
    "calipers.toml": SETTINGS,
    ".github/workflows/evals.yml": WORKFLOW,
    "README.md": README,
}
"""What is written, by path."""


def write_starter(*, folder: str = ".", force: bool = False) -> int:
    """Write the example; returns the exit code."""
    root = Path(folder)
    existing = [name for name in FILES if (root / name).exists()]
    if existing and not force:
        raise CommandError(
            f"nothing was written, since these exist: {', '.join(existing)}\n"
            "Choose another folder, or overwrite them with --force.",
            USAGE,
        )
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        click.echo(f"Wrote {path}")
    go = "" if folder == "." else f"cd {shlex.quote(folder)} && "
    click.echo(
        f"\nNext:\n  {go}calipers run    one case fails on purpose, to show what a failure looks like\n"
        "  calipers show latest    see the run again; every run is kept\n"
        "  then put your agent into answer() in eval_helpdesk.py, and your cases into cases.yaml"
    )
    return PASSED
