"""`RemoteModel`: a language model behind HTTP, of any provider whose wire format is known here.

- **The key is never kept.** It is read from the environment for each question, and stands in no message, `repr` or store.
- **What may pass is asked again**: too many requests, a busy or failing server, a lost connection, a time-out; after the
  pause that the server wants, with some jitter, and not beyond the deadline. A wrong key, no credit, a question that is too
  long or wrong is an error at once.
- **A parameter that the model refuses is left out**, from then on, and `not_sent` of each answer says so. A schema that it
  refuses is asked for in words.
- **An answer that can lead to a verdict is kept** in the cache in use, and the same question is not asked again.
"""

import asyncio
import os
import random
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from fnmatch import fnmatchcase
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import msgspec

from calipers.data.argument_checks import check_seconds
from calipers.data.redaction import is_secret_name, without
from calipers.data.retry import Retry
from calipers.errors import (
    AgentConnectionError,
    AgentTimeoutError,
    InvalidOptionError,
    ModelConnectionError,
    ModelError,
    ModelFilteredError,
    ModelKeyError,
    ModelRateError,
    ModelRequestError,
    ModelTimeoutError,
)
from calipers.run.call_limit import limits_here
from calipers.run.ledger import reserved

from .accounting import account
from .answer_cache import cache_in_use, cache_key
from .answer_data import is_readable, with_instructions
from .anthropic import MESSAGES
from .gemini import GENERATE, continuation
from .http_request import Reply, Request, as_json, is_address
from .model import Ask
from .model_answer import Completion, ResponseProblem, Usage, is_list, read
from .model_errors import Trouble, trouble_of
from .openai import AZURE_CHAT, CHAT, COMPATIBLE_CHAT, OPENROUTER_CHAT, RESPONSES
from .request_redaction import known_address, open_headers, shown_address
from .wire_format import WireFormat

FORMATS: Mapping[str, WireFormat] = {
    "openai": CHAT,
    "openai-responses": RESPONSES,
    "anthropic": MESSAGES,
    "gemini": GENERATE,
    "azure": AZURE_CHAT,
    "openrouter": OPENROUTER_CHAT,
}
"""By what stands before the colon in the name of a model."""
_NOTHING: Mapping[str, Any] = {"temperature": None, "max_tokens": None, "seed": None, "top_logprobs": 0}
"""The values of a question's fields that are left out."""
_UNSUPPORTED = frozenset({"unsupported_value", "unsupported_parameter"})
_ORDINARY = frozenset({"include", "text"})
"""Names of parameters that are words of any message: only an error that names its parameter can mean them."""
_SNAPSHOT = re.compile(r"[-@:](\d|latest|preview|exp)")
"""How what is behind the name of a model begins, if it is a snapshot of that model."""
_MOST_CONTINUATIONS = 20
_NO_SUCH_MODEL = frozenset({"not_found_error", "not_found"})
"""How Anthropic and Gemini say that they have no model of a name; others list what they have."""
_CHECK_SECONDS = 20.0
_MOST_CHECKS = 3
"""How often to try to reach a server that is only to be checked."""
RETRY = Retry(attempts=6, max_backoff=20.0)
"""How often to ask by default."""
_LONG_KEY = 16
"""A shorter key is one for tests, and may be an ordinary word of an answer."""
_JITTER = 0.1
"""By which share a wait that the server asked for may be longer: all who wait were told the same moment."""


class _Route(NamedTuple):
    """Where a question goes, in which words, and with which key."""

    wire: WireFormat
    model: str | None
    base_url: str
    key: str | None
    key_variables: tuple[str, ...]
    headers: dict[str, str]


