"""The engine that `--engine` names, and what its workers are told before their first attempt, so that they know what this process knows.

A worker has the same current folder, or a copy of it on its machine, and looks for modules in the same places. What is left are the prices of the project, and files that
were loaded by their paths: an import may find another file of that name, or none.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from calipers.cli.address import FilesByName, loaded_by_path
from calipers.engines.engine import as_engine
from calipers.files.project import Project
from calipers.models.prices import Price, set_prices
from calipers.run.place import Engine


@contextmanager
def named_engine(name: str, project: Project) -> Iterator[Engine | None]:
    """A block that has the engine of a name; its workers stay from one run to the next. Enter it when everything is loaded.

    Raises:
        InvalidOptionError: there is no such engine.
    """
    here = Path.cwd()
    files = {
        module: file.relative_to(here) if file.is_relative_to(here) else file
        for module, file in loaded_by_path.items()
    }
    engine = as_engine(name, setup=WorkerSetup(dict(project.prices), files))
    if isinstance(engine, AbstractContextManager):
        with engine:
            yield engine
    else:
        yield engine


class WorkerSetup(msgspec.Struct, frozen=True):
    """A function for workers to call."""

    prices: Mapping[str, Price]
    files: Mapping[str, Path]
    """Files of modules, by the names that the modules have here: paths from the current folder, where they are in it."""

    def __call__(self) -> None:
        """Set the prices, and have the files found."""
        set_prices(self.prices)
        if _finder not in sys.meta_path:
            sys.meta_path.insert(0, _finder)
        _finder.files.update({module: Path.cwd() / file for module, file in self.files.items()})


_finder = FilesByName()
"""Of this process."""
