"""Stores: where runs are kept, so that they survive a crash and can be judged again.

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from .explaining import why
    from .keeping import keep_in
    from .opening import open_store
    from .packing import Facts, facts_of, pack, pack_cells, unpack
    from .panel import Panel
    from .postgresql import PostgresqlStore
    from .records import Known, StoredAttempt, StoredCell
    from .redaction import hide_keys, hide_matches
    from .rescoring import score_again, score_again_async
    from .run_info import GitState, Owner, RunInfo, StoredEvaluator
    from .sqlite import MemoryStore, SqliteStore
    from .store import NameTakenError, Store
    from .writer import Pace, Writer

_HOMES = {
    "Facts": ".packing",
    "GitState": ".run_info",
    "Known": ".records",
    "MemoryStore": ".sqlite",
    "NameTakenError": ".store",
    "Owner": ".run_info",
    "Pace": ".writer",
    "Panel": ".panel",
    "PostgresqlStore": ".postgresql",
    "RunInfo": ".run_info",
    "SqliteStore": ".sqlite",
    "Store": ".store",
    "StoredAttempt": ".records",
    "StoredCell": ".records",
    "StoredEvaluator": ".run_info",
    "Writer": ".writer",
    "facts_of": ".packing",
    "hide_keys": ".redaction",
    "hide_matches": ".redaction",
    "keep_in": ".keeping",
    "open_store": ".opening",
    "pack": ".packing",
    "pack_cells": ".packing",
    "score_again": ".rescoring",
    "score_again_async": ".rescoring",
    "unpack": ".packing",
    "why": ".explaining",
}

__all__ = [
    "Facts",
    "GitState",
    "Known",
    "MemoryStore",
    "NameTakenError",
    "Owner",
    "Pace",
    "Panel",
    "PostgresqlStore",
    "RunInfo",
    "SqliteStore",
    "Store",
    "StoredAttempt",
    "StoredCell",
    "StoredEvaluator",
    "Writer",
    "facts_of",
    "hide_keys",
    "hide_matches",
    "keep_in",
    "open_store",
    "pack",
    "pack_cells",
    "score_again",
    "score_again_async",
    "unpack",
    "why",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