@dataclass(frozen=True, eq=False)
class RemoteModel:
    """A model of a provider, or behind an address.

    ```python
    RemoteModel("openai:gpt-4o", timeout=30)
    RemoteModel("http://localhost:8000/v1#my-model", key_variable="MY_KEY")
    ```

    Raises:
        InvalidOptionError: the name is of no known form, or holds a secret.
    """

    name: str
    """`PROVIDER:MODEL`, or the address of a server up to `/v1`, with `#MODEL` where it has several."""
    _: KW_ONLY
    base_url: str | None = None
    """Where the server is; default: that of the environment (such as `OPENAI_BASE_URL`), or the provider's own."""
    key_variable: str | None = None
    """Where the key is in the environment; default: where the provider's own clients look for it."""
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    """Further headers."""
    timeout: float | None = 120.0
    """Seconds for one request; `None` for no limit."""
    deadline: float | None = 600.0
    """Seconds for one question, with all retries and the pauses between them; `None` for no limit."""
    retry: Retry | None = RETRY
    """How often to ask, and how long to wait where the server does not say; `None`: once."""
    client: Any = field(default=None, repr=False)
    """Your own `httpx.AsyncClient` or `aiohttp.ClientSession`."""
    refused: set[tuple[str, str]] = field(default_factory=set, init=False, repr=False)
    """Which fields of a question the model was found not to take, each with the address where it did not."""

    def __post_init__(self) -> None:
        check_seconds("timeout", self.timeout)
        check_seconds("deadline", self.deadline)
        for url in (self.name, self.base_url):
            if url is not None and "://" in url:
                _check_address(url)
        self._format_and_model()

    async def ask(self, ask: Ask, /) -> Completion:
        """The answer.

        Raises:
            ModelError: there is no answer; the class says why.
            InvalidOptionError: the question cannot be sent.
            BudgetError: the budget of the run is used up.
        """
        wire, model = self._format_and_model()
        cache, key = cache_in_use(), b""
        if cache is not None:
            asked = as_json(wire.body(ask, model), what=f"the question to {self.name}")
            key = cache_key(self.name, self._known_place(), asked, repeat=ask.repeat)
            if (kept := cache.get(key)) is not None:
                found = _read_kept(kept, wire)
                _note_other_model(found, wire, model)
                account(found, self.name, input_text=_last_text(ask))
                return found
        async with reserved():
            answers = await _Exchange(self, self._route(), ask).answers()
            found = _joined(answers)
            account(found, self.name, input_text=_last_text(ask))
        if cache is not None and _can_decide(found, ask):
            cache.put(key, _to_keep(answers, found))
        return found

    async def check(self) -> None:
        """Ask the server, at no cost, whether it takes the key and has the model. One that cannot tell is fine.

        Raises:
            ModelError: it does not, or cannot be reached.
        """
        route = self._route()
        limit = min(self.timeout or _CHECK_SECONDS, _CHECK_SECONDS)
        url = route.wire.lookup(route.base_url, route.model)
        request = Request(url, "GET", route.headers, b"", timeout=limit, api_key=route.key, asked="server")
        reply = await self._checked(request)
        if 200 <= reply.status < 300:
            _check_listed(self.name, reply, route.model)
            return
        error = _trouble(self.name, reply, request, route).error
        # A gateway may have no such page: then the 404 is its own, without the provider's code.
        no_such_model = reply.status == 404 and error.code in _NO_SUCH_MODEL
        if isinstance(error, ModelKeyError) or no_such_model:
            raise error

    async def _checked(self, request: Request) -> Reply:
        """The reply to a check; a connection that was lost is tried again, as for a question but not as long."""
        began, failed = perf_counter(), 0
        while True:
            try:
                return await _sent(request, self)
            except ModelConnectionError as error:
                failed += 1
                spent = perf_counter() - began
                if self.retry is None or failed == _MOST_CHECKS or not _may_pass(error):
                    raise
                if not self.retry.again(error, failed, spent):
                    raise
                await asyncio.sleep(self.retry.pause(failed, random.getrandbits(32)))

    def _route(self) -> _Route:
        wire, model = self._format_and_model()
        base_url = self._base(wire)
        names = (self.key_variable,) if self.key_variable is not None else wire.provider.key_variables
        key = next((found.strip() for found in map(os.environ.get, names) if found and found.strip()), None)
        if key is None and (self.key_variable is not None or base_url == wire.provider.home):
            raise ModelKeyError(f"there is no key for {self.name}: set {' or '.join(names)}")
        headers = {**wire.headers, **wire.provider.headers(key, self.headers)}
        return _Route(wire, model, base_url, key, names, headers)

    def _format_and_model(self) -> tuple[WireFormat, str | None]:
        if "://" in self.name:
            return COMPATIBLE_CHAT, self.name.partition("#")[2] or None
        kind, colon, model = self.name.partition(":")
        if not colon or not model or kind not in FORMATS:
            raise InvalidOptionError(
                f"a model is called PROVIDER:NAME, with one of {', '.join(FORMATS)}, or by the address of a "
                f"server, such as 'http://localhost:8000/v1#NAME', got {self.name!r}"
            )
        return FORMATS[kind], model

    @property
    def address(self) -> str:
        """Where the server is, without secrets.

        Raises:
            InvalidOptionError: that is not said, or is no address.
        """
        return known_address(self._base(self._format_and_model()[0]))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What else decides who answers: headers that carry no secrets."""
        return dict(open_headers(self.headers))

    def _known_place(self) -> str:
        """Where the server is, with all that may choose the model behind it."""
        more = open_headers(self.headers)
        return f"{self.address} {msgspec.json.encode(more).decode()}" if more else self.address

    def _base(self, wire: WireFormat) -> str:
        if "://" in self.name and self.base_url is None:
            return self.name.partition("#")[0]
        variables = wire.provider.base_variables
        given = (self.base_url, *(os.environ.get(name) for name in variables))
        found = next((url.strip() for url in given if url and url.strip()), wire.provider.home)
        if not found:
            raise InvalidOptionError(f"{self.name} needs an address: set {' or '.join(variables)}")
        if not is_address(found, ("http", "https")):
            raise InvalidOptionError(
                f"{self.name}: the address in {' or '.join(variables) or 'base_url'} must begin with http:// or "
                f"https://, got {shown_address(found)!r}"
            )
        return found


def _check_address(url: str) -> None:
    """Refuse what is not an address, and an address that holds a secret: it stands in reports."""
    if not is_address(url, ("http", "https")):
        raise InvalidOptionError(
            f"the address of a model must begin with http:// or https://, got {shown_address(url)!r}"
        )
    parts = urlsplit(url)
    if "@" in parts.netloc or any(is_secret_name(name) for name, _ in parse_qsl(parts.query)):
        raise InvalidOptionError(
            f"the address {shown_address(url)!r} holds a secret, and addresses stand in reports: put the key into the "
            "environment, and name its variable by RemoteModel(..., key_variable=...)"
        )


def _check_listed(name: str, reply: Reply, model: str | None) -> None:
    """Refuse a model that is not among those that a server lists."""
    try:
        listed = read(msgspec.json.decode(reply.body), "data")
    except (msgspec.DecodeError, RecursionError):
        return
    names = [read(each, "id") for each in listed] if is_list(listed) else []
    known = sorted(each for each in names if isinstance(each, str))
    if model is None or not known or any(_is_listed(model, each) for each in known):
        return
    shown = ", ".join(known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    raise ModelRequestError(
        f"{name}: the server has no model {model!r}; it has {shown}", code="model_not_found"
    )


def _is_listed(asked: str, listed: str) -> bool:
    """Whether a name in a server's list is that of a model: with a tag behind it, a provider before it, or a pattern of a gateway."""
    if fnmatchcase(asked.lower(), listed.lower()):
        return True
    asked, listed = _bare(asked), _bare(listed)
    return listed == asked or listed.partition(":")[0] == asked


