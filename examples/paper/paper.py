"""A paper's script: three models, each asked five times per question, and the tables that the paper shows.

    python paper.py --folder results

Ctrl-C at any moment keeps what is finished; the same command goes on from there, and asks nothing twice.
"""

import argparse
import asyncio
import sys
from pathlib import Path

import aiohttp

from calipers import Case, Dataset, Report, known
from calipers.comparison import compare_many, ranks
from calipers.evaluators import EqualsExpected
from calipers.exchange import export_run
from calipers.stores import Store, open_store
from calipers.views.comparison import write_comparisons
from calipers.views.run_table import run_table, table_markdown, write_table
from models import SKILL, Model, serving

REPEAT = 5
ROUNDS = 3
"""How often to ask again where no answer came."""


def questions(count: int) -> Dataset[str, str]:
    """What the models are asked."""
    cases = [
        Case(name=f"q{n}", inputs=f"What is the square of {n}", expected_output=str(n * n))
        for n in range(count)
    ]
    return Dataset(name="squares", cases=cases, evaluators=[EqualsExpected()])


async def measured(dataset: Dataset[str, str], model: Model, store: Store) -> Report:
    """The run of a model: a finished one, or the rest of one that was interrupted; then what got no answer, again."""

    async def ask(resume: str | bool, *, rerun_failed: bool) -> Report:
        return await dataset.evaluate(
            model,
            name=model.name,
            repeat=REPEAT,
            seed=1,
            store=store,
            resume=resume,
            rerun_failed=rerun_failed,
            max_concurrency=50,
            progress=False,
        )

    done = store.runs(name=model.name, status="finished")
    report = store.report(done[0].id) if done else await ask(True, rerun_failed=False)
    run = done[0].id if done else known(report.reuse).run
    for _ in range(ROUNDS):
        outage = report.infrastructure()
        if outage is None or report.incomplete is not None:
            break
        print(f"{model.name}: {outage.count} attempts got no answer; asking these again")
        report = await ask(run, rerun_failed=True)
    return report


def write_tables(reports: list[Report], store: Store, folder: Path) -> None:
    """What the paper shows, and the data behind it."""
    table = run_table(reports)
    write_table(table, folder / "table.tex")
    write_table(table, folder / "table.csv")
    comparisons = compare_many(reports)
    write_comparisons(comparisons, folder / "comparison.html")
    for report in reports:
        export_run(store, report.name, to=folder / f"{report.name}.csv")
    print(table_markdown(table))
    for rank in ranks(comparisons):
        print(f"rank {rank.text}: {rank.label}")


async def main(folder: Path, count: int) -> int:
    """Ask all models, and write the tables; the exit code is 130 if it was interrupted."""
    dataset = questions(count)
    reports: list[Report] = []
    with open_store(folder / "runs.db") as store:
        async with serving() as url, aiohttp.ClientSession() as session:
            for name in SKILL:
                report = await measured(dataset, Model(name, url, session), store)
                if report.incomplete is not None:
                    print(f"{name}: {report.incomplete}; the same command goes on from here", file=sys.stderr)
                    return 130
                reports.append(report)
        write_tables(reports, store, folder)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=Path("results"), help="for the store and the tables")
    parser.add_argument(
        "--questions", type=int, default=200, metavar="N", help="how many to ask; default: 200"
    )
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        sys.exit(asyncio.run(main(options.folder, options.questions)))
    except KeyboardInterrupt:  # before or after a run
        sys.exit(130)
