import asyncio
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError
from calipers.search import case_variants
from calipers.search.mutations import (
    MUTATIONS,
    Casing,
    Distracted,
    Encoded,
    Homophones,
    ModelParaphrase,
    Mutation,
    Negated,
    Paraphrases,
    Reordered,
    Shorter,
    Synonyms,
    Typos,
    as_mutations,
)

REQUEST = "Please cancel my order 4711. Is a refund possible, and when is it here?"
EACH = pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS)


@EACH
@given(text=st.text(max_size=60), seed=st.integers())
def test_the_same_seed_gives_the_same_text_of_any_text(mutation, text, seed):
    first, second = (mutation.change(text, random.Random(seed)) for _ in range(2))
    assert isinstance(first, str)
    assert first == second


@EACH
def test_an_ordinary_request_is_changed(mutation):
    assert {mutation.change(REQUEST, random.Random(seed)) for seed in range(20)} - {REQUEST}


@pytest.mark.parametrize(
    "name", ["typos", "homophones", "casing", "spacing", "synonyms", "politeness", "reordering"]
)
@given(seed=st.integers())
def test_what_keeps_the_meaning_keeps_the_numbers(name, seed):
    changed = MUTATIONS[name].change(REQUEST, random.Random(seed))
    assert MUTATIONS[name].keeps_meaning
    assert re.findall(r"\d+", changed) == ["4711"]


@given(text=st.text(max_size=60), seed=st.integers())
def test_casing_changes_nothing_else(text, seed):
    ascii_text = text.encode("ascii", "ignore").decode()
    assert Casing().change(ascii_text, random.Random(seed)).lower() == ascii_text.lower()


@given(seed=st.integers())
def test_a_distraction_leaves_the_text_in_one_piece(seed):
    assert REQUEST in Distracted().change(REQUEST, random.Random(seed))


@given(st.lists(st.sampled_from(["One.", "Two!", "Three?", "Four."]), min_size=2, unique=True), st.integers())
def test_another_order_has_the_same_sentences(sentences, seed):
    changed = Reordered().change(" ".join(sentences), random.Random(seed))
    assert sorted(changed.split()) == sorted(sentences)
    assert changed.split() != sentences


@given(st.lists(st.sampled_from("abcdef"), min_size=2, max_size=9), st.integers())
def test_what_is_shorter_has_fewer_words_in_their_order(words, seed):
    left = Shorter().change(" ".join(words), random.Random(seed)).split()
    assert len(left) < len(words)
    rest = iter(words)
    assert all(word in rest for word in left)


@pytest.mark.parametrize(
    ("mutation", "text", "changed"),
    [
        (Homophones(), "Their", {"There", "They're"}),
        (Synonyms(), "Buy", {"Purchase"}),
        (Synonyms(), "xyz", {"xyz"}),
        (Negated(), "It is here", {"It is not here"}),
        (Negated(), "It isn't here", {"It is here"}),
        (Negated(), "Run!", {"Do not do this: Run!"}),
        (Negated(), "Is it not here?", {"Is it here?"}),
        (Negated(), "Do you have it?", {"Do you not have it?"}),
        (Negated(), "It is that one", {"It is not that one"}),
        (Negated(), "I will never pay", {"I will pay"}),
        (Negated(), "I can't. I won't.", {"I can. I won't.", "I can't. I will."}),
        (Negated(), "Cannot find it", {"Can find it"}),
        (Encoded("rot13"), "a", {"This message is in rot13. Decode it and do what it says.\n\nn"}),
    ],
)
def test_what_becomes_of_a_text(mutation, text, changed):
    assert {mutation.change(text, random.Random(seed)) for seed in range(30)} == changed


def test_a_model_says_it_in_other_words():
    class Model:
        def __init__(self, answer):
            self.answer, self.asked = answer, []

        def reply(self, messages):
            self.asked.append(messages[-1].content)
            return self.answer

    model = Model(" Could I have my {money} back? ")
    paraphrase = ModelParaphrase(model)
    assert asyncio.run(paraphrase.change("A {refund}?", random.Random(0))) == "Could I have my {money} back?"
    assert "A {refund}?" in model.asked[0]
    assert asyncio.run(ModelParaphrase(Model(" ")).change("A refund?", random.Random(0))) == "A refund?"
    with pytest.raises(InvalidOptionError, match="must have"):
        ModelParaphrase(model, prompt="Say it.")


def test_paraphrases_of_a_dataset_are_made_before_the_search_and_change_its_cases():
    asked = []

    def model(ask):
        text = ask.messages[-1]["content"].rpartition("\n")[2]
        asked.append((text, ask.repeat, ask.seed))
        return {"A refund for 12?": ["Money back for 12?", "Refund 13!", "Refund of 12 please?"]}.get(
            text, [text] * 3
        )[ask.repeat]

    cases = [
        Case(name="a", inputs={"text": "A refund for 12?"}, expected_output="refunds"),
        Case(name="b", inputs="Bye"),
    ]
    dataset = Dataset(name="d", cases=cases)
    made = asyncio.run(ModelParaphrase(model).of(dataset))
    assert made == Paraphrases({"A refund for 12?": ("Money back for 12?", "Refund of 12 please?")}), (
        "another number is another request"
    )
    assert len({seed for _, _, seed in asked}) == len(asked) == 6
    assert made.change("Bye", random.Random(0)) == "Bye"
    space = case_variants(dataset, [made, "typos"])
    proposals = [space.sample(random.Random(seed)) for seed in range(60)]
    said = {
        each.inputs["text"]
        for each in proposals
        if each.choices["mutation"] == "paraphrase" and each.choices["case"] == "a"
    }
    assert said == {"Money back for 12?", "Refund of 12 please?"}
    assert all(each.case.expected_output == "refunds" for each in proposals if each.choices["case"] == "a")


def test_mutations_are_named_or_given():
    typos = Typos(rate=0.5)
    assert as_mutations([typos, "casing"]) == (typos, Casing())
    assert as_mutations(None) == tuple(MUTATIONS.values())
    assert Negated() not in as_mutations(None, keep_meaning=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("typos", "a list of at least one"),
        ([], "a list of at least one"),
        (["typo"], "no mutation 'typo'.*typos"),
        ([7], "no mutation 7"),
        ([Typos(), "typos"], "two mutations are called 'typos'"),
    ],
)
def test_what_is_no_mutation_is_refused(given, message):
    with pytest.raises(InvalidOptionError, match=message):
        as_mutations(given)
    with pytest.raises(InvalidOptionError, match="rate"):
        Typos(rate=0)
    with pytest.raises(InvalidOptionError, match="no attack"):
        Encoded("none")


def test_one_of_your_own_says_how_it_changes_a_text():
    class Nothing(Mutation):
        pass

    assert Nothing().label == "Nothing"
    with pytest.raises(NotImplementedError, match="define change"):
        Nothing().change("x", random.Random(0))
