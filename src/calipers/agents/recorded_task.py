"""`RecordedTask`: a task whose exchanges with models and tools are written to a tape.

An exchange is a request to a model that leaves this process (`models/wire_tap.py`), or the call of a tool that interceptors see
(`agents/tool_interception.py`). The tape stands outermost: it has what the agent asked and what the agent saw, with all that
other interceptors made of it. What evaluators ask of models is not on the tape: only what runs inside of the task is.

Headers are not written. What looks like a secret is written as `[redacted]`, in what was asked and in what came back; in what a
model said by its shape alone, since a name such as `token` means something else there. An exchange that has no outcome, since
the agent gave it up or was given up itself, has no line. A cache of models' answers is not asked: what it has would not be on the
tape.
"""

import copy
import json
import threading
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from inspect import isawaitable
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

from calipers.data.argument_checks import check_flag
from calipers.data.attempt import running_attempt
from calipers.data.redaction import REDACTED, masked, masked_text, secrets_in, without
from calipers.errors import InvalidOptionError, TapeError, TaskContractError
from calipers.models.answer_cache import using_cache
from calipers.models.request_redaction import known_address
from calipers.models.wire_hooks import install
from calipers.models.wire_tap import WireAnswer, WireRequest, tapping
from calipers.run.task import Task, as_task

from .tape import AttemptKey, Exchange, Kind, TapeFile, inputs_digest
from .taped_value import kept, kept_error, steady
from .tool_interception import MarkedArguments, Outcome, Proceed, Return, intercepting_tools


@dataclass(frozen=True)
class TaskOnTape:
    """A task inside of a block for each attempt. It is what `RecordedTask` and `ReplayedTask` share."""

    task: Any
    """What is called: a function of a case's inputs, or an object with `invoke`."""

    @property
    def name(self) -> str:
        """What to call it in reports: the task's name."""
        return self._inner.name

    @property
    def is_async(self) -> bool:
        """Whether it is awaited: if the task is."""
        return self._inner.is_async

    @property
    def _inner(self) -> Task:
        return as_task(self.task)

    def around(self, task: Any) -> "TaskOnTape":
        """The same around another task, on the same tape."""
        made = copy.copy(self)
        object.__setattr__(made, "task", task)
        return made

    def __call__(self, inputs: Any) -> Any:
        """What the task gives."""
        inner = self._inner
        if inner.is_async:
            return self._later(inner.function, inputs)
        with self._block(inputs):
            value = inner.function(inputs)
        if isawaitable(value):
            if isinstance(value, Coroutine):
                value.close()
            raise TaskContractError(
                f"the task {self.name!r} returned {value!r}, which is to be awaited, and does not say that it is async: "
                "make it an `async def`, or set its attribute `is_async`"
            )
        return value

    async def _later(self, function: Callable[[Any], Any], inputs: Any) -> Any:
        with self._block(inputs):
            return await function(inputs)

    def _block(self, inputs: Any) -> AbstractContextManager[None]:
        """What the task runs in."""
        raise NotImplementedError


