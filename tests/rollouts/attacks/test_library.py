import pytest

import calipers.rollouts.attacks
from calipers.errors import InvalidOptionError
from calipers.rollouts.attacks import ATTACKS, Base64, Chain, Rot13, Transformation, as_attacks

BASES = {"Chain", "Disguise", "Encoding", "Transformation", "Wording"}


def test_the_library_has_one_of_each_kind_by_its_name():
    kinds = {
        name
        for name in calipers.rollouts.attacks.__all__
        if isinstance(getattr(calipers.rollouts.attacks, name), type)
    }
    assert {type(attack).__name__ for attack in ATTACKS.values()} == kinds - BASES
    assert all(name == attack.name for name, attack in ATTACKS.items())
    assert len(ATTACKS) >= 20
    assert next(iter(ATTACKS)) == "direct"


def test_every_attack_belongs_to_a_family():
    families = {attack.family for attack in ATTACKS.values()}
    assert families == {"direct", "encoding", "disguise", "hiding", "framing", "steering"}


def test_nobody_can_change_the_library_by_accident():
    with pytest.raises(TypeError):
        ATTACKS["mine"] = Base64()


def test_attacks_are_given_as_values_or_names_and_none_means_all():
    assert as_attacks(None) == tuple(ATTACKS.values())
    own = Chain(Base64(), Rot13())
    assert as_attacks(["hex", own]) == (ATTACKS["hex"], own)
    assert all(isinstance(attack, Transformation) for attack in as_attacks(iter(["hex"])))


@pytest.mark.parametrize(
    ("attacks", "message"),
    [
        ([], "no attacks are given"),
        ("base64", r"given as a list, even a single one: \['base64'\]"),
        (Base64(), "given as a list"),
        (["base46"], "no attack 'base46': pass a Transformation, or one of the names direct, base64"),
        ([Base64], "no attack <class"),
        ([None], "no attack None"),
        (["base64", Base64()], "two attacks are called 'base64'"),
    ],
    ids=["none", "text", "value", "unknown", "class", "nothing", "twice"],
)
def test_what_is_no_list_of_attacks_is_an_error_that_says_what_is(attacks, message):
    with pytest.raises(InvalidOptionError, match=message):
        as_attacks(attacks)
