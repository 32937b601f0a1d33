"""`ModelJudge`: what all judges share that ask a model.

A judge asks one question about an attempt: an *instruction*, which its author wrote, and *exhibits*, which the attempt gives. The
exhibits stand inside of a fence (`calipers.judges.fence`), and nothing else of the attempt reaches the model.

A *verdict* is data that follows a schema and carries the seal of its question. An answer that cannot be read, that was cut off,
declined or filtered, or that shows that the judge obeyed what it was shown, is a failure of the evaluator, with what the model said.
If the attempt lacks what is to be shown, the judge is skipped.

The *identity* of a judge is its class and its fields, and as its version the texts of its prompts and the name and address of its
model, or the code of a function that plays one. Settings of the model are a field; those that a model of pydantic-ai or LangChain has of its
own are told by a digest. So a changed prompt, model or setting asks again for this column and no other. An object that is the model is
otherwise not compared: clients hold keys and connections.
"""

import asyncio
import dataclasses
import json
import os
import secrets
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec

from calipers.data.argument_checks import check_flag, check_number
from calipers.data.attempt import set_eval_attribute
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator, Expectation
from calipers.data.evaluator_output import EvaluatorOutput
from calipers.data.jsonable import plain
from calipers.data.redaction import is_secret_name
from calipers.data.result import EvaluatorSpec, Skipped
from calipers.errors import CalipersError, InvalidOptionError, ModelTimeoutError, NotApplicableError
from calipers.identity.callables import task_identity
from calipers.identity.fingerprint import Unknown
from calipers.models.answer_cache import PendingAnswers, cache_in_use, using_cache
from calipers.models.function_model import FunctionModel
from calipers.models.model import SETTINGS, Answer, Ask, Model, as_model, ask_for_data, check_model
from calipers.models.model_answer import Completion

from .exhibits import Part, exhibits_of
from .fence import SEAL, Exhibit, Fence, secret_of
from .prompt import Prompt, prompt_named

MODEL_VARIABLE: Final = "CALIPERS_MODEL"
"""The environment variable that names the default model."""
_FENCE: Final = "fence"
"""The prompt with the rules about evidence."""
_SETTING: Final = (str, bool, int, float, list, tuple, Mapping)
"""What a setting of a model is made of; anything else would not be the same in another process."""
_OTHER_MODEL: Final = "other_model"
"""The attribute of a result that says who answered, where that is not who was asked: some servers answer for any name."""
_SHOWN: Final[dict[str, Part]] = {
    "include_input": "input",
    "include_context": "context",
    "include_conversation": "conversation",
    "include_tool_calls": "tool_calls",
    "include_metadata": "metadata",
    "include_expected_output": "expected_output",
}
"""What each field lets the judge see, in the order in which it is shown; the output comes before the expected one."""


