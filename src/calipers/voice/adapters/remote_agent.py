"""What every adapter has: a repr without secrets, and checks of its options and of what is asked of it.

A constructor only stores its options. A `VoiceTask` calls `wrong_options` when it is made, and so does the reader of a voice
file: every wrong option is reported at once, before anything runs. `run` alone refuses the first one.
"""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from calipers.data import argument_checks
from calipers.data.argument_checks import check_seconds, check_whole_number
from calipers.data.redaction import without
from calipers.errors import AgentReplyError, AgentTimeoutError, InvalidOptionError
from calipers.models.http_request import Request, as_json
from calipers.models.model_request import Sound, for_chat
from calipers.models.request_redaction import shown_address, shown_text
from calipers.voice.audio import Audio
from calipers.voice.protocols import ResponseParser, check_part
from calipers.voice.response import AgentResponse


def check_audio(audio: Audio) -> Audio:
    """The value, if it is sound."""
    if not isinstance(audio, Audio):
        raise InvalidOptionError(f"run takes an Audio, got {audio!r:.200}; for a text there is run_text")
    return audio


def check_text(text: str) -> str:
    """The value, if it is text."""
    if not isinstance(text, str):
        raise InvalidOptionError(f"run_text takes a text, got {text!r:.200}; for sound there is run")
    return text


def check_chunk(milliseconds: int) -> None:
    """Check the length of the pieces that sound is sent in."""
    _check_count("chunk_ms", milliseconds)


_check_count = partial(check_whole_number, at_least=1)
_check_count_or_none = partial(check_whole_number, at_least=1, or_none=True)


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


def _check_tools(_: str, value: Any) -> None:
    for_chat(value)


_CHECKS: Mapping[str, Callable[[str, Any], object]] = {
    "timeout": check_seconds,
    "open_timeout": check_seconds,
    "chunk_ms": _check_count_or_none,
    "sample_rate": _check_count_or_none,
    "max_messages": _check_count,
    "tools": _check_tools,
    "end_message": _check_json,
    "extra_fields": _check_fields,
    "options": _check_fields,
    "headers": _check_headers,
    "parser": _check_parser,
    "method": argument_checks.check_text,
    "model": argument_checks.check_text,
    "audio_field": argument_checks.check_text,
    "text_field": argument_checks.check_text,
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

    def _own_checks(self) -> Mapping[str, Callable[[str, Any], object]]:
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


# ---------------------------------------------------------------------- answers


def decoded(data: str | bytes) -> Any:
    """The JSON that a server sent; anything else stays as it is: text, or sound."""
    if isinstance(data, bytes) and data.lstrip()[:1] not in (b"{", b"["):
        return data
    try:
        return msgspec.json.decode(data)
    except Exception:
        return data


async def answer_to(request: Request, client: Any) -> Any:
    """What came back over HTTP: its JSON, or its text."""
    try:
        reply = await request.send(client)
    except AgentTimeoutError as error:
        error.response = AgentResponse(timed_out=True)
        raise
    if (refusal := request.refusal(reply)) is not None:
        refusal.response = AgentResponse(raw=without(reply.text, request.secrets))
        raise refusal
    found = decoded(reply.body)
    return reply.text if isinstance(found, bytes) else found


def parsed(parser: ResponseParser, raw: Any, *, address: str, secrets: Sequence[str]) -> AgentResponse:
    """What a parser reads."""
    response = parser.parse(raw)
    if (said := getattr(response, "no_answer", None)) is not None:
        raise AgentReplyError(shown_text(f"{address}: {said}", secrets), response=response)
    return response
