"""Exchange: stored runs as files for other programs, and the runs of other programs in a store.

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from .exporting import export_run
    from .importing import ImportedRun, import_run

_HOMES = {
    "ImportedRun": ".importing",
    "export_run": ".exporting",
    "import_run": ".importing",
}

__all__ = [
    "ImportedRun",
    "export_run",
    "import_run",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
