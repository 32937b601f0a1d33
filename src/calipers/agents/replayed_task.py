"""`ReplayedTask`: a task whose models and tools are answered from a tape, and a `Fork`, from which it goes on live.

The task runs as usual; where it asks a model or calls a tool, the tape answers, and neither is reached. An exchange of the tape
answers what asks the same: the same tool with the same arguments, the same body to the same path of a model's server. Among
those that ask the same the first one is taken that has not been; so exchanges that run side by side may come in any order.
Where nothing on the tape asks quite the same, UUIDs do not count that neither the inputs nor the tape gave to the agent: some
frameworks make one for each tool call. Secrets are compared as `[redacted]`. Waiting times are left out unless `with_delays` asks for them.

**Leaving the tape.** What asks for something that the tape does not have gets a `TapeError`, and so does all that the attempt
asks after it: nothing goes on live by itself. The attempt fails with that error, also where the agent caught it. It says which
exchange it was, and where it differs from the one that the tape has there.

**A fork.** Exchanges before `Fork.at` come from the tape, those from there on are live. What is asked counts as one of those
before if it equals one that has not been taken yet; when all of them have been, everything is live.

What the tape does not see runs live in a replay, too: models and tools in this process that no interceptor or tap sees.
"""

import copy
import functools
import json
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from calipers.data.argument_checks import check_flag, check_text, check_whole_number
from calipers.data.attempt import set_eval_attribute
from calipers.data.value_text import show
from calipers.errors import InvalidOptionError, TapeError
from calipers.matching.value_comparison import Difference, differences
from calipers.models.answer_cache import using_cache
from calipers.models.wire_hooks import install
from calipers.models.wire_tap import WireAnswer, WireRequest, sealing, tapping
from calipers.run.task import as_task

from .recorded_task import Calls, KnownSecrets, TaskOnTape, answer_of, asked_of_model, asked_of_tool, data_of
from .tape import AttemptKey, Exchange, Kind, Tape, TapedAttempt, key_of, what_is_asked
from .taped_value import given_back, raised_again, steady
from .tool_interception import Outcome, Proceed, Raise, Return, intercepting_tools

_SHOWN = 5
"""Differences that an error lists."""
_ID = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}(?![0-9a-f])"
)
"""A UUID, with or without its dashes."""


@dataclass(frozen=True, kw_only=True)
class Fork:
    """Where a replay goes on live, and what is another there."""

    at: int
    """The first exchange that is not answered from the tape, from 1."""
    model: str | None = None
    """The name of the model that is asked from there on, at the same provider."""
    prompt: str | None = None
    """The system prompt of all requests from there on."""
    result: Any = msgspec.UNSET
    """What the tool returns that exchange `at` calls; the exchanges after it are live."""

    def __post_init__(self) -> None:
        check_whole_number("at", self.at, at_least=1)
        check_text("model", self.model, or_none=True)
        check_text("prompt", self.prompt, or_none=True)


