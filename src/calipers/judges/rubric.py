"""`Rubric`: weighted criteria with a description of each level, judged in one call.

Each criterion gives a score from 0 for its lowest level to 1 for its highest; `total` is their mean by weight. With `pass_at`, `passed`
says whether the total reaches it. `GEval` is the same for one criterion on a scale of numbers, with the fields of pydantic_evals.

With `logprobs`, levels are weighted by the probabilities of their tokens, as G-Eval does (Liu et al. 2023, arXiv 2303.16634): a model that writes
4 may have been about to write 5. Where the provider reports the likeliest tokens, the level is the mean of all levels among them, each weighted by
its probability; the weights are scaled to add up to 1, since other tokens have a share, too. Where levels cannot be told from the tokens, they stay
as written; the results say so under `attributes` in their metadata.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from calipers.data.argument_checks import check_number, check_text, check_texts, check_whole_number
from calipers.data.attempt import set_eval_attribute
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator_output import EvaluatorOutput
from calipers.data.result import EvaluationReason
from calipers.errors import InvalidOptionError
from calipers.models.model import Answer
from calipers.models.model_answer import Completion, Token

from .judge import REASON, ModelJudge, object_of
from .prompt import prompt_named

TOTAL: Final = "total"
PASSED: Final = "passed"
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every provider takes as the name of a field."""
_WEIGHING: Final = "levels"
"""The attribute that says how levels were read."""
TOP: Final = 20
"""How many likely tokens to ask for; the most that providers give."""
_LEVEL: Final = re.compile(r'(?<!\\)"level"\s*:\s*(-?\d+)')
"""A level in the JSON of an answer. Inside of a text its quotes would be escaped."""


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One thing that an output is graded by."""

    levels: Mapping[int, str]
    """What each level means: at least two, such as `{0: "wrong", 1: "right but vague", 2: "right and exact"}`."""
    description: str = ""
    """What the criterion is about, where its name does not say it."""
    weight: float = 1.0
    """Its share in the total."""

    def __post_init__(self) -> None:
        if not isinstance(self.levels, Mapping) or len(self.levels) < 2:
            raise InvalidOptionError(f"a criterion needs at least two levels, got {self.levels!r:.200}")
        for level, meaning in self.levels.items():
            check_whole_number("a level of a criterion", level)
            check_text(f"the description of level {level}", meaning)
        check_text("description of a criterion", self.description, or_empty=True)
        check_number("weight of a criterion", self.weight, above=0)

    def share(self, level: float) -> float:
        """A level as a score from 0 to 1."""
        low, high = min(self.levels), max(self.levels)
        return (level - low) / (high - low)


@dataclass
class Rubric(ModelJudge):
    """A model grades the output by weighted criteria, whose levels are described."""

    criteria: Mapping[str, Criterion]
    """By name."""
    steps: Sequence[str] = field(default=(), kw_only=True)
    """How to go about it, step by step; the model reasons along them before it grades."""
    logprobs: bool = field(default=False, kw_only=True)
    """Whether to weight levels by the probabilities of their tokens, where the provider gives them."""
    pass_at: float | None = field(default=None, kw_only=True)
    """The total from which the output passes; `None`: there is no pass or fail."""

    prompts: ClassVar = ("rubric",)
    headline: ClassVar = (PASSED, TOTAL)
    score_range: ClassVar = (0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.criteria, Mapping) or not self.criteria:
            raise InvalidOptionError(f"Rubric needs criteria by their names, got {self.criteria!r:.200}")
        for name, criterion in self.criteria.items():
            check_text("the name of a criterion", name)
            if name in {TOTAL, PASSED}:
                raise InvalidOptionError(
                    f"a criterion cannot be called {name!r}: the rubric gives a result of that name"
                )
            if not isinstance(criterion, Criterion):
                raise InvalidOptionError(
                    f"the criterion {name!r} must be a Criterion, got {criterion!r:.200}"
                )
        check_texts("steps", self.steps)
        check_number("pass_at", self.pass_at, at_least=0, at_most=1, or_none=True)

    async def judge(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        """A score for each criterion, the total, and whether it passes."""
        fields = dict(zip(_field_names(self.criteria), self.criteria.values(), strict=True))
        schema = object_of(**{name: _graded(criterion.levels) for name, criterion in fields.items()})
        instruction = prompt_named("rubric").filled(
            {
                "criteria": "\n\n".join(map(_described, fields, self.criteria, fields.values())),
                "steps": f"\nGo about it so:\n\n{_numbered(self.steps)}\n" if self.steps else "",
            }
        )
        answer = await self.ask(ctx, instruction, schema, top_logprobs=TOP if self.logprobs else 0)
        said = [answer.data[name] for name in fields]
        order = list(answer.data)  # the model's own, which its tokens follow
        read = _levels(
            answer,
            [answer.data[name]["level"] for name in order],
            [fields[name].levels for name in order],
            weighing=self.logprobs,
        )
        levels = [read[order.index(name)] for name in fields]
        shares = [criterion.share(level) for criterion, level in zip(fields.values(), levels, strict=True)]
        found: dict[str, EvaluatorOutput] = {
            name: EvaluationReason(share, f"level {each['level']}: {each['reason']}")
            for name, share, each in zip(self.criteria, shares, said, strict=True)
        }
        weights = [criterion.weight for criterion in fields.values()]
        total = sum(weight * share for weight, share in zip(weights, shares, strict=True)) / sum(weights)
        found[TOTAL] = total
        if self.pass_at is not None:
            found[PASSED] = EvaluationReason(
                total >= self.pass_at, f"the total is {total:.3g}, {self.pass_at:g} is asked"
            )
        return found


@dataclass
class GEval(ModelJudge):
    """A model grades the output by one criterion, along given steps, on a scale of whole numbers."""

    criteria: str
    """What the output is graded by."""
    evaluation_steps: Sequence[str]
    """How to go about it, step by step."""
    score_range: tuple[int, int] = (1, 5)
    """The lowest and the highest number of the scale."""
    logprobs: bool = field(default=True, kw_only=True)
    """Whether to weight numbers by the probabilities of their tokens, where the provider gives them."""

    prompts: ClassVar = ("g_eval",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text("criteria", self.criteria)
        if not check_texts("evaluation_steps", self.evaluation_steps):
            raise InvalidOptionError("evaluation_steps must contain at least one step")
        low, high = self.score_range
        check_whole_number("the lower end of score_range", low)
        check_whole_number("the higher end of score_range", high, at_least=low + 1)

    async def judge(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        """The number, with the reason."""
        low, high = self.score_range
        scale = dict.fromkeys(range(low, high + 1), "")
        instruction = prompt_named("g_eval").filled(
            {
                "criteria": self.criteria.strip(),
                "steps": _numbered(self.evaluation_steps),
                "low": str(low),
                "high": str(high),
            }
        )
        schema = object_of(**_graded(scale)["properties"])
        answer = await self.ask(ctx, instruction, schema, top_logprobs=TOP if self.logprobs else 0)
        (level,) = _levels(answer, [answer.data["level"]], [scale], weighing=self.logprobs)
        return EvaluationReason(level, answer.data["reason"])


def _levels(
    answer: Answer, written: list[int], scales: list[Mapping[int, str]], *, weighing: bool
) -> Sequence[float]:
    """The levels of an answer, weighted if that is wanted and can be had."""
    if not weighing:
        return written
    found = weighted_levels(answer.completion, scales)
    told = (
        "as written: the model gave no probabilities"
        if found is None
        else "weighted by the probabilities of their tokens"
    )
    set_eval_attribute(_WEIGHING, told)
    return written if found is None else found


def _graded(levels: Mapping[int, str]) -> dict[str, Any]:
    """The schema of a reason and a level."""
    return object_of(reason=REASON, level={"type": "integer", "enum": sorted(levels)})


def _described(name: str, title: str, criterion: Criterion) -> str:
    about = "" if title == name else f", {title}"
    what = f": {criterion.description.strip()}" if criterion.description else ""
    levels = "\n".join(f"- level {level}: {text}" for level, text in sorted(criterion.levels.items()))
    return f"`{name}`{about}{what}\n{levels}"


def _field_names(criteria: Mapping[str, Any]) -> list[str]:
    """A name for each criterion that every provider takes as that of a field."""
    return [
        name if _PLAIN_NAME.fullmatch(name) else f"criterion_{number}"
        for number, name in enumerate(criteria, 1)
    ]


def _numbered(steps: Sequence[str]) -> str:
    return "\n".join(f"{number}. {step.strip()}" for number, step in enumerate(steps, 1))


def weighted_levels(completion: Completion, allowed: Sequence[Collection[int]]) -> list[float] | None:
    """The expected level for each field `level` of an answer, in the order of the schema; `None` where the probabilities are not known.

    A level counts if the tokens spell out the answer and one token alone holds the level. Some models write a number digit by digit: there
    `1` may be the beginning of `10`, and what it stands for is known only where a level that begins so is seen as one token beside it.

    Args:
        completion: the answer.
        allowed: the levels of each field, in order.
    """
    tokens = completion.logprobs
    if not tokens:
        return None
    text = "".join(token.text for token in tokens)
    places = [(found.start(1), found[1]) for found in _LEVEL.finditer(text)]
    if len(places) != len(allowed):
        return None
    by_start = _by_start(tokens)
    found = [
        _expected(by_start.get(place), written, levels)
        for (place, written), levels in zip(places, allowed, strict=True)
    ]
    return None if any(each is None for each in found) else [each for each in found if each is not None]


def _by_start(tokens: tuple[Token, ...]) -> dict[int, Token]:
    """Each token by where what it says begins; a token may begin with a space."""
    found, place = {}, 0
    for token in tokens:
        found[place + len(token.text) - len(token.text.lstrip())] = token
        place += len(token.text)
    return found


def _expected(token: Token | None, written: str, levels: Collection[int]) -> float | None:
    if token is None or token.text.strip() != written or _level(written, levels) is None:
        return None
    likely: list[tuple[Any, float | None]] = [*token.top]
    if token.text not in [text for text, _ in likely]:  # under a schema it need not be among the likeliest
        likely.append((token.text, token.logprob))
    weights: dict[int, float] = {}
    for text, logprob in likely:
        if logprob is not None and (level := _level(text, levels)) is not None:
            weights[level] = weights.get(level, 0.0) + math.exp(logprob)
    longer = {level for level in levels for short in weights if _begins(short, level)}
    if longer and longer.isdisjoint(weights):
        return None
    total = sum(weights.values())
    return sum(level * weight for level, weight in weights.items()) / total if total else None


def _level(text: str, levels: Collection[int]) -> int | None:
    """The level that a token holds, and nothing else."""
    bare = text.strip()
    return int(bare) if re.fullmatch(r"-?\d+", bare) and int(bare) in levels else None


def _begins(short: int, level: int) -> bool:
    """Whether the digits of a level are only the first ones of another."""
    return short != level and str(level).startswith(str(short))