@dataclass(kw_only=True)
class ModelJudge(Evaluator):
    """Base of the judges that ask a model. A subclass writes `judge`, and calls `ask` in it."""

    model: Any = field(default=None, compare=False)
    """The model: a name such as `openai:gpt-4o`, the address of a server, a `Model`, a function; `None`: the default model."""
    model_settings: Mapping[str, Any] | None = None
    """`temperature`, `max_tokens`, `seed`, `timeout` in seconds, and other fields of the provider's request."""
    include_input: bool = False
    """Whether the judge sees the inputs."""
    include_expected_output: bool = False
    """Whether it sees what the case expects; it skips cases that expect nothing."""
    include_tool_calls: bool = False
    """Whether it sees the tools that were called; it skips attempts that do not tell."""
    include_conversation: bool = False
    """Whether it sees the turns of the conversation; it skips attempts that have none."""
    include_context: bool = False
    """Whether it sees the retrieved context; it skips attempts that have none."""
    include_metadata: bool = False
    """Whether it sees the case's metadata; it skips cases that have none."""
    include_output: bool = True
    """Whether it sees the output."""
    canary: bool = True
    """Whether the evidence holds a decoy, by which a judge gives itself away that obeys what it is shown."""
    evaluation_name: str | None = None
    """What the result is called; `None` for the class's name."""

    is_judge: ClassVar[bool] = True
    prompts: ClassVar[tuple[str, ...]] = ()
    """The names of its prompts in `judges/prompts`; their texts are part of its version."""

    def __post_init__(self) -> None:
        for each in dataclasses.fields(ModelJudge):
            if each.name.startswith("include_") or each.name == "canary":
                check_flag(each.name, getattr(self, each.name))
        asked = read_settings(self.model_settings).asked
        Ask(messages=[{"role": "user", "content": ""}], **asked)  # refuses values that no question can have

    def needs_expectations(self) -> frozenset[Expectation]:
        """The expected output, if the judge is to see it."""
        return frozenset({"expected_output"} if self.include_expected_output else ())

    def get_evaluator_version(self) -> str | None:
        """The prompts with their versions, and the name of the model."""
        return ", ".join([*(prompt.label for prompt in self.all_prompts()), self._model_label()])

    def all_prompts(self) -> list[Prompt]:
        """The texts that it asks by, those about evidence last."""
        return [prompt_named(name) for name in (*self.prompts, _FENCE)]

    def as_spec(self) -> EvaluatorSpec:
        """As for every evaluator, with a model that is an object told by its name."""
        spec = super().as_spec()
        if not isinstance(spec.arguments.get("model", ""), str):
            told = {**spec.arguments, "model": as_model(self.model).name}
            spec = msgspec.structs.replace(spec, arguments=told)
        return spec

    async def evaluate(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        """What the judge says; skipped where the attempt lacks what it is to be shown."""
        try:
            return await self.judge(ctx)
        except NotApplicableError as error:
            return Skipped(str(error))

    @abstractmethod
    async def judge(self, ctx: EvaluatorContext) -> EvaluatorOutput:
        """Judge the attempt.

        Raises:
            NotApplicableError: there is nothing to judge; the text is the reason.
        """

    # ------------------------------------------------------------------ the model

    @property
    def model_name(self) -> str | None:
        """What the model is called; `None` if no one said which to ask."""
        given = self._given_model()
        return given if given is None or isinstance(given, str) else as_model(given).name

    def _given_model(self) -> Any:
        """What its model is given by; `None` if no one said."""
        return self.model if self.model is not None else default_model()

    def _model_label(self) -> str:
        """What tells the model from others: its name, with the address where the name does not say it; of a function its code."""
        given = self._given_model()
        if given is None:
            return "no model"
        try:
            model = as_model(given)
            address = getattr(model, "address", None)
        except CalipersError:  # it cannot be asked, and a run says so when it begins
            return str(given)
        if isinstance(model, FunctionModel):
            found = task_identity(model.function)
            # What cannot be known to be the same is asked again.
            code = secrets.token_hex(4) if isinstance(found, Unknown) else found.key[:8]
            return f"{model.name} ({code})"
        name = model.name if address is None or address in model.name else f"{model.name} at {address}"
        more = {
            key: value
            for key, value in (getattr(model, "parameters", None) or {}).items()
            if isinstance(value, _SETTING) and not is_secret_name(str(key))
        }
        told = json.dumps(plain(more), sort_keys=True)
        return f"{name} ({sha256(told.encode()).hexdigest()[:8]})" if more else name

    def asked_model(self) -> Model:
        """The model that is asked.

        Raises:
            InvalidOptionError: no one said which.
        """
        given = self.model if self.model is not None else _known_default() or default_model()
        if given is None:
            raise InvalidOptionError(
                f'{type(self).__name__} has no model to ask: give it one (model="openai:gpt-4o", or the URL of a server), '
                f'set the environment variable {MODEL_VARIABLE}, or write model = "openai:gpt-4o" into calipers.toml'
            )
        return as_model(given)

    async def before_run(self) -> None:
        """See that the model can be asked, before anything is paid for. The default model is that of this moment for the whole run.

        Raises:
            InvalidOptionError: no one said which model.
            ModelError: it cannot be asked.
        """
        _project_model.cache_clear()
        await check_model(self.asked_model())

    # ------------------------------------------------------------------ the question

    def parts(self) -> list[Part]:
        """What the judge is shown."""
        shown = [part for name, part in _SHOWN.items() if getattr(self, name)]
        place = shown.index("expected_output") if "expected_output" in shown else len(shown)
        return [*shown[:place], *(["output"] if self.include_output else []), *shown[place:]]  # type: ignore[list-item]

    def exhibits(self, ctx: EvaluatorContext) -> list[Exhibit] | Skipped:
        """What it is shown of an attempt, or why there is something that the attempt lacks."""
        return exhibits_of(ctx, self.parts())

    async def ask(
        self,
        ctx: EvaluatorContext,
        instruction: str,
        schema: Mapping[str, Any],
        *,
        exhibits: Sequence[Exhibit] | None = None,
        top_logprobs: int = 0,
        repeat: int | None = None,
    ) -> Answer:
        """Ask the model about an attempt; the data of the answer follows the schema.

        Args:
            ctx: the attempt.
            instruction: what is asked, in trusted words: nothing of the attempt belongs here.
            schema: of the answer, an object (`object_of`); the field of the seal is added to it.
            exhibits: what the model is shown; default: what the fields of the judge say.
            top_logprobs: how many likely tokens to report for each token of the answer.
            repeat: which repeat of the question; default: that of the attempt.

        Raises:
            NotApplicableError: the attempt lacks what is to be shown; `evaluate` skips it then.
            JudgeCanaryError: the judge obeyed what it was shown.
            ModelError: there is no answer, or none that can be read.
        """
        shown = self.exhibits(ctx) if exhibits is None else exhibits
        if isinstance(shown, Skipped):
            raise NotApplicableError(shown.reason)
        number = ctx.repeat_index if repeat is None else repeat
        # Which repeat it is may not be known. An answer that is kept might be that of another one.
        answers = None if number is None else cache_in_use()
        told = [[each.name, plain(each.value)] for each in shown]
        fence = Fence.of([instruction, told, schema, number, self.canary], secret_of(answers))
        rules = prompt_named(_FENCE).filled(fence.gaps(canary=self.canary))
        messages = [
            {"role": "system", "content": f"{instruction.strip()}\n\n{rules}"},
            {"role": "user", "content": fence.enclose(shown, canary=self.canary)},
        ]
        settings = read_settings(self.model_settings)
        model = _Sealing(self.asked_model(), fence)
        asked = Ask(
            messages=messages,
            schema=sealed(schema),
            top_logprobs=top_logprobs,
            repeat=number or 0,
            **settings.asked,
        )
        pending = None if answers is None else PendingAnswers(answers)
        with using_cache(pending):
            async with time_limit(settings.timeout, model.name):
                answer = await ask_for_data(model, asked)
        fence.check(answer.data, answer.completion.text)
        if pending is not None:
            pending.keep()
        for problem in answer.completion.problems:
            if problem.kind == "other_model":
                set_eval_attribute(_OTHER_MODEL, problem.message)
        data = {name: value for name, value in answer.data.items() if name != SEAL}
        return dataclasses.replace(answer, data=data)


class _Sealing:
    """A model whose every answer has to carry the seal of the question.

    An answer without it does not follow the schema and would be sent back for repair; the next one could have both the seal and the
    verdict that was dictated. So an answer is checked before anyone asks for a repair.
    """

    def __init__(self, model: Model, fence: Fence) -> None:
        self.model = model
        self.fence = fence

    @property
    def name(self) -> str:
        """That of the model."""
        return self.model.name

    async def ask(self, ask: Ask, /) -> Completion:
        """The model's answer.

        Raises:
            JudgeCanaryError: it is an object without the seal.
        """
        completion = await self.model.ask(ask)
        text = completion.text or ""
        try:
            found = msgspec.json.decode(text[text.find("{") : text.rfind("}") + 1])
        except (msgspec.DecodeError, UnicodeEncodeError):
            return completion  # unreadable, so there is something to repair
        if isinstance(found, dict):
            self.fence.check(found, completion.text)
        return completion


@asynccontextmanager
async def time_limit(seconds: float | None, model_name: str) -> AsyncIterator[None]:
    """A block that ends after the time-out of `model_settings`; `None`: it has as long as it takes.

    Raises:
        ModelTimeoutError: the time is over.
    """
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise ModelTimeoutError(
            f"{model_name} had no answer within {seconds:g} s: raise the timeout in model_settings"
        ) from error


class _Settings(msgspec.Struct, frozen=True):
    """Settings of a model, by where they go."""

    asked: dict[str, Any]
    """Fields of `Ask`."""
    timeout: float | None
    """Seconds for the whole question."""


def read_settings(given: Mapping[str, Any] | None) -> _Settings:
    """The settings, in the words of pydantic-ai's `ModelSettings` where it has one."""
    if given is not None and not (
        isinstance(given, Mapping) and all(isinstance(name, str) for name in given)
    ):
        raise InvalidOptionError(
            f"model_settings must be a mapping such as {{'temperature': 0}}, got {given!r:.200}"
        )
    rest = dict(given or {})
    timeout = check_number("timeout of model_settings", rest.pop("timeout", None), above=0, or_none=True)
    if "extra_headers" in rest:
        raise InvalidOptionError(
            "model_settings has extra_headers, which a judge cannot send: give it a Model of your own"
        )
    asked = {name: rest.pop(name) for name in SETTINGS if name in rest}
    options = {**(rest.pop("extra_body", None) or {}), **rest}
    return _Settings({**asked, **({"options": options} if options else {})}, timeout)


def default_model() -> str | None:
    """The model of judges that name none: by the environment, else by the project's file; `None` if neither says."""
    _project_model.cache_clear()
    return _known_default()


def _known_default() -> str | None:
    """The same, without a look into a file that was read before: it is not read for each question."""
    try:
        return os.environ.get(MODEL_VARIABLE) or _project_model(Path.cwd())
    except OSError:  # the working folder is gone
        return None


@lru_cache(maxsize=1)
def _project_model(folder: Path) -> str | None:
    from calipers.files.project import find_project

    return find_project(folder).model


# ---------------------------------------------------------------------- schemas


REASON: Final = {
    "type": "string",
    "description": "One to three sentences: what in the evidence decides.",
}
"""The schema of a reason; it comes before the verdict, which is to follow from it."""


def object_of(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with these properties, all required and no others: the form that every provider takes."""
    return {
        "type": "object",
        "properties": {name: dict(schema) for name, schema in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


def sealed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object, with the field of the seal as its last."""
    seal = {"type": "string", "description": "The seal, copied from the instructions."}
    return {
        **schema,
        "properties": {**schema["properties"], SEAL: seal},
        "required": [*schema.get("required", ()), SEAL],
    }


def headline_of(judge: Any, keys: Sequence[str | None]) -> int | None:
    """The place of the result that speaks for a judge that gives several, by their keys: the vote of a jury, the total of a rubric.

    A class says so by `headline`, the keys of its results: the first that is there speaks. `None` if it does not say.
    """
    wanted: Sequence[str] = getattr(type(judge), "headline", ())
    return next((keys.index(key) for key in wanted if key in keys), None)
