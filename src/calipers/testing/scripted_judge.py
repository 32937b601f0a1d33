"""`ScriptedJudge`: a scripted model that follows the instructions of a judge, so that it repeats the seal of each question.

    ScriptedJudge([{"reason": "it fits", "pass": True}])

`judge_replies` does the same for a server on loopback: `OpenAIServer(judge_replies({"reason": "it fits", "pass": True}))`.

Only data gets the seal: a text, a `Completion` or an exception is given as it is. What a judge does with a model that does not repeat the
seal, or obeys what it is shown, is tried with a `ScriptedModel`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from calipers.judges.fence import SEAL, seal_in
from calipers.models.model import Ask
from calipers.models.model_answer import Completion

from .loopback import Received, Reply
from .scripted_model import ScriptedModel


class ScriptedJudge(ScriptedModel):
    """A model for judges that answers from a script; takes what `ScriptedModel` takes."""

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