def _is_same(asked: str, answered: str) -> bool:
    """Whether who answered may be who was asked: a snapshot has a date or a version behind its name."""
    asked, answered = _bare(asked).removesuffix("-latest"), _bare(answered)
    return answered == asked or _SNAPSHOT.match(answered.removeprefix(asked)) is not None


def _note_other_model(found: Completion, wire: WireFormat, asked: str | None) -> None:
    """Record who answered, if it is not who was asked. A deployment of Azure has any name."""
    answered = found.model
    if wire is AZURE_CHAT or asked is None or answered is None or _is_same(asked, answered):
        return
    text = f"{asked!r} was asked, and {answered!r} answered"
    found.problems.append(ResponseProblem("other_model", text, answered))


def _bare(name: str) -> str:
    """The name of a model without what providers and gateways put before it."""
    return name.lower().rpartition("/")[2]


def _without_keys(reply: Reply, request: Request) -> Reply:
    """An answer without the keys of its question, should the server repeat them: it is kept, and stands in reports."""
    long = [secret for secret in request.secrets if len(secret) >= _LONG_KEY]
    body, told = reply.body, dict(reply.headers)
    for secret in long:
        body = body.replace(secret.encode(), b"[redacted]")
    if body is not reply.body:
        reply = reply._replace(body=body)
    if any(secret in value for secret in long for value in told.values()):
        hidden = {name.lower(): without(value, long) for name, value in told.items()}
        reply = reply._replace(headers=hidden)
    return reply


def _trouble(name: str, reply: Reply, request: Request, route: _Route) -> Trouble:
    found = reply.headers.get(route.wire.request_id)
    return trouble_of(reply, request, name=name, key_variables=route.key_variables, request_id=found)


