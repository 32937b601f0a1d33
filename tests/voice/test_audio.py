"""A piece of sound as a value."""

import copy
import dataclasses
import io
import math
import pickle
import re
import struct
import subprocess
import sys
import wave

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from calipers.data.jsonable import plain
from calipers.errors import InvalidAudioError, InvalidOptionError
from calipers.voice import wav
from calipers.voice.audio import Audio

rates = st.sampled_from([8000, 11025, 16000, 22050, 24000, 44100, 48000])
widths = st.sampled_from([1, 2, 3, 4])


@st.composite
def audios(draw, most=300):
    """Sounds of any kind, also empty ones, with a header, without one, and labelled as frames."""
    channels, width = draw(st.integers(1, 3)), draw(widths)
    pcm = draw(st.binary(max_size=most))
    pcm = pcm[: len(pcm) // (channels * width) * channels * width]
    assume(not wav.is_wav(pcm) and pcm[:4] not in {b"OggS", b"fLaC", b"ID3\x02", b"ID3\x03", b"ID3\x04"})
    bare = Audio(pcm, "pcm", draw(rates), channels, width)
    kind = draw(st.sampled_from(["pcm", "bare", "header"]))
    if kind == "pcm":
        return bare
    return bare.decode() if kind == "header" else dataclasses.replace(bare, format="wav")


def sine(frequency=440.0, *, seconds=0.5, rate=16000, amplitude=0.5):
    return amplitude * np.sin(2 * np.pi * frequency * np.arange(round(seconds * rate)) / rate)


# ---------------------------------------------------------------------- headers


@given(audios())
def test_a_header_is_put_before_frames_once(audio):
    assert audio.wav == Audio(audio.wav).wav == Audio(Audio(audio.wav).wav).wav
    assert audio.wav.count(b"RIFF") == 1 + audio.pcm.count(b"RIFF")
    assert Audio(audio.wav).pcm == audio.pcm


@given(audios())
def test_pythons_own_reader_understands_what_is_written(audio):
    with wave.open(io.BytesIO(audio.wav)) as file:
        assert file.getparams()[:4] == (audio.channels, audio.sample_width, audio.sample_rate, audio.frames)
        assert file.readframes(audio.frames) == audio.pcm


def test_the_header_is_the_truth_and_not_the_arguments():
    data = Audio.silence(1, sample_rate=8000, channels=2, sample_width=1).data
    audio = Audio(data, sample_rate=44100, channels=1, sample_width=4)
    assert (audio.sample_rate, audio.channels, audio.sample_width, audio.duration) == (8000, 2, 1, 1.0)
    assert audio == Audio(data)


def test_without_a_header_the_arguments_are_the_truth():
    audio = Audio(bytes(48), sample_rate=8, channels=2, sample_width=3)
    assert (audio.frames, audio.duration) == (8, 1.0)


def test_data_labelled_pcm_is_frames_whatever_it_looks_like():
    data = Audio.silence(0.01).data
    assert Audio(data, "pcm").pcm == data


@pytest.mark.parametrize("extra", [1, 2, 3])
def test_a_last_frame_that_is_not_whole_is_not_counted(extra):
    audio = Audio(bytes(40) + b"\1" * extra, channels=2)
    assert (audio.frames, audio.pcm) == (10, bytes(40))


@given(audios())
def test_decoding_changes_no_sound_and_is_done_once(audio):
    decoded = audio.decode()
    assert (decoded.digest, decoded.pcm, decoded.data) == (audio.digest, audio.pcm, audio.wav)
    assert decoded.decode() is decoded


# ---------------------------------------------------------------------- what no sound is


@pytest.mark.parametrize(
    ("data", "form"),
    [(b"ID3\x04\0\0", "mp3"), (b"OggS\0\2", "ogg"), (b"fLaC\0\0", "flac")],
    ids=["mp3", "ogg", "flac"],
)
def test_compressed_data_labelled_wav_is_an_error_that_says_what_it_is(data, form):
    with pytest.raises(InvalidAudioError, match=f"say format='{form}'"):
        Audio(data)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": "text"}, "audio data are bytes, not str"),
        ({"data": None}, "audio data are bytes, not NoneType"),
        ({"data": [0.1, 0.2]}, "from_samples takes numbers"),
        ({"format": "aac"}, "format='aac' is not one of wav, mp3, pcm, ogg, flac"),
        ({"format": None}, "format=None is not one of"),
        ({"sample_rate": 0}, "sample_rate must be a whole number from 1 to 4,294,967,295, got 0"),
        ({"sample_rate": 16000.0}, "sample_rate must be a whole number .*, got 16000.0"),
        ({"sample_rate": True}, "sample_rate must be a whole number .*, got True"),
        ({"sample_rate": math.nan}, "sample_rate must be a whole number .*, got nan"),
        ({"channels": -1}, "channels must be a whole number from 1 to 65,535, got -1"),
        ({"sample_width": 5}, "sample_width must be a whole number from 1 to 4, got 5"),
        ({"sample_width": None}, "sample_width must be .*, got None"),
    ],
    ids=str,
)
def test_what_cannot_be_is_an_error_that_shows_it(arguments, message):
    with pytest.raises(InvalidAudioError, match=message):
        Audio(**{"data": b"", **arguments})


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_other_bytes_become_bytes(kind):
    assert Audio(kind(b"ab")) == Audio(b"ab")


