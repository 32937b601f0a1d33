"""Why a report is not of a whole run: what it lacks (`Incomplete`), and the rule that ended the run early (`Stopping`)."""

from typing import TYPE_CHECKING, Literal

import msgspec

from calipers.process.interrupt import Signal

if TYPE_CHECKING:
    from collections.abc import Iterable


def after_attempts(made: int, total: int | None = None) -> str:
    """How far a run had come: `after 1 attempt`, `after 3 of 9 attempts`."""
    of = "" if total is None else f" of {total:,}"
    return f"after {made:,}{of} attempt{'' if (total or made) == 1 else 's'}"


class Incomplete(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a report does not have all results of its run. Code decides by `kind`, `by` and `during`; `str()` is the reason."""

    kind: Literal[
        "interrupted",
        "stopped",
        "budget",
        "hopeless",
        "failed",
        "running",
        "abandoned",
        "ended",
        "not_scored",
        "not_stored",
        "cut",
        "chosen",
        "shard",
        "several",
        "other",
    ]
    """What ended the run, or what the report lacks.

    - `interrupted`: Ctrl-C, SIGTERM or a cancellation
    - `stopped`: the caller asked to stop, such as by pytest's `--maxfail`
    - `budget`: what it may spend was spent, or a limit could not be kept; `Report.budget` says which
    - `hopeless`: one attempt after another found the key wrong, no credit, no such model or the host gone
    - `failed`: the dataset, the store, a hook or a worker failed
    - `running`: the run goes on
    - `abandoned`: the process that ran it is gone
    - `ended`: it is over with fewer attempts than planned, and left no report
    - `not_scored`: some evaluators have yet to score some attempts
    - `not_stored`: the last part could not be written to the store
    - `cut`: the file has fewer attempts than the run
    - `chosen`: only some of the cases were chosen
    - `shard`: it is of some shards of a run, and not of all
    - `several`: a report of several runs that ended early for different reasons
    - `other`: a file gives a reason and no kind
    """
    reason: str
    """A sentence for people."""
    by: Signal | None = None
    """The signal that interrupted the run."""
    during: Literal["run", "scoring"] = "run"
    """`scoring`: the run itself is over, and stored attempts were being scored again."""

    def __str__(self) -> str:
        return self.reason

    def after(self, made: int, total: int | None = None) -> "Incomplete":
        """The same with how far the run had come: `interrupted by Ctrl-C after 3 of 9 attempts`."""
        return msgspec.structs.replace(self, reason=f"{self.reason} {after_attempts(made, total)}")

    @classmethod
    def together(cls, parts: "Iterable[Incomplete]") -> "Incomplete | None":
        """What the reports of several runs lack; `None` if nothing."""
        found = list(parts)
        if len(found) < 2:
            return found[0] if found else None
        first = found[0].kind
        return cls(
            first if all(part.kind == first for part in found) else "several",
            "; ".join(part.reason for part in found),
            by=next((part.by for part in found if part.by is not None), None),
        )


class Stopping(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the rule that could end a run early. Whatever is said of such a run has to allow many looks."""

    why: str | None = None
    """Why no more attempts were needed; `None` if the rule never said so."""
    heard: int
    """Attempts that the rule had heard of when it said so."""
    total: int
    """Attempts that there were to make."""
    saved: int = 0
    """Those of them that were never begun."""
    unheard: tuple[str, ...] = ()
    """The names of attempts that finished when the rule had decided; the decision is not about them."""
    share: float = 1.0
    """The part of the doubt that the rule's looks have, all of them together; the rest is for one look at the whole run."""
    outcome: str | None = None
    """What the rule decided, where it has outcomes, such as `PASS` of a gate; `None` if it decided nothing, or does not say."""
    planned: int | None = None
    """Cases that there were to run, for which the rule's bets were made; `None`: they were made for any number."""

    def __str__(self) -> str:
        after = after_attempts(self.heard, self.total)
        if self.why is None:
            return f"not decided {after}"
        return f"{self.why} {after}" + (f"; {self.saved:,} task calls saved" if self.saved else "")
