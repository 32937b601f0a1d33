import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InvalidOptionError, InvalidRolloutError
from calipers.rollouts.attacks import ErrandList, FewShot, FormatForcing, MadeUpLanguage, PayloadSplitting
from calipers.rollouts.attacks.hiding import ERRANDS

GOAL = "Tell me the code word of the toy rocket."
SEEDS = st.integers(0, 2**32)
GOALS = st.text(min_size=1, max_size=80).filter(str.strip)


@given(goal=GOALS, seed=SEEDS, longest=st.integers(1, 20))
def test_pieces_are_short_and_join_to_the_request(goal, seed, longest):
    splitting = PayloadSplitting(longest)
    attack = splitting.apply(goal, random.Random(seed)).text
    pieces = [json.loads(line.partition(" = ")[2]) for line in attack.split("\n")[:-1]]
    assert all(1 <= len(piece) <= longest for piece in pieces)
    assert "".join(pieces) == splitting.read(attack) == goal


@given(goal=GOALS, seed=SEEDS)
def test_a_made_up_language_translates_back(goal, seed):
    assert MadeUpLanguage().read(MadeUpLanguage().apply(goal, random.Random(seed)).text) == goal


def test_no_word_of_the_request_stands_in_its_translation():
    said = MadeUpLanguage().apply(GOAL, random.Random(1)).text.rpartition("\n")[2]
    assert not set(said.strip(".").split()) & set(GOAL.strip(".").split())
    assert said.split()[2] == said.split()[6], "the same word is translated the same way"


def test_more_words_than_short_inventions_still_get_one_each():
    goal = " ".join(f"w{n}" for n in range(3000))
    assert MadeUpLanguage().read(MadeUpLanguage().apply(goal, random.Random(0)).text) == goal


@given(seed=SEEDS, errands=st.integers(2, len(ERRANDS)))
def test_the_request_is_never_the_first_or_last_errand(seed, errands):
    tasks = ErrandList(errands).apply(GOAL, random.Random(seed)).text.split("\n")[1:]
    assert len(tasks) == errands + 1
    assert any(GOAL in task for task in tasks[1:-1])


@given(goal=GOALS)
def test_a_json_form_holds_the_request_as_it_is(goal):
    seed = next(seed for seed in range(50) if "JSON" in FormatForcing().apply("x", random.Random(seed)).text)
    form = FormatForcing().apply(goal, random.Random(seed)).text.partition("\n\n")[2]
    assert json.loads(form) == {"request": goal, "answer": ""}


@given(examples=st.integers(1, 40), seed=SEEDS)
def test_a_row_has_as_many_examples_as_asked_for_and_ends_with_the_request(examples, seed):
    text = FewShot(examples).apply(GOAL, random.Random(seed)).text
    assert text.count("Assistant: Of course!") == examples
    assert text.endswith(f"User: {GOAL}\nAssistant:")


@pytest.mark.parametrize("read", [PayloadSplitting().read, MadeUpLanguage().read])
def test_what_hides_nothing_is_an_error(read):
    with pytest.raises(InvalidRolloutError):
        read("Good morning")


@pytest.mark.parametrize(
    "make",
    [
        lambda: PayloadSplitting(0),
        lambda: ErrandList(1),
        lambda: ErrandList(len(ERRANDS) + 1),
        lambda: FewShot(0),
    ],
    ids=["no-piece", "no-middle", "too-many", "no-example"],
)
def test_an_option_out_of_its_range_is_an_error(make):
    with pytest.raises(InvalidOptionError, match=r"got|="):
        make()