class Calls:
    """Counts the calls that a task had outside of runs, where no attempt says which one it is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: Counter[str] = Counter()

    def key(self, inputs: Any) -> AttemptKey:
        """What the attempt is called that is about to be made."""
        known = inputs_digest(inputs)
        attempt = running_attempt()
        if attempt is not None:
            return AttemptKey(attempt.case_name, known, attempt.repeat_index, attempt.tries)
        with self._lock:
            self._made[known] += 1
            return AttemptKey("", known, self._made[known])


@dataclass(frozen=True)
class RecordedTask(TaskOnTape):
    """A task whose exchanges with models and tools are written to a tape.

    ```python
    report = dataset.evaluate_sync(RecordedTask(agent, "run.tape"))
    ```

    The file is begun anew with the first attempt; with `append=True` further attempts are added to those it has.

    A run of it is not kept in a store that hides anything (`redact`): a tape gives back word for word what came, and there hooks would see it
    in pieces. `unredacted=True` says that what is recorded may stand on the tape all the same.
    """

    writes_tape: ClassVar[bool] = True
    """Tells a store with hooks what the task leaves beside it."""

    path: Any = field(compare=False)
    """The file."""
    append: bool = field(default=False, compare=False)
    """Whether to add to what the file has."""
    unredacted: bool = field(default=False, compare=False)
    """Whether the tape may have what the store of the run hides."""
    _file: TapeFile = field(init=False, repr=False, compare=False)
    _calls: Calls = field(init=False, repr=False, compare=False, default_factory=Calls)

    def __post_init__(self) -> None:
        as_task(self.task)
        check_flag("append", self.append)
        check_flag("unredacted", self.unredacted)
        if not isinstance(self.path, str | Path):
            raise InvalidOptionError(f"path must be the path of a file, got {self.path!r}")
        object.__setattr__(self, "_file", TapeFile(self.path, append=self.append))
        install()  # now, so that it is not part of the first attempt's time

    @contextmanager
    def _block(self, inputs: Any) -> Iterator[None]:
        recorder = _Recorder(self._file, self._file.begin(self._calls.key(inputs)), KnownSecrets(inputs))
        with intercepting_tools(recorder), tapping(recorder), using_cache(None):
            try:
                yield
            except Exception:
                recorder.end()
                raise
            except BaseException:  # given up in the middle
                recorder.stop()
                raise
            recorder.end()


class _Begun(NamedTuple):
    """An exchange that is under way."""

    thing: Any
    """What stands for it while it is. It is held so that nothing else can have its id."""
    step: int
    asked: dict[str, Any]
    start: float
    so_far: Callable[[], WireAnswer | None] | None = None
    """Of an answer that has begun to come, what was read of it."""


class _Recorder:
    """Writes the exchanges of one attempt: an interceptor of tools and a tap of models."""

    def __init__(self, file: TapeFile, number: int, secrets: "KnownSecrets") -> None:
        self._file = file
        self._number = number
        self._secrets = secrets
        self._lock = threading.Lock()
        self._steps = 0
        self._begun: dict[int, _Begun] = {}
        self._is_over = False
        self._failure: TapeError | None = None
        """Why the tape does not have all of it; the agent may have caught it."""

    def before(self, name: str, arguments: Mapping[str, Any], /) -> Proceed:
        """Note that a tool is called."""
        self._begin(arguments, asked_of_tool(name, arguments, self._secrets))
        return Proceed()

    def after(self, name: str, arguments: Mapping[str, Any], outcome: Outcome, /) -> Outcome:  # noqa: ARG002 - the protocol's
        """Write what the agent sees of it."""
        self._write("tool", arguments, kept_outcome(arguments, outcome, self._secrets))
        return outcome

    def ask(self, request: WireRequest, /) -> WireRequest:
        """Note that a model is asked."""
        self._begin(request, asked_of_model(request, self._secrets))
        return request

    def coming(self, request: WireRequest, so_far: Callable[[], WireAnswer | None], /) -> None:
        """Note what tells how much was read, if the agent goes away from it without a word."""
        with self._lock:
            if (begun := self._begun.get(id(request))) is not None:
                self._begun[id(request)] = begun._replace(so_far=so_far)

    def told(self, request: WireRequest, outcome: WireAnswer | Exception, /) -> None:
        """Write what came back."""
        secrets = (*request.secrets, *self._secrets.all)
        if isinstance(outcome, Exception):
            self._write("model", request, kept_error(outcome, secrets))
        else:
            self._write("model", request, kept_answer(outcome, secrets))

    def end(self) -> None:
        """Write what was read of answers that the agent has not read to the end, and that the attempt is over."""
        with self._lock:
            unread = [(each.thing, each.so_far) for each in self._begun.values() if each.so_far is not None]
        for request, so_far in unread:
            if (answer := so_far()) is not None and answer.body:
                self.told(request, answer)
        self.stop()
        if self._failure is not None:
            raise self._failure
        self._file.end(self._number, self._steps)

    def stop(self) -> None:
        """Write nothing more: what ends later belongs to no attempt."""
        with self._lock:
            self._is_over = True

    def _begin(self, thing: Any, asked: dict[str, Any]) -> None:
        with self._lock:
            self._steps += not self._is_over
            self._begun[id(thing)] = _Begun(thing, self._steps, asked, perf_counter())

    def _write(self, kind: Kind, thing: Any, answered: dict[str, Any]) -> None:
        with self._lock:
            begun = self._begun.pop(id(thing), None)
            if begun is None or self._is_over:
                return
        exchange = Exchange(
            attempt=self._number,
            step=begun.step,
            kind=kind,
            asked=begun.asked,
            answered=answered,
            seconds=round(perf_counter() - begun.start, 4),
        )
        try:
            self._file.add(exchange)
        except TapeError as error:
            self._failure = error
            raise


# ---------------------------------------------------------------------- what a tape has of an exchange


class KnownSecrets:
    """What an attempt has shown to be secret so far: what stands under secret names in its inputs, its calls and their results.

    An agent may repeat it later where nothing says that it is one, such as in a prompt.
    """

    def __init__(self, inputs: Any) -> None:
        self._found = dict.fromkeys(secrets_in(inputs))

    @property
    def all(self) -> tuple[str, ...]:
        """Those that are known by now."""
        return tuple(self._found)

    def look_into(self, value: Any) -> None:
        """Take in what a value has of secrets."""
        self._found.update(dict.fromkeys(secrets_in(value)))

    def shown(self, arguments: Mapping[str, Any], name: str, value: Any) -> Any:
        """What the mark of a tool has recorded of a value. What is redacted is secret wherever else it stands."""
        show = arguments.shown if isinstance(arguments, MarkedArguments) else None
        told = value if show is None else show(name, value)
        if told == REDACTED:
            self.look_into({"password": value})
        return told


def asked_of_tool(name: str, arguments: Mapping[str, Any], secrets: KnownSecrets) -> dict[str, Any]:
    """A call as a tape has it."""
    shown = {key: secrets.shown(arguments, key, value) for key, value in arguments.items()}
    secrets.look_into(arguments)
    return {"name": name, "arguments": steady(shown, secrets.all)}


def kept_outcome(arguments: Mapping[str, Any], outcome: Outcome, secrets: KnownSecrets) -> dict[str, Any]:
    """What the agent saw of a call, as a tape has it."""
    if isinstance(outcome, Return):
        value = secrets.shown(arguments, "return", outcome.value)
        secrets.look_into(value)
        return kept(value, secrets.all)
    text = str(outcome.error)
    shown = secrets.shown(arguments, "raise", text)
    return kept_error(outcome.error, secrets.all, text=None if shown == text else str(shown))


def asked_of_model(request: WireRequest, secrets: KnownSecrets) -> dict[str, Any]:
    """A request as a tape has it."""
    return {
        "method": request.method.upper(),
        "address": known_address(request.url),
        "body": masked(data_of(_comparable(request.body)), (*request.secrets, *secrets.all)),
    }


def _comparable(body: bytes) -> bytes:
    """A body without what is another each time, and of one that is no text a digest."""
    boundary = body[:80].partition(b"\r\n")[0]
    if boundary.startswith(b"--") and body.rstrip().endswith(boundary + b"--"):
        body = body.replace(boundary, b"--boundary")
    return f"{len(body)} bytes, SHA-256 {sha256(body).hexdigest()}".encode() if _is_binary(body) else body


def data_of(body: bytes) -> Any:
    """What a body holds: JSON data, or else a text."""
    text = body.decode("utf-8", errors="replace")
    try:
        return json.loads(text, parse_constant=_no_json, parse_float=_finite)
    except (ValueError, RecursionError):
        return text


def _no_json(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _no_json(text)


_DONE = b"data: [DONE]\n\n"
"""The end of a stream of OpenAI's kind, behind which its SDK does not read."""


