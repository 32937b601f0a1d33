"""The store that is meant where none is named, and a report by the name that people give it.

It is what the variable `CALIPERS_STORE` says, else the project's file, else `.calipers/runs.db` in the current folder.
"""

import os
from pathlib import Path
from typing import Final

from calipers.errors import InvalidOptionError, StoreError
from calipers.files.project import find_project
from calipers.report.report import Report
from calipers.views.formats import read_report

from .store_url import open_store

DEFAULT: Final = ".calipers/runs.db"
"""Where runs are kept by default."""
VARIABLE: Final = "CALIPERS_STORE"
REPORT_FILES: Final = (".json", ".jsonl")
"""How the reports that can be read end."""


def default_address() -> str:
    """The store that holds where none is named."""
    return os.environ.get(VARIABLE) or find_project().store or DEFAULT


def is_file_name(name: str) -> bool:
    """Whether a name is that of a file, there or not; anything else names a run."""
    path = Path(name)
    return bool(name) and (
        path.exists() or "/" in name or os.sep in name or path.suffix.lower() in REPORT_FILES
    )


def report_named(name: str) -> Report:
    """The report in a file, or of a run in the default store, with all its attempts.

    Raises:
        InvalidOptionError: there is no such file or run.
        ReportFormatError: the file is no report.
    """
    if is_file_name(name):
        if not Path(name).is_file():
            raise InvalidOptionError(f"file not found: {name} (it was to be read as a report)")
        return read_report(name)
    try:
        with open_store(default_address(), existing=True) as store:
            return store.report(name)
    except StoreError as error:
        raise InvalidOptionError(
            f"no report is called {name!r}: {error}. Name a report file, or a run that `calipers runs` lists"
        ) from error
