"""`Jury`: several judges of the same thing. Each juror has its column; the jury adds the vote and how much they disagree.

- **Jurors that pass or fail** vote: `majority` (more than half; an even split is no pass), `all` or `any`. `disagreement` is the share of
  pairs of jurors who said different things: 0 if all agree, at most 1.
- **Jurors that give a number** have a mean as their vote, and `disagreement` is the standard deviation.
- **A juror that does not apply** is no part of the jury for that attempt. If none applies, the jury is skipped.
- **A juror that fails** is skipped in its column, with the error as the reason. The vote stands if that juror could not have changed it;
  otherwise the jury fails, too. A mean always needs all of them.

Jurors are asked at the same time. A judge may be on a jury several times; each is asked for itself, and none is given the answer that was
kept of another.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from hashlib import sha256
from itertools import combinations
from statistics import fmean, stdev
from typing import Any, ClassVar, Final, Literal, TypeAlias

from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator, EvaluatorLike, Expectation, make_ready
from calipers.data.evaluator_output import EvaluatorOutput, Judgement, read_parts
from calipers.data.evaluator_styles import as_evaluator, checked_evaluators
from calipers.data.result import EvaluationReason, Skipped, describe_error
from calipers.data.result_names import unique
from calipers.errors import InvalidOptionError, InvalidOutputError
from calipers.models.answer_cache import AnswerCache, cache_in_use, using_cache

from .judge import headline_of

Vote: TypeAlias = Literal["majority", "all", "any"]
"""How many have to pass."""
VOTE: Final = "vote"
DISAGREEMENT: Final = "disagreement"


@dataclass
class Jury(Evaluator):
    """Several judges vote; each has its own result beside the vote and the disagreement."""

    judges: Sequence[EvaluatorLike]
    """At least two; each gives one pass or fail, or one number."""
    vote: Vote = field(default="majority", kw_only=True)
    """How many have to pass: more than half, all of them, or any."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the jury is called; `None` for the class's name."""

    is_judge: ClassVar = True
    headline: ClassVar = (VOTE,)

    def __post_init__(self) -> None:
        checked_evaluators(self.judges)
        if len(self.judges) < 2:
            raise InvalidOptionError(f"a Jury needs at least two judges, got {len(self.judges)}")
        if self.vote not in ("majority", "all", "any"):
            raise InvalidOptionError(f"vote is majority, all or any, got {self.vote!r}")

    def jurors(self) -> dict[str, Evaluator]:
        """The judges by what their columns are called: with the model's name where that is what tells them apart."""
        made = [as_evaluator(each) for each in self.judges]
        own = [each.get_default_evaluation_name() for each in made]
        found: dict[str, Evaluator] = {}
        for name, juror in zip(own, made, strict=True):
            model = getattr(juror, "model_name", None) if own.count(name) > 1 else None
            told = f"{name} ({model})" if model else name
            found[unique(told, {*found, VOTE, DISAGREEMENT})] = juror
        return found

    def needs_expectations(self) -> frozenset[Expectation]:
        """What every juror needs."""
        needs = [juror.needs_expectations() for juror in self.jurors().values()]
        return frozenset.intersection(*needs)

    def get_evaluator_version(self) -> str | None:
        """The versions of its jurors."""
        found = {name: juror.get_evaluator_version() for name, juror in self.jurors().items()}
        told = [f"{name}: {version}" for name, version in found.items() if version is not None]
        return "; ".join(told) or None

    async def before_run(self) -> None:
        """See that every juror can be asked."""
        for juror in self.judges:
            await make_ready(juror)

    async def evaluate(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        """What each juror says, the vote and the disagreement."""
        jurors = self.jurors()
        alike = _alike(list(jurors.values()))
        said = await asyncio.gather(*map(_heard, jurors.values(), [ctx] * len(alike), alike))
        heard = {name: each for name, each in zip(jurors, said, strict=True) if not isinstance(each, Skipped)}
        if not heard:
            return Skipped("; ".join(each.reason for each in said if isinstance(each, Skipped)))
        failed = {name: each for name, each in heard.items() if isinstance(each, Exception)}
        columns = {name: each for name, each in heard.items() if isinstance(each, Judgement)}
        found: dict[str, EvaluatorOutput] = {
            name: Skipped(f"the juror failed: {describe_error(each)[1]}")
            if isinstance(each, Exception)
            else EvaluationReason(each.value, each.reason)
            for name, each in heard.items()
        }
        kinds = {isinstance(each.value, bool) for each in columns.values()}
        if len(kinds) > 1:
            raise InvalidOutputError(
                "the judges of a Jury all pass or fail, or all give a number: these do both"
            )
        error = next(iter(failed.values()), None)
        if kinds == {True}:
            passes = [bool(each.value) for each in columns.values()]
            found[VOTE] = _counted(self.vote, passes, error, missing=len(failed))
        elif error is not None:
            raise error
        else:
            found[VOTE] = fmean(float(each.value) for each in columns.values())
        if len(columns) > 1:
            found[DISAGREEMENT] = _disagreement([each.value for each in columns.values()])
        return found


def _counted(vote: Vote, passes: list[bool], error: Exception | None, *, missing: int) -> EvaluationReason:
    """The vote, if the jurors that failed could not have changed it.

    Raises:
        Exception: they could have; it is the error of the first of them.
    """
    yes, jury = sum(passes), len(passes) + missing
    needed = {"majority": jury // 2 + 1, "all": jury, "any": 1}[vote]
    decided = yes >= needed or yes + missing < needed
    if not decided and error is not None:
        raise error
    asked = {"majority": "more than half", "all": "all", "any": "one"}[vote]
    return EvaluationReason(yes >= needed, f"{yes} of {jury} pass, {asked} must ({needed})")


def _disagreement(values: list[Any]) -> float:
    if isinstance(values[0], bool):
        pairs = list(combinations(values, 2))
        return fmean(one != other for one, other in pairs)
    return float(stdev(map(float, values)))


def _alike(jurors: Sequence[Evaluator]) -> list[int]:
    """How many jurors before each are the same judge, by whatever name."""
    told = [_asked_alike(juror) for juror in jurors]
    return [told[:place].count(each) for place, each in enumerate(told)]


def _asked_alike(juror: Evaluator) -> tuple[Any, ...]:
    if not is_dataclass(juror):
        return (id(juror),)
    given = [(each.name, repr(getattr(juror, each.name))) for each in fields(juror)]
    model = getattr(juror, "model_name", None)
    return type(juror), model, [each for each in given if each[0] not in ("model", "evaluation_name")]


class _Apart:
    """Kept answers for one of several jurors that are the same judge: each is asked for itself."""

    def __init__(self, answers: AnswerCache, number: int) -> None:
        self._answers = answers
        self._number = b"juror %d " % number

    def get(self, key: bytes, /) -> bytes | None:
        return self._answers.get(sha256(self._number + key).digest())

    def put(self, key: bytes, answer: bytes, /) -> None:
        self._answers.put(sha256(self._number + key).digest(), answer)


async def _heard(juror: Evaluator, ctx: EvaluatorContext, number: int) -> Judgement | Skipped | Exception:
    """What a juror says: its headline, or its one pass or fail, else its one number; or its error."""
    answers = cache_in_use()
    try:
        with using_cache(answers if answers is None or not number else _Apart(answers, number)):
            parts = read_parts(await juror.evaluate_async(ctx))
    except Exception as error:
        return error
    values = [part for part in parts if isinstance(part, Judgement)]
    if not values:
        return Skipped("; ".join(part.reason or "" for part in parts))
    speaks = headline_of(juror, [part.key for part in values])
    if speaks is not None:
        return values[speaks]
    for kinds in ((bool,), (int, float)):
        chosen = [part for part in values if isinstance(part.value, kinds)]
        if len(chosen) == 1:
            return chosen[0]
        if chosen:
            break
    told = ", ".join(repr(part.value) for part in values)
    return InvalidOutputError(f"a juror gives one pass or fail, or one number, got {told:.200}")
