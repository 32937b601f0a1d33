"""Rooms, telephone lines and lost packets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.voice.audio import Audio
from calipers.voice.perturbations import Band, Chain, Codec, PacketLoss, Reverberation, Silence, Telephone
from calipers.voice.samples import ALAW, ULAW

RATE = 16000


def decay_time(response):
    """RT60 by Schroeder's backward integration, from the fall between -5 and -25 dB."""
    remaining = np.cumsum(response[::-1] ** 2)[::-1]
    level = 10 * np.log10(remaining / remaining[0])
    start, end = np.argmax(level <= -5), np.argmax(level <= -25)
    return 3 * (end - start) / RATE


@pytest.mark.parametrize("rt60", [0.2, 0.5, 1.5])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_room_dies_away_in_the_asked_time(rt60, seed):
    tail = Reverberation(rt60, seed=seed).response(RATE)[1:]
    assert decay_time(tail) == pytest.approx(rt60, rel=0.1)


@settings(max_examples=min(20, settings().max_examples))
@given(direct=st.floats(-20, 40), rt60=st.floats(0.05, 1))
def test_the_sound_itself_is_so_far_above_the_answer(direct, rt60):
    response = Reverberation(rt60, direct=direct).response(RATE)
    assert 10 * np.log10(response[0] ** 2 / (response[1:] ** 2).sum()) == pytest.approx(direct, abs=1e-6)


def click():
    samples = np.zeros(RATE)
    samples[100] = 0.5
    return Audio.from_samples(samples, RATE, 4)


def test_what_is_heard_of_a_click_is_the_answer_of_the_room():
    room = Reverberation(0.3)
    heard = room.apply(click()).samples()[100:, 0]
    response = room.response(RATE)
    assert np.corrcoef(heard[: len(response)], response)[0, 1] == pytest.approx(1)
    assert not Reverberation(0.3).apply(click()).samples()[:100].round(6).any(), "it is not heard before"


@settings(max_examples=min(20, settings().max_examples))
@given(rt60=st.floats(0.01, 2), seed=st.integers())
def test_loudness_stays(rt60, seed):
    speech = Audio.from_samples(0.05 * np.sin(np.arange(RATE) / 9) * np.sin(np.arange(RATE) / 2000), RATE, 4)
    assert Reverberation(rt60, seed=seed).apply(speech).loudness == pytest.approx(speech.loudness, abs=0.01)


def test_a_seed_is_one_room_for_every_sound():
    room = Reverberation(0.3)
    early = room.apply(click())
    late = room.apply(Silence(0.25).apply(click()))
    assert early.samples()[100:5000] == pytest.approx(late.samples()[4100:9000], abs=1e-6)


def test_silence_after_a_sound_lets_the_room_ring():
    short = Audio.from_samples(0.5 * np.sin(np.arange(1600) / 5), RATE)
    rung = (Silence(after=0.5) + Reverberation(0.5)).apply(short)
    assert abs(rung.samples()[2000:4000]).max() > 0.01
    assert Reverberation(0.5).apply(short).frames == 1600


def test_silence_stays_silent():
    assert Reverberation(1).apply(Audio.silence(0.1)).loudness is None


def hiss(rate=16000, seconds=1):
    return Audio.from_samples(0.1 * np.random.default_rng(1).standard_normal(rate * seconds), rate, 4)


def spectrum(audio):
    """The amplitudes of frequencies; a window keeps the ends of the sound from being heard as clicks."""
    return abs(np.fft.rfft(audio.samples()[:, 0] * np.hanning(audio.frames)))


def share(audio, low, high):
    """The share of power between two frequencies."""
    power = spectrum(audio) ** 2
    frequencies = np.fft.rfftfreq(audio.frames, 1 / audio.sample_rate)
    return power[(frequencies >= low) & (frequencies <= high)].sum() / power.sum()


@pytest.mark.parametrize("rate", [8000, 16000, 44100])
@pytest.mark.parametrize("line", [Telephone(None), Band()], ids=["telephone", "band"])
def test_nothing_is_left_outside_the_band(line, rate):
    found = line.apply(hiss(rate))
    assert share(found, 250, 3450) > 0.9999
    assert found.sample_rate == rate


@settings(max_examples=min(20, settings().max_examples))
@given(low=st.floats(0, 3000), width=st.floats(200, 4000))
def test_a_band_keeps_what_lies_in_it_and_cuts_the_rest(low, width):
    sound = hiss()
    found = Band(low, low + width).apply(sound)
    assert share(found, low - 60, low + width + 60) > 0.999
    before, after = spectrum(sound), spectrum(found)
    inside = slice(int(low) + 60, int(low + width) - 60)
    assert np.median(after[inside] / before[inside]) == pytest.approx(1, abs=0.05)


def test_a_tone_in_the_band_passes_in_its_place():
    time = np.arange(16000) / 16000
    tone = Audio.from_samples(0.5 * np.sin(2 * np.pi * 1000 * time), 16000)
    middle = slice(1000, -1000)
    for line in (Telephone(None), Band()):
        assert line.apply(tone).samples()[middle] == pytest.approx(tone.samples()[middle], abs=0.01)


