"""The options and arguments that several commands have, and the types of their values."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import click

from calipers.cli.completers import FORMATS, complete_evaluator, complete_files, complete_out, complete_run

_Function = TypeVar("_Function", bound=Callable[..., Any])
_PIECE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(h|min|m|s)?\s*")
_SECONDS: Final[Mapping[str, float]] = {"h": 3600.0, "min": 60.0, "m": 60.0, "s": 1.0, "": 1.0}


class Seconds(click.FloatRange):
    """A time above 0."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; NaN is refused, which no comparison does."""
        number = super().convert(value, param, ctx)
        return number if number == number else self.fail(f"{value!r} is not a time", param, ctx)  # noqa: PLR0124


class Time(click.types.FloatParamType):
    """A time, as a number of seconds or as `1h30m`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The seconds."""
        text = str(value).strip().lower()
        pieces = list(_PIECE.finditer(text))
        is_whole = bool(pieces) and "".join(piece[0] for piece in pieces) == text
        units = [piece[2] or "" for piece in pieces]
        if not is_whole or ("" in units and len(units) > 1):
            return self.fail(
                f"{value!r} is not a time: write seconds, or a time such as 45m or 1h30m", param, ctx
            )
        total = math.fsum(float(piece[1]) * _SECONDS[unit] for piece, unit in zip(pieces, units, strict=True))
        return total if total > 0 else self.fail(f"{value!r} is no time", param, ctx)


class Share(click.types.FloatParamType):
    """A number between 0 and 1, both excluded."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; for a percentage, the error says what to write."""
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            return self.fail(f"{value!r} is not a number between 0 and 1", param, ctx)
        if not text.endswith("%") and 0 < number < 1:
            return number
        way = f": write {number / 100:g} for {number:g} %" if 0 < number < 100 else ""
        return self.fail(f"{text} does not lie between 0 and 1{way}", param, ctx)


def slice_option(function: _Function) -> _Function:
    """`--slice-by`: which metadata fields are tags, too."""
    return click.option(
        "--slice-by",
        metavar="FIELD",
        multiple=True,
        help="Show the pass rate of each value of a metadata field, too: with difficulty, of the tag difficulty=hard. "
        "Repeatable.",
    )(function)


def evaluator_options(file: str) -> Callable[[_Function], _Function]:
    """`--evaluator-type` and `--plugin`: which evaluators such a file may name."""

    def decorate(function: _Function) -> _Function:
        function = no_plugins_option(function)
        function = click.option(
            "--plugin",
            metavar="NAME",
            multiple=True,
            help=f"A plugin whose evaluators a {file} may name, and whose hooks, view and adapter a run can use: a folder of them, "
            "such as ./plugins, or an installed one by its name, which must be there. Repeatable. Default: all that are installed.",
        )(function)
        return click.option(
            "--evaluator-type",
            metavar="ADDRESS",
            multiple=True,
            help=f"An evaluator of your own that a {file} names, as module:Name or file.py:Name. Repeatable.",
        )(function)

    return decorate


def no_plugins_option(function: _Function) -> _Function:
    """`--no-plugins`: installed plugins stay out."""
    return click.option(
        "--no-plugins", is_flag=True, help="Leave out installed plugins, but for those that --plugin names."
    )(function)


def types_options(function: _Function) -> _Function:
    """`--types`, `--evaluator-type` and `--plugin`: what the files of a dataset may hold."""
    return click.option(
        "--types",
        metavar="ADDRESS",
        multiple=True,
        help="Types to validate a dataset file with: that of inputs, then output, then metadata, or one "
        "Dataset[...] with all of them. Repeatable.",
    )(evaluator_options("dataset file")(function))


def allow_module_option(function: _Function) -> _Function:
    """`--allow-module`: whose evaluators a file may name by their modules."""
    return click.option(
        "--allow-module",
        metavar="PATTERN",
        multiple=True,
        help="A module whose evaluators a dataset file may name as module:Name; package.* allows a package. Repeatable.",
    )(function)


def file_options(function: _Function) -> _Function:
    """The options for reading dataset files."""
    function = click.option(
        "--column",
        metavar="FIELD=COLUMN",
        multiple=True,
        help="Which column of a CSV or Parquet file is which field of a case, such as inputs=question; several "
        "columns are separated by commas. Repeatable.",
    )(function)
    return types_options(allow_module_option(function))


# ---------------------------------------------------------------------- for commands that run something


_WHICH = (
    click.option(
        "--filter",
        metavar="TEXT",
        multiple=True,
        help="Only cases whose name contains the text, or matches it as a pattern such as 'refund-*'. Repeatable: any of "
        "them.",
    ),
    click.option(
        "--tag", metavar="TAG", multiple=True, help="Only cases with the tag. Repeatable: any of them."
    ),
    slice_option,
    click.option(
        "--limit",
        metavar="N",
        type=click.IntRange(min=1),
        help="At most the first N cases of each dataset.",
    ),
    click.option(
        "--name", metavar="NAME", help="What to call the run of each dataset. Default: the task's name."
    ),
)
"""Which cases, and what to call the run."""


