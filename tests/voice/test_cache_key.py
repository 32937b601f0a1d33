"""What tells one synthesizer from another."""

import enum
import math
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.voice.cache_key import NotPlainError, canonical, identity


class Mood(enum.Enum):
    HAPPY = 1
    SAD = 2


@dataclass
class Speaker:
    voice: Any = "Kore"
    client: Any = field(default=None, compare=False)


@dataclass
class OtherSpeaker:
    voice: Any = "Kore"


class Inherits(Speaker):
    def __init__(self, pitch):
        super().__init__()
        self.pitch = pitch


class Tells:
    def __init__(self, told):
        self.told = told

    def cache_key(self):
        return self.told


def test_a_dataclass_is_told_by_its_class_and_its_fields():
    assert identity(Speaker()) == identity(Speaker("Kore"))
    assert len({identity(each) for each in (Speaker("Kore"), Speaker("Puck"), OtherSpeaker("Kore"))}) == 3


def test_a_field_that_is_not_compared_is_no_configuration():
    assert identity(Speaker(client=object())) == identity(Speaker(client=None))


def test_a_synthesizer_may_tell_its_configuration_itself():
    assert identity(Tells({"voice": "a"})) == identity(Tells({"voice": "a"}))
    assert identity(Tells({"voice": "a"})) != identity(Tells({"voice": "b"}))
    assert identity(Speaker(Tells("a"))) != identity(Speaker(Tells("b")))


class Plain:
    def __init__(self, voice="Kore"):
        self.voice = voice
        self._speed = 1

    def synthesize(self, text):
        return text * 2


def edited(text):
    """The class, as another source says it."""
    found = {}
    exec(
        compile(
            "class Plain:\n    voice = 'Kore'\n    def synthesize(self, text): return " + text, "x", "exec"
        ),
        found,
    )
    return found["Plain"]()


def test_an_object_of_any_class_is_told_by_its_attributes_and_its_code():
    assert identity(Plain()) == identity(Plain()) is not None
    faster = Plain()
    faster._speed = 2
    assert len({identity(each) for each in (Plain(), Plain("Puck"), faster)}) == 3
    assert identity(Plain(object())) is None
    assert identity(edited("text")) is None, "its source is not there to be read"


def with_a_public_attribute():
    speaker = Speaker()
    speaker.speed = 2  # no field, and yet it may change the sound
    return speaker


CANNOT_TELL = {
    "an object without cache_key": object(),
    "a function": len,
    "a class": Speaker,
    "cache_key of None": Tells(None),
    "a field that is an object": Speaker(object()),
    "a field that is a function": Speaker(lambda: None),
    "a field that is not a number": Speaker(math.nan),
    "a field that is a set": Speaker({"a"}),
    "keys that are no texts": Speaker({1: "a"}),
    "a part that cannot tell": Speaker(Tells(None)),
    "a class that only inherits from a dataclass": Inherits(pitch=1),
    "a public attribute beside the fields": with_a_public_attribute(),
}


@pytest.mark.parametrize("case", CANNOT_TELL)
def test_what_cannot_tell_has_no_identity(case):
    assert identity(CANNOT_TELL[case]) is None


def test_what_contains_itself_cannot_tell():
    loop = []
    loop.append(loop)
    assert identity(Speaker(loop)) is None


def test_a_private_attribute_is_no_configuration():
    speaker = Speaker()
    speaker._client = object()
    assert identity(speaker) == identity(Speaker())


DIFFERENT = [
    None,
    True,
    1,
    1.0,
    "1",
    b"1",
    PurePosixPath("1"),
    [1],
    ["1"],
    {"1": 1},
    ["list", [1]],
    ["bytes", "1"],
    ["map", {"1": 1}],
    {"list": [1]},
    Mood.HAPPY,
    Mood.SAD,
    Speaker(1),
    "\ud800",
]


def test_values_that_differ_are_told_apart():
    found = [identity(Speaker(value)) for value in DIFFERENT]
    assert None not in found
    assert len(set(found)) == len(DIFFERENT)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(plain, plain)
def test_plain_values_are_the_same_exactly_if_they_look_the_same(one, other):
    looks_the_same = repr(sorted_keys(one)) == repr(sorted_keys(other))
    assert (identity(Speaker(one)) == identity(Speaker(other))) == looks_the_same


def sorted_keys(value):
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value


def test_the_error_says_what_is_not_plain():
    with pytest.raises(NotPlainError, match=r"\{1, 2\} is a set"):
        canonical({"voices": [{1, 2}]})