async def _sent(request: Request, model: RemoteModel) -> Reply:
    try:
        return await request.send(model.client)
    except AgentTimeoutError as error:
        raise ModelTimeoutError(f"{model.name}: {error}") from error
    except AgentConnectionError as error:
        raise ModelConnectionError(f"{model.name}: {error}") from error


# ---------------------------------------------------------------------- one question


class _Exchange:
    """One question: its requests, the pauses between them, and its answer."""

    def __init__(self, model: RemoteModel, route: _Route, ask: Ask) -> None:
        self._model = model
        self._route = route
        self._ask = ask
        self._tries = 0
        self._waited = 0.0
        """Seconds for which it waited for a limit of the run."""
        self._began = perf_counter()

    async def answers(self) -> list[Completion]:
        """The answer: one, or several of which each continues the one before."""
        found = [await self._answer({})]
        while (token := continuation(found[-1].raw)) is not None and len(found) < _MOST_CONTINUATIONS:
            found.append(await self._answer({"continuationToken": token}))
        if not self._ask.top_logprobs:  # some servers give them unasked
            for each in found:
                each.logprobs = None
        last = found[-1]
        last.tries, last.duration = self._tries, self._spent
        last.not_sent = tuple(name for name in _given(self._ask) if name in self._left_out)
        _note_other_model(last, self._route.wire, self._route.model)
        return found

    async def _answer(self, further: Mapping[str, Any]) -> Completion:
        failed = 0
        while True:
            request, left_out = self._request(further), self._left_out
            try:
                self._tries += 1
                try:
                    reply = await _sent(request, self._model)
                finally:
                    self._waited += request.waited
                found = self._read(reply, request)
            except ModelError as error:
                found = Trouble(error, again=_may_pass(error))
            if isinstance(found, Completion):
                return found
            if self._leave_out(found) or left_out != self._left_out:  # another question found that out
                continue
            failed += 1
            found.error.tries = self._tries
            if (pause := self._pause(found, failed)) is None:
                raise found.error
            await asyncio.sleep(pause)

    def _request(self, further: Mapping[str, Any]) -> Request:
        route, model = self._route, self._model
        body = {**route.wire.body(_without(self._ask, self._left_out), route.model), **further}
        left = None if model.deadline is None else max(0.001, model.deadline - self._spent)
        limit = min((each for each in (model.timeout, left) if each is not None), default=None)
        content = as_json(body, what=f"the question to {model.name}")
        url = route.wire.address(route.base_url, route.model)
        return Request(url, "POST", route.headers, content, timeout=limit, api_key=route.key, asked="server")

    def _read(self, reply: Reply, request: Request) -> "Completion | Trouble":
        """The answer, or why it cannot be used."""
        wire, reply = self._route.wire, _without_keys(reply, request)
        if not 200 <= reply.status < 300:
            return _trouble(self._model.name, reply, request, self._route)
        try:
            raw = msgspec.json.decode(reply.body)
        except (msgspec.DecodeError, RecursionError):
            raw = reply.text
        found = wire.read(raw)
        found.request_id = reply.headers.get(wire.request_id)
        if not {"no_answer", "error"} & {problem.kind for problem in found.problems}:
            return found
        if found.finish == "filtered":
            said = found.problems[0].message
            error = ModelFilteredError(f"{self._model.name}: {said}", status=reply.status)
            return Trouble(error, again=False)
        return _trouble(self._model.name, reply, request, self._route)

    def _leave_out(self, trouble: Trouble) -> bool:
        """Note which field of the question the model does not take, if that is the trouble."""
        if trouble.error.status not in (400, 422) or not isinstance(trouble.error, ModelRequestError):
            return False
        words = self._route.wire.words
        if trouble.parameter is not None:
            named = [trouble.parameter.partition(".")[0]] if trouble.error.code in _UNSUPPORTED else []
        else:
            asked = (word for word in words if word not in _ORDINARY)
            named = [word for word in asked if re.search(rf"\b{word}\b", trouble.words)]
        fields = {words.get(word, word) for word in named} & set(_given(self._ask)) - self._left_out
        self._model.refused.update((self._route.base_url, each) for each in fields)
        return bool(fields)

    @property
    def _left_out(self) -> frozenset[str]:
        refused = {each for where, each in self._model.refused if where == self._route.base_url}
        return self._route.wire.lacks | refused

    @property
    def _spent(self) -> float:
        """Seconds so far, without those for which it waited for a limit."""
        return perf_counter() - self._began - self._waited

    def _pause(self, trouble: Trouble, failed: int) -> float | None:
        """Seconds to wait before the next request; `None` if there is none."""
        retry, deadline = self._model.retry, self._model.deadline
        if retry is None or not trouble.again or not retry.again(trouble.error, failed, self._spent):
            return None
        if isinstance(trouble.error, ModelRateError) and limits_here() is not None:
            return 0.0  # the limit of the run has heard of it, and knows when to ask again
        draw = random.random()  # noqa: S311 - spreading, not secrets
        pause = retry.pause(failed, int(draw * 2**32))
        if trouble.wait:
            pause = max(pause, trouble.wait * (1 + _JITTER * draw))
        return None if deadline is not None and self._spent + pause >= deadline else pause


