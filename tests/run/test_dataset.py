"""Named cases and the evaluators they share."""

import inspect
import json
import re
import typing
from collections import UserList, deque
from typing import Any

import pytest

from calipers import Case, Dataset, Evaluator, Retry
from calipers.errors import (
    DatasetFileError,
    InvalidCaseError,
    InvalidOptionError,
    NotAnEvaluatorError,
    TaskContractError,
)
from calipers.evaluators import EqualsExpected, ReportEvaluator
from calipers.run.dataset import EvaluateOptions
from calipers.stores import MemoryStore


def echo(inputs):
    return inputs


def right(output):
    return True


def cases(*names):
    return [Case(name=name, inputs=name) for name in names]


def run(dataset, task=echo, **options):
    return dataset.evaluate_sync(task, progress=False, **options)


class Reiterable:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)


# ---------------------------------------------------------------------- making one


@pytest.mark.parametrize("kind", [list, tuple, deque, UserList])
def test_any_sequence_of_cases_becomes_a_list_of_the_datasets_own(kind):
    given = kind(cases("a", "b"))
    dataset = Dataset(cases=given)
    assert dataset.cases == list(given)
    assert dataset.cases is not given
    assert repr(dataset) == "Dataset(name=None, 2 cases, 0 evaluators)"


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ([Case(inputs=1), "x"], "item 2 of the dataset is not a Case: 'x'"),
        ([Case], "item 1 of the dataset is not a Case"),
        (
            [Case(inputs=1), {"inputs": 1}],
            "item 2 of the dataset is not a Case: {'inputs': 1}; make it one with Case(**item)",
        ),
        ([None], "item 1 of the dataset is not a Case: None"),
        ("ab", "and not text, got 'ab'; to read the cases of a file, use Dataset.from_file"),
        (b"ab", "and not text, got b'ab'"),
        ("", "and not text, got ''"),
        (cases("a", "b", "a"), "duplicate case name: 'a' (cases 1 and 3)"),
        (Case(inputs=1), "must be a list, or any other iterable, of Case"),
        (3, "must be a list, or any other iterable, of Case, got 3"),
        (None, "must be a list, or any other iterable, of Case, got None"),
        ({"a": Case(inputs=1)}, "must be a list, or any other iterable, of Case"),
    ],
)
def test_what_is_no_list_of_distinct_cases_is_refused_at_once(given, hint):
    with pytest.raises(InvalidCaseError) as caught:
        Dataset(cases=given)
    assert hint in str(caught.value)


def test_unnamed_cases_do_not_count_as_duplicates():
    assert len(Dataset(cases=[Case(inputs=1), Case(inputs=1)]).cases) == 2


@pytest.mark.parametrize("evaluators", [[3], right, "right", [Evaluator], [lambda foo: True]])
def test_a_wrong_evaluator_is_refused_at_once(evaluators):
    with pytest.raises(NotAnEvaluatorError):
        Dataset(cases=[], evaluators=evaluators)


def test_a_name_is_optional_and_kept():
    assert Dataset(cases=[]).name is None
    assert run(Dataset(cases=[], name="qa")).dataset_name == "qa"


def test_a_dataset_can_be_typed():
    assert Dataset[str, str, dict](cases=cases("a")).cases == cases("a")


# ---------------------------------------------------------------------- adding to it


def test_a_case_is_added_whole_or_by_its_fields():
    dataset = Dataset(cases=[])
    dataset.add_case(Case(name="a", inputs=1))
    dataset.add_case(
        name="b", inputs=2, expected_output=None, metadata={"m": 1}, evaluators=[right], cluster="k"
    )
    dataset.add_case(inputs=3)
    dataset.add_case(inputs=3)
    assert [case.name for case in dataset.cases] == ["a", "b", None, None]
    assert dataset.cases[1].has_expected_output
    assert dataset.cases[1] == Case(
        name="b", inputs=2, expected_output=None, metadata={"m": 1}, evaluators=[right], cluster="k"
    )
    assert not dataset.cases[2].has_expected_output


def test_a_case_whose_name_is_taken_is_not_added():
    dataset = Dataset(cases=cases("a"))
    for add in (
        lambda: dataset.add_case(name="a", inputs=2),
        lambda: dataset.add_case(Case(name="a", inputs=2)),
    ):
        with pytest.raises(InvalidCaseError, match=r"duplicate case name: 'a' \(case 1 has it\)"):
            add()
    dataset.add_case(name="b", inputs=2)
    with pytest.raises(InvalidCaseError, match=r"duplicate case name: 'b' \(case 2 has it\)"):
        dataset.add_case(name="b", inputs=2)
    assert len(dataset.cases) == 2