def test_an_audio_is_a_value():
    audio = Audio(b"abcd", sample_rate=8000)
    assert audio.frames == 2
    assert copy.deepcopy(audio) == pickle.loads(pickle.dumps(audio)) == audio
    assert len({audio, Audio(b"abcd", sample_rate=8000), Audio(b"abcd")}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        audio.sample_rate = 1
    assert repr(audio) == "Audio(<4 bytes>, format='wav', sample_rate=8000, channels=1, sample_width=2)"


# ---------------------------------------------------------------------- samples


@given(audios())
def test_samples_and_frames_turn_into_each_other_without_loss(audio):
    samples = audio.samples()
    assert samples.shape == (audio.frames, audio.channels)
    assert samples.dtype == np.float64
    assert ((samples >= -1) & (samples < 1)).all()
    assert audio.with_samples(samples).digest == audio.digest


@pytest.mark.parametrize(
    ("width", "frames", "samples"),
    [
        (1, b"\x00\x80\xff", [-1, 0, 127 / 128]),
        (2, b"\x00\x80\x00\x00\xff\x7f", [-1, 0, 32767 / 32768]),
        (3, b"\x00\x00\x80\x00\x00\x00\xff\xff\xff", [-1, 0, -1 / 2**23]),
        (4, b"\x00\x00\x00\x80\x00\x00\x00\x40\xff\xff\xff\x7f", [-1, 0.5, 1 - 2**-31]),
    ],
)
def test_full_scale_is_one(width, frames, samples):
    audio = Audio(frames, sample_width=width)
    assert audio.samples()[:, 0].tolist() == samples
    assert Audio.from_samples(samples, 24000, width).pcm == frames


def test_samples_are_rounded_to_the_nearest_level():
    audio = Audio.from_samples([10.6 / 32768, -10.6 / 32768, 10.4 / 32768, -10.4 / 32768], 8000)
    assert struct.unpack("<4h", audio.pcm) == (11, -11, 10, -10)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_beyond_full_scale_samples_clip_and_do_not_wrap(width):
    audio = Audio.from_samples([2.0, -2.0, 1.0], 8000, width)
    most = 1 - 2.0 ** (1 - 8 * width)
    assert audio.samples()[:, 0].tolist() == [most, -1, most]


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([math.nan], "NaN or infinity"),
        ([math.inf], "NaN or infinity"),
        ([[[0.0]]], r"shape \(1, 1, 1\)"),
        (0.5, r"shape \(\)"),
        (np.zeros((3, 0)), r"shape \(3, 0\)"),
        (["loud"], "must be numbers"),
        ([None, "x"], "must be numbers"),
    ],
    ids=["nan", "infinity", "three dimensions", "a number", "no channel", "text", "none"],
)
def test_samples_that_are_no_sound_are_an_error(samples, message):
    with pytest.raises(InvalidAudioError, match=message):
        Audio.from_samples(samples, 8000)


def test_samples_may_be_a_list_of_numbers_of_one_channel_or_of_frames():
    assert Audio.from_samples([0, 0.5], 8000).channels == 1
    assert Audio.from_samples([[0, 0.5]], 8000).channels == 2
    assert Audio.from_samples([], 8000).frames == 0


def test_changing_samples_changes_no_audio():
    audio = Audio.from_samples([0.5], 8000)
    audio.samples()[:] = 0
    assert audio.peak == 0.5


# ---------------------------------------------------------------------- measures


@given(audios())
def test_duration_is_frames_over_rate(audio):
    assert audio.duration == audio.frames / audio.sample_rate
    assert audio.frames == len(audio.pcm) / audio.channels / audio.sample_width


@pytest.mark.parametrize("amplitude", [0.9, 0.1, 0.01])
def test_the_loudness_of_a_sine_is_three_decibels_below_its_peak(amplitude):
    audio = Audio.from_samples(sine(amplitude=amplitude), 16000, 4)
    assert audio.peak == pytest.approx(amplitude, rel=1e-3)
    assert audio.loudness == pytest.approx(20 * math.log10(amplitude) - 3.0103, abs=0.01)


