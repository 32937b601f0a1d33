"""What people said of attempts, passports of judges and answers of models, in stores of each kind."""

import multiprocessing
import string
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.data.human_label import HumanLabel, output_digest
from calipers.errors import InvalidOptionError, StoreDamagedError, StoreError
from calipers.report.report import Report
from calipers.stores import MemoryStore, SqliteStore, StoredPassport, hide_keys, hide_matches, open_store
from calipers.testing.store_check import record


def stored(store, attempts=4):
    return store.add_report(Report(name="r", cases=[record(n) for n in range(attempts)], seed=0)).id


def label(run, position=0, value=True, **more):
    known = {"question": "polite?", "person": "ann", "at": "2026-01-01T00:00:00+00:00", **more}
    return HumanLabel(run=run, position=position, case=f"case {position}", value=value, **known)


names = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=20).filter(
    str.strip
)
values = (
    st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(-1e9, 1e9)
    | st.text(st.characters(exclude_categories=("Cs",)), min_size=1).filter(str.strip)
)
labels = st.builds(
    HumanLabel,
    run=st.just(""),
    position=st.integers(0, 3),
    case=names,
    repeat=st.integers(1, 9),
    question=names | st.sampled_from("ab"),
    person=names | st.sampled_from("ab"),
    value=values,
    note=st.text(st.characters(exclude_categories=("Cs",)), max_size=30),
    at=st.just("2026-01-01T00:00:00+00:00"),
    probability=st.none() | st.floats(0, 1, exclude_min=True),
    seed=st.none() | st.integers(0, 2**62),
    about=st.text(string.hexdigits, max_size=8),
)


def keyed(some):
    """The last label of each attempt, question and person, in the order of a store."""
    last = {(one.position, one.question, one.person): one for one in some}
    return [last[key] for key in sorted(last)]


@settings(max_examples=40)
@given(batches=st.lists(st.lists(labels, max_size=5), max_size=4))
def test_what_is_added_comes_back_and_the_last_answer_counts(batches):
    from msgspec.structs import replace

    with MemoryStore() as store:
        run = stored(store)
        batches = [[replace(one, run=run) for one in batch] for batch in batches]
        for batch in batches:
            store.add_labels(batch)
        every = keyed(one for batch in batches for one in batch)
        assert store.labels() == store.labels(run=run) == every
        for question, person in product({one.question for one in every}, {one.person for one in every}):
            found = store.labels(question=question, person=person)
            assert found == [one for one in every if (one.question, one.person) == (question, person)]
        for one in every:
            assert store.remove_label(run, one.position, question=one.question, person=one.person)
        assert store.labels() == []


def test_names_that_sort_differently_in_databases_come_back_in_one_order(store):
    run = stored(store)
    people = ["Zoe", "ann", "Émile", "bob", "ann b", "annb", "山田　太郎"]
    store.add_labels([label(run, person=person) for person in people])
    assert [one.person for one in store.labels()] == sorted(people)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"question": " "}, "question must be a text that is not empty"),
        ({"person": "a\nb"}, "person must be one line of at most 200 characters, without control"),
        ({"person": "x" * 201}, "person must be one line"),
        ({"question": "\ud800"}, "question must be one line"),
        ({"value": ""}, "a label must be true, false, a finite number or a text"),
        ({"value": float("nan")}, "a label must be"),
        ({"value": None}, "a label must be"),
        ({"probability": 0}, "probability must be a number above 0 and at most 1"),
        ({"position": -1}, "position must be"),
        ({"seed": True}, "seed must be"),
    ],
)
def test_a_label_that_is_none_is_refused(wrong, said):
    with pytest.raises(InvalidOptionError, match=said):
        label("r", **wrong)


def test_a_run_that_people_labelled_is_not_deleted_unasked(store):
    run = stored(store)
    store.add_labels([label(run), label(run, person="bob")])
    with pytest.raises(StoreError, match=r"has labels of people \(2\), which would be lost with it: export"):
        store.delete_run(run)
    assert len(store.labels()) == 2
    store.delete_run(run, labels=True)
    assert store.labels() == []
    store.delete_run(stored(store))


def _label_many(url, person, count):
    with open_store(url) as store:
        run = store.run("latest").id
        for position in range(count):
            store.add_labels([label(run, position, person=person)])
            store.add_labels([label(run, position, value=person == "ann", person="both")])


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_two_processes_label_one_run_at_once_and_lose_nothing(request, kind):
    kept = request.getfixturevalue(f"{kind}_store")
    url = kept.url if kind == "sqlite" else f"{request.getfixturevalue('postgres').url}?schema={kept.schema}"
    run = stored(kept, 20)
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_label_many, args=(url, person, 20)) for person in ("ann", "bob")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    found = [(one.position, one.person) for one in kept.labels(run=run)]
    assert found == [(position, person) for position in range(20) for person in ("ann", "bob", "both")]


def test_hooks_see_what_people_wrote_and_no_model_answer_is_kept_behind_their_back():
    with MemoryStore(redact=[hide_matches("secret"), hide_keys("token")]) as store:
        run = stored(store)
        store.add_labels([label(run, value="a secret", note="the secret is out")])
        (found,) = store.labels()
        assert (found.value, found.note) == ("a [redacted]", "the [redacted] is out")
        store.add_passport(StoredPassport(identity="j", at="1", body={"token": 1, "n": ["secret"]}))
        assert store.passports("j")[0].body == {"token": "[redacted]", "n": ["[redacted]"]}
        store.keep_model_answer(b"key", b"quotes a secret")
        assert store.model_answer(b"key") is None


def test_a_store_that_is_only_read_gives_labels_and_answers_and_takes_none(tmp_path):
    with SqliteStore(tmp_path / "runs.db") as store:
        run = stored(store)
        store.add_labels([label(run)])
        store.keep_model_answer(b"key", b"yes")
    with SqliteStore(tmp_path / "runs.db", read_only=True) as store:
        assert store.labels() == [label(run)]
        assert store.model_answer(b"key") == b"yes"
        store.keep_model_answer(b"other", b"no")
        assert store.model_answer(b"other") is None
        with pytest.raises(StoreError, match="for reading only"):
            store.add_labels([label(run)])


def test_what_is_damaged_is_named():
    with MemoryStore() as store:
        run = stored(store)
        store.add_labels([label(run)])
        store.add_passport(StoredPassport(identity="j", at="1", body={}))
        store._writer.execute("""UPDATE labels SET body = '{"value":1}'""")
        store._writer.execute("UPDATE passports SET body = 'x'")
        with pytest.raises(StoreDamagedError, match=f"a label of attempt 0 of run '{run}' is damaged"):
            store.labels()
        with pytest.raises(StoreDamagedError, match="the passport of 'j', made at 1, is damaged"):
            store.passports()


def test_an_output_is_known_by_what_it_says_whatever_the_order_of_its_keys():
    assert output_digest({"a": 1, "b": [2]}) == output_digest({"b": (2,), "a": 1})
    assert output_digest("1") != output_digest(1)
