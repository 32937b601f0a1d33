"""Perturbations as plain data."""

from dataclasses import dataclass

import numpy as np
import pytest

from calipers.errors import InvalidOptionError
from calipers.voice import perturbations
from calipers.voice.audio import Audio
from calipers.voice.perturbations import (
    KINDS,
    Chain,
    Gain,
    Noise,
    PacketLoss,
    Perturbation,
    Reverberation,
    Silence,
    Telephone,
    from_spec,
)

GOOD = {
    "a name": ("telephone", Telephone()),
    "a name with nothing": ({"telephone": None}, Telephone()),
    "a first option": ({"noise": 10}, Noise(10)),
    "a first option that is none": ({"silence": {}}, Silence()),
    "options by name": ({"noise": {"snr": 5, "color": "pink", "seed": 3}}, Noise(5, "pink", 3)),
    "a list": ([{"reverberation": 0.4}, "telephone"], Reverberation(0.4) + Telephone()),
    "a list in a list": ([[{"gain": 1}], []], Chain(Gain(1))),
    "nothing": ([], Chain()),
    "a perturbation": (Noise(1), Noise(1)),
    "a perturbation in a list": ([Noise(1), {"gain": -2}], Noise(1) + Gain(-2)),
    "two words": ({"packet_loss": {"rate": 0.1, "burst": 2}}, PacketLoss(0.1, 2)),
}


@pytest.mark.parametrize("case", GOOD)
def test_plain_data_becomes_a_perturbation(case):
    spec, expected = GOOD[case]
    assert from_spec(spec) == expected


BAD = {
    "nothing": (None, "None is not a perturbation: give a name"),
    "a number": (3, "3 is not a perturbation"),
    "bytes": (b"noise", "is not a perturbation"),
    "an unknown name": (
        "nois",
        r"'nois' is not a kind of perturbation \(did you mean 'noise'\?\): choose from babble, band",
    ),
    "no name at all": ({}, r"\{\} must name one kind"),
    "two names": ({"noise": 1, "gain": 2}, "for several, give a list"),
    "a number for a name": ({3: 1}, "3 is not a kind of perturbation"),
    "an unknown option": (
        {"noise": {"level": 3}},
        "'noise' has no option 'level': it takes snr, color, seed",
    ),
    "a missing option": ("noise", "'noise' needs snr: write {noise: {snr: ...}}"),
    "a wrong option": ({"noise": {"snr": "loud"}}, "snr must be a number from -200 to 200, got 'loud'"),
    "a list for an option": ({"noise": [1, 2]}, r"snr must be a number from -200 to 200, got \[1, 2\]"),
    "something wrong in a list": (["telephone", "fax"], "'fax' is not a kind"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_perturbation_is_an_error_that_says_why(case):
    spec, message = BAD[case]
    with pytest.raises(InvalidOptionError, match=message):
        from_spec(spec)


def test_every_kind_has_a_name_of_its_own():
    classes = {
        each
        for each in vars(perturbations).values()
        if isinstance(each, type) and issubclass(each, Perturbation) and each not in {Perturbation, Chain}
    }
    assert {name: kind.kind for name, kind in KINDS.items()} == {name: name for name in KINDS}
    assert set(KINDS.values()) == classes


def test_kinds_of_ones_own_may_be_added():
    @dataclass(frozen=True)
    class Mute(Perturbation):
        kind = "mute"

        def change(self, sound):
            return 0 * sound.samples()

    assert from_spec(["mute", {"gain": 3}], kinds={**KINDS, "mute": Mute}) == Mute() + Gain(3)


def test_babble_from_plain_data_names_files(tmp_path):
    path = Audio.from_samples(np.sin(np.arange(100)), 8000).save(tmp_path / "a.wav")
    found = from_spec({"babble": {"snr": 3, "voices": [str(path)]}})
    assert found.apply(Audio.from_samples([0.1, 0.2], 8000)).frames == 2
