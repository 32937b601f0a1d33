"""The attempts a run has to make, in order."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, as_evaluator
from calipers.run.work import WorkQueue, work_items
from calipers.scoring.evaluator_plan import make_plan


def plan(*names):
    return make_plan([as_evaluator(lambda output: True, name=name) for name in names])


def cases(names):
    return [Case(name=name, inputs=number) for number, name in enumerate(names)]


_NAMES = st.none() | st.sampled_from(
    ["a", "b", "a_2", "Case 1", "Case 2", "Case 2_2", "Case 3", "a (item 2)"]
)


@given(st.lists(_NAMES, max_size=8), st.integers(1, 3))
def test_every_item_has_a_name_of_its_own_and_every_attempt_a_place(names, repeat):
    items = list(work_items(iter(cases(names)), plan(), repeat=repeat))
    assert [item.position for item in items] == list(range(len(names) * repeat))
    assert [item.case.inputs for item in items] == [n for n in range(len(names)) for _ in range(repeat)]
    assert set(Counter(item.case_name for item in items).values()) <= {repeat}
    assert len({item.name for item in items}) == len(items)
    assert [item.repeat_index for item in items] == list(range(1, repeat + 1)) * len(names)
    for item in items:
        if item.case.name is not None and item.problem is None:
            assert item.case_name == item.case.name, "a name that was given is kept"


@given(st.lists(_NAMES, max_size=8, unique_by=lambda name: name or object()))
def test_distinct_names_in_a_list_are_never_a_problem(names):
    items = list(work_items(cases(names), plan()))
    assert all(item.problem is None for item in items)
    assert [item.name for item, name in zip(items, names, strict=True) if name] == [
        name for name in names if name
    ]
    assert len({item.name for item in items}) == len(names)


def test_repeats_stand_together_and_tell_which_of_how_many():
    items = list(work_items(cases(["a", None]), plan(), repeat=2))
    assert [(item.name, item.case_name) for item in items] == [
        ("a [1/2]", "a"),
        ("a [2/2]", "a"),
        ("Case 2 [1/2]", "Case 2"),
        ("Case 2 [2/2]", "Case 2"),
    ]


def test_a_case_that_is_tried_once_goes_by_its_name():
    [item] = work_items(cases(["a"]), plan())
    assert item.name is item.case_name


def test_evaluators_of_a_case_go_before_those_of_the_dataset_and_leave_them_their_names():
    own = Case(inputs=1, evaluators=[as_evaluator(lambda output: True, name=name) for name in ("x", "new")])
    shared = plan("x", "y")
    with_own, without = work_items([own, Case(inputs=2)], shared)
    assert with_own.plan.names == ("x_2", "new", "x", "y")
    assert without.plan is shared


def test_cases_are_read_one_at_a_time():
    read = []

    def generate():
        for number in range(3):
            read.append(number)
            yield Case(inputs=number)

    queue = WorkQueue(work_items(generate(), plan()))
    assert read == []
    assert queue.next().case.inputs == 0
    assert read == [0]


def test_a_queue_hands_each_item_out_once():
    queue = WorkQueue(work_items((Case(inputs=n) for n in range(2000)), plan()))
    start = threading.Barrier(4)

    def drain():
        start.wait()
        found = []
        while (item := queue.next()) is not None:
            found.append(item.position)
        return found

    with ThreadPoolExecutor(4) as pool:
        shares = [future.result() for future in [pool.submit(drain) for _ in range(4)]]
    assert sorted(position for share in shares for position in share) == list(range(2000))
    assert all(share == sorted(share) for share in shares)


def test_a_closed_queue_hands_out_nothing_more():
    queue = WorkQueue(work_items(cases(["a", "b"]), plan()))
    assert queue.next().name == "a"
    queue.close()
    assert queue.next() is None
    assert queue.broken is None


def test_a_queue_whose_cases_cannot_be_read_ends_and_keeps_the_reason():
    def generate():
        yield Case(inputs=1)
        raise OSError("gone")

    queue = WorkQueue(work_items(generate(), plan()))
    assert queue.next().position == 0
    assert queue.next() is None
    assert queue.next() is None
    assert str(queue.broken) == "gone"
