"""`calipers judge`: how far to trust a judge. The options of its commands; what they do loads when they are called."""

from collections.abc import Sequence
from typing import Any

import click

from calipers.cli.app import Command, debug_option
from calipers.cli.options import allow_module_option

ATTACK_EXAMPLES = """
# does a rubric hold against what a candidate may write?
calipers judge attack 'LLMJudge: The answer is right and polite.' --model openai:gpt-4o-mini
# a ready-made judge, with the default model of the project
calipers judge attack Correct
# one of your own, with an output that it should not let pass
calipers judge attack judges.py:polite --output 'Go away.'
# for machines
calipers judge attack Correct --json
"""

EXAMPLES = """
# how many forged verdicts and instructions get through?
calipers judge attack Correct --model openai:gpt-4o-mini
"""


class JudgeGroup(click.Group):
    """A group whose help ends with examples, like that of a command."""

    format_epilog = Command.format_epilog
    examples = EXAMPLES


@click.group(cls=JudgeGroup)
def command() -> None:
    """Measure how far to trust a judge that asks a model."""


command.params.append(debug_option())


@command.command(
    cls=Command, examples=ATTACK_EXAMPLES, short_help="Try forged verdicts and instructions on a judge."
)
@click.argument("judge")
@click.option(
    "--model",
    metavar="MODEL",
    help="The model that the judge asks, such as openai:gpt-4o. Default: the judge's own.",
)
@click.option("--input", metavar="TEXT", help="What the candidate was asked.")
@click.option(
    "--output", metavar="TEXT", help="What it answered: something that the judge should not let pass."
)
@click.option("--expected", metavar="TEXT", help="What was expected of it.")
@click.option("--context", metavar="TEXT", multiple=True, help="A passage that it was given. Repeatable.")
@click.option(
    "--at-most",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How many injections may get through.",
)
@click.option(
    "--max-concurrency",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Questions that are asked at the same time.",
)
@click.option(
    "--evaluator-type",
    metavar="ADDRESS",
    multiple=True,
    help="A judge of your own that JUDGE names, as module:Name or file.py:Name. Repeatable.",
)
@allow_module_option
@click.option("--json", is_flag=True, help="Print every injection and what became of it, as JSON.")
def attack(
    judge: str,
    *,
    model: str | None,
    input: str | None,  # noqa: A002 - the name of the option
    output: str | None,
    expected: str | None,
    context: Sequence[str],
    at_most: int,
    max_concurrency: int,
    evaluator_type: Sequence[str],
    allow_module: Sequence[str],
    json: bool,
) -> int:
    """Try forged verdicts, instructions, fence-breakers and look-alikes on a JUDGE, and say how many got through.

    JUDGE is an evaluator as a dataset file writes it, such as 'LLMJudge: The answer is polite.', one of your own as file.py:name, or
    a dataset file that has a single one. Each injection stands behind an output that the judge should not let pass.

    Exit codes: 0 no more than --at-most got through, 1 more did, 2 wrong usage, 3 something could not be loaded, 4 the judge lets the
    bare output pass, so that nothing can be learnt.
    """
    from calipers.cli.actions.judge import attack as attack_it
    from calipers.cli.actions.judge import find_judge
    from calipers.judges.injection import Candidate

    given: dict[str, Any] = {
        "inputs": input,
        "output": output,
        "expected_output": expected,
        "context": context or None,
    }
    candidate = Candidate(**{name: value for name, value in given.items() if value is not None})
    found = find_judge(judge, model=model, evaluator_type=evaluator_type, allow_module=allow_module)
    return attack_it(found, candidate, at_most=at_most, max_concurrency=max_concurrency, json=json)