def test_silence_has_no_loudness_and_no_sound_has_no_peak():
    assert (Audio.silence(1).loudness, Audio.silence(1).peak) == (None, 0.0)
    assert (Audio(b"").loudness, Audio(b"").peak, Audio(b"").duration) == (None, None, 0.0)


@given(audios(), audios())
def test_a_digest_is_of_the_sound_and_not_of_the_header(one, other):
    def sound(audio):
        return audio.sample_rate, audio.channels, audio.sample_width, audio.pcm

    assert (one.digest == other.digest) == (sound(one) == sound(other))


def test_chunks_that_are_no_sound_change_no_digest():
    audio = Audio.from_samples(sine(), 16000)
    with_list = audio.data + b"LIST" + struct.pack("<I", 4) + b"INFO"
    assert Audio(with_list) != audio
    assert Audio(with_list).digest == audio.digest


# ---------------------------------------------------------------------- silence and joining


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_silence_is_silent_in_every_width(width):
    audio = Audio.silence(0.5, sample_rate=8000, channels=2, sample_width=width)
    assert (audio.frames, audio.peak) == (4000, 0.0)


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf])
def test_silence_lasts_a_time(seconds):
    with pytest.raises(InvalidOptionError, match=r"seconds must be a (finite )?number from 0, got"):
        Audio.silence(seconds)


def test_sounds_follow_each_other():
    one, two = Audio(b"ab"), Audio.from_pcm(b"cd")
    assert (one + two).pcm == b"abcd"
    assert Audio.join(part for part in (one, two, one)).pcm == b"abcdab"


@pytest.mark.parametrize("change", [{"sample_rate": 8000}, {"channels": 2}, {"sample_width": 1}], ids=str)
def test_sounds_of_different_kinds_do_not_follow_each_other(change):
    with pytest.raises(InvalidAudioError, match="cannot follow"):
        _ = Audio(bytes(4)) + Audio(bytes(4), **change)


def test_there_must_be_something_to_join():
    with pytest.raises(InvalidAudioError, match="nothing to join"):
        Audio.join([])
    with pytest.raises(TypeError):
        _ = Audio(b"") + b""


# ---------------------------------------------------------------------- conversion


@given(audios(), rates, st.sampled_from([None, 1]), widths)
def test_conversion_gives_what_was_asked_for(audio, rate, channels, width):
    found = audio.convert(rate, channels=channels, sample_width=width)
    assert (found.sample_rate, found.sample_width) == (rate, width)
    assert found.channels == (channels or audio.channels)
    assert abs(found.frames - audio.frames * rate / audio.sample_rate) <= 1


@given(audios())
def test_conversion_to_what_is_changes_nothing(audio):
    same = audio.convert(audio.sample_rate, channels=audio.channels, sample_width=audio.sample_width)
    assert same.digest == audio.convert().digest == audio.digest


@given(audios(), widths)
def test_a_larger_width_loses_nothing(audio, width):
    wide = audio.convert(sample_width=max(width, audio.sample_width))
    assert (wide.samples() == audio.samples()).all()
    assert wide.convert(sample_width=audio.sample_width).digest == audio.digest


@pytest.mark.parametrize(("rate", "new_rate"), [(16000, 24000), (44100, 16000), (22050, 8000), (8000, 48000)])
def test_resampling_keeps_pitch_and_loudness(rate, new_rate):
    audio = Audio.from_samples(sine(1000, rate=rate), rate)
    found = audio.convert(new_rate)
    spectrum = abs(np.fft.rfft(found.samples()[:, 0]))
    assert np.argmax(spectrum) / found.duration == pytest.approx(1000, abs=3)
    assert found.loudness == pytest.approx(audio.loudness, abs=0.1)


def test_resampling_leaves_nothing_of_what_the_new_rate_cannot_hold():
    audio = Audio.from_samples(sine(7000), 16000).convert(8000)
    middle = audio.samples()[400:-400]
    assert abs(middle).max() < 1e-3


def test_channels_become_one_by_their_mean_and_many_by_copying():
    stereo = Audio.from_samples([[0.5, 0.25], [0.5, -0.5]], 8000)
    assert stereo.convert(channels=1).samples().tolist() == [[0.375], [0.0]]
    assert stereo.convert(channels=1).convert(channels=3).samples().tolist() == [[0.375] * 3, [0.0] * 3]
    with pytest.raises(InvalidAudioError, match="2 channels cannot become 3"):
        stereo.convert(channels=3)


