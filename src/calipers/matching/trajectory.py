"""A trajectory: what an agent may do on the way to its answer, as a specification rather than one recorded path.

The steps say which calls must be made; their structure says what order they need:

| part | meaning |
|---|---|
| `"search"` | a call of this tool, with any arguments |
| `ToolCall("search", {...})` | a call with these arguments, as the `rules` compare them |
| `InOrder(a, b)` | first all of `a`, then all of `b`; others may come between |
| `AnyOrder(a, b)` | both, in whatever order |
| `Either(a, b)` | one of them; the one that fits best is taken |
| `Optionally(a)` | `a`, or nothing |
| `Repeated(a, at_least, at_most)` | `a` so many times |

A list of steps is `InOrder`. The constraints speak of the whole path (`Before`, `Never`, `AtMost`, `Flow`, …), and
`extra` says whether calls that no step asked for are allowed.

The best fit is found exactly, never greedily: of all ways to give calls to steps that keep the order, one with the most
full matches, and among those one with the greatest similarity. The score is the mean over everything that was asked
for: a step earns the similarity of its call, a constraint 1 or 0, and a forbidden extra call counts as one more thing
that earned nothing. The trajectory is followed exactly when the score is 1.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from calipers.data.argument_checks import check_choice, check_whole_number
from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError

from .call import CallComparison, CallRules, Counted, left_out, show_call
from .constraints import Constraint, Step, as_step


@dataclass(frozen=True, init=False)
class _Group:
    """Several parts together."""

    parts: tuple["Part", ...]

    def __init__(self, *parts: "Part") -> None:
        if not parts:
            raise InvalidOptionError(f"{type(self).__name__}() holds no steps: it says nothing")
        object.__setattr__(self, "parts", tuple(map(as_part, parts)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.parts))})"


class InOrder(_Group):
    """All of the first part, then all of the next. Other calls may come between."""


class AnyOrder(_Group):
    """Every part, in whatever order."""


class Either(_Group):
    """One of the parts: the one that fits best."""

    def __init__(self, *parts: "Part") -> None:
        if len(parts) == 1:
            raise InvalidOptionError(
                f"Either({parts[0]!r}) has one alternative, which is no choice: write Either(one, other); a list is one "
                "alternative, whose steps come in order"
            )
        super().__init__(*parts)


class Optionally(_Group):
    """These parts in order, or nothing."""


_MOST_REPEATED = 1_000
"""A part that must be done more often would be as many steps to give calls to."""


@dataclass(frozen=True)
class Repeated:
    """A part that is done several times, one after the other."""

    part: "Part"
    at_least: int = 1
    at_most: int | None = None
    """`None`: as often as the agent likes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "part", as_part(self.part))
        for name in ("at_least", "at_most"):
            check_whole_number(name, getattr(self, name), at_least=0, or_none=name == "at_most")
        if self.at_least > _MOST_REPEATED:
            raise InvalidOptionError(
                f"at_least={self.at_least!r} is more than {_MOST_REPEATED}: count calls with AtLeast, which needs no step for "
                "each of them"
            )
        if self.at_most is not None and self.at_most < max(1, self.at_least):
            raise InvalidOptionError(
                f"at_most={self.at_most!r} is less than at_least={self.at_least!r}, or nothing"
            )


Part: TypeAlias = str | ToolCall | Step | InOrder | AnyOrder | Either | Optionally | Repeated | Sequence[Any]
"""What a trajectory is made of; a list is a part, too: its members in order."""


def as_part(given: Any) -> Any:
    """A part of a trajectory; a list becomes `InOrder`, a name or a call a `Step`.

    Raises:
        InvalidOptionError: it is no part.
    """
    if isinstance(given, _Group | Repeated):
        return given
    if isinstance(given, list | tuple):
        return InOrder(*given)
    if isinstance(given, Constraint):
        raise InvalidOptionError(f"{given!r} is no step: it belongs into constraints=[...]")
    return as_step(given)


def steps_in(part: Any) -> Iterator[Step]:
    """The steps of a part, those of all alternatives."""
    if isinstance(part, Step):
        yield part
    else:
        for each in part.parts if isinstance(part, _Group) else [part.part]:
            yield from steps_in(each)


def _named_in(parts: Iterable[Any]) -> frozenset[str]:
    """The tools that some parts of a trajectory name."""
    return frozenset(step.call.name for part in parts for step in steps_in(part))


Extra: TypeAlias = Literal["allowed", "forbidden"]


