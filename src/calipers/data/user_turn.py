"""A scripted user: what it says, turn by turn, and what is expected of each answer.

A case with `turns` is a conversation: the task answers one turn after the other and is given the conversation so far. Each
turn may state the answer it expects, and may bring evaluators of its own. They judge that turn alone: what the user said is
the inputs, the answer the output, and the trace is that of the turn. Their results are called after it, `turn 2: Contains`.
A turn that states an expected output and brings no evaluators is judged by `EqualsExpected`. Evaluators of the case and of
the dataset judge the whole conversation.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from calipers.data.context import EvaluatorContext, rollout_of
from calipers.data.evaluator import Evaluator, EvaluatorLike, make_ready
from calipers.data.evaluator_styles import as_evaluator, checked_evaluators
from calipers.data.jsonable import safe_repr
from calipers.data.result import EvaluatorSpec, Skipped
from calipers.errors import InvalidCaseError, InvalidRolloutError

ABSENT: Final[Any] = object()
"""Stands for an expectation that was not stated, since `None` can be one."""


class UserTurn:
    """One thing that a scripted user says."""

    __slots__ = ("_states_output", "evaluators", "expected_output", "user")

    user: str
    """What the user says."""
    expected_output: Any
    """What the answer should be; `None` also when nothing is expected, see `has_expected_output`."""
    evaluators: list[EvaluatorLike]
    """Evaluators of this turn."""

    def __init__(
        self, user: str, *, expected_output: Any = ABSENT, evaluators: Sequence[EvaluatorLike] = ()
    ) -> None:
        if not isinstance(user, str) or not user.strip():
            raise InvalidCaseError(
                f"a turn needs what the user says, a text that is not empty, got {safe_repr(user):.200}"
            )
        self.user = user
        self._states_output = expected_output is not ABSENT
        self.expected_output = expected_output if self._states_output else None
        self.evaluators = checked_evaluators(evaluators)

    @property
    def has_expected_output(self) -> bool:
        """Whether an expectation was stated, when the turn was made or later."""
        return self._states_output or self.expected_output is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UserTurn):
            return NotImplemented
        return self.has_expected_output == other.has_expected_output and all(
            getattr(self, slot) == getattr(other, slot) for slot in UserTurn.__slots__[1:]
        )

    __hash__ = None  # type: ignore[assignment]  # a turn is mutable

    def __repr__(self) -> str:
        expected = f", expected_output={self.expected_output!r}" if self.has_expected_output else ""
        evaluators = f", evaluators={self.evaluators!r}" if self.evaluators else ""
        return f"UserTurn({self.user!r}{expected}{evaluators})"


def as_turns(turns: Any) -> tuple[UserTurn, ...]:
    """The turns of a script; a text is a turn without an expectation.

    Raises:
        InvalidCaseError: it is not a list of turns and texts.
    """
    if isinstance(turns, str) or not isinstance(turns, Sequence):
        raise InvalidCaseError(f"turns are a list of UserTurn, or of texts, got {safe_repr(turns):.200}")
    for turn in turns:
        if not isinstance(turn, str | UserTurn):
            raise InvalidCaseError(f"a turn is a UserTurn or a text, got {safe_repr(turn):.200}")
    return tuple(turn if isinstance(turn, UserTurn) else UserTurn(turn) for turn in turns)


class _TurnCase(NamedTuple):
    """A turn as the case that its evaluators see."""

    name: str | None
    inputs: Any
    metadata: Any
    expected_output: Any
    has_expected_output: bool
    expected_tool_calls: Any = None

    @property
    def input_text(self) -> str:
        return str(self.inputs)


class _TurnFacts(NamedTuple):
    """What the context of a turn knows beyond its own fields."""

    case: _TurnCase
    conversation: EvaluatorContext

    @property
    def seed(self) -> int:
        """That of the attempt. Only an evaluator that asks for it depends on it."""
        return self.conversation.seed or 0

    @property
    def repeat_index(self) -> int | None:
        """That of the attempt."""
        return self.conversation.repeat_index


@dataclass
class TurnEvaluator(Evaluator):
    """An evaluator of one turn of a conversation."""

    evaluator: Any
    """Judges the turn; in any style that `as_evaluator` takes."""
    turn: int
    """Which turn, from 1."""
    expects: bool = field(default=False, kw_only=True)
    """Whether an answer is expected."""
    expected_output: Any = field(default=None, kw_only=True)
    """What the answer should be; it counts if `expects` is True."""

    def __post_init__(self) -> None:
        self._inner = as_evaluator(self.evaluator)

    @property
    def needs_spans(self) -> bool:  # type: ignore[override]  # it depends on the evaluator at hand
        """Whether the evaluator looks at spans."""
        return self._inner.needs_spans

    def get_default_evaluation_name(self) -> str:
        """The evaluator's name after the number of the turn."""
        return f"turn {self.turn}: {self._inner.get_default_evaluation_name()}"

    def get_evaluator_version(self) -> str | None:
        """The evaluator's version, if it states one."""
        return self._inner.get_evaluator_version()

    async def before_run(self) -> None:
        """See to what the evaluator needs."""
        await make_ready(self._inner)

    def as_spec(self) -> EvaluatorSpec:
        """The turn, what is expected, and the evaluator's own spec."""
        inner = self._inner.as_spec()
        arguments: dict[str, Any] = {"turn": self.turn, "evaluator": {inner.name: inner.arguments}}
        if self.expects:
            arguments["expected_output"] = self.expected_output
        return EvaluatorSpec(self.get_serialization_name(), arguments)

    def evaluate(self, ctx: EvaluatorContext) -> Any:
        """What the evaluator says of the turn; skipped where the conversation has no such turn."""
        node = _turn_of(ctx.output, self.turn)
        if node is None:
            return Skipped(f"the attempt is no conversation with a turn {self.turn}")
        found = self._inner.evaluate(self._context(ctx, node))
        return _awaited(found) if inspect.isawaitable(found) else found

    def _context(self, ctx: EvaluatorContext, node: Any) -> EvaluatorContext:
        """The turn as an attempt."""
        states, expected = self.expects, self.expected_output
        asked = getattr(node, "attack", None)
        return EvaluatorContext(
            name=ctx.name,
            inputs=asked,
            metadata=ctx.metadata,
            expected_output=expected,
            output=getattr(node, "response", None),
            duration=getattr(node, "duration", None) or 0.0,
            _span_tree=ctx._span_tree,  # noqa: SLF001 - reading the property would raise where there are none
            attributes=ctx.attributes,
            metrics=ctx.metrics,
            trace=getattr(node, "trace", None),
            _attempt=_TurnFacts(_TurnCase(ctx.name, asked, ctx.metadata, expected, states), ctx),
            _earlier=ctx._earlier,  # noqa: SLF001 - the same attempt
            _asked=ctx._asked,  # noqa: SLF001 - what it looks at, this evaluator looks at
        )


async def _awaited(found: Any) -> Any:
    return await found


def _turn_of(output: Any, number: int) -> Any:
    """A turn of the first conversation of a rollout; `None` if there is none."""
    try:
        node = rollout_of(output)
    except InvalidRolloutError:
        return None
    for _ in range(number):
        children = getattr(node, "children", None) or ()
        if not children:
            return None
        node = children[0]
    return node


def evaluators_of(turns: Sequence[UserTurn]) -> list[TurnEvaluator]:
    """The evaluators of all turns, each bound to its turn."""
    found: list[TurnEvaluator] = []
    for number, turn in enumerate(turns, 1):
        given = {"expects": turn.has_expected_output, "expected_output": turn.expected_output}
        evaluators: Sequence[Any] = turn.evaluators
        if not evaluators and turn.has_expected_output:
            from calipers.evaluators.equality import EqualsExpected

            evaluators = [EqualsExpected()]
        found += [TurnEvaluator(each, number, **given) for each in evaluators]
    return found
