"""Evaluators that check the output's type, by name: a file of cases can hold a name but not a class."""

from dataclasses import dataclass, field

from calipers.data.argument_checks import check_text
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.result import EvaluationReason
from calipers.data.value_text import show


@dataclass
class IsInstance(Evaluator):
    """The output is an instance of the named type or of a subclass of it.

    The name is compared with `__name__`, `__qualname__` and `module.__qualname__` of every class the output's type
    inherits from. As in Python, `True` is an instance of `int`.
    """

    type_name: str
    """Such as `"dict"`, `"Invoice"`, `"Outer.Inner"` or `"billing.models.Invoice"`."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        check_text("type_name of IsInstance", self.type_name)

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if any class in the type's inheritance has the name; otherwise the reason names the type."""
        kind = type(ctx.output)
        for base in kind.__mro__:
            if self.type_name in {base.__name__, base.__qualname__, f"{base.__module__}.{base.__qualname__}"}:
                return EvaluationReason(value=True)
        return EvaluationReason(
            value=False,
            reason=f"expected an instance of {self.type_name}, got {kind.__qualname__}: {show(ctx.output)}",
        )
