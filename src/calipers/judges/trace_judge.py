"""`TraceJudge`: a model reads what an agent did with tools, turn by turn, instead of being fed all of it.

A trace of hundreds of turns does not fit into one question, and a judge that is shown all of it overlooks what is in the middle. So the judge is given tools:
list the turns, search them, read one. It goes on until it calls `give_verdict`, for at most `max_steps` answers. Only that call is a verdict, and only if it
carries the seal of the question, follows the schema, and cites turns that the judge has read. What the turns say stands inside of a fence wherever it
is shown (`calipers.judges.fence`).

A judge that runs out of steps has given no verdict: the evaluator fails. The turns that it read, and those it cites, are kept with the result.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

from calipers.data.argument_checks import check_text, check_whole_number, is_whole_number
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator_output import EvaluatorOutput
from calipers.data.jsonable import plain
from calipers.data.result import EvaluationReason, Skipped
from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError, NotApplicableError, UnreadableAnswerError
from calipers.models.answer_cache import AnswerCache, PendingAnswers, cache_in_use, using_cache
from calipers.models.answer_data import check_finish, violations_of
from calipers.models.model import Ask
from calipers.models.model_answer import Completion
from calipers.stats.number_text import plural

from .exhibits import exhibits_of
from .fence import Exhibit, Fence, secret_of
from .judge import REASON, ModelJudge, object_of, read_settings, sealed, time_limit
from .llm_judge import PASS
from .prompt import Prompt, prompt_named

_PAGE: Final = 50
"""Turns of one list."""
_BEGINS: Final = 80
"""Characters of a turn in a list."""
_READ: Final = 4_000
"""Characters of a turn that are shown at once."""
_HITS: Final = 20
"""Turns that a search tells."""
_AROUND: Final = 60
"""Characters on each side of what was found."""

_VERDICT: Final = sealed(
    object_of(
        reason=REASON,
        evidence={
            "type": "array",
            "items": {"type": "integer", "minimum": 1},
            "description": "The numbers of the turns that decide. You must have read them.",
        },
        **{"pass": PASS},
    )
)
_TURN: Final = {"type": "integer", "minimum": 1, "description": "The number of the turn."}
_FROM: Final = {"type": "integer", "minimum": 1, "description": "Where to begin; 1 is the beginning."}
_TOOLS: Final = (
    (
        "list_turns",
        f"The turns from a number on, at most {_PAGE}: kind, length and how each begins.",
        {"start": _FROM},
        (),
    ),
    (
        "read_turn",
        f"One turn, at most {_READ:,} characters of it.",
        {"turn": _TURN, "start": _FROM},
        ("turn",),
    ),
    (
        "search",
        f"The turns that hold a text, in upper or lower case, at most {_HITS}.",
        {"text": {"type": "string", "description": "What to look for."}, "start": _FROM},
        ("text",),
    ),
)
_ONLY_BY_CALL: Final = (
    "That was no call of a tool. Look at the turns with list_turns, search and read_turn, and end with give_verdict: "
    "nothing else is a verdict."
)
_LAST: Final = "This is your last step: call give_verdict now."


class ReadableTurn(NamedTuple):
    """One turn, as a judge can read it."""

    kind: str
    """Who or what: `user`, `agent`, `model`, `tool NAME`."""
    text: str


@dataclass
class TraceJudge(ModelJudge):
    """A model that reads the trace with tools finds that a rubric is met."""

    rubric: str
    """What is asked of the agent, in words for the model."""
    max_steps: int = field(default=20, kw_only=True)
    """The most answers of the model, with one or several calls of tools each; after them there is no verdict."""

    prompts: ClassVar = ("trace_judge",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text("rubric", self.rubric)
        check_whole_number("max_steps", self.max_steps, at_least=2)
        if self.include_conversation or self.include_tool_calls:
            raise InvalidOptionError(
                "TraceJudge reads conversation and tool calls by itself: leave out include_conversation and include_tool_calls"
            )

    def all_prompts(self) -> list[Prompt]:
        """Its own prompt, which has the rules about evidence in it."""
        return [prompt_named(name) for name in self.prompts]

    async def judge(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        """Whether the rubric is met, with the turns that were read."""
        found = exhibits_of(ctx, ["conversation"])
        shown = self.exhibits(ctx)
        for each in (found, shown):
            if isinstance(each, Skipped):
                raise NotApplicableError(each.reason)
        assert not isinstance(found, Skipped)
        assert not isinstance(shown, Skipped)
        # Messages that are the output are read like any other turns, and not shown at once.
        shown = [each for each in shown if each.value is not found[0].value]
        # Which repeat it is may not be known. An answer that is kept might be that of another one.
        answers = None if ctx.repeat_index is None else cache_in_use()
        reading = _Reading(self, turns_of(found[0].value), shown, ctx.repeat_index, answers)
        with using_cache(reading.pending):
            async with time_limit(read_settings(self.model_settings).timeout, self.asked_model().name):
                said = await reading.verdict()
        cited = sorted(set(said["evidence"]))
        return EvaluationReason(
            said["pass"],
            f"{said['reason']} (turn {', '.join(map(str, cited))} of {len(reading.turns)})"
            if cited
            else said["reason"],
            {
                "evidence": cited,
                "read": sorted(reading.read),
                "turns": len(reading.turns),
                "steps": reading.steps,
            },
        )


def turns_of(conversation: Any) -> list[ReadableTurn]:
    """The turns of a conversation, as `exhibits_of` tells it; those of branches one branch after the other."""
    if isinstance(conversation, Mapping):
        return [
            turn._replace(kind=f"{branch}, {turn.kind}")
            for branch, turns in conversation.items()
            for turn in turns_of(turns)
        ]
    return [_turn(each) for each in conversation]


def _turn(told: Mapping[str, Any]) -> ReadableTurn:
    if "role" in told and "content" in told:
        rest = {key: value for key, value in told.items() if key not in {"role", "content"}}
        content = told["content"] if isinstance(told["content"], str) else _text(told["content"])
        return ReadableTurn(str(told["role"]), f"{content}\n{_text(rest)}" if rest else content)
    if "tool" in told:
        return ReadableTurn(
            f"tool {told['tool']}", _text({key: value for key, value in told.items() if key != "tool"})
        )
    ((kind, text),) = told.items()
    return ReadableTurn(kind, text if isinstance(text, str) else _text(text))


def _text(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


class _Reading:
    """One judge at one trace: what it has asked for, and what it has read."""

    def __init__(
        self,
        judge: TraceJudge,
        turns: Sequence[ReadableTurn],
        shown: Sequence[Exhibit],
        repeat: int | None,
        answers: AnswerCache | None,
    ) -> None:
        self.judge = judge
        self.pending = None if answers is None else PendingAnswers(answers)
        self.turns = turns
        self.repeat = repeat or 0
        self.read: set[int] = set()
        """The numbers of the turns that it has read, in full or in part."""
        self.steps = 0
        told = [[each.name, plain(each.value)] for each in shown]
        question = [judge.rubric, told, [list(turn) for turn in turns], judge.max_steps, repeat, judge.canary]
        self.fence = Fence.of(question, secret_of(answers))
        gaps = {
            "rubric": judge.rubric.strip(),
            "steps": f"{judge.max_steps:,}",
            **self.fence.gaps(canary=judge.canary),
        }
        exhibits = self.fence.enclose(shown, canary=judge.canary)
        self.messages: list[Mapping[str, Any]] = [
            {"role": "system", "content": prompt_named("trace_judge").filled(gaps)},
            {"role": "user", "content": f"There are {plural(len(turns), 'turn')}.\n\n{exhibits}".strip()},
        ]

    async def verdict(self) -> Mapping[str, Any]:
        """What the judge says at last.

        Raises:
            UnreadableAnswerError: it said nothing within its steps.
            JudgeCanaryError: it obeyed what it was shown.
            ModelError: there is no answer.
        """
        model = self.judge.asked_model()
        settings = read_settings(self.judge.model_settings).asked
        said: str | None = None
        while self.steps < self.judge.max_steps:
            asked = Ask(messages=list(self.messages), tools=_DECLARED, repeat=self.repeat, **settings)
            completion = await model.ask(asked)
            said = completion.text
            check_finish(completion, ("tool_call", "stop"))
            self.steps += 1
            found = self._answer(completion)
            if self.pending is not None:
                self.pending.keep()
            if found is not None:
                return found
            if self.steps == self.judge.max_steps - 1:
                self.messages.append({"role": "user", "content": _LAST})
        raise UnreadableAnswerError(
            f"the judge gave no verdict within {self.judge.max_steps:,} steps, in which it read {plural(len(self.read), 'turn')} of "
            f"{len(self.turns):,}: raise max_steps, or give it another model",
            text=said,
        )

    def _answer(self, completion: Completion) -> Mapping[str, Any] | None:
        """Do what the model asks for; the verdict, if this was one."""
        said = completion.message
        self.messages.append(said)
        if not completion.tool_calls:
            self.messages.append({"role": "user", "content": _ONLY_BY_CALL})
        for call, told in zip(completion.tool_calls, said.get("tool_calls", ()), strict=True):
            problem = None
            if call.name == "give_verdict":
                problem = self._problem(call)
                if problem is None:
                    return call.arguments
            content = self._result(call) if problem is None else f"This is no verdict: {problem}"
            self.messages.append({"role": "tool", "tool_call_id": told["id"], "content": content})
        return None

    def _problem(self, call: ToolCall) -> str | None:
        """Why a verdict does not count, in words for the model; `None` if it does."""
        self.fence.check(call.arguments, json.dumps(plain(call.arguments), ensure_ascii=False))
        if problem := violations_of(call.arguments, _VERDICT):
            return problem
        if self.turns and not self.read:
            return "you have not read a single turn; read those that decide"
        unread = sorted(set(call.arguments["evidence"]) - self.read)
        return f"you cite turns that you have not read: {', '.join(map(str, unread))}" if unread else None

    def _result(self, call: ToolCall) -> str:
        """What a tool gives back: evidence inside of its fence, the rest in words of our own."""
        if call.error is not None:
            return f"The call could not be read: {call.error}"
        start = call.arguments.get("start", 1)
        if not is_whole_number(start, at_least=1):
            return f"start must be a whole number from 1, got {start!r:.50}"
        match call.name:
            case "list_turns":
                return self._list(start)
            case "read_turn":
                return self._read(call.arguments.get("turn"), start)
            case "search":
                return self._search(call.arguments.get("text"), start)
        return "There is no such tool: there are list_turns, read_turn, search and give_verdict."

    def _list(self, start: int) -> str:
        page = range(start, min(start + _PAGE, len(self.turns) + 1))
        if not page:
            return f"There are {plural(len(self.turns), 'turn')}, so none from {start:,} on."
        rows = [
            {"turn": number, "kind": turn.kind, "characters": len(turn.text), "begins": turn.text[:_BEGINS]}
            for number in page
            for turn in [self.turns[number - 1]]
        ]
        lead = f"Turns {page[0]:,} to {page[-1]:,} of {len(self.turns):,}."
        return f"{lead}\n\n{self._enclosed('turns', rows)}"

    def _read(self, number: Any, start: int) -> str:
        if not is_whole_number(number, at_least=1) or number > len(self.turns):
            return f"turn must be a whole number from 1 to {len(self.turns):,}, got {number!r:.50}"
        turn = self.turns[number - 1]
        part = turn.text[start - 1 : start - 1 + _READ]
        self.read.add(number)
        lead = f"Turn {number:,}, characters {start:,} to {start - 1 + len(part):,} of {len(turn.text):,}."
        shown = self._enclosed(f"turn {number}", f"{turn.kind}:\n{part}")
        return f"{lead}\n\n{shown}"

    def _search(self, text: Any, start: int) -> str:
        if not isinstance(text, str) or not text.strip():
            return f"text must be what to look for, got {text!r:.50}"
        wanted, more = text.casefold(), 0
        hits: list[dict[str, Any]] = []
        for number, turn in enumerate(self.turns[start - 1 :], start):
            folded = f"{turn.kind}: {turn.text}".casefold()
            place = folded.find(wanted)
            if place < 0:
                continue
            if len(hits) == _HITS:
                more += 1
                continue
            around = folded[max(0, place - _AROUND) : place + len(wanted) + _AROUND]
            hits.append({"turn": number, "kind": turn.kind, "around": around})
        if not hits:
            return f"No turn from {start:,} on holds this text."
        lead = f"{plural(len(hits) + more, 'turn')} found" + (
            f", the first {len(hits)} of them." if more else "."
        )
        return f"{lead}\n\n{self._enclosed('found', hits)}"

    def _enclosed(self, name: str, value: Any) -> str:
        return self.fence.enclose([Exhibit(name, value)], canary=False)


def _declared(
    name: str, description: str, properties: Mapping[str, Any], required: Sequence[str]
) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
    return {"name": name, "description": description, "parameters": parameters}


_DECLARED: Final = [
    *(_declared(*each) for each in _TOOLS),
    {"name": "give_verdict", "description": "Your verdict; it ends the reading.", "parameters": _VERDICT},
]
"""The tools, as the model is told of them."""