class _AtOnce(click.IntRange):
    """So many at once, or "auto"."""

    name = "number or auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or the word."""
        return value if value == "auto" else super().convert(value, param, ctx)


_AT_ONCE = (
    click.option(
        "--max-concurrency",
        metavar="N/auto",
        type=_AtOnce(min=1),
        help="Attempts in flight at once; auto: as many as servers take their calls. Default: 100, or 32 for a task that is not async.",
    ),
)
_TASK = (
    click.option(
        "--engine",
        metavar="ENGINE",
        help="Where attempts run: processes, or processes:N for N of them, for a task that keeps a processor busy; ray, ray:N, or the "
        "address of a Ray cluster, such as ray://HOST:10001. Default: in this process.",
    ),
    click.option(
        "--task-timeout",
        metavar="SECONDS",
        type=Seconds(),
        help="Time that a task may take before it counts as failed.",
    ),
)
_JUDGE = (
    click.option(
        "--evaluator-timeout",
        metavar="SECONDS",
        type=Seconds(),
        help="Time that an evaluator may take before it counts as failed.",
    ),
    click.option(
        "--retry-evaluators",
        metavar="N",
        type=click.IntRange(min=0),
        help="Ask an evaluator that raised an exception up to N times more.",
    ),
)
_CHANCE = (
    click.option(
        "--retry",
        metavar="N",
        type=click.IntRange(min=0),
        help="Call a task that failed up to N times more.",
    ),
    click.option("--seed", metavar="N", type=int, help="From which all randomness of the run follows."),
)
_TOLD = (
    click.option(
        "--keep-secrets",
        is_flag=True,
        help="Leave in traces, spans, attributes, reasons, analyses and metadata what looks like a key or a password.",
    ),
)
_OF: Final = "for the agent and its judges together; agent=… or judges=… limits one of them. Repeatable."
_BUDGET = (
    click.option(
        "--max-cost",
        metavar="[WHO=]DOLLARS",
        multiple=True,
        help=f"End the run when this much was spent on models, in US dollars, {_OF}",
    ),
    click.option(
        "--max-tokens",
        metavar="[WHO=]N",
        multiple=True,
        help=f"End the run when models have read and written so many tokens, such as 500k or 2M, {_OF}",
    ),
    click.option(
        "--max-calls",
        metavar="[WHO=]N",
        multiple=True,
        help=f"End the run after so many calls of models, {_OF}",
    ),
    click.option(
        "--max-time",
        metavar="TIME",
        type=Time(),
        help="End the run after this time: seconds, or a time such as 45m or 1h30m.",
    ),
)
_HOW = (*_AT_ONCE, *_TASK, *_JUDGE, *_BUDGET, *_CHANCE, *_TOLD)
"""How to run them."""

_GOOD_ENOUGH = (
    click.option(
        "--fail-under",
        metavar="[NAME=]NUMBER",
        multiple=True,
        shell_complete=complete_evaluator,
        help="Exit with 1 if the pass rate, or the result of one evaluator, is lower: 0.9, 90% or NAME=0.8. Repeatable. "
        "Without it, every case must pass.",
    ),
    click.option(
        "--allow-errors",
        is_flag=True,
        help="Do not exit with 3 for tasks and evaluators that did not finish: they count as not passed, and no more.",
    ),
)
"""What the exit code goes by."""

_LISTED = (
    click.option(
        "--include-cases",
        metavar="WHICH",
        type=click.Choice(["all", "failed", "none"]),
        default="failed",
        show_default=True,
        help="Which attempts to list in the terminal: all, failed or none.",
    ),
    click.option(
        "--max-cases",
        metavar="N",
        type=click.IntRange(min=0),
        default=20,
        show_default=True,
        help="How many attempts to list; 0 for all.",
    ),
    click.option("--tracebacks", is_flag=True, help="Show where in the code a task or an evaluator failed."),
)
"""Which attempts to list."""

_SHOWN = (
    click.option(
        "--out",
        metavar="FORMAT:PATH",
        multiple=True,
        shell_complete=complete_out,
        help=f"Write the report: {', '.join(FORMATS)} or the name of a plugin with a view. The path - is standard output; "
        "{name} in it stands for the evaluation. Repeatable.",
    ),
    *_LISTED,
    click.option("--quiet", "-q", is_flag=True, help="Show nothing but what is wrong."),
    click.option(
        "--json", is_flag=True, help="Print a summary as JSON, and nothing else, to standard output."
    ),
    click.option("--progress/--no-progress", default=True, help="Show a bar on a terminal while it runs."),
)
"""What to show and write."""


def running_options(*, repeat: tuple[str, ...] = ("--repeat",)) -> Callable[[_Function], _Function]:
    """All of them, in the order of the help; `repeat` is how the number of attempts may be called."""
    number = click.option(
        *repeat, "repeat", metavar="N", type=click.IntRange(min=1), help="Attempt each case N times."
    )

    def decorate(function: _Function) -> _Function:
        function = keeping_options(_with(function, _SHOWN))
        return _with(function, (*_WHICH, number, *_HOW, *_GOOD_ENOUGH))

    return decorate


