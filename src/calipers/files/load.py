"""Datasets from files: `load_dataset` makes one, `check_file` says all that is wrong with a file."""

import errno
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from calipers.errors import InvalidOptionError
from calipers.run.dataset import Dataset

from .case_data import CaseReader
from .case_table import Source
from .catalog import Catalog, Kind
from .dataset_document import (
    DOCUMENTS,
    Format,
    Parts,
    format_of,
    is_document,
    open_cases,
    parse_data,
    raise_if_any,
    read_data,
    read_document,
)
from .lazy_cases import LazyCases
from .problem import Problem, Problems, argument_names
from .value_type import case_types, type_arguments

DatasetT = TypeVar("DatasetT", bound=Dataset[Any, Any, Any])


def load_dataset(
    path: str | PathLike[str],
    *,
    name: str | None = None,
    types: Sequence[Any] | None = None,
    evaluator_types: Sequence[Kind] = (),
    allow_modules: Sequence[str] = (),
    evaluators: Sequence[Any] = (),
    report_evaluators: Sequence[Any] = (),
    format: Format | None = None,  # noqa: A002 - the word users know
    columns: Mapping[str, Source] | None = None,
) -> Dataset[Any, Any, Any]:
    """The dataset that a file holds. One without a name is called after its file.

    Args:
        path: a YAML or JSON document, or a JSON Lines, CSV or Parquet file of cases, which is read while it runs.
        name: of the dataset, whatever the file says; default: what the file says, else the name of the file.
        types: of inputs, output and metadata, to validate with; default: `Any`.
        evaluator_types: classes and functions of your own that the file may name.
        allow_modules: modules whose evaluators the file may name as `module:Name`; `package.*` allows a package.
        evaluators: for every case, besides those in the file.
        report_evaluators: for the report, besides those in the file.
        format: of the file; default: that of its suffix.
        columns: of a CSV or Parquet file: which column each field comes from.

    Raises:
        DatasetFileError: something is wrong with the file; the error lists all of it.
        InvalidOptionError: an argument is not valid.
        OSError: the file cannot be read.
    """
    kind: Any = Dataset
    if types is not None:
        kind = Dataset[tuple(each.annotation for each in case_types(types))]  # type: ignore[misc]
    loaded: Dataset[Any, Any, Any] = load_as(
        kind,
        path,
        name=name,
        evaluator_types=evaluator_types,
        allow_modules=allow_modules,
        evaluators=evaluators,
        report_evaluators=report_evaluators,
        format=format,
        columns=columns,
    )
    return loaded


def load_as(
    kind: Callable[..., DatasetT],
    path: str | PathLike[str],
    *,
    name: str | None,
    evaluators: Sequence[Any],
    report_evaluators: Sequence[Any],
    **reading: Any,
) -> DatasetT:
    """The dataset in a file, as the given class or `Dataset[...]`; the other options are those of `read_parts`."""
    parts, problems = read_parts(path, types=type_arguments(kind, Dataset), **reading)
    if isinstance(parts.cases, LazyCases):
        problems.found += parts.cases.header.found
    raise_if_any(problems)
    return kind(
        name=parts.name if name is None else name,
        cases=parts.cases,
        evaluators=[*parts.evaluators, *evaluators],
        report_evaluators=[*parts.report_evaluators, *report_evaluators],
    )


def read_as(
    kind: Callable[..., DatasetT],
    given: str | Mapping[str, Any],
    *,
    name: str | None,
    evaluator_types: Sequence[Kind],
    allow_modules: Sequence[str],
    format: Format | None,  # noqa: A002 - the word users know
) -> DatasetT:
    """The dataset in a text or a dictionary, as the given class or `Dataset[...]`."""
    reader = CaseReader(case_types(type_arguments(kind, Dataset)), Catalog(evaluator_types, allow_modules))
    problems = Problems("dataset")
    if isinstance(given, Mapping):
        data: Any = dict(given)
    elif not isinstance(given, str):
        raise InvalidOptionError(f"a dataset is read from a text or a dictionary, got {given!r:.200}")
    elif format not in DOCUMENTS:
        raise InvalidOptionError(
            f"a text holds a dataset as {' or '.join(DOCUMENTS)}, got format={format!r}; "
            "read cases of other formats from a file"
        )
    else:
        data = parse_data(given, format, problems)
    parts = read_document(data, Path("dataset"), reader, problems)
    raise_if_any(problems)
    return kind(
        name=parts.name if parts.name is not None else name,
        cases=parts.cases,
        evaluators=parts.evaluators,
        report_evaluators=parts.report_evaluators,
    )


def check_file(
    path: str | PathLike[str],
    *,
    types: Sequence[Any] | None = None,
    evaluator_types: Sequence[Kind] = (),
    allow_modules: Sequence[str] = (),
    format: Format | None = None,  # noqa: A002 - the word users know
    columns: Mapping[str, Source] | None = None,
) -> list[Problem]:
    """Everything that is wrong with a dataset file, in each of its lines; an empty list if it can be run as it is.

    A dataset without cases can be loaded and filled, but not run, so it is a problem here. The arguments are those of
    `load_dataset`.

    Raises:
        InvalidOptionError: an argument is not valid.
        OSError: the file cannot be read.
    """
    parts, problems = read_parts(
        path,
        types=types,
        evaluator_types=evaluator_types,
        allow_modules=allow_modules,
        format=format,
        columns=columns,
    )
    if isinstance(parts.cases, LazyCases):
        return [*problems.found, *parts.cases.problems()]
    if not parts.cases and not problems.found:
        problems.add(("cases",), "there are no cases")
    return problems.found


def read_parts(
    path: str | PathLike[str],
    *,
    types: Sequence[Any] | None,
    evaluator_types: Sequence[Kind],
    allow_modules: Sequence[str],
    format: Format | None,  # noqa: A002 - the word users know
    columns: Mapping[str, Source] | None,
) -> tuple[Parts, Problems]:
    """What a file says of a dataset, and what is wrong with it; a lazy file has problems of its own besides."""
    where = Path(path)
    form = format_of(where, format)
    reader = CaseReader(case_types(types), Catalog(evaluator_types, allow_modules))
    problems = Problems(str(path))
    if where.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder, not a dataset file", str(path))
    if where.is_fifo() and not is_document(form):
        raise InvalidOptionError(
            f"{str(path)!r} is a pipe, which can be read only once: save the cases to a file"
        )
    if is_document(form):
        parts = read_document(read_data(where, form, problems), where, reader, problems, columns)
    else:
        parts = Parts(None, open_cases(where, form, reader, columns), [], [])
    if columns is not None and not getattr(parts.cases, "has_columns", False) and not problems.found:
        raise InvalidOptionError(
            f"{argument_names().columns} is for tables, CSV and Parquet files: {str(path)!r} has keys"
        )
    return (parts if parts.name is not None else parts._replace(name=where.stem)), problems