def test_a_name_is_free_again_once_its_case_is_gone():
    dataset = Dataset(cases=cases("a", "b"))
    del dataset.cases[0]
    dataset.add_case(name="a", inputs=3)
    assert [case.name for case in dataset.cases] == ["b", "a"]


def test_what_cannot_be_added_is_refused():
    dataset = Dataset(cases=[])
    with pytest.raises(InvalidCaseError, match="only a Case can be added to a dataset, got 'x'"):
        dataset.add_case("x")
    with pytest.raises(InvalidCaseError, match="not both"):
        dataset.add_case(Case(inputs=1), name="b")
    with pytest.raises(TypeError, match="inputs"):
        dataset.add_case(name="a")
    assert dataset.cases == []


def test_an_evaluator_is_added_for_every_case_or_for_one():
    dataset = Dataset(cases=cases("a", "b"))
    dataset.add_evaluator(right)
    dataset.add_evaluator(lambda output: False, specific_case="b")
    report = run(dataset)
    assert [list(case.assertions) for case in report.cases] == [["right"], ["function", "right"]]
    assert report.pass_rate().value == 0.5


def test_an_evaluator_for_an_unknown_case_is_refused():
    with pytest.raises(InvalidCaseError, match="no case of this dataset is called 'z'"):
        Dataset(cases=cases("a")).add_evaluator(right, specific_case="z")
    with pytest.raises(NotAnEvaluatorError):
        Dataset(cases=[]).add_evaluator(3)


@pytest.mark.parametrize(
    ("given", "wanted", "hint"),
    [
        (cases("refund", "greeting"), "refnud", "; did you mean 'refund'?"),
        (cases("refund 1", "x", "refund 2"), "refund", "; did you mean 'refund 2' or 'refund 1'?"),
        (cases(*(f"order-{n:02}" for n in range(40))), "order-3", "; did you mean 'order-03'?"),
        (cases("a", "b"), "zzz", "; there are 'a', 'b'"),
        (cases(*"abcdefg"), "zzz", "; there are 'a', 'b', 'c', 'd', 'e' and 2 more"),
        (cases("a"), 3, " 3; there are 'a'"),
        ([Case(inputs=1)], "Case 1", "; none of its cases has a name"),
        ([], "a", "; none of its cases has a name"),
    ],
)
def test_an_unknown_case_comes_with_the_names_there_are(given, wanted, hint):
    with pytest.raises(InvalidCaseError) as caught:
        Dataset(cases=given).add_evaluator(right, specific_case=wanted)
    assert str(caught.value).endswith(hint)


def test_what_happened_to_the_public_list_is_checked_before_a_run():
    dataset = Dataset(cases=cases("a"))
    dataset.cases.append(Case(name="a", inputs=2))
    with pytest.raises(InvalidCaseError, match=r"duplicate case name: 'a' \(cases 1 and 2\)"):
        run(dataset)
    dataset.cases[1] = "not a case"
    with pytest.raises(InvalidCaseError, match="item 2 of the dataset is not a Case"):
        run(dataset)


# ---------------------------------------------------------------------- names of unnamed cases


@pytest.mark.parametrize("lazy", [False, True])
def test_unnamed_cases_are_called_after_their_place(lazy):
    given = [Case(inputs=1), Case(name="x", inputs=2), Case(inputs=3)]
    report = run(Dataset(cases=iter(given) if lazy else given))
    assert [case.name for case in report.cases] == ["Case 1", "x", "Case 3"]
    assert [case.name for case in given] == [None, "x", None]


def test_an_unnamed_case_gives_way_to_one_that_has_the_name():
    given = [
        Case(inputs=1),
        Case(inputs=2),
        Case(name="Case 2", inputs=3),
        Case(name="Case 1", inputs=4),
        Case(name="Case 1_2", inputs=5),
    ]
    report = run(Dataset(cases=given))
    assert [case.name for case in report.cases] == ["Case 1_3", "Case 2_2", "Case 2", "Case 1", "Case 1_2"]
    assert [case.output for case in report.cases] == [1, 2, 3, 4, 5]


