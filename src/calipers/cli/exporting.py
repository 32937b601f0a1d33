"""What `calipers export` does: write a kept run to files."""

from collections.abc import Sequence

from calipers.errors import InvalidOptionError
from calipers.exchange.exporting import check_table, export_run, parse_export

from .exits import PASSED
from .message import note
from .storing import find_run, open_kept


def export(*, run: str, to: Sequence[str], table: str | None = None, store: str | None = None) -> int:
    """Write a run to files; returns the exit code."""
    targets = [parse_export(each) for each in to]
    for target in targets:
        check_table(target.format, table)
    with open_kept(store) as opened:
        info = find_run(opened, run)
        paths = [target.path_for(info) for target in targets]
        if twice := next((path for path in paths if paths.count(path) > 1), None):
            raise InvalidOptionError(
                f"two --to write to {'standard output' if twice == '-' else repr(twice)}"
            )
        for target, path in zip(targets, paths, strict=True):
            export_run(opened, info.id, to=f"{target.format}:{path}", table=table)
            if path != "-":
                note(f"Wrote {path}")
    return PASSED
