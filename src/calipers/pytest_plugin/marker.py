"""`@pytest.mark.calipers(dataset)`: one test per case.

The test gets the case as its argument `case`, if it asks for it. With `task=`, the attempts are made before the body of
the test runs (see `batch`), and the test fails unless `min_pass` of the `repeat` attempts passed (default: all of them). A
case is one test however often it is repeated, because the rule is about the case: which two of three attempts failed is luck.
The task may be named: then it is what the fixture of that name gives.

Without `task=`, only the body can measure anything, so a test is refused that takes neither `case` nor `evaluate_case`.
Of two markers, the one on the function comes before that of its class, and that one before its module's; two in one place
are refused, because only one dataset can be what the test is about.

A lazy dataset is refused: pytest has to know all tests before the first one runs.
"""

import copy
import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any, NoReturn, cast

import pytest

from calipers.data.argument_checks import is_whole_number
from calipers.data.case import Case
from calipers.data.result_names import unique
from calipers.pytest_plugin.evaluate_fixtures import NOT_FOR_ONE
from calipers.pytest_plugin.session import SESSION, SEVERAL_MARKERS, marks_of
from calipers.run.dataset import Dataset, EvaluateOptions
from calipers.run.task import TaskLike, is_task
from calipers.run.work import work_items
from calipers.scoring.evaluator_plan import Plan

OWN_OPTIONS = ("task", "repeat", "min_pass", "concurrent")
"""Options of the marker that it does not hand on to `Dataset.evaluate`."""
_ID = 80
"""Characters of a case's name in the name of its test."""
_UNESCAPED = "disable_test_id_escaping_and_forfeit_all_rights_to_community_support"
"""pytest's setting to keep names of tests as they are, for projects that do not write ASCII."""


@dataclass(frozen=True)
class Marked:
    """What a marker says."""

    dataset: Dataset[Any, Any, Any]
    task: TaskLike | str | None
    """What is under test, or the name of the fixture that gives it; `None`: the body of the test makes the attempt."""
    repeat: int
    min_pass: int
    concurrent: bool | None
    """Whether its cases are attempted together; `None`: unless a fixture is made anew for each test."""
    options: EvaluateOptions
    """Options of `Dataset.evaluate`."""


def read_mark(mark: pytest.Mark) -> Marked:
    """What a marker says, checked."""
    given: dict[str, Any] = {**dict(zip(("dataset",), mark.args, strict=False)), **mark.kwargs}
    dataset = given.pop("dataset", None)
    if len(mark.args) > 1:
        _refuse(f"@pytest.mark.calipers takes a Dataset and then options by name, got {_listed(mark.args)}")
    if isinstance(dataset, str | PathLike):
        _refuse(
            f"@pytest.mark.calipers takes a Dataset, got {dataset!r}: "
            f"if that is a file, write Dataset.from_file({str(dataset)!r})"
        )
    if not isinstance(dataset, Dataset):
        got = "none" if dataset is None else f"{dataset!r:.200}"
        _refuse(f"@pytest.mark.calipers takes a Dataset and then options by name, got {got}")
    if not isinstance(dataset.cases, list):
        _refuse(
            f"{dataset!r} is lazy, and pytest has to know all tests before the first one runs: mark the test with "
            "Dataset(cases=list(dataset.cases), evaluators=dataset.evaluators), or evaluate it in one test with "
            "evaluate(dataset, task)"
        )
    if not dataset.cases:
        _refuse(f"{dataset!r} has no cases: there is nothing to test")
    task = given.pop("task", None)
    if "task" in mark.kwargs and not is_task(task) and not (isinstance(task, str) and task.isidentifier()):
        _refuse(
            "task= must be a function of a case's inputs, an object with invoke, or the name of a fixture that gives one, got "
            f"{task!r:.200}"
        )
    repeat = given.pop("repeat", 1)
    min_pass = given.pop("min_pass", repeat)
    concurrent = given.pop("concurrent", None)
    if unread := [name for name in OWN_OPTIONS[1:] if task is None and name in mark.kwargs]:
        _refuse(
            f"{' and '.join(f'{name}=' for name in unread)} without task=: the body of the test makes the attempt; give the marker "
            "the task, or the name of a fixture that gives it: task='agent'"
        )
    if concurrent not in (None, True, False):
        _refuse(f"concurrent= must be True or False, got {concurrent!r:.200}")
    counts = (repeat, min_pass)
    if not all(is_whole_number(each, at_least=1) for each in counts) or min_pass > repeat:
        _refuse(
            f"repeat= and min_pass= are whole numbers from 1, min_pass at most repeat, got {repeat!r} and {min_pass!r}"
        )
    known = [*OWN_OPTIONS, *sorted(EvaluateOptions.__annotations__.keys() - NOT_FOR_ONE)]
    if unknown := [name for name in given if name not in known]:
        near = difflib.get_close_matches(unknown[0], known, n=1)
        hint = f", did you mean {near[0]!r}?" if near else "."
        _refuse(f"@pytest.mark.calipers knows no option {_listed(unknown)}{hint} It takes {', '.join(known)}")
    return Marked(dataset, task, repeat, min_pass, concurrent, cast("EvaluateOptions", given))


