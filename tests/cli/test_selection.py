from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.cli.selection import Selection


def judge(output):
    return True


def names(dataset):
    return [case.name for case in dataset.cases]


def test_without_a_wish_the_dataset_is_left_alone():
    dataset = Dataset(cases=[Case(inputs=1)])
    assert Selection().of(dataset) is dataset


def test_the_dataset_that_was_given_is_not_changed():
    dataset = Dataset(name="d", cases=[Case(inputs=1), Case(inputs=2)], evaluators=[judge])
    chosen = Selection(filters=["2"]).of(dataset)
    assert (names(chosen), chosen.name, chosen.evaluators) == (["Case 2"], "d", [judge])
    assert names(dataset) == [None, None]


def test_cases_without_a_name_keep_their_number_and_step_aside_for_one_that_has_it():
    cases = [Case(inputs=1), Case(name="Case 1", inputs=2), Case(inputs=3)]
    assert names(Selection(limit=3).of(Dataset(cases=cases))) == ["Case 1_2", "Case 1", "Case 3"]


def test_a_part_of_the_name_is_enough_and_brackets_may_be_meant_as_they_are():
    cases = [Case(name=name, inputs=0) for name in ("f[x]", "fx", "g")]
    assert names(Selection(filters=["f[x]"]).of(Dataset(cases=cases))) == ["f[x]", "fx"]
    assert names(Selection(filters=["f?*"]).of(Dataset(cases=cases))) == ["f[x]", "fx"]


def test_a_lazy_dataset_is_read_no_further_than_the_limit():
    read = []

    def endless():
        for number in range(10**9):
            read.append(number)
            yield Case(inputs=number)

    assert names(Selection(limit=2).of(Dataset(cases=endless()))) == ["Case 1", "Case 2"]
    assert len(read) == 2


def test_an_item_that_is_no_case_is_left_for_the_run_to_tell():
    chosen = Selection(filters=["x"]).of(Dataset(cases=iter([3, Case(name="y", inputs=1)])))
    assert list(chosen.cases) == [3]


def test_why_nothing_was_chosen():
    dataset = Dataset(cases=[Case(name=f"case {n}", inputs=n, tags=["fast"]) for n in range(12)])
    both = Selection(filters=["xyz"], tags=["fst"])
    assert not both.of(dataset).cases
    assert both.why_nothing() == (
        "no case is called 'xyz'; there are 'case 0', 'case 1', 'case 10', "
        "'case 11', 'case 2', 'case 3', 'case 4', 'case 5', 'case 6', 'case 7' and 2 more; "
        "no case has the tag 'fst'; did you mean 'fast'?"
    )
    misnamed = Selection(filters=["nothing"], tags=["fast"])
    misnamed.of(Dataset(cases=[Case(name="a", inputs=1, tags=["fast"])]))
    assert misnamed.why_nothing() == "no case is called 'nothing'; there are 'a'"
    apart = Selection(filters=["a"], tags=["fast"])
    apart.of(Dataset(cases=[Case(name="a", inputs=1), Case(name="b", inputs=2, tags=["fast"])]))
    assert apart.why_nothing() == "no case matches both --filter and --tag, though some match either"
    untagged = Selection(tags=["fast"])
    untagged.of(Dataset(cases=[Case(inputs=1)]))
    assert untagged.why_nothing() == "no case has the tag 'fast'; no case has any"
    empty = Selection(tags=["fast"])
    empty.of(Dataset(cases=[]))
    assert empty.why_nothing() == "there are no cases"


@given(
    st.lists(st.tuples(st.sampled_from(["a", "ab", "b", "ba", "c"]), st.sets(st.sampled_from("xyz")))),
    st.lists(st.sampled_from(["a", "b*", "C"])),
    st.lists(st.sampled_from("xyz")),
    st.none() | st.integers(1, 4),
)
def test_filters_and_tags_and_the_limit_choose_in_order_and_lists_and_lazy_datasets_agree(
    rows, filters, tags, limit
):
    cases = [Case(name=f"{name}{n}", inputs=n, tags=sorted(given)) for n, (name, given) in enumerate(rows)]
    listed = names(Selection(filters=filters, tags=tags, limit=limit).of(Dataset(cases=cases)))
    lazy = names(Selection(filters=filters, tags=tags, limit=limit).of(Dataset(cases=iter(cases))))
    assert listed == lazy

    def is_wanted(case):
        named = any(
            case.name.startswith("b") if each == "b*" else each.lower() in case.name for each in filters
        )
        return (named or not filters) and (not tags or bool(set(tags) & set(case.tags)))

    assert listed == [case.name for case in cases if is_wanted(case)][:limit]


def test_a_metadata_field_to_slice_by_is_a_tag_that_can_be_chosen():
    cases = [Case(name=name, inputs=name, metadata={"level": level}) for name, level in (("a", 1), ("b", 2))]
    dataset = Dataset(cases=[*cases, Case(name="c", inputs="c", tags=["x"])])
    sliced = Selection(slice_by=["level", "lvl"])
    assert [case.tags for case in sliced.of(dataset).cases] == [("level=1",), ("level=2",), ("x",)]
    assert list(sliced.unsliced) == ["lvl"]
    assert cases[0].tags == (), "the user's own cases are as they were"
    assert names(Selection(slice_by=["level"], tags=["level=2"]).of(dataset)) == ["b"]
