"""The formats of dataset files, and a whole dataset as a YAML or JSON document: name, cases, evaluators, report evaluators.

JSON Lines, CSV and Parquet files hold cases only, and are read while they run. In a document, `cases` is a list, or the name
of such a file, relative to the document. `$schema` is for editors and is not read.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, assert_never, get_args

from typing_extensions import TypeIs

from calipers.data.argument_checks import check_choice
from calipers.errors import CalipersError, DatasetFileError, InvalidOptionError

from .case_data import CaseReader, check_keys, name_in
from .case_table import Source
from .csv_file import CSVFile
from .json_reader import parse_json
from .jsonl_file import JSONLines
from .lazy_cases import LazyCases
from .parquet_file import ParquetFile
from .problem import ABSENT, Problems, argument_names, not_utf8, problems_text

Document: TypeAlias = Literal["yaml", "json"]
"""The formats that hold a whole dataset."""
CaseFormat: TypeAlias = Literal["jsonl", "csv", "parquet"]
"""The formats that hold only cases."""
Format: TypeAlias = Literal[Document, CaseFormat]
"""The formats of dataset files."""

DOCUMENTS: tuple[Document, ...] = get_args(Document)

SUFFIXES: dict[str, Format] = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
}
"""How the files of each format end."""

_CASE_FILES = [suffix for suffix, form in SUFFIXES.items() if form not in DOCUMENTS]
CASE_FILE = f"a {', '.join(_CASE_FILES[:-1])} or {_CASE_FILES[-1]} file"
"""What a file of cases is called: `a .jsonl, .csv or .parquet file`."""


def format_of(path: Path, given: Format | None = None) -> Format:
    """The given format, else that of the file's suffix.

    Raises:
        InvalidOptionError: neither names a format.
    """
    if given is not None:
        return check_choice("format", given, get_args(Format))
    found = SUFFIXES.get(path.suffix.lower())
    if found is None:
        raise InvalidOptionError(
            f"the name of {str(path)!r} does not tell its format: end it with {', '.join(SUFFIXES)}"
            f"{argument_names().format}"
        )
    return found


def is_document(form: Format) -> TypeIs[Document]:
    """Whether files of the format hold a whole dataset."""
    return form in DOCUMENTS


KEYS = ("$schema", "name", "cases", "evaluators", "report_evaluators")
"""What a document may say."""


MOST_YAML = 16 << 20
"""The most bytes of a YAML file. Its parser keeps the place of every value, and needs about 50 times as much memory."""


class Parts(NamedTuple):
    """What a file says of a dataset."""

    name: str | None
    cases: Any
    """A list, or `LazyCases`."""
    evaluators: list[Any]
    report_evaluators: list[Any]


def open_cases(
    path: Path, form: CaseFormat, reader: CaseReader, columns: Mapping[str, Source] | None = None
) -> LazyCases:
    """The cases of a file that holds only cases; its `header` has what is wrong with its header or schema."""
    match form:
        case "csv":
            return CSVFile(path, reader, columns)
        case "parquet":
            return ParquetFile(path, reader, columns)
        case "jsonl":
            with path.open("rb"):  # a missing file should be noticed now, not in the run
                return JSONLines(path, reader)
        case _:
            assert_never(form)


def read_data(path: Path, form: Format, problems: Problems) -> Any:
    """What a YAML or JSON file holds, or `ABSENT`; what is wrong with it is added to the problems."""
    if form == "yaml" and _is_too_long(path.stat().st_size, problems):
        return ABSENT
    content = path.read_bytes()
    if form == "yaml" and _is_too_long(len(content), problems):  # the length of a pipe is unknown before
        return ABSENT
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        column = len(before[before.rfind(b"\n") + 1 :].decode()) + 1
        problems.add_at(before.count(b"\n") + 1, column, not_utf8("the file", error.object, error.start))
        return ABSENT
    return parse_data(text, form, problems)


def parse_data(text: str, form: Format, problems: Problems) -> Any:
    """What a YAML or JSON text holds, or `ABSENT`; what is wrong with it is added to the problems."""
    if form == "yaml":
        from .yaml_file import parse_yaml  # PyYAML is loaded where YAML is

        return parse_yaml(text, problems)
    return parse_json(text, problems)


def _is_too_long(size: int, problems: Problems) -> bool:
    if size <= MOST_YAML:
        return False
    limit = MOST_YAML >> 20
    problems.add_at(
        1,
        1,
        f"the file has {size / (1 << 20):,.1f} MB of YAML, and the limit is {limit} MB, since YAML takes about 50 times its size "
        "in memory: keep the cases in a JSON Lines file and name it here, as in 'cases: cases.jsonl', or write the file as JSON",
    )
    return True


def read_document(
    data: Any,
    path: Path,
    reader: CaseReader,
    problems: Problems,
    columns: Mapping[str, Source] | None = None,
) -> Parts:
    """What the data of a document says; what is wrong is added to the problems. A file of cases that it names is beside it."""
    nothing = Parts(None, [], [], [])
    if data is ABSENT:
        return nothing
    if not isinstance(data, dict):
        problems.add((), f"expected a dataset, with {', '.join(KEYS[1:])}", data)
        return nothing
    check_keys(data, KEYS, (), problems)
    name = data.get("name")
    if name is not None and not isinstance(name, str):
        problems.add(("name",), "expected text", name)
    parts = Parts(
        name,
        _read_cases(data, path, reader, problems, columns),
        _read_evaluators(data, "evaluators", reader, problems),
        _read_evaluators(data, "report_evaluators", reader, problems),
    )
    problems.found.sort(key=lambda problem: (problem.line or 0, problem.column or 0))
    return parts


def _read_evaluators(data: dict[str, Any], key: str, reader: CaseReader, problems: Problems) -> list[Any]:
    if key not in data:
        return []
    return reader.read_evaluators(data[key], (key,), problems, of_report=key == "report_evaluators")


def _read_cases(
    data: dict[str, Any],
    path: Path,
    reader: CaseReader,
    problems: Problems,
    columns: Mapping[str, Source] | None,
) -> Any:
    cases = data.get("cases", ABSENT)
    if cases is ABSENT:
        problems.add((), "the document has no cases")
        return []
    if isinstance(cases, str):
        return _open_file(path.parent / cases, reader, problems, columns)
    if not isinstance(cases, list):
        problems.add(("cases",), f"expected a list of cases, or the name of {CASE_FILE}", cases)
        return []
    found = [reader.read(case, ("cases", index), problems) for index, case in enumerate(cases)]
    first: dict[str, int] = {}
    for index, case in enumerate(cases):
        name = name_in(case)
        if name is not None and first.setdefault(name, index) != index:
            problems.add(("cases", index, "name"), f"cases[{first[name]}] has this name, too", name)
    return found


def _open_file(
    path: Path, reader: CaseReader, problems: Problems, columns: Mapping[str, Source] | None
) -> Any:
    try:
        form = format_of(path)
        if is_document(form):
            problems.add(("cases",), f"expected the name of {CASE_FILE}", path.name)
            return []
        return open_cases(path, form, reader, columns)
    except (CalipersError, OSError) as error:
        problems.add(("cases",), f"the file of cases cannot be read: {error}")
    return []


def write_document(data: dict[str, Any], form: Format, schema: str | None) -> str:
    """The text of a document that refers to its schema.

    Raises:
        InvalidOptionError: it is longer than YAML may be to be read.
    """
    if form == "json":
        whole = data if schema is None else {"$schema": schema, **data}
        return json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    from .yaml_file import dump_yaml

    first = "" if schema is None else f"# yaml-language-server: $schema={schema}\n"
    text = first + dump_yaml(data)
    if (size := len(text.encode())) > MOST_YAML:
        raise InvalidOptionError(
            f"{size / (1 << 20):,.1f} MB of YAML could not be read again, since the limit is {MOST_YAML >> 20} MB: write a JSON Lines file, "
            "or keep the cases in one beside the document"
        )
    return text


def raise_if_any(problems: Problems) -> None:
    """Raise the problems found, all of them.

    Raises:
        DatasetFileError: there are some.
    """
    if problems.found:
        raise DatasetFileError(problems_text(problems.found), problems.found)
