"""The command `calipers`: finds the command that is meant, loads it alone, and ends with its exit code.

Neither the help nor the version loads any command; a command loads what it needs when it runs. An error is one
message, with a traceback only if `--debug` or `CALIPERS_DEBUG=1` asks for it.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from keyword import iskeyword
from typing import Any, Final, NoReturn

import click

from calipers.cli.exits import PASSED
from calipers.cli.message import silence, tell
from calipers.process.interrupt import terminating

COMMANDS: Final = {
    "init": "Put a working example into a folder.",
    "run": "Run evaluations and say whether they passed.",
    "runs": "List the runs that are kept.",
    "show": "Show or convert a kept run or a saved report.",
    "view": "Show the runs that are kept in a browser.",
    "score": "Judge a kept run again with further evaluators.",
    "merge": "Make one run of all shards of a run.",
    "label": "Answer a question about a kept run, to check a judge.",
    "search": "Look for inputs on which a system fails.",
    "shrink": "Reduce a failure to the smallest that still fails.",
    "compare": "Say what changed between runs, and whether it is noise.",
    "table": "Put several runs into one table, for a paper or a README.",
    "gate": "Say whether a run is good enough, by a policy.",
    "baseline": "Keep what a run did as accepted, and notice drift.",
    "plan": "Say how many cases a comparison needs, and what it costs.",
    "why": "Say why a result was computed or taken over.",
    "export": "Write a kept run to a file for other programs.",
    "import": "Keep runs that were made elsewhere.",
    "receive": "Keep and judge the traces that agents send.",
    "dataset": "Make cases of kept runs, reports and traces.",
    "store": "Copy runs to another store, or move old large values out.",
    "prune": "Remove kept runs and give back their space.",
    "check": "Check dataset files without running them.",
    "judge": "Measure how far to trust a judge that asks a model.",
    "voice": "Say requests to an agent that hears, and judge the tools it calls.",
    "evaluators": "List the evaluators there are, and their parameters.",
    "plugins": "List the plugins there are, and what failed.",
    "schema": "Write the JSON Schema of dataset and voice files, for editors.",
    "completion": "Print the script that completes commands in a shell.",
}
"""Each command, with the line that the help says about it; it lives in the module of its name, or of its name and `_`."""

_COMPLETE = "_CALIPERS_COMPLETE"
"""By this variable the scripts of `calipers completion` ask what could come next."""


class Settings:
    """Settings of the whole command line."""

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
        """What to say when there are more arguments than the command takes."""
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


class App(click.Group):
    """A group whose commands are loaded when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the help."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = import_module(f".commands.{module}", __package__).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, without loading them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with."""
        name = args[0]
        if name in COMMANDS or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches

        near = get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(COMMANDS)}"
        return ctx.fail(f"no command is called {name!r}; {hint}")

    def main(self, args: Sequence[str] | None = None, *_: Any, **_options: Any) -> NoReturn:
        """Run the command line, and end the process with the exit code."""
        complete = os.environ.get(_COMPLETE)
        if complete:
            from click.shell_completion import shell_complete

            sys.exit(shell_complete(self, {}, "calipers", _COMPLETE, complete))
        _fill_missing_streams()
        if isinstance(sys.stdout, TextIOWrapper):
            # What the terminal's encoding lacks is shown as an escape: a letter must not cost the output.
            sys.stdout.reconfigure(errors="backslashreplace")
        settings = Settings()
        settings.args = sys.argv[1:] if args is None else list(args)
        with terminating():
            try:
                code = self._invoke(list(settings.args), settings)
                sys.stdout.flush()
            except BrokenPipeError:
                silence(sys.stdout)
                code = PASSED
            except (
                BaseException
            ) as error:  # also what ends a process, such as SystemExit: no user code decides the exit code
                code = tell(error, debug=settings.debug)
        sys.exit(code)

    def _invoke(self, args: list[str], settings: Settings) -> int:
        try:
            with self.make_context("calipers", args, obj=settings) as ctx:
                code = self.invoke(ctx)
        except click.exceptions.Exit as done:
            return done.exit_code
        return code if isinstance(code, int) else PASSED


def _fill_missing_streams() -> None:
    """Replace standard streams that were closed when the process started: Python has `None` there."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


@click.group(
    cls=App,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(sys.modules["calipers"].__version__, message="calipers %(version)s")
def app() -> None:
    """Measure AI agents: run evaluators over cases, with an error bar on every number.

    Start with `calipers init` in an empty folder, then `calipers run`.
    """


app.params.append(debug_option())