@dataclass(frozen=True)
class ReplayedTask(TaskOnTape):
    """A task whose models and tools are answered from a tape.

    ```python
    report = dataset.evaluate_sync(ReplayedTask(agent, "run.tape"))
    ```

    Each attempt notes in its attribute `tape` how many exchanges came from the tape and how many were live.
    """

    tape: Any = field(compare=False)
    """A `Tape`, or the path of its file."""
    fork: Fork | None = None
    """Where to go on live; `None`: nowhere."""
    with_delays: bool = False
    """Whether each answer takes as long as it took then."""
    fingerprint: str = field(init=False, repr=False)
    """Stands for all that is on the tape: a replay of another tape is another task."""
    _read: Tape = field(init=False, repr=False, compare=False)
    _calls: Calls = field(init=False, repr=False, compare=False, default_factory=Calls)
    _players: "dict[AttemptKey, _Player]" = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        as_task(self.task)
        check_flag("with_delays", self.with_delays)
        if not isinstance(self.fork, Fork | None):
            raise InvalidOptionError(f"fork must be a Fork, such as Fork(at=3, model='…'), got {self.fork!r}")
        tape = self.tape if isinstance(self.tape, Tape) else Tape.read(self.tape)
        object.__setattr__(self, "_read", tape)
        object.__setattr__(self, "fingerprint", tape.fingerprint)
        install()  # now, so that it is not part of the first attempt's time

    @property
    def counts(self) -> tuple[int, int]:
        """How many exchanges came from the tape, and how many were live."""
        notes = [player.note for player in self._players.values()]
        return sum(note["replayed"] for note in notes), sum(note["live"] for note in notes)

    @property
    def unasked(self) -> dict[AttemptKey, list[Exchange]]:
        """The exchanges that no one asked for, of each attempt that was replayed to its end. Those of a fork do not count."""
        stayed = {key: player for key, player in self._players.items() if player.departure is None}
        return {key: left for key, player in stayed.items() if (left := player.left)}

    @property
    def unplayed(self) -> list[AttemptKey]:
        """The attempts on the tape that have not been replayed."""
        return [attempt.key for attempt in self._read.attempts if attempt.key not in self._players]

    @contextmanager
    def _block(self, inputs: Any) -> Iterator[None]:
        player = _Player(self._attempt(inputs), self._read, self.fork, inputs, with_delays=self.with_delays)
        try:
            # What is in a cache of models' answers is not on the tape, and what is on the tape must not get into one.
            with intercepting_tools(player), tapping(player), sealing(), using_cache(None):
                yield
        except Exception as error:
            if player.departure is not None and player.departure is not error:
                raise player.departure from error
            raise
        finally:
            self._players[player.key] = player
            set_eval_attribute("tape", player.note)
        player.check_end()

    def _attempt(self, inputs: Any) -> TapedAttempt:
        key = self._calls.key(inputs)
        found = self._read.find(key)
        if found is None:
            raise _no_attempt(self._read, key)
        if self.fork is not None:
            self._check_fork(self.fork, found)
        return found

    def _check_fork(self, fork: Fork, found: TapedAttempt) -> None:
        """Refuse a fork at a step that the attempt does not have, or that is not what the fork changes."""
        step = next((each for each in found.exchanges if each.step == fork.at), None)
        if fork.at > (found.exchanges[-1].step if found.exchanges else 0) + 1:
            raise TapeError(
                f"{_place(found.key)} cannot fork at step {fork.at}: the tape {self._read.path!r} has "
                f"{_exchanges(len(found.exchanges))} of it"
            )
        if fork.result is not msgspec.UNSET and (step is None or step.kind != "tool"):
            what = "nothing" if step is None else step.what
            raise TapeError(
                f"{_place(found.key)} cannot fork at step {fork.at} with another result: the tape has {what} there, and a "
                "result is that of a tool"
            )


def _no_attempt(tape: Tape, key: AttemptKey) -> TapeError:
    """The error for an attempt that is not on the tape."""
    same = [attempt.key for attempt in tape.attempts if attempt.key.case == key.case]
    inputs = [each for each in same if each.inputs == key.inputs]
    if inputs:
        most = max(each.repeat for each in inputs)
        why = (
            f"it has {most} of this case" if key.repeat > most else f"it was not tried {key.tried} times then"
        )
    elif same and key.case:
        why = "the inputs of this case were others then"
    elif named := sorted({attempt.key.case for attempt in tape.attempts if attempt.key.inputs == key.inputs}):
        why = f"it has these inputs for {', '.join(map(repr, named[:_SHOWN]))}, so it is not known which of them to take"
    else:
        why = "it has no case with this name or these inputs"
    return TapeError(f"{_place(key)} is not on the tape {tape.path!r}: {why}; record it again")


def _place(key: AttemptKey) -> str:
    """An attempt, in words."""
    more = f", repeat {key.repeat}" if key.repeat > 1 else ""
    more += f", try {key.tried}" if key.tried > 1 else ""
    return f"case {key.case!r}{more}" if key.case else f"this call{more}"


def _end(attempt: TapedAttempt) -> str:
    """Why the tape has nothing more of an attempt, in words."""
    if attempt.steps is None:
        return "the tape was cut off before it"
    if attempt.steps > len(attempt.exchanges):
        return (
            "the tape ends before it, or it is one that the agent gave up then, so that there is no outcome"
        )
    return "the tape ends before it"


def _exchanges(count: int) -> str:
    return "1 exchange" if count == 1 else f"{count} exchanges"


