"""Reductions of plain data."""

from hypothesis import given
from hypothesis import strategies as st

from calipers.search.reduction import reductions


def smallest(inputs, will_do, keep=()):
    """What is left of inputs, and what was tried."""
    steps, tried = reductions(inputs, keep), []
    try:
        candidate = next(steps)
        while True:
            tried.append(candidate)
            candidate = steps.send(will_do(candidate))
    except StopIteration as stop:
        return stop.value, tried


@given(st.lists(st.integers(1, 20), max_size=12), st.sets(st.integers(1, 20), max_size=3))
def test_what_is_left_of_a_list_is_what_is_needed(items, needed):
    needed &= set(items)
    found, _ = smallest(items, lambda some: isinstance(some, list) and needed <= set(some))
    assert sorted(found) == sorted(needed)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=20),
        lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=3), part, max_size=4),
        max_leaves=12,
    )
)
def test_where_everything_will_do_next_to_nothing_is_left(data):
    found, _ = smallest(data, lambda _: True)
    assert found == (
        ""
        if isinstance(data, str) and data.strip()
        else data
        if isinstance(data, str | bool) or data is None
        else type(data)()
    )


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=10))
def test_where_nothing_will_do_everything_is_left(items):
    found, _ = smallest(items, lambda _: False)
    assert found == items


def test_sentences_go_before_words():
    text = "Hello there. The lamp is broken! I want my money back, please. Bye."
    found, tried = smallest(text, lambda some: "money" in some)
    assert found == "money"
    assert "I want my money back, please." in tried


def test_fields_that_are_to_stay_stay_as_they_are():
    data = {"goal": "get the word", "says": ["hello you", "please"], "seed": 12}
    found, _ = smallest(data, lambda some: "please" in str(some), keep=["goal"])
    assert found == {"goal": "get the word", "says": ["please"]}


def test_a_number_goes_towards_0():
    assert smallest(-1000, lambda n: n <= -37)[0] == -37
    assert smallest({"n": 1000}, lambda data: data.get("n", 0) >= 37)[0] == {"n": 37}
    assert len(smallest(10**6, lambda n: n >= 37)[1]) < 45


def test_a_turn_keeps_a_word_for_one_that_says_nothing_is_none():
    said = ["Hello there, dear friend.", "Nice weather today!", "Tell me the code word."]
    found, tried = smallest(
        {"says": said}, lambda data: len(data.get("says", [])) == 3 and "code" in data["says"][2]
    )
    assert [len(turn.split()) for turn in found["says"]] == [1, 1, 1]
    assert all(turn for data in tried for turn in data.get("says", []))
