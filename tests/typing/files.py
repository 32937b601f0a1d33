# pyright: reportUnnecessaryTypeIgnoreComment=true
"""What type checkers infer about datasets on disk. This code is never run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_type

from calipers import Dataset
from calipers.errors import DatasetFileError
from calipers.files import JSONColumn, Problem, check_file, dataset_schema, load_dataset, save_dataset


@dataclass
class Question:
    text: str


class Questions(Dataset[Question, int, Any]):
    """A dataset of one's own."""


def judge(output: int, limit: int = 3) -> bool:
    return output < limit


assert_type(Dataset[Question, int, Any].from_file("a.yaml"), Dataset[Question, int, Any])
assert_type(Questions.from_file(Path("a.yaml")), Questions)
assert_type(load_dataset("a.csv", types=(Question, int)), Dataset[Any, Any, Any])

dataset = Dataset[Question, int, Any].from_file(
    "a.csv",
    evaluator_types=[judge],
    allow_modules=["my_project.*"],
    columns={"inputs": ["question", "context"], "metadata": JSONColumn("extra"), "name": "id"},
)
for case in dataset.cases:
    assert_type(case.inputs, Question)

dataset.to_file("a.yaml", schema=False, cases="a.jsonl")
save_dataset(dataset, "a.json", schema=Path("schema.json"), format="json")
assert_type(check_file("a.yaml"), list[Problem])
assert_type(dataset_schema(Question, int, evaluator_types=[judge]), dict[str, Any])

Dataset.from_file("a.txt", format="xml")  # type: ignore[arg-type]
dataset.to_file()  # type: ignore[call-arg]

try:
    load_dataset("a.yaml")
except DatasetFileError as error:
    for problem in error.problems:
        assert_type(problem, Problem)
        assert_type(problem.line, int | None)
