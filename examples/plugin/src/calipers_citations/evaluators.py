"""What is judged. None of this knows that it is in a plugin: it can be used, and tested, without one."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from calipers import EvaluationReason, Evaluator, EvaluatorContext, Skipped

_LINK = re.compile(r"https?://[^\s\])>\"']+")


def links_in(answer: object) -> list[str]:
    """The different links of an answer, sorted; only text has any. What ends a sentence is not part of one."""
    return sorted({link.rstrip(".,;") for link in _LINK.findall(answer)}) if isinstance(answer, str) else []


@dataclass
class CitesSources(Evaluator):
    """The answer links to enough different sources."""

    minimum: int = 1
    """How many are enough; at least one."""

    def __post_init__(self) -> None:
        if self.minimum < 1:
            raise ValueError(f"minimum must be at least 1, got {self.minimum!r}")

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason | Skipped:
        if not isinstance(ctx.output, str):
            return Skipped("only text has links")
        links = links_in(ctx.output)
        shown = ", ".join(links) or "none"
        return EvaluationReason(
            len(links) >= self.minimum, f"{len(links)} of {self.minimum} sources: {shown}"
        )


def cites_only(output: str, hosts: list[str]) -> EvaluationReason:
    """Every link of the answer leads to one of these hosts."""
    others = [link for link in links_in(output) if (urlsplit(link).hostname or "") not in hosts]
    return EvaluationReason(
        not others, f"other sources: {', '.join(others)}" if others else "no other sources"
    )
