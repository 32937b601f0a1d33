"""`calipers voice say` as its users see it."""

import subprocess
import sys

import pytest

from calipers.voice import Audio


def test_a_text_is_said_and_it_is_told_where_and_how_long_and_how_loud(calipers, folder):
    done = calipers("voice", "say", "Turn on the kitchen lights", "--out", "sounds/lights.wav")
    assert done.exit_code == 0, done.output
    audio = Audio.load(folder / "sounds" / "lights.wav")
    assert (
        done.stderr
        == f"Wrote sounds/lights.wav: {audio.duration:.2f} s, 22050 Hz, {audio.loudness:.1f} dBFS\n"
    )
    assert done.stdout == ""


def test_voice_speed_and_perturbations_change_the_sound(calipers, folder):
    sounds = {}
    for name, options in {
        "usual": [],
        "voice": ["--voice", "de+m3"],
        "fast": ["--speed", "400"],
        "high": ["--pitch", "90"],
        "line": ["--perturbation", "telephone"],
        "noisy": ["--perturbation", "telephone", "--perturbation", "{noise: {snr: 0, color: pink}}"],
        "quiet": ["--perturbation", "gain: -20"],
    }.items():
        assert calipers("voice", "say", "hello there", "--out", f"{name}.wav", *options).exit_code == 0
        sounds[name] = Audio.load(folder / f"{name}.wav")
    assert len({audio.digest for audio in sounds.values()}) == len(sounds)
    assert sounds["fast"].duration < sounds["usual"].duration
    assert sounds["quiet"].loudness == pytest.approx(sounds["usual"].loudness - 20, abs=0.1)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["hi"], "Missing option '--out'"),
        ([" ", "--out", "x.wav"], "there is nothing to say"),
        (["hi", "--out", "x.wav", "--voice", "klingon+x"], "espeak-ng has no voice 'klingon'"),
        (["hi", "--out", "x.wav", "--speed", "9"], "speed must be a whole number from 80 to 450, got 9"),
        (["hi", "--out", "x.wav", "--speed", "fast"], "'fast' is not a valid integer"),
        (["hi", "--out", "x.xyz"], "does not say what kind of sound it is"),
        (["hi", "--out", "x.wav", "--perturbation", "hail"], "--perturbation 'hail': 'hail' is not a kind"),
        (["hi", "--out", "x.wav", "--perturbation", "noise"], "'noise' needs snr"),
        (["hi", "--out", "x.wav", "--perturbation", "noise: ["], "--perturbation 'noise: [': not YAML"),
        (
            ["hi", "--out", "x.wav", "--perturbation", ""],
            "--perturbation '' names no perturbation: name one, such as telephone",
        ),
        (["hi", "--out", "x.wav", "--perturbation", "noise:10"], "did you mean 'noise: 10', with a space?"),
        (["hi", "--out", "x.wav", "--voice", "english"], "close ones: 'en-"),
        (["hi", "--out", "x.wav", "--perturbation", "3"], "3 is not a perturbation"),
    ],
)
def test_what_cannot_be_said_is_wrong_usage_and_writes_nothing(calipers, folder, args, message):
    done = calipers("voice", "say", *args)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not list(folder.iterdir())


def test_bare_frames_have_no_header(calipers, folder):
    for name in ("hi.wav", "hi.pcm", "hi.raw"):
        assert calipers("voice", "say", "hi", "--out", name).exit_code == 0
    frames = Audio.load(folder / "hi.wav").pcm
    assert (folder / "hi.pcm").read_bytes() == (folder / "hi.raw").read_bytes() == frames


def test_the_voices_are_listed_as_far_as_they_begin_as_asked(calipers):
    done = calipers("voice", "voices", "EN")
    assert done.exit_code == 0
    voices, variants = done.stdout.split("\n\n")
    assert "en-us" in voices.splitlines()
    assert all(name.startswith("en") for name in voices.splitlines())
    assert "f2" in variants
    assert "de" in calipers("voice", "voices").stdout.splitlines()
    done = calipers("voice", "voices", "klingon")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "espeak-ng has no voice 'klingon'" in done.stderr


def test_a_dash_is_standard_output():
    done = subprocess.run(
        [sys.executable, "-m", "calipers", "voice", "say", "hello", "--out", "-"],
        capture_output=True,
        check=True,
    )
    assert done.stdout.startswith(b"RIFF")
    assert b"Said 0." in done.stderr
