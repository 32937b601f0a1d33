"""What became of a limit that a run kept by itself: how many calls it let through, how many were refused, and how fast they went."""

import msgspec


class LimitPoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """A limit at one moment of a run."""

    at: float
    """Seconds since the run began."""
    in_flight: int
    """Calls in flight."""
    window: int
    """Calls in flight that were allowed."""
    rate: float | None = None
    """Calls that were allowed to begin in a second; `None`: any number."""
    answered: int = 0
    """Calls answered until then."""


class LimitUse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one limit of a run."""

    name: str
    """What it is for: `openai`, the host of a server, or the name that `calipers.limit` was given."""
    answered: int = 0
    """Calls that were answered."""
    refused: int = 0
    """Calls that the server refused, since there were too many (429)."""
    overloaded: int = 0
    """Calls that had no answer in time, or found the server overloaded (503, 529)."""
    failed: int = 0
    """Calls that ended in another way, which says nothing of a limit."""
    waited: float = 0.0
    """Seconds for which calls waited, all of them together."""
    longest_pause: float = 0.0
    """The longest pause that the server asked for, in seconds."""
    most_in_flight: int = 0
    """The most calls that were in flight."""
    at_most: int | None = None
    """Calls in flight that the user allowed; `None`: any number."""
    told: float | None = None
    """Calls a second that the server said it takes, when it last did; `None`: it never did."""
    points: tuple[LimitPoint, ...] = ()
    """How it went, a few moments of the run."""

    @property
    def calls(self) -> int:
        """All calls."""
        return self.answered + self.refused + self.overloaded + self.failed
