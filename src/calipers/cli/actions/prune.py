"""What `calipers prune` does: choose runs, say which, remove them, and say how much room that made."""

from collections.abc import Sequence
from datetime import UTC, datetime

import click

from calipers.cli.exits import PASSED
from calipers.cli.message import note, shown
from calipers.cli.quantities import age_in, bytes_in, size_text
from calipers.cli.stored_runs import find_run, open_kept, shown_store, state
from calipers.errors import InvalidOptionError, StoreDamagedError
from calipers.stats.number_text import plural
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store


def prune(
    *,
    store: str | None = None,
    keep: int | None = None,
    older_than: str | None = None,
    max_size: str | None = None,
    run: Sequence[str] = (),
    name: str | None = None,
    labelled: bool = False,
    model_answers: str | None = None,
    yes: bool = False,
) -> int:
    """Remove runs, or say which would be; returns the exit code."""
    by_age = keep is not None or older_than is not None or max_size is not None
    if run and (by_age or name is not None):
        raise InvalidOptionError(
            "--run names the runs to remove: give no --keep, --older-than, --max-size or --name beside it"
        )
    if name is not None and not by_age:
        raise InvalidOptionError(
            "--name needs --keep, --older-than or --max-size beside it (--keep 0 removes all runs of that name)"
        )
    most = None if max_size is None else bytes_in("--max-size", max_size)
    before = _moment("--older-than", older_than)
    answers_before = _moment("--model-answers", model_answers)
    with open_kept(store) as opened:
        if run:
            chosen = list({(info := find_run(opened, each)).id: info for each in run}.values())
        else:
            chosen = _old(opened.runs(name=name), keep=keep or 0, before=before) if by_age else []
            if most is not None:
                chosen = _largest(opened, chosen, most, labelled=labelled)
        labels = {info.id: _count_labels(opened, info) for info in chosen}
        stays = {info.id: why for info in chosen if (why := _why_it_stays(info, labels[info.id], labelled))}
        removed = [info for info in chosen if info.id not in stays]
        for info in removed:
            said = f", {plural(labels[info.id], 'label')} of people" if labels[info.id] else ""
            click.echo(
                shown(f"{info.id}  {state(info)}, {plural(info.attempts, 'attempt')}{said}  {info.name}")
            )
        for kept, why in stays.items():
            note(f"Not removed: {kept} {why}")
        if yes:
            _remove(opened, removed, answers_before, labelled=labelled)
        else:
            _tell(opened, removed, asked=bool(run) or by_age, answers=answers_before is not None)
    return PASSED


def _count_labels(store: Store, info: RunInfo) -> int:
    try:
        return len(store.labels(run=info.id))
    except StoreDamagedError:  # there is at least one
        return 1


def _why_it_stays(info: RunInfo, labels: int, labelled: bool) -> str | None:
    if state(info) == "running":
        return "is running"
    if labels and not labelled:
        return (
            f"has {plural(labels, 'label')} of people: export them with `calipers label {info.id} --export FILE`, then add "
            "--labelled"
        )
    return None


def _old(runs: Sequence[RunInfo], *, keep: int, before: datetime | None) -> list[RunInfo]:
    """Those behind the newest `keep` of them that began before a moment."""
    return [info for info in runs[keep:] if before is None or _began(info) < before]


def _largest(store: Store, runs: Sequence[RunInfo], most: int, *, labelled: bool) -> list[RunInfo]:
    """The oldest of some runs, newest first, without which a store takes at most so many bytes; all of them if that is not enough."""
    size, sizes = store.size(), store.run_sizes()
    if size is None or not sizes:
        raise InvalidOptionError(
            f"the store {shown_store(store)!r} does not tell how large it is: use --keep or --older-than"
        )
    share = max(
        1.0, size / max(1, sum(sizes.values()))
    )  # what is not counted, such as indexes, goes with the rest
    chosen: list[RunInfo] = []
    for info in reversed(runs):
        if size <= most:
            break
        if _why_it_stays(info, _count_labels(store, info), labelled) is None:
            chosen.insert(0, info)
            size -= int(sizes.get(info.id, 0) * share)
    return chosen


def _began(info: RunInfo) -> datetime:
    try:
        began = datetime.fromisoformat(info.started_at)
    except ValueError:  # of a report that was made elsewhere: its age is unknown, so it is not old
        return datetime.max.replace(tzinfo=UTC)
    return began if began.tzinfo is not None else began.replace(tzinfo=UTC)


def _moment(option: str, age: str | None) -> datetime | None:
    """The moment that is so long ago."""
    return None if age is None else datetime.now(UTC) - age_in(option, age)


def _remove(
    store: Store, runs: Sequence[RunInfo], answers_before: datetime | None, *, labelled: bool
) -> None:
    before = store.size()
    for info in runs:
        store.delete_run(info.id, labels=labelled)
    answers = 0 if answers_before is None else store.remove_model_answers(before=answers_before.isoformat())
    values = store.prune()
    after = store.size()
    parts = [plural(len(runs), "run"), plural(sum(info.attempts for info in runs), "attempt")]
    if values:
        parts.append(plural(values, "large value"))
    if answers:
        parts.append(plural(answers, "answer") + " of models")
    freed = (
        ""
        if before is None or after is None
        else f"; {size_text(max(0, before - after))} freed, {size_text(after)} left"
    )
    note(f"Removed {', '.join(parts)}{freed}")


def _tell(store: Store, runs: Sequence[RunInfo], *, asked: bool, answers: bool) -> None:
    size = store.size()
    room = "" if size is None else f" of {size_text(size)}"
    if answers and not runs:
        note(f"Nothing was removed. --yes removes the old answers of models from {shown_store(store)}{room}")
    elif not asked:
        note(
            f"Nothing is chosen: --keep, --older-than, --max-size or --run say which runs of {shown_store(store)}{room} to remove; "
            "--yes alone gives back unused space"
        )
    elif not runs:
        note(f"There is nothing to remove from {shown_store(store)}{room}")
    else:
        attempts = plural(sum(info.attempts for info in runs), "attempt")
        note(
            f"Nothing was removed. --yes removes {plural(len(runs), 'run')} with {attempts} from {shown_store(store)}{room}"
        )
