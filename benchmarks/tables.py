"""Tables that a page of the documentation shows: simulated, printed and, with `--update-docs`, written between their markers.

A table is a function of the number of data sets for each cell and a pool of processes; it gives the lines. The draws come from fixed
seeds, so every table repeats exactly.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs" / "explanation"


def main(about, page, tables, *, sets):
    """Print the tables, or one of them, and write them into the page.

    Args:
        about: what they show.
        page: the file with `<!-- name: begin -->` and `<!-- name: end -->` for each.
        tables: by their names.
        sets: data sets for each cell; the page shows no fewer.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=sets, help=f"data sets for each cell; default {sets}")
    parser.add_argument("--only", choices=tables, help="one table")
    parser.add_argument("--update-docs", action="store_true", help="write the tables into the page")
    options = parser.parse_args()
    if options.update_docs and options.sets < sets:
        parser.error(f"--update-docs needs at least {sets} data sets for each cell")
    with ProcessPoolExecutor() as pool:
        for name, table in tables.items():
            if options.only in {None, name}:
                lines = list(table(options.sets, pool))
                print("\n".join(lines), end="\n\n", flush=True)
                if options.update_docs:
                    update(page, name, lines)
    return 0


def results(pool, function, cells):
    """What a function gives for each cell of a table, by cell."""
    return dict(zip(cells, pool.map(function, cells), strict=True))


def head(*names):
    """The first two lines of a table; a name that ends with a colon is that of a column of numbers."""
    yield f"| {' | '.join(name.removesuffix(':') for name in names)} |"
    yield f"|{'|'.join('---:' if name.endswith(':') else '---' for name in names)}|"


def update(page, name, lines):
    """Put lines between the markers of a page."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    text = page.read_text(encoding="utf-8")
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f"{page.name} must have {begin!r} and {end!r} once each")
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    page.write_text(f"{before}{begin}\n{chr(10).join(lines)}\n{end}{after}", encoding="utf-8")
