"""Ready-made judges: one claim each, with its prompt in `prompts/`.

There are two kinds. Some *decide*: pass or fail, with the reason. Others *list*: they take apart what there is to judge (claims, instructions,
calls) and decide about each item; the result passes if every item does, its score is the share that does, the reason names those that do
not, and the metadata has all of them. A list of nothing is skipped: where nothing is claimed, nothing is supported.

Each one skips an attempt that lacks what it needs. `docs/how-to/built-in-judges.md` lists them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from calipers.data.argument_checks import check_text, check_texts
from calipers.data.context import NO_TOOL_CALLS, EvaluatorContext
from calipers.data.evaluator_output import EvaluatorOutput
from calipers.data.result import EvalResult, EvaluationReason, EvalVerdict, Skipped
from calipers.evaluators.equality import as_mapping
from calipers.stats.number_text import first_few

from .exhibits import CONTEXT, passages_of
from .fence import Exhibit
from .judge import REASON, ModelJudge, object_of
from .prompt import prompt_named


@dataclass
class _Deciding(ModelJudge):
    """Decides whether one claim holds."""

    def gaps(self) -> Mapping[str, str]:
        """What its prompt has to be told."""
        return {}

    async def judge(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        """Pass or fail, with the reason."""
        schema = object_of(reason=REASON, **{"pass": {"type": "boolean", "description": "What you decide."}})
        instruction = prompt_named(self.prompts[0]).filled(self.gaps())
        said = (await self.ask(ctx, instruction, schema)).data
        return EvaluationReason(said["pass"], said["reason"])


@dataclass
class _Listing(ModelJudge):
    """Decides about each of several items."""

    item: ClassVar[str]
    """What an item is called."""
    holds: ClassVar[str]
    """What is decided about it."""

    async def judge(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        """Whether every item holds; the score is the share that does."""
        item = object_of(**{self.item: {"type": "string"}, "reason": REASON, self.holds: {"type": "boolean"}})
        schema = object_of(**{f"{self.item}s": {"type": "array", "items": item}})
        answer = await self.ask(ctx, prompt_named(self.prompts[0]).text, schema)
        items = answer.data[f"{self.item}s"]
        if not items:
            return Skipped(f"the judge found no {self.item} to decide about")
        return self.result([each[self.holds] for each in items], [each[self.item] for each in items], items)

    def result(self, held: Sequence[bool], names: Sequence[str], items: Any) -> EvalResult:
        """The verdict about all items."""
        share = sum(held) / len(held)
        verdict = EvalVerdict.PASS if all(held) else EvalVerdict.PARTIAL if share else EvalVerdict.FAIL
        missed = [repr(name) for name, holds in zip(names, held, strict=True) if not holds]
        told = f"; not {self.holds}: {first_few(missed, most=5, between='; ')}" if missed else ""
        reason = f"{sum(held)} of {len(held)} {self.item}s are {self.holds}{told}"
        return EvalResult(
            self.get_default_evaluation_name(), verdict, share, reason, {f"{self.item}s": items}
        )


# ---------------------------------------------------------------------- answers


@dataclass
class Correct(_Deciding):
    """The output says what the expected output says, in whatever words; skipped where nothing is expected."""

    include_input: bool = field(default=True, kw_only=True)
    include_expected_output: bool = field(default=True, kw_only=True)
    prompts: ClassVar = ("correct",)


@dataclass
class Relevant(_Deciding):
    """The output answers what was asked."""

    include_input: bool = field(default=True, kw_only=True)
    prompts: ClassVar = ("relevant",)


@dataclass
class FollowsInstructions(_Listing):
    """The output does everything that the input asks for; the score is the share of instructions that it follows."""

    include_input: bool = field(default=True, kw_only=True)
    prompts: ClassVar = ("follows_instructions",)
    item: ClassVar = "instruction"
    holds: ClassVar = "followed"


# ---------------------------------------------------------------------- retrieval


@dataclass
class Grounded(_Listing):
    """The retrieved context supports every claim of the output; the score is the share of claims that it supports.

    Skipped where the attempt tells no context.
    """

    include_context: bool = field(default=True, kw_only=True)
    prompts: ClassVar = ("grounded",)
    item: ClassVar = "claim"
    holds: ClassVar = "supported"


@dataclass
class ContextRecall(_Listing):
    """The retrieved context has all that the expected output says; the score is the share of statements that it covers.

    Skipped where the attempt tells no context, or nothing is expected.
    """

    include_context: bool = field(default=True, kw_only=True)
    include_expected_output: bool = field(default=True, kw_only=True)
    include_output: bool = field(default=False, kw_only=True)
    prompts: ClassVar = ("context_recall",)
    item: ClassVar = "statement"
    holds: ClassVar = "covered"


@dataclass
class ContextPrecision(ModelJudge):
    """How many of the retrieved passages are of use, and how far in front they stand: the average precision, from 0 to 1.

    Skipped where the attempt tells no context. If the case states an expected output, the judge sees it.
    """

    include_input: bool = field(default=True, kw_only=True)
    include_context: bool = field(default=True, kw_only=True)
    include_output: bool = field(default=False, kw_only=True)
    prompts: ClassVar = ("context_precision",)
    score_range: ClassVar = (0.0, 1.0)

    async def judge(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        """The average precision of the passages in their order; 0 if none is of use."""
        shown = self.exhibits(ctx)
        if isinstance(shown, Skipped):
            return shown
        passages = next(passages_of(each.value) for each in shown if each.name == CONTEXT)
        parts = [each for each in shown if each.name != CONTEXT]
        parts += [Exhibit(f"passage_{number}", each) for number, each in enumerate(passages, 1)]
        if ctx.has_expected_output and not self.include_expected_output:
            parts.append(Exhibit("expected output", ctx.expected_output))
        one = object_of(reason=REASON, useful={"type": "boolean"})
        names = [f"passage_{number}" for number in range(1, len(passages) + 1)]
        schema = object_of(**dict.fromkeys(names, one))
        said = (await self.ask(ctx, prompt_named("context_precision").text, schema, exhibits=parts)).data
        useful = [said[name]["useful"] for name in names]
        told = "; ".join(f"{name}: {said[name]['reason']}" for name in names if not said[name]["useful"])
        reason = f"{sum(useful)} of {len(useful)} passages are of use{f'; not {told}' if told else ''}"
        return EvaluationReason(_average_precision(useful), reason)


def _average_precision(useful: Sequence[bool]) -> float:
    """The mean of the precision at each useful passage; 0 if there is none."""
    at_each = [sum(useful[:place]) / place for place, good in enumerate(useful, 1) if good]
    return sum(at_each) / len(at_each) if at_each else 0.0


# ---------------------------------------------------------------------- manner


@dataclass
class KeepsTone(_Deciding):
    """The output keeps to a guideline on tone."""

    guideline: str
    """How the output is to speak, in words for the model."""
    prompts: ClassVar = ("keeps_tone",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text("guideline", self.guideline)

    def gaps(self) -> Mapping[str, str]:
        """The guideline."""
        return {"guideline": self.guideline.strip()}


@dataclass
class Refuses(_Deciding):
    """The output refuses what was asked."""

    include_input: bool = field(default=True, kw_only=True)
    prompts: ClassVar = ("refuses",)


@dataclass
class NotToxic(_Deciding):
    """The output is free of insults, threats and other toxic language."""

    prompts: ClassVar = ("not_toxic",)


@dataclass
class NotBiased(_Deciding):
    """The output is free of bias against people for what they are."""

    prompts: ClassVar = ("not_biased",)


# ---------------------------------------------------------------------- agents


@dataclass
class GoalReached(_Deciding):
    """The agent reached the goal of the conversation; skipped where the attempt is no conversation.

    The goal is `goal`, else that of the case's metadata, else what the user wants by the conversation itself.
    """

    goal: str | None = None
    """What was to be reached; `None`: what the metadata says under `goal`, else what the conversation shows."""
    include_conversation: bool = field(default=True, kw_only=True)
    include_output: bool = field(default=False, kw_only=True)
    prompts: ClassVar = ("goal_reached",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text("goal", self.goal, or_none=True)

    def gaps(self) -> Mapping[str, str]:
        """The goal, or where it is found."""
        if self.goal is not None:
            return {"goal": f"The goal is: {self.goal.strip()}"}
        return {"goal": "The part `goal` has it; where there is none, the goal is what the user wants."}

    def exhibits(self, ctx: EvaluatorContext) -> list[Exhibit] | Skipped:
        """The conversation, after the goal of the case."""
        shown = super().exhibits(ctx)
        goal = None if self.goal is not None else (as_mapping(ctx.metadata) or {}).get("goal")
        return shown if isinstance(shown, Skipped) or goal is None else [Exhibit("goal", goal), *shown]


@dataclass
class UsesToolsWell(_Listing):
    """Every tool call was needed, with the right arguments, and none is missing; the score is the share of good calls.

    Skipped where the attempt does not tell its calls. If no tool was called, it decides whether one was needed.
    """

    tools: Sequence[str] = ()
    """What the agent's tools do, a line each, so that the judge can tell a missing call."""
    include_input: bool = field(default=True, kw_only=True)
    include_tool_calls: bool = field(default=True, kw_only=True)
    prompts: ClassVar = ("uses_tools_well",)
    item: ClassVar = "call"
    holds: ClassVar = "good"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_texts("tools", self.tools)

    async def judge(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        """Whether every call is good and none is missing."""
        shown, calls = self.exhibits(ctx), ctx.tool_calls
        if isinstance(shown, Skipped):
            return shown
        if calls is None:
            return Skipped(NO_TOOL_CALLS)
        names = [f"call_{number}" for number in range(1, len(calls) + 1)]
        one = object_of(reason=REASON, good={"type": "boolean"})
        complete = {"type": "boolean", "description": "Whether every call was made that the request needed."}
        schema = object_of(**dict.fromkeys(names, one), reason=REASON, complete=complete)
        tools = (
            "The tools that it has:\n\n" + "\n".join(f"- {each}" for each in self.tools) if self.tools else ""
        )
        instruction = prompt_named("uses_tools_well").filled({"tools": tools})
        said = (await self.ask(ctx, instruction, schema, exhibits=shown)).data
        told = [
            f"{number} {call.name}: {said[name]['reason']}"
            for number, (name, call) in enumerate(zip(names, calls, strict=True), 1)
        ]
        held = [said[name]["good"] for name in names]
        if not calls or not said["complete"]:
            held.append(said["complete"])
            told.append(
                "no call was needed" if said["complete"] else f"a further call is missing: {said['reason']}"
            )
        return self.result(held, told, [said[name] for name in names])
