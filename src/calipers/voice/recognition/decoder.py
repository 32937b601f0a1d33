"""One decoder of pocketsphinx: sound in, words out, the same words whatever it heard before.

A decoder carries its estimate of the background noise from one utterance to the next, so that the same sound could give
other words. Setting up its features anew before each utterance, which takes microseconds, prevents that.

The library reports a mistake in a grammar by a bare error, and a word that it cannot pronounce by the same. Both are
looked for here and told in words.

A decoder is for one thread.
"""

import re
from typing import Any, NamedTuple

from calipers.errors import InvalidOptionError, MissingExtraError

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
        MissingExtraError: pocketsphinx is not installed.
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
        # A light weight on which phone follows which: the sounds shall tell, not the language.
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
