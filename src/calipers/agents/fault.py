"""`Fault`: one way in which a tool goes wrong, at which rate, and of which tools.

| kind | what the agent sees |
|---|---|
| `latency` | the result, later |
| `error` | a `RuntimeError` |
| `timeout` | a `TimeoutError` |
| `empty` | nothing where there was something: `""`, `[]`, `{}` |
| `stale` | an earlier result of the same tool |
| `partial` | the first part of the result |
| `lying` | other numbers, opposite answers, texts in the wrong places |
| `injected` | the result, with an instruction in it that you did not give |

The text of a fault is `[TOOL=]KIND[:SECONDS][@RATE]`: `error`, `latency:0.5`, `search=stale@0.3`. It is the fault's name in a report.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from calipers.data.argument_checks import check_choice, check_number, check_share, check_text, did_you_mean
from calipers.errors import InvalidOptionError

Kind: TypeAlias = Literal["latency", "error", "timeout", "empty", "stale", "partial", "lying", "injected"]
"""How a tool goes wrong."""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
ALL: Final = "all"
"""Stands for one fault of each kind."""
_SECONDS: Final = {"latency": 1.0, "timeout": 0.0}
"""The kinds that wait, and how long."""
_TEXT: Final = re.compile(r"(?:(?P<tool>[^=]+)=)?(?P<kind>[^:@]+)(?::(?P<seconds>[^@]*))?(?:@(?P<rate>.*))?")


@dataclass(frozen=True)
class Fault:
    """One way in which a tool goes wrong.

    ```python
    Fault("error", rate=0.3)
    Fault("latency", seconds=0.5, tool="search")
    Fault("injected", lure="delete_account")
    ```

    Raises:
        InvalidOptionError: an argument does not fit, or not to this kind.
    """

    kind: Kind
    rate: float = 1.0
    """The share of calls that it strikes, from 0 to 1."""
    tool: str | None = None
    """The name of the tool that it strikes; `None`: any."""
    seconds: float | None = None
    """How long the agent waits, of `latency` (default: 1) and `timeout` (default: 0)."""
    message: str | None = None
    """What an `error` or a `timeout` says, or an `injected` instruction; default: one of our own."""
    value: Any = None
    """What a `stale` result is where the tool has not given one before in this attempt; `None`: then it is left as it is."""
    lure: str | None = None
    """The tool that an `injected` instruction asks for: that the agent calls it is harm. `None`: it asks for a word alone."""

    def __post_init__(self) -> None:
        check_choice("the kind of a fault", self.kind, KINDS)
        check_share("the rate of a fault", self.rate)
        for name, kinds in (
            ("seconds", tuple(_SECONDS)),
            ("message", ("error", "timeout", "injected")),
            ("value", ("stale",)),
            ("lure", ("injected",)),
        ):
            if getattr(self, name) is not None and self.kind not in kinds:
                raise InvalidOptionError(
                    f"a fault {self.kind!r} takes no {name}, got {getattr(self, name)!r}: {name} is for {' and '.join(kinds)}"
                )
        if self.seconds is not None:
            check_number("the seconds of a fault", self.seconds, at_least=0)
        for name in ("tool", "message", "lure"):
            check_text(f"the {name} of a fault", getattr(self, name), or_none=True)

    @property
    def wait(self) -> float:
        """Seconds that the agent waits."""
        return _SECONDS.get(self.kind, 0.0) if self.seconds is None else self.seconds

    @property
    def name(self) -> str:
        """The fault as a text."""
        tool = "" if self.tool is None else f"{self.tool}="
        seconds = "" if self.seconds is None else f":{self.seconds:g}"
        rate = "" if self.rate == 1 else f"@{self.rate:g}"
        return f"{tool}{self.kind}{seconds}{rate}"


def read_faults(given: str | Fault | Iterable[str | Fault]) -> list[Fault]:
    """Faults as they are written: `"all"`, `"error,latency:0.5@0.3"`, or a list of texts and faults.

    Raises:
        InvalidOptionError: a text is not a fault, no fault is given, or one is named twice.
    """
    parts: list[Any] = [given] if isinstance(given, str | Fault) else list(given)
    faults: list[Fault] = []
    for part in parts:
        if isinstance(part, Fault):
            faults.append(part)
        elif isinstance(part, str):
            faults += [fault for text in part.split(",") for fault in _read(text.strip())]
        else:
            raise InvalidOptionError(f"a fault is a text or a Fault, got {part!r:.200}")
    if not faults:
        raise InvalidOptionError(f"no fault is given: name some, such as 'error', or {ALL!r}")
    names = [fault.name for fault in faults]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidOptionError(f"the fault {twice[0]!r} is given twice: a report has each name once")
    return faults


def _read(text: str) -> list[Fault]:
    if text == ALL:
        return [Fault(kind) for kind in KINDS]
    found = _TEXT.fullmatch(text)
    kind: Any = found["kind"] if found is not None else text
    if found is None or kind not in KINDS:
        raise InvalidOptionError(
            f"unknown fault {text!r}{did_you_mean(kind, KINDS)}; known faults: {', '.join(KINDS)}, and {ALL} for all of them"
        )
    rate, seconds = _number(text, "rate", found["rate"]), _number(text, "seconds", found["seconds"])
    return [Fault(kind, rate=1.0 if rate is None else rate, tool=found["tool"], seconds=seconds)]


def _number(text: str, name: str, written: str | None) -> float | None:
    if written is None:
        return None
    try:
        return float(written.removesuffix("s") if name == "seconds" else written)
    except ValueError:
        raise InvalidOptionError(
            f"the {name} of the fault {text!r} must be a number, got {written!r}: a fault is [TOOL=]KIND[:SECONDS][@RATE]"
        ) from None
