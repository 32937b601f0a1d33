"""`ScriptedModel`: a language model that answers from a script, so that judges and tests need neither a key nor a server.

    ScriptedModel([{"passed": True, "reason": "it fits"}, "not JSON", ModelRateError("busy")])   # in turn
    ScriptedModel(lambda ask: {"passed": "Paris" in ask.messages[-1]["content"]})                # by the question

An answer is a text, data (which becomes JSON), a `Completion`, or an exception to raise. A `Completion` that tells its tokens is counted
like one of a provider.

`ScriptedJudge` is a scripted model that follows the instructions of a judge, so that it repeats the seal of each question; `judge_replies` does the
same for a server on loopback: `OpenAIServer(judge_replies({"reason": "it fits", "pass": True}))`. Only data gets the seal: a text, a `Completion` or
an exception is given as it is. To try what a judge does with a model that does not repeat the seal, or obeys what it is shown, use a `ScriptedModel`.
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from calipers.errors import InvalidOptionError
from calipers.judges.fence import SEAL, seal_in
from calipers.models.accounting import account
from calipers.models.model import Ask
from calipers.models.model_answer import Completion
from calipers.run.ledger import reserved

from .loopback import Received, Reply
from .scripted_task import InTurn


class ScriptedModel:
    """A model that answers from a script.

    Args:
        answers: one answer for each question, in turn; or a function of the `Ask`, plain or async.
        name: what it is called in reports.
        delay: seconds before each answer.
    """

    def __init__(
        self,
        answers: "Sequence[Any] | Callable[[Ask], Any]",
        *,
        name: str = "scripted:model",
        delay: float = 0.0,
    ) -> None:
        if isinstance(answers, str | Mapping) or not (callable(answers) or isinstance(answers, Sequence)):
            raise InvalidOptionError(
                f"answers must be a list, or a function of the Ask, got {answers!r:.200}"
            )
        self.answers = answers
        self.name = name
        self.delay = delay
        self.asks: list[Ask] = []
        """What it was asked, in order."""
        self._next = None if callable(answers) else InTurn(*answers)

    async def ask(self, ask: Ask, /) -> Completion:
        """The next answer of the script.

        Raises:
            NoAnswerError: all of them were given.
        """
        self.asks.append(ask)
        async with reserved():
            return await self._answer(ask)

    async def _answer(self, ask: Ask) -> Completion:
        if self.delay:
            await asyncio.sleep(self.delay)
        if self._next is not None:
            said = self._next.next()
        else:
            assert callable(self.answers)
            said = self.answers(ask)
            said = await said if inspect.isawaitable(said) else said
        if isinstance(said, BaseException):
            raise said.with_traceback(None)
        found = _completion(said, self.name)
        if found.usage is not None:
            account(found, self.name)
        return found

    def __repr__(self) -> str:
        return f"ScriptedModel({self.name!r})"


def _completion(said: Any, name: str) -> Completion:
    if isinstance(said, Completion):
        return said
    text = said if isinstance(said, str) else msgspec.json.encode(said).decode()
    return Completion(text=text or None, finish="stop", model=name, raw=said)


class ScriptedJudge(ScriptedModel):
    """A model for judges that answers from a script; takes what `ScriptedModel` takes.

    ScriptedJudge([{"reason": "it fits", "pass": True}])
    """

    async def ask(self, ask: Ask, /) -> Completion:
        """The next answer of the script; data with the seal of the question.

        Raises:
            NoAnswerError: all of them were given.
        """
        said = await super().ask(ask)
        if not isinstance(said.raw, Mapping):
            return said
        return replace(said, text=msgspec.json.encode({**said.raw, SEAL: seal_in(ask.messages)}).decode())


def judge_replies(
    answers: Mapping[str, Any] | Callable[[str], Mapping[str, Any]],
) -> Callable[[Received], Reply]:
    """What a server of models answers to judges: data, with the seal of each question.

    Args:
        answers: the data; or a function of the whole request, as text.
    """

    def reply(received: Received) -> Reply:
        asked = received.body.decode("utf-8", "replace")
        said = answers(asked) if callable(answers) else answers
        sealed = {**said, SEAL: seal_in([{"role": "system", "content": asked}])}
        return Reply(text=msgspec.json.encode(sealed).decode())

    return reply
