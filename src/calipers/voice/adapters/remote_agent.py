"""What every adapter has: a repr without secrets, and checks of its options and of what is asked of it.

A constructor only stores its options. A `VoiceTask` calls `wrong_options` when it is made, and so does the reader of a voice
file: every wrong option is reported at once, before anything runs. `run` alone refuses the first one.
"""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from typing import Any

from calipers.data.argument_checks import check_seconds
from calipers.errors import InvalidOptionError
from calipers.models.http_request import as_json
from calipers.models.model_request import Sound, for_chat
from calipers.models.request_redaction import shown_address
from calipers.voice.audio import Audio
from calipers.voice.protocols import ResponseParser, check_part


def check_audio(audio: Audio) -> Audio:
    """The same, if it is sound.

    Raises:
        InvalidOptionError: it is something else.
    """
    if not isinstance(audio, Audio):
        raise InvalidOptionError(f"run takes an Audio, got {audio!r:.200}; for a text there is run_text")
    return audio


def check_text(text: str) -> str:
    """The same, if it is text.

    Raises:
        InvalidOptionError: it is something else.
    """
    if not isinstance(text, str):
        raise InvalidOptionError(f"run_text takes a text, got {text!r:.200}; for sound there is run")
    return text


def check_chunk(milliseconds: int) -> None:
    """Check the length of the pieces that sound is sent in.

    Raises:
        InvalidOptionError: it is no whole number of milliseconds above 0.
    """
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int) or milliseconds < 1:
        raise InvalidOptionError(
            f"chunk_ms must be a whole number of milliseconds above 0, got {milliseconds!r}"
        )


def check_count(name: str, value: Any) -> None:
    """Check how many there are to be of something.

    Raises:
        InvalidOptionError: it is no whole number above 0.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidOptionError(f"{name} must be a whole number above 0, got {value!r:.200}")


def _check_count_if_any(name: str, value: Any) -> None:
    if value is not None:
        check_count(name, value)


def _check_json(name: str, value: Any) -> None:
    as_json(value, what=name)


def _check_fields(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, Mapping):
        raise InvalidOptionError(
            f"{name} must be a mapping from names to values, or None, got {value!r:.200}"
        )
    _check_json(name, value)


def _check_headers(name: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise InvalidOptionError(
            f"{name} must be a mapping from names to texts, or None, got a {type(value).__name__}"
        )
    for key, text in value.items():  # the texts may be secrets, and are not shown
        if not isinstance(key, str) or not isinstance(text, str):
            raise InvalidOptionError(
                f"{name} maps texts to texts, got {type(text).__name__} for {key!r:.200}"
            )


def _check_parser(_: str, value: Any) -> None:
    if value is not None:
        check_part(value, ResponseParser, "parser", "parse(raw)")


def _check_text(name: str, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise InvalidOptionError(f"{name} must be a text, got {value!r:.200}")


def check_choice(name: str, value: Any, choices: Collection[str], *, or_function: str = "") -> None:
    """Check an option that is one of a few words, or a function where there is a word for that.

    Raises:
        InvalidOptionError: it is something else.
    """
    if isinstance(value, str) and value in choices:
        return
    if or_function and callable(value) and not isinstance(value, type):
        return
    listed = " or ".join(map(repr, choices)) + (f", or {or_function}" if or_function else "")
    raise InvalidOptionError(f"{name}={value!r:.200}: it is {listed}")


def _check_tools(_: str, value: Any) -> None:
    for_chat(value)


_CHECKS: Mapping[str, Callable[[str, Any], None]] = {
    "timeout": check_seconds,
    "open_timeout": check_seconds,
    "chunk_ms": _check_count_if_any,
    "sample_rate": _check_count_if_any,
    "max_messages": check_count,
    "tools": _check_tools,
    "end_message": _check_json,
    "extra_fields": _check_fields,
    "options": _check_fields,
    "headers": _check_headers,
    "parser": _check_parser,
    "method": _check_text,
    "model": _check_text,
    "audio_field": _check_text,
    "text_field": _check_text,
    "session": _check_json,
    "setup": _check_json,
    "transcription": _check_json,
    "turn_detection": _check_json,
}
"""By the name of an option: what raises `InvalidOptionError` if its value cannot work."""


class RemoteAgent:
    """An agent that lives elsewhere."""

    def wrong_options(self) -> Iterator[tuple[str, str]]:
        """Each option that can never work, and what is wrong with it."""
        for name, check in {**_CHECKS, **self._own_checks()}.items():
            if not hasattr(self, name):
                continue
            try:
                check(name, getattr(self, name))
            except InvalidOptionError as error:
                yield name, str(error)

    def _own_checks(self) -> Mapping[str, Callable[[str, Any], None]]:
        """Checks of options that mean something else in each adapter."""
        return {}

    def __repr__(self) -> str:
        """The settings that differ from the defaults, without secrets."""
        settings = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]  # every adapter is a dataclass
            value = getattr(self, field.name)
            if not field.repr or (field.default is not dataclasses.MISSING and value == field.default):
                continue
            if field.name in {"url", "base_url"} and isinstance(value, str):
                value = shown_address(value)
            settings.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(settings)})"


# ---------------------------------------------------------------------- sound as the protocols want it


def as_file(audio: Audio, formats: tuple[str, ...]) -> Sound:
    """The file: as it is if its format is one of these, else a WAV file with one header."""
    if audio.format in formats and audio.format not in {"wav", "pcm"}:
        return Sound(audio.data, audio.format)
    return Sound(audio.wav, "wav")


def as_pcm(audio: Audio, sample_rate: int | None) -> Audio:
    """The sound as one channel of 16-bit frames; at its own rate if none is given."""
    return audio.convert(sample_rate, channels=1, sample_width=2)


def pieces(audio: Audio, milliseconds: int) -> Iterator[bytes]:
    """The frames of a sound in pieces of this length; the last may be shorter."""
    frames = max(1, audio.sample_rate * milliseconds // 1000)
    size = frames * audio.channels * audio.sample_width
    pcm = audio.pcm
    for start in range(0, len(pcm), size):
        yield pcm[start : start + size]


async def paced(audio: Audio, milliseconds: int, *, realtime: bool) -> AsyncIterator[bytes]:
    """The pieces of a sound, as fast as they can be sent, or each when a speaker would have said it."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    for number, piece in enumerate(pieces(audio, milliseconds), 1):
        if realtime:
            await asyncio.sleep(start + number * milliseconds / 1000 - loop.time())
        yield piece
