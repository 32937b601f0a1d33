"""Datasets to files: `save_dataset` writes what `load_dataset` reads back as the same dataset, and refuses the rest.

Files are written whole or not at all. A document says only what differs from the defaults.
"""

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, assert_never
from urllib.parse import quote

import msgspec

from calipers.errors import InvalidCaseError, InvalidOptionError
from calipers.plugins.evaluator_factory import name_of
from calipers.process.atomic_file import write_whole
from calipers.run.dataset import Dataset

from .case_data import write_case
from .case_table import Table, arrow_columns, text_rows
from .catalog import Kind, kinds_of, write_evaluator
from .csv_file import write_csv
from .dataset_document import (
    CASE_FILE,
    CaseFormat,
    Format,
    format_of,
    is_document,
    raise_if_any,
    write_document,
)
from .jsonl_file import encode_line
from .parquet_file import parquet_bytes
from .problem import Problems
from .schema import dataset_schema
from .value_type import CaseTypes, case_types, type_arguments


def save_dataset(
    dataset: Dataset[Any, Any, Any],
    path: str | PathLike[str],
    *,
    types: Sequence[Any] | None = None,
    schema: bool | str | PathLike[str] = True,
    evaluator_types: Sequence[Kind] = (),
    cases: str | None = None,
    format: Format | None = None,  # noqa: A002 - the word users know
) -> None:
    """Write a dataset to a file.

    A JSON Lines, CSV or Parquet file holds only cases. A dataset with evaluators needs a document, for all of it or, with
    `cases="cases.jsonl"`, for the rest.

    Args:
        dataset: what to write.
        path: the file, which is replaced as a whole.
        types: of inputs, output and metadata; default: those of `Dataset[...]`, if it was made so.
        schema: whether to write a JSON Schema for editors beside a document, as `<stem>_schema.json`; or where to.
        evaluator_types: classes and functions for the schema, besides those of the dataset.
        cases: the name of a file for the cases, beside the document.
        format: of the file; default: that of its suffix.

    Raises:
        DatasetFileError: the format cannot hold something; the error lists all of it, and nothing was written.
        InvalidOptionError: an argument is not valid.
    """
    where = Path(path)
    form = format_of(where, format)
    if isinstance(dataset.cases, Iterator):
        raise InvalidCaseError("the cases come from an iterator, which saving would use up: make them a list")
    given = case_types(types if types is not None else type_arguments(_type_of(dataset), Dataset))
    if not is_document(form):
        if cases is not None:
            raise InvalidOptionError(f"cases={cases!r} needs a YAML or JSON document, got {str(path)!r}")
        if dataset.evaluators or dataset.report_evaluators:
            raise InvalidOptionError(
                f"a {form} file holds only cases, and the dataset has evaluators too: save a document with "
                f"cases={where.name!r}"
            )
        _write_cases(dataset, where, form, given)
        return
    problems = Problems(str(path))
    data: dict[str, Any] = {} if dataset.name is None else {"name": dataset.name}
    if cases is None:
        data["cases"] = [
            write_case(case, given, ("cases", index), problems, as_yaml=form == "yaml")
            for index, case in enumerate(dataset.cases)
        ]
    else:
        data["cases"] = cases
    _add_evaluators(data, dataset, problems, as_yaml=form == "yaml")
    raise_if_any(problems)
    beside = None if cases is None else where.parent / cases
    if beside is not None:
        if is_document(beside_form := format_of(beside)):
            raise InvalidOptionError(f"cases must name {CASE_FILE}, got {cases!r}")
        _write_cases(dataset, beside, beside_form, given)
    reference = None
    if schema is not False:
        target = where.with_name(f"{where.stem}_schema.json") if schema is True else Path(schema)
        _write_schema(target, dataset, given, evaluator_types)
        reference = _reference(target, where)
    _replace(where, write_document(data, form, reference).encode())


