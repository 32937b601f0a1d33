"""Dataset files for commands, read with the types and evaluators that the command line names.

Messages name the options of the command line where the library names its arguments.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from calipers.cli.address import load_object, make_importable
from calipers.cli.message import problem_lines
from calipers.errors import DatasetFileError, InvalidOptionError
from calipers.files import Problem, check_file, dataset_schema, load_dataset
from calipers.files.dataset_document import DOCUMENTS, format_of, read_data
from calipers.files.problem import ArgumentNames, Problems, naming_arguments
from calipers.files.value_type import type_arguments
from calipers.plugins import PluginManager
from calipers.run.dataset import Dataset

OPTIONS: Final = ArgumentNames(
    own_evaluators="; name your own with --evaluator-type module:Name, install the plugin that has it, or name a folder with --plugin",
    evaluator_types="--evaluator-type",
    allow_module="--allow-module {}",
    columns="--column",
    inputs_column="--column inputs=COLUMN",
    some_column="--column FIELD=COLUMN",
    format="",
)
"""What messages about files call the options."""


class DatasetFiles:
    """Reads dataset files by what the command line says of them."""

    def __init__(
        self,
        *,
        types: Sequence[str] = (),
        evaluator_types: Sequence[str] = (),
        allow_modules: Sequence[str] = (),
        columns: Sequence[str] = (),
        plugins: PluginManager | None = None,
    ) -> None:
        """Takes addresses of types and evaluators, modules whose evaluators may be named, and `FIELD=COLUMN` pairs."""
        self._types = _types([load_object(address) for address in types])
        self._evaluator_types = [load_object(address) for address in evaluator_types]
        if plugins is not None:
            self._evaluator_types += plugins.get_evaluator_types()
        self._allow_modules = allow_modules
        self._columns = _columns(columns)
        make_importable(Path.cwd())

    def load(self, path: Path) -> Dataset[Any, Any, Any]:
        """The dataset that a file holds."""
        with in_options():
            return load_dataset(
                path,
                types=self._types,
                evaluator_types=self._evaluator_types,
                allow_modules=self._allow_modules,
                columns=self._columns,
            )

    def check(self, path: Path) -> list[Problem]:
        """All that is wrong with a file."""
        with in_options():
            return check_file(
                path,
                types=self._types,
                evaluator_types=self._evaluator_types,
                allow_modules=self._allow_modules,
                columns=self._columns,
            )

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of such files."""
        inputs, output, metadata = (*(self._types or ()), Any, Any, Any)[:3]
        return dataset_schema(inputs, output, metadata, evaluator_types=self._evaluator_types)


def is_voice_file(path: Path) -> bool:
    """Whether a file is a voice test: a YAML or JSON document with prompts, and no cases."""
    try:
        form = format_of(path)
        if form not in DOCUMENTS or b"prompts" not in path.read_bytes():
            return False
    except (InvalidOptionError, OSError):
        return False  # reading it will say what is wrong
    data = read_data(path, form, Problems(str(path)))
    return isinstance(data, dict) and "prompts" in data and "cases" not in data


@contextmanager
def in_options() -> Iterator[None]:
    """A block in which messages name options in place of the library's arguments."""
    try:
        with naming_arguments(OPTIONS):
            yield
    except DatasetFileError as error:
        raise DatasetFileError(problem_lines(error.problems) or str(error), error.problems) from error


def _types(found: Sequence[Any]) -> tuple[Any, ...] | None:
    if len(found) == 1 and (arguments := type_arguments(found[0], Dataset)):
        return arguments
    if len(found) > 3:
        raise InvalidOptionError(
            f"--types are those of inputs, output and metadata, in this order: got {len(found)} of them"
        )
    return tuple(found) or None


def _columns(pairs: Sequence[str]) -> dict[str, str | list[str]] | None:
    found: dict[str, str | list[str]] = {}
    for pair in pairs:
        field, equals, column = pair.partition("=")
        if not (field and equals and column):
            raise InvalidOptionError(f"--column must be FIELD=COLUMN, such as inputs=question, got {pair!r}")
        found[field] = column.split(",") if "," in column else column
    return found or None
