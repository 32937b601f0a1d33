# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Models: own ones, those of names, and what they answer."""

from typing import assert_type

from calipers.models import Answer, Ask, Completion, Model, RemoteModel, as_model, ask_for_data, using_cache
from calipers.testing import ScriptedModel


class Own:
    name = "own:model"

    async def ask(self, ask: Ask, /) -> Completion:
        return Completion(text=str(ask.messages[-1]["content"]), finish="stop")


class Wrong:
    name = "wrong:model"

    def ask(self, ask: Ask, /) -> str:
        return str(ask)


class Kept:
    def get(self, key: bytes, /) -> bytes | None:
        return None

    def put(self, key: bytes, answer: bytes, /) -> None: ...


models: list[Model] = [Own(), ScriptedModel(["Hi"]), RemoteModel("openai:gpt-4o"), as_model("openai:gpt-4o")]
bad: Model = Wrong()  # type: ignore[assignment]
asked = Ask(messages=[{"role": "user", "content": "Hi"}], schema={"type": "object"})
Ask([{"role": "user", "content": "Hi"}])  # type: ignore[call-arg]


async def use() -> None:
    assert_type(await models[0].ask(asked), Completion)
    assert_type(await ask_for_data(Own(), asked), Answer)
    with using_cache(Kept()):
        await Own().ask(asked)
