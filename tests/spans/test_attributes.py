import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.spans.attributes import check_value, from_json, matches_value, to_json

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=5)
)
names = st.text(max_size=4) | st.sampled_from(["$int", "$float", "$bytes", "$dict", "$"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3)
)


@given(st.dictionaries(names, values, max_size=4))
def test_attributes_survive_strict_json(attributes):
    text = json.dumps(to_json(attributes), allow_nan=False)
    assert repr(from_json(json.loads(text))) == repr(attributes)


@given(values)
def test_every_value_matches_itself_and_its_stored_form(value):
    assert matches_value(value, value)
    assert matches_value(value, from_json(to_json({"k": value}))["k"])


@given(st.lists(scalars, max_size=4))
def test_a_list_and_a_tuple_match_and_storage_makes_both_lists(items):
    assert matches_value(items, tuple(items))
    assert matches_value(tuple(items), items)
    assert repr(from_json(to_json({"k": tuple(items)}))) == repr({"k": items})


@pytest.mark.parametrize(
    ("wanted", "found", "expected"),
    [
        (True, 1, False),
        (1, True, False),
        (False, 0, False),
        (0, False, False),
        (True, True, True),
        (1, 1.0, True),
        (None, 0, False),
        ("1", 1, False),
        (float("nan"), float("nan"), True),
        (float("nan"), 0.0, False),
        ([1, 2], (1, 2), True),
        ([1, 2], [2, 1], False),
        ([True], [1], False),
        ([1], [1, 1], False),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": None}, {}, False),
        ({"a": [1, {"b": 2}]}, '{"a": [1, {"b": 2}]}', True),
        ([1, 2], "[1, 2]", True),
        ([1, 2], "not json", False),
        ([], "", False),
        ([1], "[" * 100_000, False),
        ("[1, 2]", [1, 2], False),
        ("[1, 2]", "[1, 2]", True),
        (b"ab", b"ab", True),
        (b"ab", "ab", False),
    ],
)
def test_values_match_by_meaning_and_not_by_pythons_accidents(wanted, found, expected):
    assert matches_value(wanted, found) is expected


@pytest.mark.parametrize("value", [object(), {1: "x"}, [1, {2}], 1j])
def test_a_value_that_spans_do_not_carry_is_named_with_its_attribute(value):
    with pytest.raises(TypeError, match=r"attribute 'size' holds .* strings, numbers, booleans"):
        check_value("size", value)
    with pytest.raises(TypeError, match="attribute 'size' holds"):
        to_json({"size": value})
