"""Every page of the viewer over one store that is the same each time: same runs, same times, same ids. For walks with pictures and axe."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import msgspec

from calipers.stores.run_info import GitState
from calipers.stores.sqlite import MemoryStore
from calipers.stores.store import Store
from calipers.viewer.case_id import case_id

from .conftest import sorter, support_desk
from .gallery import keep_agent, keep_charts, keep_odd, keep_rollouts, keep_voice

NOW: Final = datetime(2026, 4, 2, 12, tzinfo=UTC)
"""When the pages are looked at."""
PERSON: Final = "Ana"


def keep_walked(store: Store, folder: Any) -> None:
    """Keep the runs of the walk. Their ids are `walk-1`, `walk-2` and so on, in the order in which they began."""
    with MemoryStore() as made:
        for version, share in enumerate((0.6, 0.75, 0.9), start=1):
            support_desk(40).evaluate_sync(
                sorter(share), store=made, name=f"desk v{version}", repeat=2, seed=version, progress=False
            )
        keep_agent(made)
        keep_voice(made, folder)
        keep_rollouts(made)
        keep_charts(made)
        keep_odd(made)
        for number, run in enumerate(reversed(made.runs()), start=1):
            _keep_as(made, run.id, store, number)


def _keep_as(made: Store, run: str, store: Store, number: int) -> None:
    """A run with other ids and times than it had."""
    began = NOW - timedelta(hours=20 - 2 * number)
    named = f"walk-{number}"
    info = msgspec.structs.replace(
        made.run(run),
        id=named,
        started_at=began.isoformat(),
        owner=None,
        heartbeat=None,
        environment={"python": "3.13"},
        git=GitState(commit=f"{number:x}" * 40, dirty=number == 2),
        status="running",
        ended_at=None,
        ending=None,
        attempts=0,
        failures=0,
        totals=None,
    )
    store.begin_run(info)
    attempts = []
    for attempt in made.attempts(run):
        facts = json.loads(attempt.facts)
        facts |= {
            "task_duration": 0.4 + attempt.position % 7 / 10,
            "total_duration": 0.6 + attempt.position % 7 / 10,
        }
        attempts.append(msgspec.structs.replace(attempt, facts=json.dumps(facts), run="", origin=None))
    store.append(named, attempts, [msgspec.structs.replace(cell, run="") for cell in made.cells(run)])
    report = msgspec.structs.replace(made.report(run), started_at=info.started_at, duration=72.0)
    store.finish_run(named, report=report, ended_at=(began + timedelta(seconds=72)).isoformat())
    store.add_labels([msgspec.structs.replace(label, run=named) for label in made.labels(run=run)])


class WalkedPage(NamedTuple):
    """A page of the walk."""

    path: str
    ready: str = "h1"
    """What is there when the page is: a selector."""
    do: Callable[[Any], None] = lambda page: None
    """What is done before it is looked at."""


def case(run: int, name: str, **query: str) -> str:
    return f"/runs/walk-{run}/cases/{case_id(name)}?{urlencode(query)}"


PAGES: Final[dict[str, WalkedPage]] = {
    "runs": WalkedPage("/runs", ".estimate"),
    "dataset": WalkedPage("/datasets/support%20desk", "svg"),
    "run": WalkedPage("/runs/walk-1", "text=What went wrong"),
    "run-with-charts": WalkedPage("/runs/walk-7", "figure svg"),
    "cases": WalkedPage("/runs/walk-1/cases?q=status:failed", "[role=gridcell]"),
    "case-at-a-glance": WalkedPage(f"/runs/walk-1/cases?open={case_id('billing 0001')}", "[role=gridcell]"),
    "case": WalkedPage(case(4, "order 9", view="talk"), ".said-step"),
    "waterfall": WalkedPage(case(4, "order 9", view="waterfall"), ".trace-detail .value"),
    "in-and-out": WalkedPage(case(1, "billing 0001", view="io", diff="1"), ".value"),
    "json": WalkedPage(case(8, "x" * 300, view="json"), ".value"),
    "voice": WalkedPage(case(5, "Wake me up at 6:30"), ".case-view, .in-out"),
    "rollouts": WalkedPage(case(6, "attack 0"), ".case-view"),
    "history": WalkedPage(f"/cases/{case_id('billing 0001')}?dataset=support+desk", "table"),
    "compare": WalkedPage("/compare?a=walk-1&b=walk-3", ".flip"),
    "compare-three": WalkedPage("/compare?a=walk-1&b=walk-2&c=walk-3", ".flip"),
    "runs-to-compare": WalkedPage("/compare", ".choose-runs"),
    "compared-case": WalkedPage(f"/compare/{case_id('billing 0001')}?a=walk-1&b=walk-3"),
    "questions": WalkedPage("/label", "form"),
    "label-desk": WalkedPage("/label?run=walk-7&question=kind_judge&count=12&seed=1", ".label-attempt"),
    "judges": WalkedPage("/judges"),
    "no-page": WalkedPage("/nowhere"),
}
"""Every page of the viewer, and the views of a case."""
