"""`LLMJudge`: a model decides whether a rubric is met. Its fields are those of pydantic_evals, so its files run here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, TypedDict

from calipers.data.argument_checks import check_text
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator_output import EvaluatorOutput
from calipers.data.result import EvaluationReason
from calipers.errors import InvalidOptionError

from .judge import REASON, ModelJudge, object_of
from .prompt import prompt_named

_KEYS: Final = ("evaluation_name", "include_reason")
PASS: Final = {"type": "boolean", "description": "Whether it is met."}
SCORE: Final = {
    "type": "number",
    "minimum": 0,
    "maximum": 1,
    "description": "How nearly it is met, 1 if fully.",
}


class OutputConfig(TypedDict, total=False):
    """How one result of a judge is told."""

    evaluation_name: str
    """What it is called."""
    include_reason: bool
    """Whether the reason stands beside it; default: no."""


def _with_reason() -> OutputConfig:
    return OutputConfig(include_reason=True)


@dataclass
class LLMJudge(ModelJudge):
    """A model finds that the output meets a rubric."""

    rubric: str
    """What is asked of the output, in words for the model."""
    score: OutputConfig | Literal[False] = field(default=False, kw_only=True)
    """Whether there is a score from 0 to 1, and what it is called: `{}`, or `{evaluation_name: …, include_reason: true}`."""
    assertion: OutputConfig | Literal[False] = field(default_factory=_with_reason, kw_only=True)
    """Whether there is a pass or fail, and what it is called."""

    prompts: ClassVar = ("llm_judge",)
    score_range: ClassVar = (0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text("rubric", self.rubric)
        for name in ("score", "assertion"):
            _check_config(name, getattr(self, name))
        if self.score is False and self.assertion is False:
            raise InvalidOptionError(
                "LLMJudge with score=False and assertion=False would say nothing: leave one of them out"
            )
        names = [
            config.get("evaluation_name") for config in (self.score, self.assertion) if config is not False
        ]
        if len(names) == 2 and names[0] is not None and names[0] == names[1]:
            raise InvalidOptionError(
                f"score and assertion of LLMJudge are both called {names[0]!r}, and one would be lost: give them two names"
            )

    async def judge(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        """Pass or fail, a score, or both."""
        asked: dict[str, Mapping[str, Any]] = {"reason": REASON}
        if self.assertion is not False:
            asked["pass"] = PASS
        if self.score is not False:
            asked["score"] = SCORE
        instruction = prompt_named("llm_judge").filled({"rubric": self.rubric.strip()})
        said = (await self.ask(ctx, instruction, object_of(**asked))).data
        own = self.get_default_evaluation_name()
        found: dict[str, EvaluatorOutput] = {}
        told: dict[str, OutputConfig | Literal[False]] = {"score": self.score, "pass": self.assertion}
        for key, config in told.items():
            if config is not False:
                name = own if len(asked) == 2 else f"{own}_{key}"
                value = (
                    EvaluationReason(said[key], said["reason"]) if config.get("include_reason") else said[key]
                )
                found[config.get("evaluation_name") or name] = value
        return found[own] if list(found) == [own] else found


def _check_config(name: str, config: Any) -> None:
    if config is False:
        return
    known = isinstance(config, Mapping) and all(key in _KEYS for key in config)
    if not known or not isinstance(config.get("include_reason", False), bool):
        raise InvalidOptionError(
            f"{name} of LLMJudge is False, or a mapping that may have evaluation_name and include_reason, got {config!r:.200}"
        )
    check_text(f"evaluation_name of {name}", config.get("evaluation_name"), or_none=True)
