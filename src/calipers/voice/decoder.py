"""Decoders of pocketsphinx, and the processes that they run in.

**The same sound gives the same words.** A decoder carries its estimate of the background noise from one utterance to the
next. Setting up its features anew before each utterance, which takes microseconds, prevents that.

**Decoders live in child processes**, because the library holds the interpreter's lock while it decodes: in a thread it would
stop the event loop for a tenth of a second and more. Each process hears one utterance at a time. There are as many as
processors, up to four, of about a hundred megabytes each. A process is started when one is needed, keeps its decoders for the
next utterance, and ends when its standard input does, however the program ends. One that dies is an error for the utterance
it had, and for no other.
"""

import atexit
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from calipers.errors import CalipersError, InvalidOptionError, MissingExtraError

SAMPLE_RATE = 16000
"""Frames per second that the acoustic model was made for."""
_SILENCES = frozenset({"SIL", "<s>", "</s>", "<sil>", "(NULL)"})
_SEARCH = "commands"


class Vocabulary(NamedTuple):
    """What a decoder knows: a grammar, phones and nothing else, or, without either, the language."""

    grammar: str | None = None
    """In the JSpeech Grammar Format."""
    phones_only: bool = False
    pronunciations: tuple[tuple[str, str], ...] = ()
    """Words that the dictionary lacks, with their phones."""


class Utterance(NamedTuple):
    """What a decoder made of a sound."""

    text: str
    """The words, or for a decoder of phones the phones; empty if nothing fits."""
    phones: tuple[str, ...]
    """How it was pronounced."""


class Decoder:
    """A decoder with a vocabulary. It takes a tenth of a second and some thirty megabytes to make one.

    Raises:
        InvalidOptionError: a grammar that cannot be read, or words that cannot be pronounced.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._decoder = _make(vocabulary)

    def decode(self, pcm: bytes) -> Utterance:
        """Listen to frames of 16 bits, one channel, at `SAMPLE_RATE`."""
        decoder = self._decoder
        decoder.reinit_feat()
        decoder.start_utt()
        try:
            decoder.process_raw(pcm, full_utt=True)
        finally:
            decoder.end_utt()
        found = decoder.hyp()
        if found is None or not found.hypstr:
            return Utterance("", ())
        heard = [segment.word for segment in decoder.seg() if segment.word not in _SILENCES]
        if self.vocabulary.phones_only:
            phones = [phone for phone in heard if phone[0] != "+"]
            return Utterance(" ".join(phones), tuple(phones))
        spoken = [decoder.lookup_word(word) or "" for word in heard]
        return Utterance(found.hypstr, tuple(" ".join(spoken).split()))


def _make(vocabulary: Vocabulary) -> Any:
    try:
        import pocketsphinx  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise MissingExtraError.of("speech recognition", "voice") from error
    options: dict[str, Any] = {"samprate": SAMPLE_RATE, "loglevel": "FATAL"}
    if vocabulary.phones_only:
        # A low weight on which phone follows which: the sounds should decide, not the language.
        model = pocketsphinx.get_model_path("en-us/en-us-phone.lm.bin")
        return pocketsphinx.Decoder(**options, lm=None, allphone=model, lw=1.0)
    grammar = vocabulary.grammar
    if grammar is None:
        return _taught(pocketsphinx.Decoder(**options), vocabulary)
    # Its search for the best path through a lattice of words may end in the middle of a sentence of the grammar.
    decoder = _taught(pocketsphinx.Decoder(**options, lm=None, bestpath=False), vocabulary)
    _check_grammar(grammar, decoder)
    try:
        decoder.add_jsgf_string(_SEARCH, grammar)
        decoder.activate_search(_SEARCH)
    except (ValueError, RuntimeError, KeyError) as error:
        raise InvalidOptionError(f"the grammar cannot be read ({error}): {grammar[:200]!r}") from error
    return decoder


def _taught(decoder: Any, vocabulary: Vocabulary) -> Any:
    for word, phones in vocabulary.pronunciations:
        try:
            decoder.add_word(word, phones, update=True)
        except (RuntimeError, TypeError) as error:
            raise InvalidOptionError(
                f"the word {word!r} cannot be pronounced {phones!r}: give phones of the ARPAbet, such as 'K AO L'"
            ) from error
    return decoder


def _check_grammar(grammar: str, decoder: Any) -> None:
    """Say what is wrong with a grammar in words: the library only says that something is."""
    if not grammar.startswith("#JSGF"):
        raise InvalidOptionError(
            f"a grammar in the JSpeech Grammar Format begins with #JSGF, got {grammar[:80]!r}"
        )
    rules = re.sub(r"<[^<>]*>|\{[^{}]*\}|/[^/;]*/", " ", grammar.partition(";")[2].partition(";")[2])
    words = sorted(set(re.findall(r"[^\W\d_][\w'.-]*", rules)) - {"public"})
    if unknown := [word for word in words if decoder.lookup_word(word) is None]:
        raise InvalidOptionError(
            f"the recognizer cannot pronounce {', '.join(map(repr, unknown))}: spell them otherwise, in lower case, or"
            " give pronunciations={'word': 'phones of the ARPAbet'}"
        )


# ---------------------------------------------------------------------- processes


_MOST = max(1, min(os.cpu_count() or 1, 4))
_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from calipers.voice.decoder import serve; serve()"


def decode(vocabulary: Vocabulary, pcm: bytes) -> Utterance:
    """What a decoder with this vocabulary hears; see `Decoder`. Any thread may ask, and waits for its turn."""
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
        self._of_parent |= self._all  # kept, since Python warns of running processes without a reference
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
