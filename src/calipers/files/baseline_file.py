"""A file of accepted traces, which people review: YAML or JSON, one block for each case, in the order of their names.

    calipers_baseline: 1
    cases:
      - case: refund-17
        inputs: "5f0c2a9d7e3b4c18"
        accepted:
          - attempts: 3
            steps:
              - call: lookup_order
                arguments:
                  order: "17"
              - call: refund
                arguments:
                  amount: 40
                  order: "17"
            output: Refunded.

What is not there is not compared: without `arguments`, a call may have any; without `output`, any will do. `steps: []` says that no tool is
called. `$schema` is for editors and is not read.
"""

import errno
from os import PathLike
from pathlib import Path
from typing import Any

from calipers.comparison.accepted_traces import AcceptedCase, AcceptedStep, AcceptedTrace, AcceptedTraces
from calipers.data.argument_checks import is_whole_number
from calipers.data.jsonable import plain
from calipers.errors import InvalidOptionError
from calipers.process.atomic_file import write_whole

from .case_data import check_keys
from .dataset_document import (
    MOST_YAML,
    Document,
    format_of,
    is_document,
    raise_if_any,
    read_data,
    write_document,
)
from .problem import ABSENT, Problems, Steps

FORMAT_VERSION = 1
_VERSION = "calipers_baseline"
_SUFFIXES = (".yaml", ".yml", ".json")
_FIRST_LINES = (
    "# Accepted traces: what the agent may do in each case. `calipers baseline check RUN` tells what a run does otherwise.\n"
    "# What is not here is not compared: remove `arguments` or `output`, and any will do.\n"
)


def read_baseline(path: str | PathLike[str]) -> AcceptedTraces:
    """The accepted traces in a file.

    Raises:
        DatasetFileError: something is wrong with the file; the error lists all of it, with line and column.
        InvalidOptionError: the file is neither YAML nor JSON by its name.
        OSError: the file cannot be read.
    """
    where = Path(path)
    form = check_baseline_name(where)
    if where.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder, not a baseline file", str(path))
    problems = Problems(str(path))
    data = read_data(where, form, problems)
    found = AcceptedTraces() if data is ABSENT else _read(data, problems)
    problems.found.sort(key=lambda problem: (problem.line or 0, problem.column or 0))
    raise_if_any(problems)
    return found


def save_baseline(accepted: AcceptedTraces, path: str | PathLike[str]) -> None:
    """Write accepted traces to a file, whole or not at all. Equal traces make equal files.

    Raises:
        InvalidOptionError: the file is neither YAML nor JSON by its name, it is a folder, or there is too much for YAML.
        OSError: the file cannot be written.
    """
    where = Path(path)
    form = check_baseline_name(where)
    text = write_document(
        {_VERSION: FORMAT_VERSION, "cases": [_case(case) for case in accepted.cases]}, form, None
    )
    content = ((_FIRST_LINES if form == "yaml" else "") + text).encode()
    if form == "yaml" and len(content) > MOST_YAML:
        raise InvalidOptionError(
            f"{str(path)!r} would have {len(content) / (1 << 20):,.1f} MB of YAML, and {MOST_YAML >> 20} MB can be read: let its name end "
            "with .json"
        )
    write_whole(where, [content])


def check_baseline_name(path: str | PathLike[str]) -> Document:
    """The format of a baseline file by its name.

    Raises:
        InvalidOptionError: it is neither YAML nor JSON.
    """
    where = Path(path)
    form = format_of(where) if where.suffix.lower() in _SUFFIXES else None
    if form is None or not is_document(form):
        raise InvalidOptionError(
            f"a baseline is a YAML or JSON file: end its name with {', '.join(_SUFFIXES)}, got {str(path)!r}"
        )
    return form


# ---------------------------------------------------------------------- writing


def _case(case: AcceptedCase) -> dict[str, Any]:
    return {"case": case.name, "inputs": case.inputs, "accepted": [_trace(trace) for trace in case.traces]}


def _trace(trace: AcceptedTrace) -> dict[str, Any]:
    found: dict[str, Any] = {"attempts": trace.attempts, "steps": [_step(step) for step in trace.steps]}
    if trace.has_output:
        found["output"] = trace.output
    return found


def _step(step: AcceptedStep) -> dict[str, Any]:
    if step.call is None:
        return {"answer": step.answer}
    return {"call": step.call, **({} if step.arguments is None else {"arguments": step.arguments})}


# ---------------------------------------------------------------------- reading


