"""Evaluators that the command line names: an address, a dataset file with evaluators, or one as such a file writes it."""

import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from calipers.cli.address import load_object
from calipers.cli.dataset_files import OPTIONS, DatasetFiles
from calipers.cli.exits import USAGE
from calipers.cli.message import CommandError, no_file
from calipers.data.evaluator_styles import as_evaluator
from calipers.errors import CalipersError, InvalidOptionError
from calipers.files.catalog import Catalog, Kind, built_in_types
from calipers.files.dataset_document import SUFFIXES
from calipers.files.problem import ABSENT, Problems, naming_arguments
from calipers.files.yaml_file import parse_yaml
from calipers.run.dataset import Dataset


class NamedEvaluators:
    """Finds evaluators, and the dataset that they came with."""

    def __init__(
        self,
        files: DatasetFiles,
        kinds: Sequence[Kind] = (),
        allow_modules: Sequence[str] = (),
        *,
        option: str = "--evaluators",
    ) -> None:
        """Takes what reads dataset files, evaluators that have names, and modules whose evaluators may be named.

        `option` is what the command line calls the names.
        """
        self._option = option
        self._files = files
        self._catalog = Catalog(kinds, allow_modules)
        self._names = {getattr(kind, "__name__", None) for kind in kinds}
        self.datasets: list[Dataset[Any, Any, Any]] = []
        """Those that evaluators came from."""

    def find(self, names: Sequence[str]) -> list[Any]:
        """The evaluators."""
        return [evaluator for name in names for evaluator in self._of(name)]

    def _of(self, name: str) -> Iterator[Any]:
        if not name.strip():
            raise InvalidOptionError(
                f"{self._option} {name!r} names no evaluator: give module:name, file.py:name, a dataset file, or one of "
                "`calipers evaluators`, such as 'Contains: Paris'"
            )
        if Path(name).is_file():
            if name.endswith(".py"):
                raise InvalidOptionError(
                    f"{self._option} {name} is a Python file: name what is in it, as {name}:name"
                )
            yield from self._of_dataset(name, self._files.load(Path(name)))
            return
        if Path(name).suffix.lower() in SUFFIXES:
            raise no_file(name)
        spec = self._spec(name)
        if not isinstance(spec, str) or ":" not in spec:
            yield self._built(name, spec)
            return
        found = self._at(name)
        if isinstance(found, Dataset):
            yield from self._of_dataset(name, found)
        elif isinstance(found, list | tuple):
            yield from (self._checked(name, each) for each in found)
        else:
            yield self._checked(name, found)

    def _at(self, address: str) -> Any:
        """What is at an address; where there is no such module, it may be an evaluator that lacks a space."""
        try:
            return load_object(address)
        except CommandError as error:
            kind, _, argument = address.partition(":")
            if kind in self._names or kind in {each.__name__ for each in built_in_types()}:
                raise InvalidOptionError(
                    f"{self._option} {address!r}: {kind} is an evaluator and no module; did you mean '{kind}: {argument}'? "
                    "What it is given stands behind a colon and a space"
                ) from error
            raise

    def _of_dataset(self, name: str, dataset: Dataset[Any, Any, Any]) -> Iterator[Any]:
        if not dataset.evaluators:
            raise CommandError(
                f"{self._option} {name}: the dataset has no evaluators that judge every case", USAGE
            )
        self.datasets.append(dataset)
        yield from dataset.evaluators

    def _spec(self, name: str) -> Any:
        problems = Problems(f"{self._option} {name!r}")
        spec = parse_yaml(name, problems)
        if spec is ABSENT or problems.found:
            raise InvalidOptionError(f"{self._option} {name!r}: {problems.found[0].message}")
        return spec

    def _built(self, name: str, spec: Any) -> Any:
        problems = Problems(f"{self._option} {name!r}")
        with naming_arguments(OPTIONS._replace(own_evaluators="")):
            made = self._catalog.build(spec, (), problems)
        if problems.found:
            raise InvalidOptionError(
                f"{self._option} {name!r}: {problems.found[0].message}; `calipers evaluators` lists those there are, and your own is named as "
                "module:name or file.py:name"
            )
        return made

    def _checked(self, name: str, found: Any) -> Any:
        """What is at an address, if it is an evaluator; a class whose parameters all have defaults stands for its object."""
        try:
            made = found() if inspect.isclass(found) else found
            as_evaluator(made)
        except (TypeError, CalipersError) as error:
            raise CommandError(f"{self._option} {name}: {error}", USAGE) from error
        return made