def parametrize(metafunc: pytest.Metafunc, mark: pytest.Mark) -> None:
    """Make one test of each case of the dataset."""
    if len(marks_of(metafunc.definition)) > 1:
        _refuse(SEVERAL_MARKERS)
    marked = read_mark(mark)
    if marked.task is None and not {"case", "evaluate_case"} & set(metafunc.fixturenames):
        _refuse(
            f"{metafunc.function.__name__} would measure nothing: give the marker task=, or let the test take "
            "evaluate_case and call evaluate_case(task), or at least take case"
        )
    cases = named_cases(marked.dataset.cases)
    unescaped: bool = metafunc.config.getini(_UNESCAPED)
    escape = _printable if unescaped else _ascii
    ids = case_ids([case.name or "" for case in cases], escape)
    known = metafunc.config.stash[SESSION].case_ids
    known.update({id(case): escape(each) for case, each in zip(cases, ids, strict=True)})
    if "case" not in metafunc.fixturenames:
        metafunc.fixturenames.append("case")  # the test need not look at the case
    metafunc.parametrize("case", cases, ids=[_printable(each) for each in ids] if unescaped else ids)


def named_cases(cases: Iterable[Case[Any, Any, Any]]) -> list[Case[Any, Any, Any]]:
    """The cases, with the names that they would have in a report."""
    named = []
    for work in work_items(cases, Plan(())):
        case = work.case
        if case.name is None:
            case = copy.copy(case)
            case.name = work.case_name
        named.append(case)
    return named


def case_ids(names: Iterable[str], escape: Callable[[str], str]) -> list[str]:
    """The names as parts of the names of tests: each different, and of bounded length once they are escaped."""
    taken: set[str] = set()
    ids = []
    for name in names:
        short = name[:_ID]
        while len(escape(short)) > _ID:
            short = short[:-1]
        ids.append(unique(name if short == name else f"{short}...", taken))
        taken.add(ids[-1])
    return ids


def _ascii(text: str) -> str:
    """What pytest makes of a part of a test's name."""
    return text.encode("unicode_escape").decode("ascii")


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else _ascii(character) for character in text)


def case_of(item: Any) -> Case[Any, Any, Any]:
    """The case that a marked test is about."""
    case: Case[Any, Any, Any] = item.callspec.params["case"]
    return case


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(f"{value!r:.100}" for value in values)


def _refuse(message: str) -> NoReturn:
    # What is wrong is said in words, and where is the test itself: a traceback of the plugin would hide both.
    pytest.fail(message, pytrace=False)