@pytest.mark.parametrize(("law", "levels"), [("ulaw", ULAW), ("alaw", ALAW)])
def test_a_codec_leaves_the_levels_of_its_law(law, levels):
    found = Codec(law).apply(hiss().convert(sample_width=2))
    integers = np.frombuffer(found.pcm, "<i2")
    assert len(set(integers.tolist())) > 150
    assert set(integers.tolist()) <= set(levels)


@pytest.mark.parametrize("law", ["ulaw", "alaw"])
@pytest.mark.parametrize("amplitude", [0.9, 0.1, 0.01])
def test_the_noise_of_a_codec_is_far_below_the_sound_at_any_loudness(law, amplitude):
    sound = Audio.from_samples(amplitude * np.sin(np.arange(8000) / 7), 8000)
    error = Codec(law).apply(sound).samples() - sound.samples()
    assert 10 * np.log10((sound.samples() ** 2).mean() / (error**2).mean()) > 28


def test_coding_twice_is_coding_once():
    sound = hiss().convert(sample_width=2)
    assert Codec().apply(Codec().apply(sound)) == Codec().apply(sound)


def test_a_telephone_is_a_band_a_slower_rate_and_a_codec():
    sound = hiss(8000)
    assert Telephone("alaw").apply(sound) == Chain(Band(), Codec("alaw")).apply(sound).convert(8000)
    assert Telephone("alaw").apply(sound) != Telephone("ulaw").apply(sound)


PACKET_LOSS_RATE = 8000
SIZE = 160
"""Frames in a packet of 20 ms."""


def counting(packets, extra=0):
    """A sound in which every packet has its own level."""
    levels = np.arange(1, packets + 2) / (packets + 2)
    return Audio.from_samples(np.repeat(levels, SIZE)[: packets * SIZE + extra], PACKET_LOSS_RATE, 4)


def runs(lost):
    """The lengths of the runs of losses."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], lost, [False]]).astype(int)))
    return edges[1::2] - edges[::2]


@settings(max_examples=min(20, settings().max_examples))
@given(rate=st.floats(0.02, 0.95), seed=st.integers())
def test_the_share_of_lost_packets_is_the_asked_one(rate, seed):
    loss = PacketLoss(rate, seed=seed)
    assert loss.losses(20_000, loss.rng()).mean() == pytest.approx(rate, abs=0.02)


@settings(max_examples=min(20, settings().max_examples))
@given(rate=st.floats(0.1, 0.6), burst=st.floats(1.6, 10), seed=st.integers())
def test_bursts_have_the_asked_mean_length_and_the_share_stays(rate, burst, seed):
    loss = PacketLoss(rate, burst=burst, seed=seed)
    lost = loss.losses(100_000, loss.rng())
    assert lost.mean() == pytest.approx(rate, abs=0.05)
    assert runs(lost).mean() == pytest.approx(burst, rel=0.15)


def test_the_first_packet_is_lost_as_often_as_any():
    first = [
        loss.losses(1, loss.rng())[0] for loss in (PacketLoss(0.3, burst=5, seed=seed) for seed in range(500))
    ]
    assert np.mean(first) == pytest.approx(0.3, abs=0.08)


def test_bursts_of_one_never_have_two_losses_in_a_row():
    loss = PacketLoss(0.4, burst=1)
    assert set(runs(loss.losses(5000, loss.rng())).tolist()) == {1}


@pytest.mark.parametrize("rate", [0.3, 1.0])
@pytest.mark.parametrize("extra", [0, 1, 159])
def test_whole_packets_are_silence_and_the_others_as_they_were(rate, extra):
    sound = counting(50, extra)
    before, after = sound.samples()[:, 0], PacketLoss(rate).apply(sound).samples()[:, 0]
    for start in range(0, sound.frames, SIZE):
        packet = after[start : start + SIZE]
        assert not packet.any() or (packet == before[start : start + SIZE]).all()
    assert (after == 0).mean() == pytest.approx(rate, abs=0.15)


def test_concealment_repeats_the_last_packet_and_fades():
    sound = counting(200)
    plain, concealed = (
        PacketLoss(0.5, conceal=conceal).apply(sound).samples()[::SIZE, 0] for conceal in (False, True)
    )
    lost = plain == 0
    assert lost.any()
    heard = 0.0
    for before, after, gone in zip(sound.samples()[::SIZE, 0], concealed, lost, strict=True):
        heard = heard / 2 if gone else before
        assert after == pytest.approx(heard, abs=1e-8)


def test_what_is_lost_does_not_depend_on_concealment_or_level():
    sound = counting(100)
    less, more = (PacketLoss(rate).apply(sound).samples()[::SIZE, 0] == 0 for rate in (0.1, 0.4))
    assert (more | ~less).all(), "what is lost at a low rate is lost at a higher one"


@pytest.mark.parametrize("packet", [1e-9, 0.01, 0.5, 100])
def test_packets_may_have_any_length(packet):
    assert PacketLoss(0.5, packet=packet).apply(counting(5)).frames == counting(5).frames
