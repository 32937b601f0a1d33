"""`DecisionTree`: yes/no questions, each asked by itself; the answers lead to the verdict, and the way there is the reason.

The first question is asked first. An answer leads to another question, by its name, or ends the tree with a value: true or false, or a
number. Several answers may lead to one question. A question that leads back to itself, or that nothing leads to, is refused when the
tree is made. All ends are of one kind.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from calipers.data.argument_checks import check_text, is_real_number
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator_output import EvaluatorOutput
from calipers.data.result import EvaluationReason
from calipers.errors import InvalidOptionError

from .judge import REASON, ModelJudge, object_of
from .prompt import prompt_named

Next: TypeAlias = bool | float | str
"""The end of the tree, or the name of the next question."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question that is answered with yes or no."""

    ask: str
    """The question, in words for the model."""
    if_yes: Next
    """Where a yes leads: to a question by its name, or to an end, true, false or a number."""
    if_no: Next
    """Where a no leads."""


@dataclass
class DecisionTree(ModelJudge):
    """A model answers yes/no questions one by one, and the answers lead to the verdict."""

    questions: Mapping[str, Question]
    """By name; the first one is asked first."""

    prompts: ClassVar = ("decision_tree",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.questions, Mapping) or not self.questions:
            raise InvalidOptionError(
                f"DecisionTree needs questions by their names, got {self.questions!r:.200}"
            )
        for name, question in self.questions.items():
            check_text("the name of a question", name)
            if not isinstance(question, Question):
                raise InvalidOptionError(f"the question {name!r} must be a Question, got {question!r:.200}")
            check_text(f"ask of the question {name!r}", question.ask)
        self._check_ways()

    def _check_ways(self) -> None:
        """Refuse questions that come back to themselves, or are never asked, and ends of two kinds."""
        ends: list[bool | float] = []
        seen: set[str] = set()

        def follow(name: str, above: tuple[str, ...]) -> None:
            if name in above:
                way = " -> ".join((*above[above.index(name) :], name))
                raise InvalidOptionError(
                    f"the questions of a DecisionTree lead back to where they were: {way}"
                )
            if name in seen:
                return
            seen.add(name)
            for then in _ways(self.questions[name]):
                if isinstance(then, str):
                    if then not in self.questions:
                        known = ", ".join(self.questions)
                        raise InvalidOptionError(
                            f"the question {name!r} leads to {then!r}, and there are {known}"
                        )
                    follow(then, (*above, name))
                elif isinstance(then, bool) or is_real_number(then):
                    ends.append(then if isinstance(then, bool) else float(then))
                else:
                    raise InvalidOptionError(
                        f"the question {name!r} ends with {then!r:.200}: an end is true, false or a number"
                    )

        follow(next(iter(self.questions)), ())
        if never := [name for name in self.questions if name not in seen]:
            raise InvalidOptionError(f"no answer leads to the question {never[0]!r}")
        if len({isinstance(end, bool) for end in ends}) > 1:
            raise InvalidOptionError(
                f"the ends of a DecisionTree are all true or false, or all numbers, got {ends!r:.200}"
            )

    async def judge(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        """The value at the end, with the questions and answers on the way there."""
        at: Next = next(iter(self.questions))
        way: list[str] = []
        while isinstance(at, str):
            question = self.questions[at]
            instruction = prompt_named("decision_tree").filled({"question": question.ask.strip()})
            said = (await self.ask(ctx, instruction, object_of(reason=REASON, yes={"type": "boolean"}))).data
            way.append(f"{at}: {'yes' if said['yes'] else 'no'} ({said['reason']})")
            at = question.if_yes if said["yes"] else question.if_no
        return EvaluationReason(at, "; ".join(way))


def _ways(question: Question) -> Iterator[Any]:
    yield question.if_yes
    yield question.if_no
