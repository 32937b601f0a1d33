"""`ScriptedJudge`: a scripted model that follows the instructions of a judge, so that it repeats the seal of each question.

    ScriptedJudge([{"reason": "it fits", "pass": True}])

Only data gets the seal: a text, a `Completion` or an exception is given as it is. What a judge does with a model that does not repeat the
seal, or obeys what it is shown, is tried with a `ScriptedModel`.
"""

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from calipers.judges.fence import SEAL, seal_in
from calipers.models.model import Ask
from calipers.models.model_answer import Completion

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