def test_in_a_lazy_dataset_no_two_cases_share_a_name_either():
    given = [Case(name="Case 2", inputs=1), Case(inputs=2), Case(inputs=3), Case(name="Case 3", inputs=4)]
    report = run(Dataset(cases=iter(given)))
    assert [case.name for case in report.cases] == ["Case 2", "Case 2_2", "Case 3"]
    [failure] = report.failures
    assert failure.inputs == 4
    assert failure.error_message == "InvalidCaseError: duplicate case name: 'Case 3'"


# ---------------------------------------------------------------------- lazy datasets


def test_a_generator_is_read_while_the_cases_run():
    alive = []

    def generate():
        for number in range(200):
            alive.append(number)
            yield Case(inputs=number)

    dataset = Dataset(cases=generate(), evaluators=[lambda output: len(alive) < 190 or output > 100])
    assert alive == []
    assert repr(dataset) == "Dataset(name=None, lazy cases, 1 evaluator)"
    assert run(dataset, max_concurrency=1).pass_rate().value == 1
    assert len(alive) == 200


@pytest.mark.parametrize("make", [lambda c: (case for case in c), iter, reversed])
def test_cases_from_an_iterator_can_be_run_once_and_a_second_run_says_so(make):
    dataset = Dataset(cases=make(cases("a", "b")))
    assert len(run(dataset).cases) == 2
    with pytest.raises(InvalidCaseError, match="came from an iterator, which has been read"):
        run(dataset)


def test_a_run_that_could_not_begin_has_not_read_the_iterator():
    dataset = Dataset(cases=iter(cases("a", "b")))
    with pytest.raises(TaskContractError):
        run(dataset, task=3)
    with pytest.raises(InvalidOptionError):
        run(dataset, repeat=0)
    assert len(run(dataset).cases) == 2


def test_cases_from_an_object_that_can_be_iterated_again_can_be_run_again():
    dataset = Dataset(cases=Reiterable(cases("a", "b")))
    assert len(run(dataset).cases) == len(run(dataset).cases) == 2


def test_in_a_lazy_dataset_a_duplicate_name_costs_that_item_alone():
    report = run(Dataset(cases=iter(cases("a", "b", "a", "a_2", "c")), evaluators=[right]))
    assert [case.name for case in report.cases] == ["a", "b", "a_2", "c"]
    [failure] = report.failures
    assert failure.name == "a (item 3)"
    assert failure.error_message == "InvalidCaseError: duplicate case name: 'a'"
    assert report.pass_rate().value == 4 / 5


def test_in_a_lazy_dataset_an_item_that_is_no_case_costs_that_item_alone():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    broken = Broken()
    row = {"inputs": 1}
    report = run(Dataset(cases=iter([*cases("a"), "b", broken, row, *cases("c")])))
    assert [case.name for case in report.cases] == ["a", "c"]
    assert [failure.inputs for failure in report.failures] == ["b", broken, row]
    assert report.failures[0].error_message.endswith("item 2 of the dataset is not a Case: 'b'")
    assert report.failures[2].error_message.endswith("{'inputs': 1}; make it one with Case(**item)")
    assert report.incomplete is None


def test_a_case_whose_evaluators_have_gone_wrong_costs_that_case_alone():
    class Breaks(Evaluator):
        def evaluate(self, ctx):
            return True

        def get_default_evaluation_name(self):
            return 1 / self.size

        size = 1

    given = cases("a", "b", "c")
    given[1].evaluators.append(3)
    broken = Breaks()
    broken.size = 0
    given[2].evaluators.append(broken)
    report = run(Dataset(cases=iter(given), evaluators=[right]))
    assert [case.name for case in report.cases] == ["a"]
    assert [failure.error_type for failure in report.failures] == ["NotAnEvaluatorError", "ZeroDivisionError"]
    assert [failure.not_run for failure in report.failures] == [("right",), ("right",)]


@pytest.mark.parametrize("sync", [True, False])
def test_an_iterator_that_raises_in_the_middle_leaves_a_partial_report_that_says_so(sync):
    def generate():
        yield from cases("a", "b")
        raise OSError("line 3 is damaged")

    async def echo_later(inputs):
        return inputs

    report = run(Dataset(cases=generate(), evaluators=[right]), task=echo if sync else echo_later)
    assert [case.name for case in report.cases] == ["a", "b"]
    assert "OSError: line 3 is damaged" in str(report.incomplete)
    assert report.pass_rate().n_units == 2


