"""Cases added to a dataset file: what is there stays, in its order, and the new cases come after it.

A JSON Lines file keeps its bytes. Of a document the data is kept, with evaluators as they are written, and the comments before the first
key; a YAML file loses its other comments. A CSV or Parquet file is written again as a table.

What is added depends on what is there, so one process at a time reads a file and adds to it: `only_adder`.
"""

import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from calipers.data.case import Case
from calipers.errors import DatasetFileError, InvalidCaseError, InvalidOptionError
from calipers.process.atomic_file import write_whole
from calipers.run.dataset import Dataset

from .case_data import write_case
from .dataset_document import Document, format_of, is_document, raise_if_any, read_data, write_document
from .jsonl_file import encode_line
from .load import load_dataset
from .problem import Problems
from .save import save_dataset
from .value_type import case_types


@contextmanager
def only_adder(path: Path, waits: Callable[[], object]) -> Iterator[None]:
    """A block in which no other process is in such a block for the same file.

    On Windows, and in file systems without locks, another one may be.

    Args:
        path: of the file, which is there.
        waits: called before it waits for another process.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    while True:
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waits()
                fcntl.flock(file, fcntl.LOCK_EX)
            except OSError:  # a file system without locks
                yield
                return
            # Adding puts another file in its place, and the lock is to be that of the one that is there.
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                yield
                return


def named_requests(path: Path) -> Iterator[Case[Any, Any, Any]]:
    """The cases of a file with nothing but their names, clusters and inputs, or turns: evaluators of the user need not be known.

    Raises:
        DatasetFileError: it is no dataset file.
        InvalidOptionError: the cases are in another file, or the name does not tell the format.
        OSError: it cannot be read.
    """
    form = format_of(path)
    if is_document(form):
        listed: Any = _document(path, form)["cases"]
    elif form == "jsonl":
        with path.open("rb") as file:
            listed = [msgspec.Raw(line) for line in file if line.strip()]
    else:
        yield from load_dataset(path).cases
        return
    for number, each in enumerate(listed, 1):
        try:
            data = msgspec.json.decode(each) if isinstance(each, msgspec.Raw) else each
            turns = [turn if isinstance(turn, str) else turn["user"] for turn in data.get("turns", ())]
            fields: dict[str, Any] = {"turns": turns} if turns else {"inputs": data["inputs"]}
            yield Case(name=data.get("name"), cluster=data.get("cluster"), **fields)
        except (msgspec.DecodeError, InvalidCaseError, AttributeError, KeyError, TypeError) as error:
            raise DatasetFileError(
                f"case {number} of {str(path)!r} is no case, so nothing can be added: `calipers check` says what is wrong"
            ) from error


def add_cases(path: Path, cases: Sequence[Case[Any, Any, Any]]) -> None:
    """Add cases to a file, which is written whole or not at all.

    Raises:
        DatasetFileError: the file is no dataset file, or its format cannot hold a case.
        OSError: it cannot be read or written.
    """
    form = format_of(path)
    if not is_document(form) and form != "jsonl":
        save_dataset(Dataset(cases=[*load_dataset(path).cases, *cases]), path)
        return
    problems = Problems(str(path))
    types = case_types(None)
    written = [
        write_case(case, types, ("cases", index), problems, as_yaml=form == "yaml")
        for index, case in enumerate(cases)
    ]
    raise_if_any(problems)
    if not is_document(form):
        before = path.read_bytes()
        missing = b"" if not before or before.endswith(b"\n") else b"\n"
        write_whole(path, [before, missing, *map(encode_line, written)])
        return
    data = _document(path, form)
    data["cases"] = [*data["cases"], *written]
    text = _first_comments(path) + write_document(data, form, None)
    write_whole(path, [text.encode()])


def _document(path: Path, form: Document) -> dict[str, Any]:
    """The data of a document with a list of cases."""
    problems = Problems(str(path))
    data = read_data(path, form, problems)
    raise_if_any(problems)
    document: dict[str, Any] = data if isinstance(data, dict) else {}
    cases = document.get("cases")
    if isinstance(cases, str):
        raise InvalidOptionError(f"the cases of {str(path)!r} are in {cases!r}: add to that file")
    if not isinstance(cases, list):
        raise InvalidOptionError(f"{str(path)!r} is no dataset with a list of cases: name another file")
    return document


def _first_comments(path: Path) -> str:
    lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    return "".join(itertools.takewhile(lambda line: line.startswith("#"), lines)) if lines else ""
