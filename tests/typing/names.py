# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Names load late when the program runs, and are all known to a checker: a misspelt one is refused."""

from typing import assert_type

import calipers
import calipers.evaluators
from calipers import Evaluator, EvaluatorContext
from calipers import Evalutor as Misspelt  # type: ignore[attr-defined]
from calipers.evaluators import Contains, EqualsExpected
from calipers.evaluators import Cotains as MisspeltToo  # type: ignore[attr-defined]
from calipers.evaluators import Evaluator as SameEvaluator

assert_type(calipers.__version__, str)
misspelt = [Misspelt, MisspeltToo]
_ = calipers.Datset  # type: ignore[attr-defined]
_ = calipers.evaluators.EqualsExpcted  # type: ignore[attr-defined]

contains: Evaluator[object, object, object] = Contains(value="x")
equals: SameEvaluator[str, int, None] = EqualsExpected()


def same_class(ctx: EvaluatorContext[str, int, None]) -> calipers.EvaluatorContext[str, int, None]:
    return ctx