def test_an_iterable_that_cannot_even_begin_leaves_an_empty_report_that_says_so():
    class Broken:
        def __iter__(self):
            raise OSError("no such file")

    report = run(Dataset(cases=Broken()))
    assert (report.cases, report.failures) == ([], [])
    assert "no such file" in str(report.incomplete)
    assert report.pass_rate(None) is None


def test_a_lazy_dataset_cannot_be_added_to():
    dataset = Dataset(cases=iter(cases("a")))
    with pytest.raises(InvalidCaseError, match="cannot add a case to a lazy dataset: make it from a list"):
        dataset.add_case(inputs=1)
    with pytest.raises(InvalidCaseError, match="cannot look a case up in a lazy dataset"):
        dataset.add_evaluator(right, specific_case="a")
    dataset.add_evaluator(right)
    assert run(dataset).pass_rate().value == 1


# ---------------------------------------------------------------------- options


def test_evaluate_and_evaluate_sync_take_the_same_options_and_each_is_explained():
    for method in (Dataset.evaluate, Dataset.evaluate_sync):
        options = inspect.signature(method).parameters["options"]
        assert options.annotation == typing.Unpack[EvaluateOptions]
    explained = re.findall(r"^ +(\w+): ", Dataset.evaluate.__doc__.partition("Args:")[2], re.MULTILINE)
    assert explained == ["task", *EvaluateOptions.__annotations__]


@pytest.mark.parametrize("metadata", [[1], "x", 3])
def test_metadata_of_a_run_is_a_mapping(metadata):
    with pytest.raises(InvalidOptionError, match="metadata must be a mapping"):
        run(Dataset(cases=[]), metadata=metadata)


def test_an_option_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="repeats"):
        run(Dataset(cases=[]), repeats=3)


# ---------------------------------------------------------------------- the same, in text and in other words


YAML = """
name: capitals
cases:
- name: france
  inputs: capital of France?
  expected_output: Paris
evaluators:
- EqualsExpected
"""
DATA = {
    "name": "capitals",
    "cases": [{"name": "france", "inputs": "capital of France?", "expected_output": "Paris"}],
    "evaluators": [{"EqualsExpected": {}}],
}


def test_text_a_dictionary_and_a_file_hold_the_same_dataset(tmp_path):
    (tmp_path / "capitals.yaml").write_text(YAML, encoding="utf-8")
    made = Dataset(
        name="capitals",
        cases=[Case(name="france", inputs="capital of France?", expected_output="Paris")],
        evaluators=[EqualsExpected()],
    )
    for other in (
        Dataset.from_text(YAML),
        Dataset.from_text(json.dumps(DATA), format="json"),
        Dataset.from_dict(DATA),
        Dataset.from_file(tmp_path / "capitals.yaml"),
    ):
        assert other == made
        assert not other != made  # noqa: SIM202 - both operators


@pytest.mark.parametrize(
    "other",
    [
        Dataset(name="b", cases=cases("x"), evaluators=[right]),
        Dataset(name="a", cases=cases("y"), evaluators=[right]),
        Dataset(name="a", cases=cases("x")),
        Dataset(name="a", cases=iter(cases("x")), evaluators=[right]),
        "a",
    ],
)
def test_datasets_that_differ_in_a_part_are_not_equal(other):
    assert Dataset(name="a", cases=cases("x"), evaluators=[right]) != other


def test_a_text_without_a_name_takes_the_one_that_is_given():
    text = "cases: [{inputs: 1}]"
    assert Dataset.from_text(text).name is None
    assert Dataset.from_text(text, name="given").name == "given"
    assert Dataset.from_text(YAML, name="given").name == "capitals"


def test_a_typed_dataset_validates_what_it_reads_from_text_and_from_a_dictionary():
    assert Dataset[int, str, None].from_dict({"cases": [{"inputs": 1}]}).cases[0].inputs == 1
    for read in (
        lambda: Dataset[int, str, None].from_dict({"cases": [{"inputs": "one"}]}),
        lambda: Dataset[int, str, None].from_text("cases: [{inputs: one}]"),
    ):
        with pytest.raises(DatasetFileError, match=re.escape("cases[0].inputs")):
            read()


