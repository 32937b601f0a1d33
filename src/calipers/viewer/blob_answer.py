"""`GET /runs/{run}/attempts/{position}/blob/{name}`: the whole of a value, or a sound, as a file.

The name is one of ours (`attempt_parts`): a value of the attempt, of a step of its trace, or a sound in one of them. Text and JSON are saved, and
never shown; a sound is one by its first bytes.
"""

import re
from typing import Final

import msgspec

from .attempt_parts import AttemptParts
from .case_answer import attempts_at, sound_folders
from .download import Download
from .refusal import Refusal
from .sounds import FoundSound
from .trace_answers import step_sounds, step_values, turns_of
from .viewed_store import ViewedStore

_STEP: Final = re.compile(r"step-(\d{1,9})-(content|arguments|output|details|sound-(\d{1,6}))")
_TYPES: Final = {
    "audio/wav": "wav",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
    "audio/mp4": "m4a",
    "audio/webm": "webm",
}


def blob_answer(viewed: ViewedStore, run: str, position: int, name: str) -> Download:
    """A value, or a sound, as a file."""
    step = _STEP.fullmatch(name)
    if step is not None:
        return _of_step(viewed, run, position, int(step[1]), step[2], step[3])
    with viewed.reading() as store:
        info = store.run(run)
        found = next(attempts_at(store, info, [position], None), None)
        folders = sound_folders(store)
    if found is None:
        raise Refusal("not_found", f"run {info.id!r} has no attempt {position}")
    stem = f"{info.name}-{position}-{name}"
    if name.startswith("sound-"):
        for part, sound in found.sounds(folders):
            if part == name:
                return _sound(sound, stem)
        raise _missing(name)
    return _value(_part(found, name), stem)


def _part(found: AttemptParts, name: str) -> bytes:
    raw = found.part(name)
    if not raw:
        raise _missing(name)
    return raw


def _of_step(
    viewed: ViewedStore, run: str, position: int, step: int, what: str, sound: str | None
) -> Download:
    with viewed.reading() as store:
        info = store.run(run)
    trace = viewed.trace(info.id, position)
    if trace is None:
        raise Refusal("not_found", f"run {info.id!r} has no attempt {position}, or it left no trace")
    ((_, turn),) = turns_of(trace, [step])
    stem = f"{info.name}-{position}-step-{step}-{what}"
    if sound is not None:
        sounds = step_sounds(turn)
        if int(sound) < len(sounds):
            return _sound(sounds[int(sound)], stem)
        raise _missing(f"step-{step}-{what}")
    raw = step_values(turn)[what]
    if not raw:
        raise _missing(f"step-{step}-{what}")
    return _value(raw, stem)


def _value(raw: bytes, stem: str) -> Download:
    """Text as it is, and anything else as JSON."""
    if raw.startswith(b'"'):
        text = msgspec.json.decode(raw, type=str)
        return Download(text.encode(), media_type="text/plain; charset=utf-8", name=f"{stem}.txt")
    return Download(raw, name=f"{stem}.json")


def _sound(sound: FoundSound, stem: str) -> Download:
    return Download(sound.data, media_type=sound.media_type, name=f"{stem}.{_TYPES[sound.media_type]}")


def _missing(name: str) -> Refusal:
    return Refusal("not_found", f"the attempt has no {name!r:.100}")
