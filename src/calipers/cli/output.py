"""Where the reports of `calipers run` go: files in any format, and standard output.

Lines of JSON and tables are written attempt by attempt while the run goes on, so they hold every attempt even where the
report in memory does not. The other formats are written from that report when the run is over.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Final, Literal, TextIO, TypeAlias

from calipers.cli.message import silence, trace
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.errors import CalipersError, InvalidOptionError
from calipers.report.report import Report
from calipers.views.formats import GrowingFile, Target, growing_file, write_report
from calipers.views.github import commands_off
from calipers.views.terminal import print_report
from calipers.views.view import View, writes_itself

PLACEHOLDER = "{name}"
"""Stands in a path for the name of the evaluation."""


class Outputs:
    """The files of one evaluation."""

    def __init__(
        self,
        targets: Sequence[Target],
        name: str,
        *,
        folder: Path = Path(),
        views: Mapping[str, View] | None = None,
    ) -> None:
        """Takes the name that stands for `{name}`; relative paths count from `folder`, which the user's code may leave."""
        self.folder = folder
        self.views = views
        self.targets = [target._replace(path=target.path.replace(PLACEHOLDER, name)) for target in targets]
        self.problems: list[str] = []
        """What could not be written, and why."""
        self.written: list[str] = []
        """The files there are now."""
        self._writers: dict[Target, GrowingFile | None] = {}
        """Those that grow during the run; `None` for one that was given up."""

    def begin(self, report: Report) -> None:
        """Prepare the files that grow during the run; the report has what is known before it, and no attempts."""
        for target in self.targets:
            if (writer := growing_file(target._replace(path=self._place(target)), report)) is not None:
                self._writers[target] = writer

    @property
    def grow(self) -> bool:
        """Whether any file is written during the run."""
        return bool(self._writers)

    def add(self, record: ReportCase | ReportCaseFailure) -> None:
        """Write one attempt; a file that cannot be written is given up, and the run goes on."""
        for target, writer in self._writers.items():
            try:
                if writer is not None:
                    writer.add(record)
            except OSError as error:
                self._give_up(target, error)

    def end(self, report: Report, stdout: TextIO) -> None:
        """Write everything that is not written yet."""
        for target in self.targets:
            try:
                if target not in self._writers:
                    with redirect_stdout(stdout):
                        write_report(report, f"{target.format}:{self._place(target)}", views=self.views)
                elif (writer := self._writers[target]) is not None:
                    writer.close(report)
                else:
                    continue
            except BrokenPipeError:
                silence(stdout)
            except (OSError, CalipersError) as error:
                trace(error)
                self._give_up(target, error)
            else:
                if target.path != "-":
                    self.written.append(target.path)

    def _place(self, target: Target) -> str:
        return target.path if target.path == "-" else str(self.folder / target.path)

    def drop(self) -> None:
        """Give up the files that were begun; what lines of JSON hold by now stays."""
        for target in self._writers:
            self._drop(target, CalipersError("the run came to nothing"))

    def _drop(self, target: Target, error: Exception) -> None:
        writer = self._writers.get(target)
        if writer is not None:
            self._writers[target] = None
            with suppress(OSError):  # a full disk refuses the last bytes, too
                writer.__exit__(type(error), error, None)

    def _give_up(self, target: Target, error: Exception) -> None:
        self._drop(target, error)
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        self.problems.append(f"{target.path!r} could not be written: {why}")


