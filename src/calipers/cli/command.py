"""What all commands share: help that ends with examples, and `--debug`."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Settings:
    """What the whole command line goes by."""

    def __init__(self) -> None:
        self.debug = os.environ.get("CALIPERS_DEBUG", "").lower() not in {"", "0", "false"}
        """Whether errors show their traceback."""
        self.args: list[str] = []
        """The words after `calipers`."""


class Command(click.Command):
    """A command whose help teaches by example."""

    def __init__(self, *args: Any, examples: str, too_many: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        """Shell lines; one that begins with `#` says what the next does."""
        self.too_many = too_many
        """The way out for who gives more arguments than the command takes."""
        self.params.append(debug_option())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments; too many of them are refused with the way out."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if (
                not self.too_many
                or type(error) is not click.UsageError
                or "extra argument" not in error.message
            ):
                raise
            raise click.UsageError(f"{error.message.rstrip('.')}: {self.too_many}", ctx) from None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, below the options, as they are: a command that was wrapped could not be copied."""
        del ctx
        with formatter.section("Examples"):
            for line in self.examples.strip().splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}".rstrip() + "\n")


class Seconds(click.FloatRange):
    """A time above 0."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, which NaN is not, though no comparison says so."""
        number = super().convert(value, param, ctx)
        return number if number == number else self.fail(f"{value!r} is no time", param, ctx)  # noqa: PLR0124


class Share(click.types.FloatParamType):
    """A number between 0 and 1, both excluded."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; whoever thought in percent is told what to write."""
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            return self.fail(f"{value!r} is no number between 0 and 1", param, ctx)
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


def file_options(function: _Function) -> _Function:
    """The options for reading dataset files."""
    function = click.option(
        "--column",
        metavar="FIELD=COLUMN",
        multiple=True,
        help="Which column of a CSV or Parquet file is which field of a case, such as inputs=question; several "
        "columns are separated by commas. Repeatable.",
    )(function)
    function = click.option(
        "--allow-module",
        metavar="PATTERN",
        multiple=True,
        help="A module whose evaluators a dataset file may name as module:Name; package.* allows a package. Repeatable.",
    )(function)
    return types_options(function)


def debug_option() -> click.Option:
    """`--debug`, which may stand before or after the name of a command."""
    return click.Option(
        ["--debug"],
        is_flag=True,
        expose_value=False,
        callback=_remember_debug,
        help="Show the traceback of an error. CALIPERS_DEBUG=1 does the same.",
    )


def _remember_debug(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if value:
        ctx.ensure_object(Settings).debug = True
