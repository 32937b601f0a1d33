"""`calipers voice`: spoken requests. The options of its commands; what they do loads when they are called."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.app import Command, debug_option
from calipers.cli.completers import complete_files
from calipers.cli.exits import PASSED
from calipers.cli.message import note
from calipers.cli.options import evaluator_options, running_options
from calipers.errors import InvalidAudioError, InvalidOptionError

if TYPE_CHECKING:
    from calipers.voice.perturbations import Perturbation

SAY_EXAMPLES = """
# what does the test sound like?
calipers voice say "Turn on the kitchen lights" --out lights.wav
# in another voice, slower, over a bad line
calipers voice say "Call Anna" --out call.wav --voice en-gb-x-rp+m3 --speed 120 --perturbation 'noise: 10' --perturbation telephone
# through a player, without a file
calipers voice say "Good morning" --out - | aplay
"""

VOICES_EXAMPLES = """
# who can speak?
calipers voice voices
# who speaks English?
calipers voice voices en
"""

RUN_EXAMPLES = """
# every prompt of a file, with the agent that it names
calipers voice run home.yaml
# in CI: at least 90 % right, with a report for people and one for machines
calipers voice run home.yaml --fail-under 0.9 --out html:report.html --out junit:report.xml
# each prompt five times, and keep what the agent heard
calipers voice run home.yaml --runs 5 --keep-audio heard
# an agent of your own, which the file names as app:assistant
calipers voice run home.yaml --allow-module app
"""

EXAMPLES = """
# what does the test sound like?
calipers voice say "Turn on the kitchen lights" --out lights.wav
# every prompt of a file, with the agent that it names
calipers voice run home.yaml
"""


class VoiceGroup(click.Group):
    """A group whose help ends with examples, like that of a command."""

    format_epilog = Command.format_epilog
    examples = EXAMPLES


@click.group(cls=VoiceGroup)
def command() -> None:
    """Test an agent that hears: say requests to it, and judge the tools it calls."""


command.params.append(debug_option())


@command.command(cls=Command, examples=SAY_EXAMPLES, short_help="Say a text and write the sound to a file.")
@click.argument("text")
@click.option(
    "--out",
    metavar="FILE",
    required=True,
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Where to write the sound: a .wav file, .pcm or .raw for its bare frames, or .mp3, .ogg or .flac with "
    "calipers[audio-files]; - is standard output.",
)
@click.option(
    "--voice",
    metavar="NAME",
    default="en-us+f2",
    show_default=True,
    help="Who speaks: a language or accent, then + and a variant if wanted; `calipers voice voices` lists them.",
)
@click.option(
    "--speed", metavar="N", type=int, default=150, show_default=True, help="Words per minute, 80 to 450."
)
@click.option("--pitch", metavar="N", type=int, default=50, show_default=True, help="How high, 0 to 99.")
@click.option(
    "--perturbation",
    metavar="SPEC",
    multiple=True,
    help="What happens to the sound, as a voice file says it: telephone, 'noise: 10', '{noise: {snr: 10, color: pink}}'. "
    "Repeatable: one after the other.",
)
def say(text: str, *, out: str, voice: str, speed: int, pitch: int, perturbation: Sequence[str]) -> int:
    """Say a TEXT and write the sound to a file, to hear what an agent will hear. It needs no key and no network.

    Exit codes: 0 written, 2 wrong usage, 3 something could not be loaded or written.
    """
    from calipers.voice.perturbations import Chain
    from calipers.voice.synthesizers import EspeakSynthesizer

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
    loudness = "silence" if audio.loudness is None else f"{audio.loudness:.1f} dBFS"
    facts = f"{audio.duration:.2f} s, {audio.sample_rate} Hz, {loudness}"
    note(f"{'Said' if out == '-' else f'Wrote {out}:'} {facts}")
    return PASSED


def _perturbation(text: str) -> "Perturbation":
    """The perturbation that a voice file would make of the text."""
    from calipers.files.problem import ABSENT, Problems
    from calipers.files.yaml_file import parse_yaml
    from calipers.voice.perturbations import from_spec

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


@command.command(cls=Command, examples=VOICES_EXAMPLES, short_help="List the voices that can speak.")
@click.argument("beginning", required=False, default="")
def voices(beginning: str) -> int:
    """List the voices of espeak-ng: languages and accents, and the variants that go with each after a plus sign.

    BEGINNING, such as en, leaves out voices whose names begin otherwise.

    Exit codes: 0 listed, 2 no voice begins so.
    """
    from calipers.voice.synthesizers import EspeakSynthesizer

    found = [name for name in EspeakSynthesizer.voices() if name.startswith(beginning.lower())]
    if not found:
        raise InvalidOptionError(next(why for _, why in EspeakSynthesizer(beginning).wrong_options()))
    click.echo("\n".join(found))
    click.echo(f"\nVariants, such as {found[0]}+f2:\n" + ", ".join(EspeakSynthesizer.variants()))
    return PASSED


@command.command(cls=Command, examples=RUN_EXAMPLES, short_help="Run the prompts of a file and report.")
@click.argument("file", shell_complete=complete_files)
@click.option(
    "--allow-module",
    metavar="PATTERN",
    multiple=True,
    help="A module from which the file may take an agent, a synthesizer or evaluators as module:Name; package.* allows a "
    "package. Repeatable.",
)
@evaluator_options("voice file")
@running_options(repeat=("--repeat", "--runs"))
@click.option(
    "--keep-audio",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    help="Keep what the agent heard, one .wav file per sound; the report names them.",
)
@click.option(
    "--cache-dir",
    metavar="FOLDER",
    type=click.Path(file_okay=False),
    default=".calipers/audio",
    show_default=True,
    help="Where sounds are kept that were said before.",
)
@click.option("--no-cache", is_flag=True, help="Say everything again, and keep nothing.")
def run(**options: Any) -> int:
    """Run a voice FILE: say its prompts to its agent, judge the tools that it calls, and report.

    The file is YAML or JSON: prompts with the calls they should lead to, an agent, and, if wanted, a synthesizer,
    evaluators, perturbations, a sweep over levels of noise, and a comparison with the same prompts as text.

    Exit codes: 0 passed, 1 failed, 2 wrong usage, 3 something errored, 4 nothing ran, 130 interrupted.
    """
    from calipers.cli.actions.run import run as run_session
    from calipers.cli.actions.voice import VoiceRunOptions, VoiceSession

    return run_session(VoiceRunOptions(**options), VoiceSession)
