import itertools
import time

import pytest

from calipers import Case, Dataset
from calipers.stores import HumanLabel, RunInfo


@pytest.fixture
def runs(kept):
    """Four runs, the oldest first: one began long ago, and one is going on."""

    def run(name, **options):
        cases = [Case(name="a", inputs="x" * 5000)]
        return (
            Dataset(cases=cases)
            .evaluate_sync(str, name=name, store=kept, progress=False, **options)
            .reuse.run
        )

    first, second = run("a"), run("b")
    with kept._writing() as db:
        db.run(
            'UPDATE runs SET info = replace(info, \'"started_at":"20\', \'"started_at":"19\') WHERE id = ?',
            (first,),
        )
    third = run("a")
    return first, second, third, kept.begin_run(RunInfo(name="a")).id


def left(kept):
    return [info.id for info in reversed(kept.runs())]


@pytest.mark.parametrize(
    ("args", "removed"),
    [
        (["--keep", "2"], [0, 1]),
        (["--keep", "0"], [0, 1, 2]),
        (["--keep", "10"], []),
        (["--older-than", "1w"], [0]),
        (["--older-than", "0.5 H"], [0]),
        (["--older-than", "1w", "--keep", "4"], []),
        (["--name", "a", "--keep", "1"], [0, 2]),
        (["--run", "b"], [1]),
        (["--run", "b", "--run", "b", "--run", "latest"], [1]),
        ([], []),
    ],
)
def test_only_what_is_chosen_goes_and_only_if_asked(calipers, kept, runs, args, removed):
    done = calipers("prune", *args)
    assert done.exit_code == 0
    assert left(kept) == list(runs), "nothing goes without --yes"
    assert [line.split()[0] for line in reversed(done.stdout.splitlines())] == [
        runs[number] for number in removed
    ]
    done = calipers("prune", *args, "--yes")
    assert done.exit_code == 0
    assert left(kept) == [run for number, run in enumerate(runs) if number not in removed]
    assert f"Removed {len(removed)} run" in done.stderr


def test_it_says_what_it_frees_and_leaves_running_runs_alone(calipers, kept, runs):
    told = calipers("prune", "--keep", "0").stderr
    assert f"Not removed: {runs[3]} is running" in told
    assert "--yes removes 3 runs with 3 attempts from .calipers/runs.db of " in told
    done = calipers("prune", "--keep", "0", "--yes").stderr
    assert "Removed 3 runs, 3 attempts, 2 large values; " in done
    assert " freed, " in done


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--older-than", "30"], "must be a number and a unit, such as 30d, 2w, 12h or 90m, got '30'"),
        (["--older-than", "-3d"], "got '-3d'"),
        (["--older-than", "nand"], "got 'nand'"),
        (["--older-than", "9" * 400 + "d"], "must be a number and a unit"),
        (["--older-than", "1e3d"], "got '1e3d'"),
        (["--keep", "-1"], "--keep"),
        (["--run", "bb"], "has no run 'bb'"),
        (["--run", "b", "--keep", "1"], "give no --keep"),
        (["--name", "b"], "--keep 0 removes all"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage_and_removes_nothing(calipers, kept, runs, args, told):
    done = calipers("prune", *args, "--yes")
    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr
    assert left(kept) == list(runs)


def test_an_age_before_all_time_removes_nothing(calipers, kept, runs):
    done = calipers("prune", "--older-than", "99999w", "--yes")
    assert done.exit_code == 0, done.output
    assert left(kept) == list(runs)


def test_a_run_that_people_labelled_stays_until_their_labels_may_go(calipers, kept, runs):
    labels = [
        HumanLabel(run=runs[1], position=0, case="a", question="good?", person=person, value=True, at="")
        for person in ("ann", "bob")
    ]
    kept.add_labels(labels)
    done = calipers("prune", "--keep", "0", "--yes")
    assert f"Not removed: {runs[1]} has 2 labels of people: export them with" in done.stderr
    assert left(kept) == [runs[1], runs[3]]
    assert kept.labels() == labels
    done = calipers("prune", "--run", "b", "--labelled")
    assert "finished, 1 attempt, 2 labels of people  b" in done.stdout
    assert kept.labels() == labels
    kept._writer.execute("UPDATE labels SET body = ''")
    assert calipers("prune", "--run", "b", "--labelled", "--yes").exit_code == 0
    assert left(kept) == [runs[3]]


def test_old_answers_of_models_go_when_asked_for(calipers, kept, runs):
    kept.keep_model_answer(b"old", b"1")
    kept._writer.execute("UPDATE model_answers SET at = '2020'")
    kept.keep_model_answer(b"new", b"2")
    told = calipers("prune", "--model-answers", "1h").stderr
    assert "Nothing was removed. --yes removes the old answers of models" in told
    assert kept.model_answer(b"old") == b"1"
    assert "1 answer of models" in calipers("prune", "--model-answers", "1h", "--yes").stderr
    assert (kept.model_answer(b"old"), kept.model_answer(b"new")) == (None, b"2")
    assert left(kept) == list(runs)
    refused = calipers("prune", "--model-answers", "soon")
    assert refused.exit_code == 2
    assert "--model-answers must be a number and a unit" in refused.stderr


def test_the_oldest_runs_go_until_the_store_is_small_enough(calipers, write_eval, kept):
    for _ in range(6):
        text = "".join(map(str, range(3000)))
        dataset = Dataset(name="large", cases=[Case(inputs=n) for n in range(40)])
        number = itertools.count()
        dataset.evaluate_sync(
            lambda inputs, text=text, number=number: f"{text}{time.time_ns()}{next(number)}",
            store=kept,
            progress=False,
        )
    ids = [info.id for info in kept.runs()]
    kept.prune()
    size = kept.size()
    sizes = kept.run_sizes()
    assert sizes.keys() == set(ids)
    assert 0.5 * size < sum(sizes.values()) < size
    most = f"{size * 0.55 / 1000:.0f}kB"
    listed = calipers("prune", "--max-size", most)
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ids[3:], listed.output
    assert [
        line.split()[0] for line in calipers("prune", "--max-size", most, "--keep", "5").stdout.splitlines()
    ] == ids[5:]
    done = calipers("prune", "--max-size", most, "--yes")
    assert done.exit_code == 0
    assert [info.id for info in kept.runs()] == ids[:3]
    assert kept.size() < size * 0.6
    assert "There is nothing to remove" in calipers("prune", "--max-size", most).output
    assert calipers("prune", "--max-size", "2 apples").exit_code == 2
