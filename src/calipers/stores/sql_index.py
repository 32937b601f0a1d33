"""What a store in SQL keeps of the indexes of its runs: byte strings, which only those who made them can read."""

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from .sql import safe_text, select_in
from .sql_judging import SqlJudging
from .sql_runs import run_number


class SqlIndexes(SqlJudging):
    """The indexes of the runs of a store in SQL."""

    @override
    def add_index_parts(self, run: str, build: str, parts: Mapping[tuple[str, int], bytes]) -> None:
        with self._writing() as db:
            number = run_number(db, run)
            for (name, part), body in parts.items():
                db.run(
                    "INSERT INTO index_parts (run, build, name, part, body) VALUES (?, ?, ?, ?, ?) "
                    "ON CONFLICT (run, build, name, part) DO UPDATE SET body = excluded.body",
                    (number, build, safe_text(name), part, body),
                )

    @override
    def remove_index(self, run: str, *, but: str | None = None) -> None:
        with self._writing() as db:
            number = run_number(db, run)
            where, values = ("", [number]) if but is None else (" AND build <> ?", [number, but])
            db.run(f"DELETE FROM index_parts WHERE run = ?{where}", values)  # noqa: S608 - our own words

    @override
    def index_builds(self, run: str) -> list[str]:
        with self._reading() as db:
            rows = db.run("SELECT DISTINCT build FROM index_parts WHERE run = ?", (run_number(db, run),))
        return sorted(build for (build,) in rows)

    @override
    def index_parts(
        self, run: str, build: str, name: str, numbers: Sequence[int] | None = None
    ) -> dict[int, bytes]:
        sql = "SELECT part, body FROM index_parts WHERE run = ? AND build = ? AND name = ?"
        with self._reading() as db:
            values: list[Any] = [run_number(db, run), build, safe_text(name)]
            if numbers is None:
                rows = db.run(f"{sql} ORDER BY part", values)
            else:
                rows = select_in(db, f"{sql} AND part IN", values, numbers)
        return {int(part): bytes(body) for part, body in rows}