def _given(ask: Ask) -> list[str]:
    """The fields of a question that have a value and can be left out, with its further options."""
    found = [name for name, nothing in _NOTHING.items() if getattr(ask, name) != nothing]
    return [*found, *(["schema"] if ask.schema is not None else []), *(ask.options or ())]


def _without(ask: Ask, left_out: frozenset[str]) -> Ask:
    """A question without some of its fields; a schema is then asked for in words."""
    changes: dict[str, Any] = {name: _NOTHING[name] for name in left_out if name in _NOTHING}
    if "schema" in left_out and ask.schema is not None:
        changes |= {"schema": None, "messages": with_instructions(ask.messages, ask.schema)}
    if ask.options and left_out & ask.options.keys():
        changes["options"] = {name: value for name, value in ask.options.items() if name not in left_out}
    return replace(ask, **changes) if changes else ask


def _may_pass(error: ModelError) -> bool:
    """Whether a request that got no answer may get one later. An unknown host or a bad certificate stays as it is."""
    return not any(
        isinstance(each, ssl.SSLCertVerificationError)
        or (isinstance(each, socket.gaierror) and each.errno != socket.EAI_AGAIN)
        for each in _causes(error)
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


# ---------------------------------------------------------------------- whole answers


def _joined(answers: list[Completion]) -> Completion:
    """One answer of several, of which each continues the one before. The tokens of all of them are paid for."""
    found = answers[-1]
    if len(answers) > 1:
        found.text = "".join(each.text or "" for each in answers) or None
        found.reasoning = "".join(each.reasoning or "" for each in answers) or None
        found.tool_calls = [call for each in answers for call in each.tool_calls]
        found.parts = (GENERATE.name, [part for each in answers for part in (each.parts or ("", []))[1]])
        found.usage = _added([each.usage for each in answers])
        if found.finish == "stop" and found.tool_calls:
            found.finish = "tool_call"
        # The log-probabilities of one part alone would be taken for those of the whole.
        tokens = [each.logprobs for each in answers]
        found.logprobs = (
            tuple(token for each in tokens for token in each or ()) if None not in tokens else None
        )
    return found


def _added(usages: list[Usage | None]) -> Usage | None:
    """The sum of what was used; of a number that one of them does not tell, it is not known."""
    if any(usage is None for usage in usages):
        return None
    sums: dict[str, int | None] = {}
    for each in fields(Usage):
        counts = [getattr(usage, each.name) for usage in usages]
        sums[each.name] = None if None in counts else sum(counts)
    return Usage(**sums)


def _can_decide(found: Completion, ask: Ask) -> bool:
    """Whether an answer can lead to a verdict; one that cannot is asked for again."""
    if found.finish == "tool_call":
        return True
    return found.finish == "stop" and (ask.schema is None or is_readable(found, ask.schema))


def _to_keep(answers: list[Completion], found: Completion) -> bytes:
    notes = {"request_id": found.request_id, "not_sent": found.not_sent}
    return msgspec.json.encode({"answers": [each.raw for each in answers], **notes})


def _read_kept(kept: bytes, wire: WireFormat) -> Completion:
    data = msgspec.json.decode(kept)
    found = _joined([wire.read(raw) for raw in data["answers"]])
    found.request_id, found.not_sent = data["request_id"], tuple(data["not_sent"])
    found.cached, found.tries = True, 0
    return found


def _last_text(ask: Ask) -> str:
    """What was asked last, for a trace."""
    content = ask.messages[-1].get("content")
    return content if isinstance(content, str) else ""
