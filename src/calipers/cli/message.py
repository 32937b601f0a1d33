"""What a command says beside its output: notes, and why it cannot go on. All of it goes to standard error.

An error is one message. A traceback is shown only where `--debug` asks for it, or where it is that of the user's own
code, which is then shown without the frames of Calipers around it.
"""

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

import click

from calipers.cli.exits import ERRORED, INTERRUPTED, TERMINATED, USAGE
from calipers.errors import CalipersError, DatasetFileError, InvalidOptionError, RunChangedError
from calipers.process.interrupt import Terminated, is_interrupt

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from calipers.files import Problem


_BESIDE = 5
"""Files that are named in place of a missing one."""


class CommandError(click.ClickException):
    """Ends a command with one message and an exit code."""

    def __init__(self, message: str, exit_code: int = ERRORED) -> None:
        super().__init__(message)
        self.code = exit_code


class UserCodeError(CommandError):
    """The user's own code raised; the message ends with their part of the traceback.

    What is wrong with a dataset file that it loads is not in the code: its problems are the message then.
    """

    def __init__(self, what: str, error: BaseException) -> None:
        problems = error.problems if isinstance(error, DatasetFileError) else ()
        super().__init__(problem_lines(problems) if problems else f"{what}\n\n{user_traceback(error)}")


def no_file(path: "str | Path") -> CommandError:
    """What to say of a path where a file was expected."""
    from pathlib import Path

    shown_path = repr(str(path))
    if Path(path).is_dir():
        return CommandError(f"{shown_path} is a folder: name a file", USAGE)
    if Path(path).exists():
        return CommandError(f"{shown_path} is not a regular file: save its content to a file", USAGE)
    return CommandError(f"file not found: {path}{_beside(Path(path))}", USAGE)


def _beside(path: "Path") -> str:
    """What is there in place of a missing file: files of the same kind, those with a similar name first."""
    from difflib import get_close_matches

    if not path.parent.is_dir():
        return f" (and there is no folder {str(path.parent)!r})"
    try:
        names = sorted(each.name for each in path.parent.iterdir() if each.is_file())
    except OSError:
        return ""
    near = get_close_matches(path.name, names, n=_BESIDE)
    alike = [name for name in names if path.suffix and name.endswith(path.suffix) and name not in near]
    found = [*near, *alike][:_BESIDE]
    return f" (in this folder: {', '.join(found)})" if found else ""


def note(message: str) -> None:
    """Say something beside the output, after what was printed before: where both go into one pipe, they keep their order."""
    with suppress(OSError, ValueError):  # its reader has gone, or user code closed it
        sys.stdout.flush()
    click.echo(shown(message), err=True)


def note_file(path: str) -> None:
    """Say that a file was written; and of a page, what to do with it."""
    note(f"Wrote {path}" + (": open it in a browser" if path.endswith((".html", ".htm")) else ""))


def trace(error: BaseException) -> None:
    """Show the traceback of an error that the command lives through, if `--debug` asks for it."""
    if debugging():
        import traceback

        traceback.print_exception(error)


def debugging() -> bool:
    """Whether `--debug` asks for tracebacks."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and getattr(ctx.obj, "debug", False)


def tell(error: BaseException, *, debug: bool) -> int:
    """Say why a command cannot go on; returns the exit code."""
    if debug and not isinstance(error, click.UsageError):
        import traceback

        traceback.print_exception(error)
    match error:
        case Terminated():
            note("Terminated.")
            return TERMINATED
        case click.Abort():
            note("Interrupted.")
            return INTERRUPTED
        case KeyboardInterrupt() if is_interrupt(error):
            note("Interrupted.")
            return INTERRUPTED
        case click.UsageError():
            error.show()
            return USAGE
    code, message = describe(error)
    note(f"Error: {message}")
    return code


def describe(error: BaseException) -> tuple[int, str]:
    """The exit code for an error, and what to say about it."""
    match error:
        case CommandError():
            return error.code, error.message
        case click.ClickException():
            return USAGE, error.format_message()
        case InvalidOptionError():
            return USAGE, str(error)
        case RunChangedError():
            return (
                ERRORED,
                f"{error.why}, and give --reuse in place of --resume to take over what still holds",
            )
        case CalipersError():
            return ERRORED, str(error)
        case OSError() if error.strerror:
            return ERRORED, error.strerror + ("" if error.filename is None else f": {error.filename}")
    hint = "run it again with --debug to see where"
    try:
        text = f"{type(error).__name__}: {error}"
    except BaseException:
        text = type(error).__name__
    return ERRORED, f"this should not have happened ({hint}): {text}"


def user_traceback(error: BaseException) -> str:
    """The traceback from the first frame that is the user's own."""
    import traceback
    from pathlib import Path

    ours = (
        f"{Path(__file__).parents[1]}{os.sep}",
        f"{Path(os.__file__).parent / 'importlib'}{os.sep}",
        "<frozen",
    )
    found: TracebackType | None = error.__traceback__
    while found is not None and found.tb_frame.f_code.co_filename.startswith(ours):
        found = found.tb_next
    return "".join(traceback.format_exception(type(error), error, found)).rstrip()


def problem_lines(problems: "Sequence[Problem]") -> str:
    """All problems of a dataset file, with its path as it is seen from the current folder."""
    from msgspec.structs import replace

    lines = [str(replace(each, file=near_path(each.file))) for each in problems]
    if len(lines) < 2:
        return "".join(lines)
    return "\n  ".join([f"{len(lines)} problems in {near_path(problems[0].file)}:", *lines])


def near_path(path: str) -> str:
    """The path from the current folder, for what is in it or below it."""
    from pathlib import Path

    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (OSError, ValueError):  # it is elsewhere, or the current folder is gone
        return path


def shown(message: str) -> str:
    """A message with an escape for everything that a terminal would obey; lines stay lines."""
    return "\n".join(
        "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in line)
        for line in message.split("\n")
    )


def silence(stream: TextIO) -> None:
    """The reader has gone: whatever is still written goes nowhere, and Python's own last flush finds nothing wrong."""
    with suppress(OSError, ValueError):  # it is not a file, or is closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