class _Player:
    """Answers the exchanges of one attempt from the tape: an interceptor of tools and a tap of models."""

    def __init__(
        self,
        attempt: TapedAttempt,
        tape: Tape,
        fork: Fork | None,
        inputs: Any,
        *,
        with_delays: bool,
    ) -> None:
        self._attempt = attempt
        self._tape = tape
        self._fork = fork
        self._inputs = inputs
        self._secrets = KnownSecrets(inputs)
        self._with_delays = with_delays
        self._lock = threading.Lock()
        self._left: dict[int, Exchange] = {each.step: each for each in attempt.exchanges}
        self._by_key: dict[str, deque[Exchange]] = {}
        for each in attempt.exchanges:
            self._by_key.setdefault(each.key, deque()).append(each)
        self._asked = 0
        self._replayed = 0
        self._live = 0
        self._has_given_result = False
        self.departure: TapeError | None = None
        """Where the attempt left the tape; `None`: nowhere so far."""

    @property
    def key(self) -> AttemptKey:
        """Which attempt of the tape it is."""
        return self._attempt.key

    @property
    def left(self) -> list[Exchange]:
        """The exchanges before the fork that have not been asked for."""
        return [each for each in self._left.values() if self._is_taped(each)]

    @property
    def note(self) -> dict[str, Any]:
        """What the attempt says of its replay."""
        told: dict[str, Any] = {
            "replayed": self._replayed,
            "live": self._live,
            "fingerprint": self._tape.fingerprint[:8],
        }
        if self._fork is not None:
            told["fork"] = self._fork.at
        if left := self.left:
            told["never_asked"] = [each.step for each in left]
        return told

    def check_end(self) -> None:
        """Check an attempt that has come to its end.

        Raises:
            TapeError: it left the tape, or never asked for what the fork changes.
        """
        if self.departure is not None:
            raise self.departure
        if self._fork is not None and self._fork.result is not msgspec.UNSET and not self._has_given_result:
            raise TapeError(
                f"{_place(self.key)} never made the call of step {self._fork.at}, so the fork could not give it another result",
                step=self._fork.at,
            )

    # ------------------------------------------------------------------ tools

    def before(self, name: str, arguments: Mapping[str, Any], /) -> Proceed | Outcome:
        """The outcome that the tape has; that of the fork, or none, where the call is live."""
        found = self._take("tool", asked_of_tool(name, arguments, self._secrets))
        if isinstance(found, Proceed | Return):
            return found
        delay = found.seconds if self._with_delays else 0.0
        try:
            if "error" in found.answered:
                return Raise(raised_again(found.answered["error"]), delay)
            return Return(given_back(found.answered), delay)
        except TapeError as error:
            raise self._unplayable(found, error) from error

    def after(self, name: str, arguments: Mapping[str, Any], outcome: Outcome, /) -> Outcome:  # noqa: ARG002 - the protocol's
        """The outcome of a live call, as it is."""
        if isinstance(outcome, Return):
            self._secrets.look_into(self._secrets.shown(arguments, "return", outcome.value))
        return outcome

    # ------------------------------------------------------------------ models

    def ask(self, request: WireRequest, /) -> WireRequest | WireAnswer:
        """The answer that the tape has; where the request is live, the request as the fork wants it."""
        found = self._take("model", asked_of_model(request, self._secrets))
        if not isinstance(found, Exchange):
            return request if self._fork is None else self._forked(request, self._fork)
        delay = found.seconds if self._with_delays else 0.0
        if "error" not in found.answered:
            return answer_of(
                found.answered, delay=delay, waits=self._with_delays, beyond=lambda: self._beyond(found)
            )
        try:
            raised = raised_again(found.answered["error"])
        except TapeError as error:
            raise self._unplayable(found, error) from error
        raise raised

    def _forked(self, request: WireRequest, fork: Fork) -> WireRequest:
        try:
            return forked(request, fork)
        except TapeError as error:
            raise self._leave(
                f"{_place(self.key)} cannot go on live at step {self._asked}: {error}", self._asked
            ) from error

    def coming(self, request: WireRequest, so_far: Callable[[], WireAnswer | None], /) -> None:
        """Nothing is kept of a live answer."""

    def told(self, request: WireRequest, outcome: WireAnswer | Exception, /) -> None:
        """Nothing is kept of a live answer."""

    def _beyond(self, found: Exchange) -> TapeError:
        """The error for an answer of which the tape has only the beginning."""
        return self._leave(
            f"{_place(self.key)} left the tape at step {found.step}: it read more of the answer of {found.what} than it did "
            "then, and the tape has no more of it",
            found.step,
        )

    # ------------------------------------------------------------------ which exchange

    def _take(self, kind: Kind, asked: dict[str, Any]) -> Exchange | Proceed | Return:
        """The exchange of the tape that answers this; `Proceed` where it is live, or what the fork returns."""
        with self._lock:
            self._asked += 1
            if self.departure is not None:
                raise self.departure
            key = self._key(key_of(kind, asked))
            same = self._by_key.get(key)
            if same and self._is_taped(same[0]):
                found = same.popleft()
                del self._left[found.step]
                self._replayed += 1
                return found
            if self._fork is not None and (same or not self.left):
                return self._live_at(self._fork, key)
            raise self._lost(kind, asked)

    def _key(self, key: str) -> str:
        """The key under which the tape has what this one asks; the same where it does not have it."""
        if self._by_key.get(key):
            return key
        return next(
            (same for same in self._alike.get(self._without_new_ids(key), ()) if self._by_key[same]), key
        )

    @functools.cached_property
    def _alike(self) -> dict[str, list[str]]:
        """The keys on the tape, by what they are but for new ids."""
        alike: dict[str, list[str]] = {}
        for key in self._by_key:
            alike.setdefault(self._without_new_ids(key), []).append(key)
        return alike

    @functools.cached_property
    def _given_ids(self) -> set[str]:
        """The ids that the agent was given."""
        given = [steady(self._inputs), *(each.answered for each in self._attempt.exchanges)]
        return {found[0] for found in _ID.finditer(json.dumps(given))}

    def _without_new_ids(self, key: str) -> str:
        numbers: dict[str, str] = {}

        def number(found: re.Match[str]) -> str:
            each = found[0]
            return each if each in self._given_ids else numbers.setdefault(each, f"<id {len(numbers) + 1}>")

        return _ID.sub(number, key)

    def _is_taped(self, exchange: Exchange) -> bool:
        return self._fork is None or exchange.step < self._fork.at

    def _live_at(self, fork: Fork, key: str) -> Proceed | Return:
        """How a live exchange goes on."""
        step = [each.key for each in self._attempt.exchanges if each.step == fork.at]
        if fork.result is not msgspec.UNSET and not self._has_given_result and key in step:
            self._has_given_result = True
            return Return(copy.deepcopy(fork.result))  # each attempt has its own, to change as it likes
        self._live += 1
        return Proceed()

    def _lost(self, kind: Kind, asked: dict[str, Any]) -> TapeError:
        """The error for what the tape does not have."""
        number = self._asked
        left = list(self._left.values())
        alike = [each for each in left if each.kind == kind]
        named = [each for each in alike if kind == "tool" and each.asked["name"] == asked["name"]]
        near = next(iter(named or alike or left), None)
        wanted = what_is_asked(kind, asked)
        found: list[Difference] = []
        if near is None:
            there = _end(self._attempt)
        elif near.kind != kind or (kind == "tool" and near.asked["name"] != asked["name"]):
            there = f"step {near.step} of the tape asks {near.what}"
        else:
            ours = {name: value for name, value in near.asked.items() if name != "address"}
            found = list(differences(ours, {name: asked[name] for name in ours}))
            shown = "; ".join(map(str, found[:_SHOWN])) or f"address: {show(asked['address'])}"
            more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            there = f"step {near.step} of the tape differs in {shown}{more}"
        return self._leave(
            f"{_place(self.key)} left the tape at step {number}: it asked {wanted}; {there}", number, found
        )

    def _unplayable(self, found: Exchange, error: TapeError) -> TapeError:
        """The error for what came back then and cannot be given again."""
        return self._leave(
            f"{_place(self.key)}, step {found.step}: {found.what} cannot be replayed: {error}", found.step
        )

    def _leave(self, message: str, step: int, found: list[Difference] | None = None) -> TapeError:
        self.departure = self.departure or TapeError(message, step=step, differences=found or ())
        return self.departure


