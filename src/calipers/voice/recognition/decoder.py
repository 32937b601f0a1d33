"""One decoder of pocketsphinx: sound in, words out, the same words whatever it heard before.

Three facts about the library shape this module:

- A decoder carries its estimate of the background noise from one utterance to the next, so that the same sound could give
  other words. Setting up its features anew before each utterance, which takes microseconds, prevents that.
- A decoder cannot be used by two threads, and the library does not let other threads of Python run while it listens. Several
  decoders would listen no faster than one, so all take turns behind one lock.
- It reports mistakes in a grammar by a bare error, and words it cannot pronounce in the same way. They are looked for here.
"""

import os
import re
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from calipers.errors import InvalidOptionError, MissingExtraError

SAMPLE_RATE = 16000
"""Frames per second that the acoustic model was made for."""
_SILENCES = frozenset({"SIL", "<s>", "</s>", "<sil>", "(NULL)"})
_SEARCH = "commands"

_turn = threading.Lock()
if hasattr(os, "register_at_fork"):  # a child must not inherit the lock from a thread that it does not have
    os.register_at_fork(before=_turn.acquire, after_in_parent=_turn.release, after_in_child=_turn.release)


class Utterance(NamedTuple):
    """What a decoder made of a sound."""

    text: str
    """The words, or for a decoder of phones the phones; empty if nothing fits."""
    phones: list[str]
    """How it was pronounced."""


class Decoder:
    """A decoder that knows the language, a grammar, or phones only. It is made when it first listens."""

    def __init__(
        self,
        *,
        grammar: str | None = None,
        phones_only: bool = False,
        pronunciations: Mapping[str, str] | None = None,
    ) -> None:
        self.grammar = grammar
        self.phones_only = phones_only
        self.pronunciations = pronunciations or {}
        self._decoder: Any = None

    def decode(self, pcm: bytes) -> Utterance:
        """Listen to frames of 16 bits, one channel, at `SAMPLE_RATE`.

        Raises:
            InvalidOptionError: a grammar that cannot be read, or has words that cannot be pronounced.
            MissingExtraError: pocketsphinx is not installed.
        """
        with _turn:
            if self._decoder is None:
                self._decoder = self._make()
            decoder = self._decoder
            decoder.reinit_feat()
            decoder.start_utt()
            try:
                decoder.process_raw(pcm, full_utt=True)
            finally:
                decoder.end_utt()
            found = decoder.hyp()
            if found is None or not found.hypstr:
                return Utterance("", [])
            heard = [segment.word for segment in decoder.seg() if segment.word not in _SILENCES]
            if self.phones_only:
                phones = [phone for phone in heard if phone[0] != "+"]
                return Utterance(" ".join(phones), phones)
            spoken = [decoder.lookup_word(word) or "" for word in heard if word[0] not in "<["]
            return Utterance(found.hypstr, " ".join(spoken).split())

    def _make(self) -> Any:
        try:
            import pocketsphinx  # type: ignore[import-untyped, unused-ignore]
        except ImportError as error:
            raise MissingExtraError.of("speech recognition", "voice") from error
        options: dict[str, Any] = {"samprate": SAMPLE_RATE, "loglevel": "FATAL"}
        if self.phones_only:
            # A light weight on which phone follows which: the sounds shall tell, not the language.
            model = pocketsphinx.get_model_path("en-us/en-us-phone.lm.bin")
            return pocketsphinx.Decoder(**options, lm=None, allphone=model, lw=1.0)
        if self.grammar is None:
            return _taught(pocketsphinx.Decoder(**options), self.pronunciations)
        # Its search for the best path through a lattice of words may end in the middle of a sentence of the grammar.
        decoder = _taught(pocketsphinx.Decoder(**options, lm=None, bestpath=False), self.pronunciations)
        _check_grammar(self.grammar, decoder)
        try:
            decoder.add_jsgf_string(_SEARCH, self.grammar)
            decoder.activate_search(_SEARCH)
        except (ValueError, RuntimeError, KeyError) as error:
            raise InvalidOptionError(
                f"the grammar cannot be read ({error}): {self.grammar[:200]!r}"
            ) from error
        return decoder


def _taught(decoder: Any, pronunciations: Mapping[str, str]) -> Any:
    for word, phones in pronunciations.items():
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