def check_paths(
    targets: Sequence[Target], names: Sequence[str], views: Mapping[str, View] | None = None
) -> None:
    """Refuse to write two reports to one file, or one to a folder, unless a view writes it that may make folders."""
    for target in targets:
        is_folder = target.path.endswith(("/", os.sep)) or Path(target.path).is_dir()
        if is_folder and not writes_itself((views or {}).get(target.format)):
            raise InvalidOptionError(f"--out {target.path!r} is a folder: name a file in it")
        for found in re.findall(r"\{\w*\}", target.path):
            if found != PLACEHOLDER:
                raise InvalidOptionError(
                    f"--out {target.path!r}: unknown placeholder {found}; {PLACEHOLDER} stands for the evaluation"
                )
    seen: set[tuple[object, ...]] = set()
    for path in (target.path for name in names for target in Outputs(targets, name).targets):
        same = ("-",) if path == "-" else _identity(path)
        if same not in seen:
            seen.add(same)
            continue
        if len(names) > 1 and path != "-":
            raise InvalidOptionError(
                f"{len(names)} evaluations would write to {path!r}: put {PLACEHOLDER} into the path"
            )
        if len(names) > 1:
            raise InvalidOptionError(
                f"{len(names)} evaluations would write to standard output: run one of them"
            )
        raise InvalidOptionError(f"two --out write to {'standard output' if path == '-' else repr(path)}")


def protect(
    sources: Iterable[str | Path], targets: Sequence[Target], names: Sequence[str], *, folder: Path = Path()
) -> None:
    """Refuse to write a report over what the run is made of: dataset files, and Python files that are loaded."""
    paths = {
        target.path: _identity(folder / target.path)
        for name in names
        for target in Outputs(targets, name).targets
        if target.path != "-" and os.path.exists(folder / target.path)  # noqa: PTH110  # `Path.exists` may raise
    }
    if not paths:
        return
    modules = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    used = {_identity(source) for source in [*sources, *(file for file in modules if file)]}
    for path, same in paths.items():
        if same in used:
            raise InvalidOptionError(
                f"--out {path!r} would overwrite a file that the run is made of: write the report to another"
            )


def _identity(path: str | Path) -> tuple[object, ...]:
    """The same for every way to write the path of a file, one that is not there yet included."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return (os.path.normcase(os.path.realpath(path)),)
    return (found.st_dev, found.st_ino)


def reopen_streams() -> None:
    """Open again the streams that the user's code closed: the file below `sys.stdout` is still there."""
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name).closed:
            stream = open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


@contextmanager
def clean_stdout(*, wanted: bool) -> Iterator[TextIO]:
    """A block in which whatever the user's code prints goes to standard error; gives the real standard output.

    That includes what other processes and libraries print, which write to the file and not to `sys.stdout`.
    """
    real = sys.stdout
    if not wanted:
        yield real
        return
    real.flush()
    try:
        number, aside = real.fileno(), sys.stderr.fileno()
        kept = os.dup(number)
    except (OSError, ValueError):  # one of them is no file
        with redirect_stdout(sys.stderr):
            yield real
        return
    os.dup2(aside, number)
    try:
        with redirect_stdout(sys.stderr), open(kept, "w", encoding="utf-8", closefd=False) as output:
            yield output
    finally:
        os.dup2(kept, number)
        os.close(kept)


@contextmanager
def printing() -> Iterator[None]:
    """A block that prints text of others: in a GitHub log none of it becomes a command, and a reader who stops early is no failure."""
    try:
        with commands_off():
            yield
    except (BrokenPipeError, SystemExit):  # recent versions of rich exit where earlier ones raise
        silence(sys.stdout)


IncludeCases: TypeAlias = Literal["all", "failed", "none"]

_INCLUDE: Final[dict[IncludeCases, bool | Literal["failed"]]] = {
    "all": True,
    "failed": "failed",
    "none": False,
}


def show_report(
    report: Report,
    *,
    include_cases: IncludeCases = "failed",
    max_cases: int = 20,
    tracebacks: bool = False,
) -> None:
    """Show a report, with at most `max_cases` attempts in each list; 0 is no limit."""
    with printing():
        print_report(
            report,
            include_cases=_INCLUDE[include_cases],
            max_cases=max_cases or None,
            no_limit="--max-cases 0",
            include_tracebacks=tracebacks,
        )
