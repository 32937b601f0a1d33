"""A tape: the exchanges of an agent with its models and tools, attempt by attempt, in a file of JSON Lines.

| line | says |
|---|---|
| `{"tape": 1, "id": …}` | the first one: the version of the format, and what tells this recording from others |
| `{"attempt": 1, "case": …, "inputs": …, "repeat": 1, "try": 1}` | an attempt begins; `inputs` is a digest of what the task was given |
| `{"attempt": 1, "step": 1, "kind": "tool", "asked": …, "answered": …, "seconds": …}` | one exchange; steps are numbered as they began |
| `{"attempt": 1, "steps": 1}` | the attempt is over, and so many exchanges had begun |

Exchanges that run side by side end in any order, so their lines may stand in any order. Each line is written whole when its
exchange is over: a process that is killed leaves all lines but the last as they are. A last line without its end is left out.
A further attempt at the same inputs under the same name takes the place of an earlier one.
"""

import functools
import json
import os
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from calipers.errors import InvalidOptionError, TapeFileError
from calipers.identity.fingerprint import digest

from .taped_value import steady

VERSION = 1
Kind: TypeAlias = Literal["model", "tool"]
"""With whom an exchange was."""


class Exchange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What was asked once, and what came back."""

    attempt: int
    step: int
    """Its place in the attempt, from 1."""
    kind: Kind
    asked: dict[str, Any]
    """Of a tool its `name` and `arguments`; of a model `method`, `address` and `body`."""
    answered: dict[str, Any]
    """A `value` or an `error`; of a model also `status`, and its `body`, `stream`, `text` or `base64`."""
    seconds: float
    """How long it took."""

    @property
    def key(self) -> str:
        """What makes two of them ask the same."""
        return key_of(self.kind, self.asked)

    @property
    def what(self) -> str:
        """Who was asked, in words."""
        return what_is_asked(self.kind, self.asked)


class AttemptKey(msgspec.Struct, frozen=True):
    """What tells the attempts on a tape apart."""

    case: str
    """The name of the case; empty outside of a run."""
    inputs: str
    """A digest of what the task was given."""
    repeat: int = 1
    """Which of several attempts at the case, from 1."""
    tried: int = 1
    """Which try of the attempt, from 1: more than one where it was retried."""


class TapedAttempt(msgspec.Struct):
    """One attempt on a tape."""

    number: int
    key: AttemptKey
    exchanges: list[Exchange] = []
    """In the order in which they began."""
    taken: set[int] = set()
    """Their steps."""
    steps: int | None = None
    """How many had begun when the attempt was over; `None` if its end is not on the tape."""


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    tape: int
    id: str = ""


class _Begin(msgspec.Struct, forbid_unknown_fields=True):
    attempt: int
    case: str
    inputs: str
    repeat: int
    tried: int = msgspec.field(name="try")


class _End(msgspec.Struct, forbid_unknown_fields=True):
    attempt: int
    steps: int


def inputs_digest(inputs: Any) -> str:
    """What stands for the inputs of a case. What they hold of secrets does not count."""
    return digest(_text(steady(inputs)).encode("utf-8", "surrogatepass"))


def key_of(kind: Kind, asked: dict[str, Any]) -> str:
    """What makes two exchanges ask the same: of a model, its path and its body, on whichever host it runs."""
    if kind == "model":
        asked = {**asked, "address": asked["address"].partition("://")[2].partition("/")[2]}
    return f"{kind} {_text(asked)}"


def what_is_asked(kind: Kind, asked: dict[str, Any]) -> str:
    """Who is asked, in words."""
    if kind == "tool":
        return f"the tool {asked['name']!r}"
    model = asked["body"].get("model") if isinstance(asked["body"], dict) else None
    return f"a model at {asked['address']}" if model is None else f"the model {model!r}"


def _text(data: Any) -> str:
    return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class Tape:
    """A tape that has been recorded."""

    def __init__(self, path: str, attempts: list[TapedAttempt], fingerprint: str, *, is_cut: bool) -> None:
        self.path = path
        self.attempts = attempts
        """In the order in which they began."""
        self.fingerprint = fingerprint
        """Stands for all that is on it."""
        self.is_cut = is_cut
        """Whether the last line was not whole, and has been left out."""

    @classmethod
    def read(cls, path: "str | os.PathLike[str]") -> "Tape":
        """The tape in a file.

        Raises:
            TapeFileError: file not found, or it cannot be read.
        """
        shown = os.fspath(path)
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise TapeFileError(f"the tape {shown!r} cannot be read: {error.strerror or error}") from error
        lines = data.split(b"\n")
        is_cut = bool(lines.pop())
        if not lines:
            raise TapeFileError(f"{shown!r} is no tape: it has no line that is whole")
        attempts: dict[int, TapedAttempt] = {}
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                _take(line, number, attempts)
            except (msgspec.ValidationError, ValueError, RecursionError) as error:
                raise TapeFileError(f"{shown}, line {number}: {error}") from error
        for each in attempts.values():
            each.exchanges.sort(key=lambda exchange: exchange.step)
        return cls(shown, list(attempts.values()), digest(b"\n".join(lines)), is_cut=is_cut)

    @functools.cached_property
    def _by_key(self) -> dict[AttemptKey, TapedAttempt]:
        return {attempt.key: attempt for attempt in self.attempts}

    def find(self, key: AttemptKey) -> TapedAttempt | None:
        """The attempt of this key; of a case that is called something else now, the only one with its inputs."""
        found = self._by_key.get(key)
        if found is not None:
            return found
        same = {
            other.case: attempt
            for other, attempt in self._by_key.items()
            if (other.inputs, other.repeat, other.tried) == (key.inputs, key.repeat, key.tried)
        }
        return next(iter(same.values())) if len(same) == 1 else None

    def __repr__(self) -> str:
        return f"Tape({self.path!r}, {len(self.attempts)} attempts)"


_TWO_WRITERS = "something else wrote to the file as well, so record it again"
_ANSWERED = {
    "tool": ({"value"}, {"error"}),
    "model": ({"error"}, *({"status", "type", held} for held in ("body", "stream", "text", "base64"))),
}
"""What the outcome of an exchange must have."""


def _take(line: bytes, number: int, attempts: dict[int, TapedAttempt]) -> None:
    """Take in one line of a tape."""
    try:
        data = json.loads(line)
    except ValueError as error:
        if number == 1:
            raise ValueError(f"this is no tape: it is not JSON: {error}") from error
        raise
    if number == 1:
        if not isinstance(data, dict) or "tape" not in data:
            raise ValueError("this is no tape: its first line has no 'tape'")
        if data["tape"] != VERSION:
            raise ValueError(
                f"a tape of version {data['tape']!r}, and this release reads version {VERSION}: use the release that recorded "
                "it, or record it again"
            )
        msgspec.convert(data, _Head)
    elif isinstance(data, dict) and "case" in data:
        begin = msgspec.convert(data, _Begin)
        if begin.attempt in attempts:
            raise ValueError(f"attempt {begin.attempt} begins twice: {_TWO_WRITERS}")
        key = AttemptKey(begin.case, begin.inputs, begin.repeat, begin.tried)
        attempts[begin.attempt] = TapedAttempt(begin.attempt, key)
    elif isinstance(data, dict) and "steps" in data:
        end = msgspec.convert(data, _End)
        _attempt(attempts, end.attempt).steps = end.steps
    else:
        exchange = msgspec.convert(data, Exchange)
        wanted = {"name", "arguments"} if exchange.kind == "tool" else {"method", "address", "body"}
        if exchange.asked.keys() != wanted:
            raise ValueError(f"`asked` must have {', '.join(sorted(wanted))}, got {sorted(exchange.asked)!r}")
        if not any(wanted <= exchange.answered.keys() for wanted in _ANSWERED[exchange.kind]):
            raise ValueError(
                f"`answered` has no outcome of a {exchange.kind}, got {sorted(exchange.answered)!r}"
            )
        attempt = _attempt(attempts, exchange.attempt)
        if exchange.step in attempt.taken:
            raise ValueError(
                f"step {exchange.step} of attempt {exchange.attempt} is there twice: {_TWO_WRITERS}"
            )
        attempt.taken.add(exchange.step)
        attempt.exchanges.append(exchange)


def _attempt(attempts: dict[int, TapedAttempt], number: int) -> TapedAttempt:
    found = attempts.get(number)
    if found is None:
        raise ValueError(f"attempt {number} has not begun")
    return found


def _may_be_replaced(path: Path) -> bool:
    """Whether there is no file yet, or an empty one, or a tape."""
    if not path.exists():
        return True
    with path.open("rb") as file:
        first = file.readline(1000)
    return not first or first.startswith(b'{"tape":')


class TapeFile:
    """A tape that is being recorded. Safe in several threads."""

    def __init__(self, path: "str | os.PathLike[str]", *, append: bool = False) -> None:
        self.path = Path(os.path.realpath(path))
        if self.path.is_dir():
            raise InvalidOptionError(f"{os.fspath(path)!r} is a folder: name a file in it")
        if not _may_be_replaced(self.path):
            raise InvalidOptionError(
                f"{os.fspath(path)!r} is there already, and is no tape: name another file"
            )
        self._append = append
        self._head = b""
        """The first line, by which it is told from a tape that something else has begun in its place."""
        self._lock = threading.Lock()
        self._attempts: Iterator[int] | None = None

    def begin(self, key: AttemptKey) -> int:
        """Write that an attempt begins; its number."""
        with self._lock:
            if self._attempts is None:
                try:
                    self._attempts = self._begun()
                except OSError as error:
                    raise self._unwritten(error) from error
                self._head = self._first_line()
            number = next(self._attempts)
            self._write(
                {
                    "attempt": number,
                    "case": key.case,
                    "inputs": key.inputs,
                    "repeat": key.repeat,
                    "try": key.tried,
                }
            )
        return number

    def add(self, exchange: Exchange) -> None:
        """Write an exchange that is over."""
        with self._lock:
            self._write(msgspec.to_builtins(exchange))

    def end(self, number: int, steps: int) -> None:
        """Write that an attempt is over."""
        with self._lock:
            self._write({"attempt": number, "steps": steps})

    def _first_line(self) -> bytes:
        with self.path.open("rb") as file:
            return file.readline(1000)

    def _begun(self) -> Iterator[int]:
        """Begin the file, or go on with the one that is there; the numbers of further attempts."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        last = 0
        if self._append and self.path.exists() and self.path.stat().st_size:
            tape = Tape.read(self.path)
            last = max((attempt.number for attempt in tape.attempts), default=0)
            if tape.is_cut:  # so that the next line begins on its own
                os.truncate(self.path, self.path.read_bytes().rindex(b"\n") + 1)
        else:
            self.path.write_bytes(b"")
            self._write({"tape": VERSION, "id": secrets.token_hex(4)})
        return iter(range(last + 1, 2**53))

    def _write(self, line: dict[str, Any]) -> None:
        try:
            data = json.dumps(line, ensure_ascii=False, allow_nan=False).encode()
        except UnicodeEncodeError:  # half of a pair of surrogates
            data = json.dumps(line, allow_nan=False).encode()
        # Opened for each line: a fork, another thread or a kill finds no buffer with half of it.
        try:
            with self.path.open("a+b", buffering=0) as file:
                file.seek(0)
                if self._head and file.read(len(self._head)) != self._head:
                    raise TapeFileError(
                        f"something else writes to the tape {str(self.path)!r} as well: record each run in a file of its own"
                    )
                end, left = file.seek(0, os.SEEK_END), memoryview(data + b"\n")
                try:
                    while left:
                        left = left[file.write(left) :]
                except OSError:
                    file.truncate(end)  # so that all lines are whole
                    raise
        except OSError as error:
            raise self._unwritten(error) from error

    def _unwritten(self, error: OSError) -> TapeFileError:
        return TapeFileError(f"the tape {str(self.path)!r} cannot be written: {error.strerror or error}")
