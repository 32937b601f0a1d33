import json
import tracemalloc
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case
from calipers.evaluators import Contains
from calipers.files import check_file, load_dataset


@dataclass
class Question:
    text: str
    level: int = 0


def test_each_line_is_a_case(write):
    lines = [
        '{"inputs": {"q": "é"}, "expected_output": null, "metadata": [1], "name": "n", "cluster": "c", "tags": ["t"]}',
        '{"inputs": null, "evaluators": [{"Contains": "x"}, "EqualsExpected"]}',
        '{"inputs": 123456789012345678901234567890, "name": null, "metadata": null, "timeout": 3}',
    ]
    first, second, third = load_dataset(write("a.jsonl", "\n".join(lines))).cases
    assert first == Case(
        inputs={"q": "é"}, expected_output=None, metadata=[1], name="n", cluster="c", tags=["t"]
    )
    assert first.has_expected_output
    assert second.inputs is None
    assert not second.has_expected_output
    assert second.evaluators[0] == Contains("x")
    assert third == Case(inputs=123456789012345678901234567890, timeout=3)
    assert type(third.timeout) is int


@pytest.mark.parametrize(
    "content", ["\ufeff{}", "\n\n  \n{}\r\n\n", "{}"], ids=["mark", "blank lines", "no end"]
)
def test_marks_of_byte_order_and_blank_lines_are_no_cases(write, content):
    assert list(load_dataset(write("a.jsonl", content.replace("{}", '{"inputs": 1}'))).cases) == [
        Case(inputs=1)
    ]


def test_values_are_validated_from_their_text(write):
    path = write(
        "a.jsonl",
        '{"inputs": {"text": "a"}, "expected_output": [1, 2]}\n'
        '{"inputs": {"text": "a", "level": 2}, "expected_output": null, "metadata": {"any": 1}}\n'
        '{"inputs": {"text": "a", "level": "high"}}\n'
        '{"inputs": {"text": "a"}, "evaluators": ["EqualsExpected"], "timeout": 0.5}\n'
        '{"inputs": {"text": "a"}, "timeout": 0}\n'
        '{"inputs": {"text": "a"}, "timeout": true}\n',
    )
    first, second, third, fourth, *wrong = load_dataset(path, types=(Question, tuple[int, int])).cases
    assert first == Case(inputs=Question("a"), expected_output=(1, 2))
    assert second == Case(inputs=Question("a", 2), expected_output=None, metadata={"any": 1})
    assert str(third).endswith("a.jsonl:3:35: inputs.level: expected a valid integer, got 'high'")
    assert len(fourth.evaluators) == 1
    assert fourth.timeout == 0.5
    assert [str(each).partition("timeout: ")[2] for each in wrong] == [
        "expected a positive number of seconds, got 0",
        "expected a positive number of seconds, got True",
    ]


@pytest.mark.parametrize(
    ("line", "problems"),
    [
        (b'{"inputs": 1', ["a.jsonl:2:13: not JSON: it ends too early"]),
        (b'{"inputs": "\xff"}', ["a.jsonl:2:13: the line is not UTF-8"]),
        (b'{"inputs": NaN}', ["a.jsonl:2:12: inputs: NaN is not a JSON number"]),
        (b'{"inputs": 1e999}', ["a.jsonl:2:12: inputs: 1e999 is not a JSON number"]),
        (b'{"inputs": 1} {"inputs": 2}', ["a.jsonl:2:15: not JSON: it ends here, and more follows"]),
        (b"5", ["a.jsonl:2:1: expected a case, with name, inputs"]),
        (b"[1]", ["a.jsonl:2:1: expected a case"]),
        (
            b'{"question": 1}',
            ["a.jsonl:2:2: question: unknown key 'question'", "a.jsonl:2:1: the case has no inputs"],
        ),
        (b'{"inputs": 1, "name": ""}', ["a.jsonl:2:23: name: a name cannot be empty"]),
        (b'{"inputs": 1, "name": 5}', ["a.jsonl:2:23: name: expected text, got 5"]),
        (b'{"inputs": 1, "tags": [1]}', ["a.jsonl:2:23: tags: expected a list of texts"]),
        (b'{"inputs": 1, "evaluators": ["X"]}', ["a.jsonl:2:30: evaluators[0]: no evaluator is called 'X'"]),
        (b'{"inputs": 1, "evaluators": null}', ["a.jsonl:2:29: evaluators: expected a list of evaluators"]),
        (b"[" * 100_000, ["a.jsonl:2: nested too deeply"]),
    ],
)
@pytest.mark.parametrize("types", [None, (object, int)], ids=["untyped", "typed"])
def test_what_is_wrong_with_a_line_is_said_with_line_and_column(write, shown, line, problems, types):
    path = write("a.jsonl", b'{"inputs": 1}\n' + line + b'\n{"inputs": 3}\n')
    first, bad, third = load_dataset(path, types=types).cases
    assert (first.inputs, third.inputs) == (1, 3)
    found = shown(bad.problems)
    assert len(found) == len(problems)
    assert all(text.startswith(start) for text, start in zip(found, problems, strict=True)), found
    assert list(bad.problems) == check_file(path, types=types)


def test_a_key_that_stands_twice_is_found_by_a_check(write, shown):
    path = write("a.jsonl", '{"inputs": {"a": 1, "a": 2}}\n{"inputs": 1, "inputs": 2}\n')
    assert shown(check_file(path)) == [
        "a.jsonl:1:21: inputs.a: the key is there twice",
        "a.jsonl:2:15: inputs: the key is there twice",
    ]


def test_half_of_a_surrogate_pair_in_an_escape_is_read_as_json_has_it(write):
    (case,) = load_dataset(write("a.jsonl", '{"inputs": "\\ud800"}')).cases
    assert case.inputs == "\ud800"


@given(st.binary())
def test_no_line_whatever_stops_the_reading(tmp_path_factory, line):
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    path.write_bytes(line.replace(b"\n", b"") + b'\n{"inputs": "last"}\n')
    *_, last = load_dataset(path).cases
    assert last == Case(inputs="last")


def test_a_long_file_is_read_in_the_memory_of_a_line(tmp_path):
    def peak(lines):
        path = tmp_path / f"{lines}.jsonl"
        with path.open("w") as file:
            file.writelines(
                json.dumps({"inputs": f"question {n}", "metadata": {"n": n}}) + "\n" for n in range(lines)
            )
        cases = load_dataset(path).cases
        tracemalloc.start()
        count = sum(1 for _ in cases)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert count == lines
        return most

    peak(10)
    assert peak(20_000) < peak(200) + 100_000