@dataclass(frozen=True)
class Trajectory:
    """What an agent may do on the way to its answer.

    ```python
    Trajectory(
        ["search", Either(ToolCall("book", {"to": "LA"}), "waitlist"), Optionally("notify")],
        constraints=[Never("delete_account"), AtMost("search", 3), Flow("search", "book", "flight_id")],
    )
    ```
    """

    steps: Sequence[Part] = ()
    """What must be done, in order."""
    constraints: Sequence[Constraint] = ()
    """What must hold for the whole path."""
    extra: Extra = "allowed"
    """Whether calls that no step asks for are allowed."""
    rules: CallRules = field(default_factory=lambda: CallRules(arguments="subset"))
    """How calls are compared with steps; default: a step's arguments must be among the call's."""
    failed: Counted = "count"
    """Whether calls whose tool failed count, or are left out."""
    retried: Counted = "count"
    """Whether a failed call counts when the next call of its tool repeats it, or is left out."""

    def __post_init__(self) -> None:
        if isinstance(self.steps, str) or not isinstance(self.steps, Sequence):
            raise InvalidOptionError(f"steps is a list of steps, got {self.steps!r}")
        object.__setattr__(self, "steps", tuple(map(as_part, self.steps)))
        if not isinstance(self.constraints, Sequence):
            raise InvalidOptionError(f"constraints is a list, got {self.constraints!r}")
        object.__setattr__(self, "constraints", tuple(self.constraints))
        for constraint in self.constraints:
            if not isinstance(constraint, Constraint):
                raise InvalidOptionError(f"{constraint!r} is no constraint: Before, Never, AtMost, Flow, …")
        for name, kind in (("extra", Extra), ("failed", Counted), ("retried", Counted)):
            check_choice(name, getattr(self, name), get_args(kind))
        if not self.steps and not self.constraints and self.extra == "allowed":
            raise InvalidOptionError(
                "the trajectory asks for nothing: give steps, or constraints, or extra='forbidden'"
            )

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        """Where plain data is validated, what describes a trajectory is as good as one, and stays what it is."""
        from pydantic_core import core_schema

        from .trajectory_data import read_trajectory

        def checked(value: Any) -> Any:
            if not isinstance(value, cls):
                read_trajectory(value)
            return value

        return core_schema.no_info_before_validator_function(checked, core_schema.any_schema())

    @property
    def tools(self) -> frozenset[str]:
        """The tools that its steps and constraints name."""
        return _named_in(self.steps).union(*(constraint.tools for constraint in self.constraints))

    def without(self, tools: Collection[str]) -> "Trajectory | None":
        """What it asks without the constraints that name one of these tools, and without steps if they do; `None` if nothing."""
        kept = [each for each in self.constraints if each.tools.isdisjoint(tools)]
        steps, extra = self.steps, self.extra
        if not _named_in(steps).isdisjoint(tools):
            steps, extra = (), "allowed"
        if not kept and not steps and extra == "allowed":
            return None
        return replace(self, steps=steps, constraints=kept, extra=extra)

    def match(self, calls: Iterable[ToolCall]) -> "TrajectoryMatch":
        """How well these calls follow the trajectory.

        Raises:
            InvalidOptionError: too many parts without an order may be half done at the same time to find the best fit
                exactly.
        """
        from .fit import best_fit

        listed = list(calls)
        for call in listed:
            if not isinstance(call, ToolCall):
                raise InvalidOptionError(f"calls are ToolCall objects, got {call!r:.200}")
        uncounted = left_out(listed, self.rules, failed=self.failed, retried=self.retried)
        return best_fit(self, [call for index, call in enumerate(listed) if index not in uncounted])


@dataclass(frozen=True)
class FittedStep:
    """What became of one step."""

    step: Step
    required: bool
    """Whether the trajectory asks for it."""
    position: int | None
    """Which call was given to it, from 0; `None` if none was."""
    comparison: CallComparison | None
    """How that call compares with it."""

    @property
    def matched(self) -> bool:
        """Whether a call does exactly what the step asks for."""
        return self.comparison is not None and self.comparison.matched


@dataclass(frozen=True)
class TrajectoryMatch:
    """How well an agent's calls follow a trajectory."""

    calls: tuple[ToolCall, ...]
    """The calls that counted."""
    steps: tuple[FittedStep, ...]
    """Every step of the alternative that fits best."""
    violations: tuple[str, ...]
    """The constraints that do not hold, in words."""
    extra: tuple[int, ...]
    """Calls that were given to no step, from 0."""
    extra_allowed: bool
    score: float
    """From 0 to 1, and 1 exactly when the trajectory was followed."""
    exercised: bool
    """False if the path could not have shown anything: no step was asked for, and no constraint met a call it speaks of."""

    @property
    def passed(self) -> bool:
        """Whether the trajectory was followed."""
        return self.score == 1.0

    @property
    def missing(self) -> tuple[Step, ...]:
        """The required steps that no call was given to."""
        return tuple(fitted.step for fitted in self.steps if fitted.required and fitted.position is None)

    @property
    def edit_script(self) -> str:
        """The path for a person: each call, what it was taken for, and what would have to change."""
        given = {fitted.position: fitted for fitted in self.steps if fitted.position is not None}
        lines: list[str] = []
        others = 0
        for position, call in enumerate(self.calls):
            fitted = given.get(position)
            if fitted is None and self.extra_allowed:
                others += 1
            elif fitted is None:
                lines.append(f"+ {position + 1}. unexpected {show_call(call)}")
            elif fitted.matched or fitted.comparison is None:
                lines.append(f"✓ {position + 1}. {show_call(call)}")
            else:
                lines.append(f"~ {position + 1}. {fitted.comparison}")
        lines += [f"- missing {step}" for step in self.missing]
        lines += [f"✗ {violation}" for violation in self.violations]
        if others and self.steps:
            lines.append(f"  ({others} other call{'s' if others > 1 else ''})")
        return "\n".join(lines)