def test_conversion_to_what_cannot_be_is_an_error():
    with pytest.raises(InvalidAudioError, match=r"sample_rate must be .*, got 0"):
        Audio(b"ab").convert(0)


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize("name", ["a.wav", "deep/er/a.WAV"])
def test_a_wav_file_is_read_and_written(tmp_path, name):
    audio = Audio(b"abcdef", sample_rate=8000)
    assert audio.save(tmp_path / name) == tmp_path / name
    assert Audio.load(tmp_path / name).digest == audio.digest
    again = Audio.load(tmp_path / name)
    again.save(tmp_path / "again.wav")
    assert (tmp_path / "again.wav").read_bytes() == again.data


@pytest.mark.parametrize("suffix", ["pcm", "raw"])
def test_bare_frames_are_read_and_written(tmp_path, suffix):
    audio = Audio.from_samples([[0.5, 0.25]], 8000, 3)
    path = audio.save(str(tmp_path / f"a.{suffix}"))
    assert path.read_bytes() == audio.pcm
    assert Audio.load(path, sample_rate=8000, channels=2, sample_width=3).digest == audio.digest


@pytest.mark.parametrize("name", ["a", "a.txt", "a.wav.bak"])
def test_a_path_must_say_what_kind_of_sound_it_is(tmp_path, name):
    with pytest.raises(InvalidAudioError, match=r"end it in \.wav"):
        Audio(b"ab").save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_wav_file_without_a_header_is_an_error_that_names_it(tmp_path):
    (tmp_path / "a.wav").write_bytes(b"noise")
    with pytest.raises(InvalidAudioError, match=r"a\.wav': no WAV header; .* b'noise'"):
        Audio.load(tmp_path / "a.wav")
    with pytest.raises(FileNotFoundError):
        Audio.load(tmp_path / "b.wav")


@pytest.mark.parametrize(("suffix", "loss"), [("mp3", 1.5), ("ogg", 0.5), ("flac", 0.0)])
def test_compressed_files_are_read_and_written(tmp_path, suffix, loss):
    audio = Audio.from_samples(sine(seconds=1), 16000)
    path = audio.save(tmp_path / f"a.{suffix}")
    found = Audio.load(path)
    assert (found.format, found.sample_rate, found.channels, found.data) == (
        suffix,
        16000,
        1,
        path.read_bytes(),
    )
    assert found.duration == pytest.approx(1, abs=0.1)
    assert found.loudness == pytest.approx(audio.loudness, abs=loss)
    assert (found.digest == audio.digest) == (suffix == "flac")


def test_compressed_data_keeps_its_bytes_and_tells_the_truth_when_decoded(tmp_path):
    data = Audio.from_samples(sine(), 16000).save(tmp_path / "a.ogg").read_bytes()
    audio = Audio(data, "ogg")
    assert audio.save(tmp_path / "b.ogg").read_bytes() == data
    assert audio.sample_rate == 24000, "only what was claimed"
    assert audio.decode().sample_rate == 16000
    assert audio.duration == pytest.approx(0.5, abs=0.01)
    assert Audio.load(audio.save(tmp_path / "b.wav")).digest == audio.digest


def run_without(module, code):
    """What a program prints where a module is not installed."""
    program = f"import sys; sys.modules[{module!r}] = None\nfrom calipers.voice.audio import Audio\n{code}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr.strip().rpartition("\n")[2]


def test_sound_is_built_read_and_written_without_numpy(tmp_path):
    code = f"""
path = Audio(b"abcd").save({str(tmp_path / "a.wav")!r})
audio = Audio.load(path) + Audio.silence(1)
print(audio.frames, audio.duration > 1, len(audio.digest), "numpy" in sys.modules and sys.modules["numpy"])
audio.samples()
"""
    out = run_without("numpy", code)
    assert out.startswith("24002 True 64 None\n")
    assert out.endswith("calculating with sound needs an optional dependency: pip install 'calipers[voice]'")


@pytest.mark.parametrize(
    ("module", "code", "message"),
    [
        (
            "soxr",
            "Audio(b'abcd').convert(8000)",
            "converting the sample rate of sound needs .*calipers.voice.",
        ),
        ("soundfile", "Audio(b'abcd').save('x.mp3')", "writing mp3 sound needs .*calipers.audio-files."),
        ("soundfile", "Audio(b'abcd', 'ogg').pcm", "reading ogg sound needs .*calipers.audio-files."),
    ],
    ids=["resampling", "writing", "reading"],
)
def test_what_is_not_installed_is_named_by_its_extra(module, code, message):
    assert re.search(message, run_without(module, code))


def test_a_stored_report_keeps_what_a_sound_is_and_not_the_sound():
    audio = Audio.silence(0.5)
    assert plain(audio) == {"digest": audio.digest, "duration": 0.5, "format": audio.format}