def schema_beside(
    path: str | PathLike[str], schema_path: str | PathLike[str] | None
) -> bool | str | PathLike[str]:
    """The `schema` of a path relative to the folder of the dataset; `{stem}` in it is the name of the file."""
    if schema_path is None:
        return False
    where = Path(path)
    return where.parent / os.fspath(schema_path).replace("{stem}", where.stem)


def _type_of(dataset: Any) -> Any:
    return getattr(dataset, "__orig_class__", type(dataset))


def _add_evaluators(data: dict[str, Any], dataset: Any, problems: Problems, *, as_yaml: bool) -> None:
    kinds: dict[str, Kind] = {}
    for key in ("evaluators", "report_evaluators"):
        listed = getattr(dataset, key)
        if listed:
            data[key] = [
                write_evaluator(each, (key, index), problems, of_report=key != "evaluators", as_yaml=as_yaml)
                for index, each in enumerate(listed)
            ]
    if not problems.found:
        for kind in _kinds(dataset):
            if kinds.setdefault(name_of(kind), kind) is not kind:
                problems.add(
                    (), f"two types of evaluators are called {name_of(kind)!r}: a file cannot tell them apart"
                )


def _kinds(dataset: Any) -> list[Kind]:
    """The classes and functions of all evaluators, except those of lazy cases."""
    cases = dataset.cases if isinstance(dataset.cases, list) else []
    listed = [*dataset.evaluators, *(each for case in cases for each in case.evaluators)]
    listed += [each for case in cases for turn in case.turns for each in turn.evaluators]
    found = [kind for each in listed for kind in kinds_of(each)]
    found += [kind for each in dataset.report_evaluators for kind in kinds_of(each, of_report=True)]
    return list(dict.fromkeys(found))


def _write_cases(dataset: Any, path: Path, form: CaseFormat, types: CaseTypes) -> None:
    problems = Problems(str(path))
    match form:
        case "jsonl":
            write_whole(path, _lines(dataset.cases, types, problems))
        case "csv":
            table = Table(list(dataset.cases), types, problems, text=True)
            rows = text_rows(table, problems)
            raise_if_any(problems)
            text = io.StringIO(newline="")
            write_csv(text, list(table.columns), rows)
            _replace(path, text.getvalue().encode())
        case "parquet":
            table = Table(list(dataset.cases), types, problems, text=False)
            arrays = arrow_columns(table, problems)
            raise_if_any(problems)
            content = parquet_bytes(arrays, problems)
            raise_if_any(problems)
            write_whole(path, [content])
        case _:
            assert_never(form)


def _lines(cases: Iterable[Any], types: CaseTypes, problems: Problems) -> Iterator[bytes]:
    """The lines of a JSON Lines file, one at a time. Problems are raised at the end, when all were found."""
    for index, case in enumerate(cases):
        data = write_case(case, types, ("cases", index), problems)
        if not problems.found:
            yield encode_line(data)
    raise_if_any(problems)


def _write_schema(path: Path, dataset: Any, types: CaseTypes, evaluator_types: Sequence[Kind]) -> None:
    kinds = dict.fromkeys([*_kinds(dataset), *evaluator_types])
    inputs, output, metadata = (each.annotation for each in types)
    whole = dataset_schema(inputs, output, metadata, evaluator_types=list(kinds))
    text = msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n"
    _replace(path, text)


def _reference(schema: Path, document: Path) -> str:
    """The schema as the document names it: relative, if possible."""
    try:
        way = Path(os.path.relpath(schema.resolve(), document.resolve().parent)).as_posix()
    except ValueError:  # on another drive
        return schema.resolve().as_uri()
    return quote(way if way.startswith("../") else f"./{way}", safe="/.")


def _replace(path: Path, content: bytes) -> None:
    """Write a file, unless it is the same already."""
    if path.is_file() and path.read_bytes() == content:
        return
    write_whole(path, [content])