def test_what_is_wrong_with_a_text_is_told_with_its_line():
    with pytest.raises(DatasetFileError, match=r"dataset:3:.*EqualExpected"):
        Dataset.from_text("cases: [{inputs: 1}]\nevaluators:\n- EqualExpected\n")
    with pytest.raises(InvalidOptionError, match="yaml or json"):
        Dataset.from_text("a,b", format="csv")
    with pytest.raises(InvalidOptionError, match="a text or a dictionary"):
        Dataset.from_text(3)


class Polite(Evaluator):
    def evaluate(self, ctx):
        return "please" in ctx.output


class Summed(ReportEvaluator):
    def evaluate(self, ctx):
        return []


def test_files_are_written_and_read_in_the_words_of_others(tmp_path):
    dataset = Dataset[str, str, Any](
        name="d", cases=cases("x"), evaluators=[Polite()], report_evaluators=[Summed()]
    )
    kinds = {"custom_evaluator_types": [Polite], "custom_report_evaluator_types": [Summed]}
    dataset.to_file(tmp_path / "d.txt", fmt="yaml", schema_path="schemas/{stem}.json", **kinds)
    assert (tmp_path / "schemas" / "d.json").is_file()
    again = Dataset[str, str, Any].from_file(tmp_path / "d.txt", fmt="yaml", **kinds)
    assert [type(each) for each in (*again.evaluators, *again.report_evaluators)] == [Polite, Summed]
    dataset.to_file(tmp_path / "e.yaml", schema_path=None, **kinds)
    assert not (tmp_path / "e_schema.json").exists()
    assert Dataset.from_dict({"cases": []}, default_name="d").name == "d"
    assert Dataset.from_text("{cases: [], name: own}", default_name="d").name == "own"
    with pytest.raises(TypeError, match="'colour'"):
        Dataset.from_dict(DATA, colour="red")


def test_the_schema_of_a_type_of_dataset_knows_its_types_and_evaluators():
    schema = Dataset[int, str, None].model_json_schema_with_evaluators([Polite], [Summed])
    assert schema["$defs"]["dataset.case"]["properties"]["inputs"] == {"type": "integer"}
    assert "Polite" in str(schema)
    assert "Summed" in str(schema)


# ---------------------------------------------------------------------- names and retries in the words of others


def test_a_task_is_called_what_the_caller_says_and_a_run_after_its_task():
    dataset = Dataset(cases=cases("x"), evaluators=[right])
    assert run(dataset).name == "echo"
    assert run(dataset, task_name="assistant").name == "assistant"
    assert run(dataset, task_name="assistant", name="nightly").name == "nightly"
    with pytest.raises(InvalidOptionError, match="name of a task"):
        run(dataset, task_name="")


@pytest.mark.parametrize(
    "words",
    [
        {"retry": {"attempts": 3, "backoff": 0}},
        {"retry_task": {"max_attempts": 3, "initial_delay": 0, "max_delay": 1}},
        {"retry_task": Retry(attempts=3, backoff=0)},
    ],
)
def test_a_retry_may_be_a_dictionary_and_go_by_two_names(words):
    calls = []

    def flaky(inputs):
        calls.append(inputs)
        if len(calls) < 3:
            raise ConnectionError
        return inputs

    report = run(Dataset(cases=cases("x"), evaluators=[right]), flaky, **words)
    assert report.cases[0].tries == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"retry": Retry(), "retry_task": Retry()}, "two words for one thing"),
        ({"retry_task": {"tries": 3}}, "retry_task has no 'tries': give a Retry, with attempts"),
        ({"retry": 3}, "retry must be a Retry"),
        ({"retry": {"attempts": 0}}, "attempts"),
    ],
)
def test_what_is_no_retry_is_refused(words, message):
    with pytest.raises(InvalidOptionError, match=message):
        run(Dataset(cases=cases("x")), **words)


def test_how_the_cases_were_chosen_is_an_option_that_is_kept_with_the_run():
    dataset = Dataset(cases=[Case(inputs=1)])
    with MemoryStore() as store:
        dataset.evaluate_sync(lambda x: x, store=store, progress=False, selection={"tags": ["hard"]})
        assert [run.parameters["selection"] for run in store.runs()] == [{"tags": ["hard"]}]
    with pytest.raises(InvalidOptionError, match="selection must be a mapping"):
        dataset.evaluate_sync(lambda x: x, progress=False, selection="hard")
