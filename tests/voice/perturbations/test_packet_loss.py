"""Packets that do not arrive."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.voice.audio import Audio
from calipers.voice.perturbations import PacketLoss

RATE = 8000
SIZE = 160
"""Frames in a packet of 20 ms."""


def counting(packets, extra=0):
    """A sound in which every packet has its own level."""
    levels = np.arange(1, packets + 2) / (packets + 2)
    return Audio.from_samples(np.repeat(levels, SIZE)[: packets * SIZE + extra], RATE, 4)


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