def _read(data: Any, problems: Problems) -> AcceptedTraces:
    if not isinstance(data, dict) or _VERSION not in data:
        problems.add(
            (),
            f"this is no baseline: it has no {_VERSION!r}; `calipers baseline accept RUN` writes one",
            data,
        )
        return AcceptedTraces()
    version = data[_VERSION]
    if not is_whole_number(version, at_least=1):
        problems.add((_VERSION,), f"expected the version of the format, {FORMAT_VERSION}", version)
        return AcceptedTraces()
    if version > FORMAT_VERSION:
        problems.add(
            (_VERSION,),
            f"this release reads versions up to {FORMAT_VERSION}: install a newer calipers",
            version,
        )
        return AcceptedTraces()
    own = {key: value for key, value in data.items() if key != "$schema"}
    if not _is_mapping(own, (_VERSION, "cases"), (), problems):
        return AcceptedTraces()
    places: dict[tuple[str, str], int] = {}
    found: list[AcceptedCase] = []
    for index, each in enumerate(_list(data.get("cases"), ("cases",), problems)):
        case = _read_case(each, ("cases", index), problems)
        if case is None:
            continue
        first = places.setdefault((case.name, case.inputs), index)
        if first != index:
            problems.add(
                ("cases", index, "case"),
                f"cases[{first}] is this case, too: join their lists of accepted traces",
                case.name,
            )
        found.append(case)
    return AcceptedTraces(cases=tuple(sorted(found, key=lambda case: (case.name, case.inputs))))


def _read_case(data: Any, steps: Steps, problems: Problems) -> AcceptedCase | None:
    if not _is_mapping(data, ("case", "inputs", "accepted"), steps, problems):
        return None
    before = len(problems.found)
    for key in ("case", "inputs"):
        _text(data, key, steps, problems)
    listed = _list(data.get("accepted"), (*steps, "accepted"), problems)
    traces = [_read_trace(each, (*steps, "accepted", index), problems) for index, each in enumerate(listed)]
    if not traces and len(problems.found) == before:
        problems.add(
            (*steps, "accepted"), "nothing is accepted: add a trace, or remove the case", data["accepted"]
        )
    if len(problems.found) > before:
        return None
    kept = tuple(trace for trace in traces if trace is not None)
    return AcceptedCase(name=data["case"], inputs=data["inputs"], traces=kept)


def _read_trace(data: Any, steps: Steps, problems: Problems) -> AcceptedTrace | None:
    if not _is_mapping(data, ("attempts", "steps", "output"), steps, problems):
        return None
    before = len(problems.found)
    attempts = data.get("attempts", 1)
    if not is_whole_number(attempts, at_least=1):
        problems.add((*steps, "attempts"), "expected a whole number from 1", attempts)
    if "steps" not in data:
        problems.add(steps, "the trace has no steps: write `steps: []` where no tool is called", data)
        return None
    listed = _list(data["steps"], (*steps, "steps"), problems)
    found = [_read_step(each, (*steps, "steps", index), problems) for index, each in enumerate(listed)]
    if len(problems.found) > before:
        return None
    return AcceptedTrace(
        attempts=attempts,
        steps=tuple(step for step in found if step is not None),
        has_output="output" in data,
        output=plain(data.get("output")),
    )


def _read_step(data: Any, steps: Steps, problems: Problems) -> AcceptedStep | None:
    if not _is_mapping(data, ("call", "arguments", "answer"), steps, problems):
        return None
    if ("call" in data) == ("answer" in data):
        problems.add(steps, "a step is a `call` of a tool or an `answer` of a model", data)
        return None
    if "answer" in data:
        if "arguments" in data:
            problems.add((*steps, "arguments"), "an answer has no arguments", of_key=True)
        elif _text(data, "answer", steps, problems):
            return AcceptedStep(answer=data["answer"])
        return None
    arguments = data.get("arguments")
    if "arguments" in data and not _are_arguments(arguments):
        problems.add(
            (*steps, "arguments"),
            "expected a mapping of names; remove the key if any arguments will do",
            arguments,
        )
        return None
    return (
        AcceptedStep(call=data["call"], arguments=plain(arguments))
        if _text(data, "call", steps, problems)
        else None
    )


def _are_arguments(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _is_mapping(data: Any, keys: tuple[str, ...], steps: Steps, problems: Problems) -> bool:
    """Whether it is a mapping of these keys and no others. What a misspelt one would have said is not missed on top of it."""
    if not isinstance(data, dict):
        problems.add(steps, f"expected a mapping with {', '.join(keys)}", data)
        return False
    before = len(problems.found)
    check_keys(data, keys, steps, problems)
    return len(problems.found) == before


def _list(value: Any, steps: Steps, problems: Problems) -> list[Any]:
    if isinstance(value, list):
        return value
    problems.add(steps, "expected a list", value)
    return []


def _text(data: dict[str, Any], key: str, steps: Steps, problems: Problems) -> bool:
    value = data.get(key)
    if isinstance(value, str) and value:
        return True
    problems.add(
        (*steps, key),
        "expected text, in quotes where it looks like a number" if key in data else "it is missing",
        value,
    )
    return False
