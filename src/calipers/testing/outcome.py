"""What comes of one call of an evaluator, whatever it does: judged, skipped, raised, illegal, exit or late.

The call runs in another thread, so that one that hangs can be left behind.
"""

from collections.abc import Sequence
from inspect import isawaitable
from typing import Any, Literal, NamedTuple, TypeAlias

from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.evaluator_output import Judgement, read_output
from calipers.data.jsonable import safe_repr
from calipers.data.result import EvalResult, EvalVerdict, Skipped, describe_error
from calipers.errors import InvalidOutputError
from calipers.process.loop import elsewhere, run_sync

Kind: TypeAlias = Literal["judged", "skipped", "raised", "illegal", "exit", "late"]
"""How a call ended; `exit` is what a run would not survive."""


class Outcome(NamedTuple):
    """What came of one call."""

    kind: Kind
    said: Any = None
    """What must be the same at the next call."""
    text: str = ""
    """What it said, for people."""
    judgements: Sequence[Judgement] = ()
    output: Any = None
    """What it returned."""


def outcome_of_call(
    evaluator: Evaluator[Any, Any, Any], ctx: EvaluatorContext[Any, Any, Any], timeout: float
) -> Outcome:
    """What comes of one call within the timeout."""
    try:
        return elsewhere(lambda: _outcome(evaluator, ctx), timeout=timeout)
    except TimeoutError:
        return Outcome("late")


def _outcome(evaluator: Evaluator[Any, Any, Any], ctx: EvaluatorContext[Any, Any, Any]) -> Outcome:
    output: Any = None
    try:
        output = run_sync(lambda: _evaluate(evaluator, ctx))
    except RecursionError as error:
        return Outcome("exit", RecursionError, error_text(error))
    except Exception as error:
        return Outcome("raised", type(error), error_text(error))
    except BaseException as error:
        return Outcome("exit", type(error), error_text(error))
    try:
        found = read_output(output)
    except (Exception, SystemExit) as error:
        if isinstance(output, EvalResult) and output.error is error:  # caught, and told instead of raised
            return Outcome("raised", type(error), error_text(error))
        if isinstance(error, InvalidOutputError):
            failed = getattr(output, "verdict", None) == EvalVerdict.ERROR  # an error, told instead of raised
            return Outcome("raised" if failed else "illegal", "error" if failed else str(error), str(error))
        return Outcome(
            "illegal", type(error), f"returned {safe_repr(output):.200}, which raised {error_text(error)}"
        )
    if isinstance(found, Skipped):
        return Outcome("skipped", "skipped", found.reason)
    said = [(j.key, repr(j.value), j.verdict, j.score) for j in found]
    shown = ", ".join(safe_repr(j.value) if j.key is None else f"{j.key}={safe_repr(j.value)}" for j in found)
    return Outcome("judged", said, shown, found, output)


async def _evaluate(evaluator: Evaluator[Any, Any, Any], ctx: EvaluatorContext[Any, Any, Any]) -> Any:
    # On a running event loop, where a run calls evaluators too.
    output = evaluator.evaluate(ctx)
    return await output if isawaitable(output) else output


def error_text(error: BaseException) -> str:
    """`Type: text` of an error."""
    return describe_error(error)[1]
