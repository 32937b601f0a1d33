"""Where runs are kept: the contract of every store.

A store takes what a run finishes, batch by batch, and gives it back whole: as records, as cells, as a report. `append`
is one transaction: what it was given is stored whole or not at all. An attempt that is appended twice is stored once;
the later one replaces the earlier together with its cells.

Every method may be called from any thread.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias

from calipers.report import Report
from calipers.summary import Totals

from .records import Known, StoredAttempt, StoredCell
from .run_info import RunInfo, Status, StoredEvaluator

Redact: TypeAlias = Callable[[Any], Any]
"""Takes plain data and returns what of it may be written."""


class Store(ABC):
    """Keeps runs. `open_store(url)` makes one."""

    url: str
    """Where it is, without any password."""

    # ------------------------------------------------------------------ writing

    @abstractmethod
    def begin_run(self, run: RunInfo) -> RunInfo:
        """Store a run without attempts, and return it with what was filled in: id, time, environment, owner."""

    @abstractmethod
    def add_evaluators(self, run: str, evaluators: Sequence[StoredEvaluator]) -> list[int]:
        """Add evaluators to those of a run, and return their places. One that is there already keeps its place."""

    @abstractmethod
    def append(
        self, run: str, attempts: Sequence[StoredAttempt] = (), cells: Sequence[StoredCell] = ()
    ) -> None:
        """Store finished attempts and cells, all or nothing, and beat the run's heart.

        Raises:
            StoreUnavailableError: it could not be written now and may be later (a full disk, a lost server).
            StoreError: it cannot be written at all.
        """

    @abstractmethod
    def beat(self, run: str) -> None:
        """Say that the run's owner is alive."""

    @abstractmethod
    def resume_run(self, run: str) -> RunInfo:
        """Make this process the owner of a run that is not running, or abandoned, and mark it as running.

        Raises:
            StoreError: another process is at it.
        """

    @abstractmethod
    def finish_run(self, run: str, *, status: Status = "finished", report: Report | None = None) -> RunInfo:
        """Mark a run as over, and keep what its report says besides its attempts."""

    @abstractmethod
    def delete_run(self, run: str) -> None:
        """Remove a run and all it holds. What other runs share with it stays."""

    @abstractmethod
    def prune(self) -> int:
        """Give up what no run uses any more, and the space it took; returns how many blobs were removed."""

    # ------------------------------------------------------------------ reading

    @abstractmethod
    def runs(
        self,
        *,
        name: str | None = None,
        dataset_name: str | None = None,
        status: Status | None = None,
        limit: int | None = None,
    ) -> list[RunInfo]:
        """The runs, newest first."""

    @abstractmethod
    def run(self, which: str) -> RunInfo:
        """One run: by its id, the beginning of its id, its name (the newest of that name), or `latest`.

        Raises:
            StoreError: there is none, or more than one whose id begins so.
        """

    @abstractmethod
    def attempts(
        self,
        run: str,
        *,
        after: int = -1,
        name: str | None = None,
        failed: bool | None = None,
        parts: bool = True,
    ) -> Iterator[StoredAttempt]:
        """The attempts of a run in order, read a page at a time, whatever is written meanwhile.

        Args:
            run: its id.
            after: only those at later positions.
            name: only those of this name, or of the case of this name.
            failed: only those whose task did not finish (True) or did (False).
            parts: False leaves `given`, `output` and `trace` empty, which is several times faster.
        """

    @abstractmethod
    def cells(self, run: str, *, evaluator: int | None = None, after: int = -1) -> Iterator[StoredCell]:
        """The cells of a run, or of one of its evaluators, by position, read a page at a time."""

    @abstractmethod
    def judged(
        self, run: str, *, after: int = -1, failed: bool | None = None, parts: bool = True
    ) -> Iterator[tuple[StoredAttempt, list[StoredCell]]]:
        """The attempts of a run in order, each with its cells, read a page at a time."""

    @abstractmethod
    def done(self, run: str) -> list[range]:
        """The positions of the stored attempts, as ranges in order."""

    @abstractmethod
    def find(self, keys: Iterable[bytes], *, failed: bool = False) -> dict[bytes, Known]:
        """What any run knows about the attempts of these keys; keys that no run knows are left out.

        Args:
            keys: of attempts.
            failed: whether an attempt whose task did not finish is an answer too.
        """

    @abstractmethod
    def totals(self, run: str) -> Totals:
        """What all attempts of a run say together. Counted when first asked for, then kept with the run."""

    @abstractmethod
    def report(self, run: str, *, keep: str = "all") -> Report:
        """A run as a report.

        Args:
            run: its id.
            keep: "all" attempts; only the first thousand "failed" ones, with exact totals of all; or "none" of them.
        """

    @abstractmethod
    def add_report(self, report: Report, *, parameters: Mapping[str, Any] | None = None) -> RunInfo:
        """Store a whole report as a run that is over."""

    # ------------------------------------------------------------------ life

    @abstractmethod
    def close(self) -> None:
        """Give up the connection. What was appended is stored whether a store is closed or not."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"
