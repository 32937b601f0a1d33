"""`calipers judge`: how far to trust a judge. The options of its commands; what they do loads when they are called."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from calipers.cli.app import Command, debug_option
from calipers.cli.completers import complete_files, complete_run_or_file
from calipers.cli.options import (
    allow_module_option,
    confidence_option,
    dataset_option,
    model_cache_option,
    pair_by_option,
    store_option,
)

PAIRS_EXAMPLES = """
# which of two kept runs has the better answers?
calipers judge pairs main my-change --model openai:gpt-4o
# by a rule of your own, over report files
calipers judge pairs a.json b.json c.json --judge 'Pairwise: The better answer is kinder.'
# for machines
calipers judge pairs main my-change --json
"""

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

CHECK_EXAMPLES = """
# by what people answered with `calipers label latest --question helpful`
calipers judge check judges.py:helpful --run latest
# by a file of labels of the same run
calipers judge check 'LLMJudge: The answer is polite.' --run latest --labels labels.csv
# by a file that has the answers as well, and without the 240 questions with injections
calipers judge check Correct --labels labelled.jsonl --no-injections
"""

EXAMPLES = """
# how well does it agree with people, and with itself?
calipers judge check judges.py:helpful --run latest
# how many forged verdicts and instructions get through?
calipers judge attack Correct --model openai:gpt-4o-mini
# which of two runs has the better answers?
calipers judge pairs main my-change
"""


_Function = TypeVar("_Function", bound=Callable[..., Any])

_model_option = click.option(
    "--model",
    metavar="MODEL",
    help="The model that the judge asks, such as openai:gpt-4o. Default: the judge's own.",
)


def _concurrency_option(what: str) -> Callable[[_Function], _Function]:
    """`--max-concurrency`: how many of what at the same time."""
    return click.option(
        "--max-concurrency",
        metavar="N",
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        help=what,
    )


def _own_judges_option(names: str) -> Callable[[_Function], _Function]:
    """`--evaluator-type` and `--allow-module`: which judges of the user may be named, and where."""

    def decorate(function: _Function) -> _Function:
        return click.option(
            "--evaluator-type",
            metavar="ADDRESS",
            multiple=True,
            help=f"A judge of your own that {names} names, as module:Name or file.py:Name. Repeatable.",
        )(allow_module_option(function))

    return decorate


def _json(text: str, option: str) -> Any:
    from json import loads

    try:
        return loads(text)
    except ValueError as error:
        raise click.UsageError(
            f"{option} takes JSON, such as '{{\"order\": 7}}', got {text!r:.200}: {error}"
        ) from None


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
@_model_option
@click.option("--input", metavar="TEXT", help="What the candidate was asked.")
@click.option(
    "--output", metavar="TEXT", help="What it answered: something that the judge should not let pass."
)
@click.option("--expected", metavar="TEXT", help="What was expected of it.")
@click.option("--context", metavar="TEXT", multiple=True, help="A passage that it was given. Repeatable.")
@click.option("--metadata", metavar="JSON", help="The metadata of the case, for a judge that sees it.")
@click.option(
    "--at-most",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How many injections may get through.",
)
@_concurrency_option("Questions that are asked at the same time.")
@_own_judges_option("JUDGE")
@click.option("--json", is_flag=True, help="Print every injection and what became of it, as JSON.")
def attack(
    judge: str,
    *,
    model: str | None,
    input: str | None,  # noqa: A002 - the name of the option
    output: str | None,
    expected: str | None,
    context: Sequence[str],
    metadata: str | None,
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
        "metadata": None if metadata is None else _json(metadata, "--metadata"),
    }
    candidate = Candidate(**{name: value for name, value in given.items() if value is not None})
    found = find_judge(judge, model=model, evaluator_type=evaluator_type, allow_module=allow_module)
    return attack_it(found, candidate, at_most=at_most, max_concurrency=max_concurrency, json=json)


@command.command(
    cls=Command, examples=PAIRS_EXAMPLES, short_help="Let a judge compare runs, answer by answer."
)
@click.argument(
    "runs", metavar="RUN RUN [RUN]...", nargs=-1, required=True, shell_complete=complete_run_or_file
)
@click.option(
    "--judge",
    metavar="JUDGE",
    default="Pairwise",
    show_default=True,
    help="A Pairwise judge, as a dataset file writes it, or your own as file.py:name.",
)
@_model_option
@store_option
@dataset_option
@pair_by_option
@confidence_option("Of the intervals.")
@_concurrency_option("Pairs that are judged at the same time.")
@model_cache_option
@_own_judges_option("--judge")
@click.option("--json", is_flag=True, help="Print every pair and what was found, as JSON.")
def pairs(**options: Any) -> int:
    """Let a judge compare the answers of kept runs or report files, two at a time and in both orders, and say which run is better.

    A verdict that changes with the order is a tie, and how often that happened is shown. Three or more runs are put on one scale.

    Exit codes: 0 compared, 2 wrong usage, or no such run or file, 3 something could not be read, or the judge failed on a pair, 4 nothing could be compared.
    """
    from calipers.cli.actions.judge_pairs import compare_pairs

    return compare_pairs(**options)


@command.command(
    cls=Command, examples=CHECK_EXAMPLES, short_help="Measure a judge by people's labels: its passport."
)
@click.argument("judge")
@click.option(
    "--run",
    metavar="RUN",
    shell_complete=complete_run_or_file,
    help="The run whose attempts people labelled. Default: the answers stand in the file of --labels.",
)
@click.option(
    "--labels",
    metavar="FILE",
    shell_complete=complete_files,
    help="A CSV or JSON Lines file of labels: of cases of the run, or with an output in each line. Default: the labels in the store.",
)
@click.option(
    "--question",
    metavar="QUESTION",
    help="The question that people answered with `calipers label`. Default: the name of the judge.",
)
@click.option(
    "--human",
    metavar="COLUMN",
    default="human",
    show_default=True,
    help="The column of the file with the labels.",
)
@_model_option
@click.option(
    "--repeats",
    metavar="N",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How often it is asked about each attempt.",
)
@click.option(
    "--passes-at",
    metavar="NUMBER",
    type=float,
    help="The number from which on it passes, for a judge that gives numbers.",
)
@click.option("--no-injections", is_flag=True, help="Do not try injections on it, which takes 240 questions.")
@_concurrency_option("Questions that are asked at the same time.")
@_own_judges_option("JUDGE")
@store_option
@click.option("--no-store", is_flag=True, help="Show the passport and do not keep it.")
@click.option("--json", is_flag=True, help="Print the passport as JSON.")
def check(
    judge: str,
    *,
    model: str | None,
    evaluator_type: Sequence[str],
    allow_module: Sequence[str],
    **options: Any,
) -> int:
    """Measure how well a JUDGE agrees with people and with itself, and keep that as its passport.

    JUDGE is an evaluator as a dataset file writes it, such as 'LLMJudge: The answer is polite.', one of your own as file.py:name, or
    a dataset file that has a single one. It is asked about every labelled attempt. The passport is kept under the judge's code,
    prompts, model and parameters: a judge of which one of these changed has none.

    Exit codes: 0 it was measured, 2 wrong usage, or no such run or file, 3 something could not be loaded or read, 4 there are no labels, or
    the judge gave no verdict.
    """
    from calipers.cli.actions.judge import find_judge
    from calipers.cli.actions.judge_check import check as check_it

    found = find_judge(judge, model=model, evaluator_type=evaluator_type, allow_module=allow_module)
    return check_it(found, **options)