# ---------------------------------------------------------------------- a request as a fork wants it

_GEMINI_MODEL = re.compile(r"(?<=/models/)[^/:]+(?=:)")
"""Where the name of the model stands in the path of a request to Gemini."""


def forked(request: WireRequest, fork: Fork) -> WireRequest:
    """A request to another model, or with another system prompt.

    Raises:
        TapeError: it has no place for it.
    """
    if fork.model is None and fork.prompt is None:
        return request
    data, url = data_of(request.body), request.url
    if not isinstance(data, dict):
        raise TapeError(f"the request to {url!r} is no JSON, so its model and its prompt cannot be changed")
    if fork.model is not None:
        parts = urlsplit(url)
        if "model" in data:
            data["model"] = fork.model
        elif _GEMINI_MODEL.search(parts.path):
            url = urlunsplit(parts._replace(path=_GEMINI_MODEL.sub(fork.model, parts.path)))
        else:
            raise TapeError(
                f"the request to {parts.path!r} does not say which model it asks, so another cannot be asked"
            )
    if fork.prompt is not None:
        _set_prompt(data, urlsplit(url).path, fork.prompt)
    return WireRequest(request.method, url, json.dumps(data, ensure_ascii=False).encode(), request.secrets)


def _set_prompt(data: dict[str, Any], path: str, prompt: str) -> None:
    """Put another system prompt into the body of a request, where its protocol has it."""
    if "contents" in data:
        data.pop("system_instruction", None)
        data["systemInstruction"] = {"parts": [{"text": prompt}]}
    elif path.endswith("/messages"):
        data["system"] = prompt
    elif "input" in data:
        data["instructions"] = prompt
        if isinstance(data["input"], list):
            data["input"] = [each for each in data["input"] if not _is_system(each)]
    elif isinstance(messages := data.get("messages"), list):
        role = next((each["role"] for each in messages if _is_system(each)), "system")
        others = [each for each in messages if not _is_system(each)]
        data["messages"] = [{"role": role, "content": prompt}, *others]
    else:
        raise TapeError(f"the request to {path!r} has no place for a system prompt that is known")


def _is_system(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("role") in {"system", "developer"}
