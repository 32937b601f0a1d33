import re
from pathlib import Path

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


def test_the_table_of_the_page_lists_them_all_by_family():
    page = (Path(__file__).parents[3] / "docs/how-to/attack-a-target.md").read_text(encoding="utf-8")
    rows = page.split("| family | attacks |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    cells = [row.split("|") for row in rows]
    listed = {name: cell[1].strip(" `") for cell in cells for name in re.findall(r"`(\w+)`", cell[2])}
    assert listed == {name: attack.family for name, attack in ATTACKS.items()}
    assert len(listed) == 25, "the page and the changelog speak of twenty-four, and the plain one"


def test_the_library_cannot_be_changed_by_accident():
    with pytest.raises(TypeError):
        ATTACKS["mine"] = Base64()


def test_attacks_are_given_as_values_or_names_and_none_means_all():
    assert as_attacks(None) == tuple(ATTACKS.values())
    own = Chain(Base64(), Rot13())
    assert as_attacks(["hex", own]) == (ATTACKS["hex"], own)
    assert all(isinstance(attack, Transformation) for attack in as_attacks(ATTACKS))


@pytest.mark.parametrize(
    ("attacks", "message"),
    [
        ([], "no attacks are given"),
        ("base64", r"given as a list, even a single one: \['base64'\]"),
        (Base64(), "given as a list"),
        (["base46"], "no attack 'base46': pass a Transformation, or one of the names direct, base64"),
        ([Base64], "no attack <class"),
        ([None], "no attack None"),
        (iter(["hex"]), "given as a list of transformations and names, got <list_iterator"),
        (7, "given as a list of transformations and names, got 7"),
        (["base64", Base64()], "two attacks are called 'base64'"),
    ],
    ids=["none", "text", "value", "unknown", "class", "nothing", "once-only", "number", "twice"],
)
def test_what_is_no_list_of_attacks_is_an_error_that_says_what_is(attacks, message):
    with pytest.raises(InvalidOptionError, match=message):
        as_attacks(attacks)
