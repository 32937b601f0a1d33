"""Stores: where runs are kept, so that they survive a crash and can be judged again.

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from .packing import Facts, Panel, facts_of, pack, pack_cells, unpack
    from .records import Known, StoredAttempt, StoredCell
    from .run_info import GitState, Owner, RunInfo, StoredEvaluator
    from .store import Store

_HOMES = {
    "Facts": ".packing",
    "GitState": ".run_info",
    "Known": ".records",
    "Owner": ".run_info",
    "Panel": ".packing",
    "RunInfo": ".run_info",
    "Store": ".store",
    "StoredAttempt": ".records",
    "StoredCell": ".records",
    "StoredEvaluator": ".run_info",
    "facts_of": ".packing",
    "pack": ".packing",
    "pack_cells": ".packing",
    "unpack": ".packing",
}

__all__ = [
    "Facts",
    "GitState",
    "Known",
    "Owner",
    "Panel",
    "RunInfo",
    "Store",
    "StoredAttempt",
    "StoredCell",
    "StoredEvaluator",
    "facts_of",
    "pack",
    "pack_cells",
    "unpack",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
