"""What `calipers voice say` does."""

import sys
from collections.abc import Sequence
from typing import Any

import click

from calipers.errors import InvalidAudioError, InvalidOptionError
from calipers.files.problem import ABSENT, Problems
from calipers.files.yaml_reader import parse_yaml
from calipers.voice.audio import Audio
from calipers.voice.perturbations import Chain, Perturbation, from_spec
from calipers.voice.synthesizers import EspeakSynthesizer

from .exits import PASSED
from .message import note


def say(text: str, *, out: str, voice: str, speed: int, pitch: int, perturbation: Sequence[str] = ()) -> int:
    """Say the text and write the sound; returns the exit code."""
    heard = Chain(*(_perturbation(each) for each in perturbation))
    audio = heard.apply(EspeakSynthesizer(voice, speed=speed, pitch=pitch).synthesize_sync(text))
    if out == "-":
        sys.stdout.buffer.write(audio.wav)
        sys.stdout.buffer.flush()
    else:
        try:
            audio.save(out)
        except InvalidAudioError as error:
            raise InvalidOptionError(f"--out: {error}") from error
    note(f"{'Said' if out == '-' else f'Wrote {out}:'} {_facts(audio)}")
    return PASSED


def voices(beginning: str) -> int:
    """List the voices whose names begin so, and all variants; returns the exit code.

    Raises:
        InvalidOptionError: there are none.
    """
    known = EspeakSynthesizer.voices()
    found = [name for name in known if name.startswith(beginning.lower())]
    if not found:
        raise InvalidOptionError(next(why for _, why in EspeakSynthesizer(beginning).wrong_options()))
    click.echo("\n".join(found))
    click.echo(f"\nVariants, such as {found[0]}+f2:\n" + ", ".join(EspeakSynthesizer.variants()))
    return PASSED


def _perturbation(text: str) -> Perturbation:
    """What a voice file would make of the text.

    Raises:
        InvalidOptionError: nothing.
    """
    if not text.strip():
        raise InvalidOptionError(
            f"--perturbation {text!r} names no perturbation: name one, such as telephone or 'noise: 10'"
        )
    problems = Problems(f"--perturbation {text!r}")
    spec: Any = parse_yaml(text, problems)
    if spec is ABSENT or problems.found:
        raise InvalidOptionError(f"--perturbation {text!r}: {problems.found[0].message}")
    try:
        return from_spec(spec)
    except InvalidOptionError as error:
        raise InvalidOptionError(f"--perturbation {text!r}: {error}") from error


def _facts(audio: Audio) -> str:
    loudness = "silence" if audio.loudness is None else f"{audio.loudness:.1f} dBFS"
    return f"{audio.duration:.2f} s, {audio.sample_rate} Hz, {loudness}"