def kept_answer(answer: WireAnswer, secrets: Sequence[str]) -> dict[str, Any]:
    """An answer as a tape has it: JSON data as such, a stream as its events, anything else as text."""
    told: dict[str, Any] = {"status": answer.status, "type": answer.content_type}
    if answer.headers:
        told["headers"] = dict(answer.headers)
    if not answer.is_whole and not answer.body.endswith(_DONE):
        told["whole"] = False
    if _is_binary(answer.body) and not any(secret.encode() in answer.body for secret in secrets):
        return told | {"base64": b64encode(answer.body).decode("ascii")}
    if "event-stream" in answer.content_type:
        events = answer.body.decode("utf-8", errors="replace").replace("\r\n", "\n").split("\n\n")
        if told.get("whole") is False:
            events.pop()  # it was not whole, so the agent has not seen it
        return told | {"stream": [_shown(event, secrets) for event in events if event]}
    data = data_of(answer.body)
    if isinstance(data, str):  # also a text in quotes, which is JSON
        return told | {"text": _shown(answer.body.decode("utf-8", errors="replace"), secrets)}
    return told | {"body": _shown(data, secrets)}


def _is_binary(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return len(body) - error.start > 3  # otherwise only its last character was not read whole
    return False


def answer_of(
    told: Mapping[str, Any], *, delay: float, waits: bool, beyond: Callable[[], TapeError]
) -> WireAnswer:
    """The answer that a tape has.

    Args:
        told: what came back.
        delay: seconds to wait before it is given.
        waits: whether a client that asks again waits as long as it was told to.
        beyond: what is raised where more of it is read than was then.
    """
    if "base64" in told:
        body = b64decode(told["base64"])
    elif "stream" in told:
        body = "".join(f"{event}\n\n" for event in told["stream"]).encode()
    else:
        body = (json.dumps(told["body"], ensure_ascii=False) if "body" in told else told["text"]).encode()
    is_whole = told.get("whole", True)
    headers = told.get("headers", {})
    if not waits and told["status"] >= 400:
        headers = {name: value for name, value in headers.items() if name == "x-should-retry"}
        headers["retry-after-ms"] = "1"
    return WireAnswer(
        told["status"],
        told["type"],
        body,
        delay,
        headers,
        is_whole,
        None if is_whole else beyond,
    )


def _shown(data: Any, secrets: Sequence[str]) -> Any:
    """What a model said, without these secrets and what has the shape of one."""
    if isinstance(data, str):
        return masked_text(without(data, secrets))
    if isinstance(data, dict):
        return {name: _shown(value, secrets) for name, value in data.items()}
    return [_shown(each, secrets) for each in data] if isinstance(data, list) else data