def listing_options(function: _Function) -> _Function:
    """`--include-cases`, `--max-cases` and `--tracebacks`."""
    return _with(function, _LISTED)


def filter_option(which: str) -> Callable[[_Function], _Function]:
    """`--filter`, for commands that take some attempts of a run, by the grammar of `calipers.report.attempt_filter`.

    Args:
        which: the words before "attempts that meet all terms".
    """
    return click.option(
        "--filter",
        metavar="TERMS",
        multiple=True,
        help=f"{which} attempts that meet all terms, such as 'status:failed tag:refund cost>0.01 \"late\"'. Repeatable: all have to be "
        "met.",
    )


def confidence_option(of: str) -> Callable[[_Function], _Function]:
    """`--confidence`, for commands that make intervals."""
    return click.option(
        "--confidence", metavar="SHARE", type=Share(), default=0.95, show_default=True, help=of
    )


def document_option(what: str) -> Callable[[_Function], _Function]:
    """`--out`, for commands that write a comparison or a verdict."""
    return click.option(
        "--out",
        metavar="FORMAT:PATH",
        multiple=True,
        shell_complete=complete_files,
        help=f"Write the {what} to a file, too: html, markdown, json or text; the suffix tells. With the path - it goes to "
        "standard output instead of the terminal's tables. Repeatable.",
    )


def at_once_options(function: _Function) -> _Function:
    """`--max-concurrency`, `--evaluator-timeout` and `--retry-evaluators`, for attempts that are judged as they come."""
    return _with(function, (*_AT_ONCE, *_JUDGE))


def judging_options(function: _Function) -> _Function:
    """Those of them that concern evaluators and what comes of them, for attempts that are made already."""
    return _with(function, (*_AT_ONCE, *_JUDGE, *_BUDGET, *_GOOD_ENOUGH, *_SHOWN))


def merging_options(function: _Function) -> _Function:
    """Those that concern what came of attempts, which are made and judged already."""
    return _with(function, (*_GOOD_ENOUGH, *_SHOWN))


def _with(function: _Function, options: Sequence[Callable[[_Function], _Function]]) -> _Function:
    for option in reversed(options):
        function = option(function)
    return function


# ---------------------------------------------------------------------- for commands that name a store


def budget_options(function: _Function) -> _Function:
    """What may be spent."""
    return _with(function, _BUDGET)


def pair_by_option(function: _Function) -> _Function:
    """`--pair-by`, for commands that pair the cases of runs."""
    return click.option(
        "--pair-by",
        metavar="WHAT",
        type=click.Choice(["content", "name"]),
        default="content",
        show_default=True,
        help="What makes two cases the same: content (inputs, expected output, metadata) or name, if you vouch for it.",
    )(function)


def store_option(function: _Function) -> _Function:
    """`--store`, for commands that read what is kept."""
    return click.option(
        "--store",
        metavar="URL",
        help="Where runs are kept: a file, sqlite:///PATH or postgresql://USER@HOST/DATABASE. Default: CALIPERS_STORE, else "
        "the project's file, else .calipers/runs.db.",
    )(function)


def dataset_option(function: _Function) -> _Function:
    """`--dataset`, for commands that draw conclusions from runs."""
    return click.option(
        "--dataset",
        metavar="NAME",
        help="Of which dataset the runs are, where runs of several have the same name, or were made at once.",
    )(function)


def redact_option(function: _Function) -> _Function:
    """`--redact`, for commands that keep something."""
    return click.option(
        "--redact",
        metavar="ADDRESS",
        multiple=True,
        help="A function, or a list of them, that takes out of each value what must not be kept, as module:name or "
        "file.py:name. Repeatable.",
    )(function)


def run_argument(function: _Function) -> _Function:
    """`RUN`, for commands about one run."""
    return click.argument("run", metavar="RUN", shell_complete=complete_run)(function)


def keeping_options(function: _Function) -> _Function:
    """Where a command keeps its runs, and what it takes from earlier ones."""
    return store_option(redact_option(_with(function, _KEEPING)))


model_cache_option = click.option(
    "--no-model-cache",
    is_flag=True,
    help="Ask models anew, also what the store has an answer to.",
)
"""Whether a command takes answers of models from the store."""


_KEEPING = (
    click.option("--no-store", is_flag=True, help="Keep nothing: neither resume nor reuse is possible then."),
    model_cache_option,
    click.option(
        "--resume",
        metavar="[RUN]",
        is_flag=False,
        flag_value="",
        shell_complete=complete_run,
        help="Go on with a kept run: what it has is not done again. Without RUN: the newest one of the evaluation that did not "
        "finish; if there is none, a new one begins.",
    ),
    click.option(
        "--rerun-failed",
        is_flag=True,
        help="With --resume, make failed attempts and failed judgements again.",
    ),
    click.option(
        "--reuse",
        is_flag=True,
        help="Take over what earlier runs have for the same case, task and evaluator, and compute only what changed.",
    ),
)
