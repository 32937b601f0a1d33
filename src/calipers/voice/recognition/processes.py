"""The processes that listen: pocketsphinx runs beside the program, not in it.

The library holds the interpreter's lock while it decodes. In a thread it would stop the event loop for a tenth of a
second and more, and two threads would be no faster than one. So decoders live in child processes, one utterance at a
time each, and as many of them as there are processors, up to four: each takes about a hundred megabytes.

A child is started when one is needed, keeps its decoders for the next utterance, and ends when its standard input does:
when the program is over, however it ends. A child that dies is an error for the utterance it had, and for no other.
"""

import atexit
import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from functools import lru_cache
from typing import Any

from calipers.errors import CalipersError

from .decoder import Decoder, Utterance, Vocabulary

_MOST = max(1, min(os.cpu_count() or 1, 4))
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; from calipers.voice.recognition.processes import serve; serve()"
)


def decode(vocabulary: Vocabulary, pcm: bytes) -> Utterance:
    """What a decoder with this vocabulary hears; see `Decoder`. Any thread may ask, and waits for its turn.

    Raises:
        CalipersError: no process can be started, or it died.
    """
    return _listeners.decode(vocabulary, pcm)


class Listeners:
    """Some child processes, and whose turn it is."""

    def __init__(self) -> None:
        self._turns = threading.BoundedSemaphore(_MOST)
        self._idle: list[subprocess.Popen[bytes]] = []
        self._all: set[subprocess.Popen[bytes]] = set()
        self._of_parent: set[subprocess.Popen[bytes]] = set()

    def decode(self, vocabulary: Vocabulary, pcm: bytes) -> Utterance:
        """Ask a process, a new one if all are busy."""
        with self._turns:
            try:
                child = self._idle.pop()
            except IndexError:
                child = self._start()
            try:
                answer = _ask(child, (vocabulary, pcm))
            except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
                status = self._end(child)
                raise CalipersError(f"the process that listens ended with status {status}") from error
            except BaseException:
                child.kill()  # such as at Ctrl-C: the next one would take the answer that is under way for its own
                self._end(child)
                raise
            self._idle.append(child)
        if isinstance(answer, Exception):
            raise answer
        utterance: Utterance = answer
        return utterance

    def close(self) -> None:
        """End all processes."""
        self._idle.clear()
        for child in list(self._all):
            child.kill()
            self._end(child)

    def forget(self) -> None:
        """In a program that was forked: the processes are its parent's, and so are the turns. It starts its own."""
        self._of_parent |= self._all  # kept, since Python warns of running processes that nobody holds
        self._all, self._idle = set(), []
        self._turns = threading.BoundedSemaphore(_MOST)

    def _start(self) -> "subprocess.Popen[bytes]":
        if not sys.executable or getattr(sys, "frozen", False):
            raise CalipersError(
                "speech is recognized by a Python interpreter, and this program has none to start"
            )
        child = subprocess.Popen(  # noqa: S603 - this interpreter, our program
            [sys.executable, "-c", _PROGRAM, *map(str, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the program
        )
        self._all.add(child)
        return child

    def _end(self, child: "subprocess.Popen[bytes]") -> int:
        """See a process to its end, and say how it ended."""
        self._all.discard(child)
        for stream in (child.stdin, child.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
        try:
            return child.wait(timeout=1)
        except subprocess.TimeoutExpired:
            child.kill()
            return child.wait()


def _ask(child: "subprocess.Popen[bytes]", request: Any) -> Any:
    assert child.stdin is not None
    assert child.stdout is not None
    pickle.dump(request, child.stdin)
    child.stdin.flush()
    return pickle.load(child.stdout)  # noqa: S301 - from our own process


def serve() -> None:
    """What a child does: answer requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the library prints what it cannot read of a grammar
    decoder = lru_cache(maxsize=4)(Decoder)
    while True:
        try:
            vocabulary, pcm = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the program that started us
        except (EOFError, pickle.UnpicklingError):  # the program is over, perhaps in the middle of a request
            return
        answer: Utterance | Exception
        try:
            answer = decoder(vocabulary).decode(pcm)
        except Exception as error:
            answer = error
        with suppress(BrokenPipeError):  # the program is over
            pickle.dump(answer, answers)
            answers.flush()


_listeners = Listeners()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_listeners.forget)
atexit.register(_listeners.close)
