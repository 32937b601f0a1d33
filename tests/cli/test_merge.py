"""`calipers run --shard` and `calipers merge` as a CI service uses them."""

import json

import pytest

from calipers.stores import open_store
from calipers.testing.engine_check import without_times
from calipers.views.formats import read_report

LETTERS = """
    from calipers import Case, Dataset, current_attempt
    from calipers.report import ScalarResult

    def task(inputs):
        if inputs == "d":
            raise ValueError("no d")
        return inputs.upper() + str(current_attempt().seed % 10)

    def upper(output, expected_output):
        return output[0] == expected_output

    def share(report):
        return ScalarResult(title="share", value=report.counts().passed / 7)

    cases = [Case(inputs=c, expected_output=c.upper(), tags=["early"] if c < "c" else []) for c in "abcdefg"]
    dataset = Dataset(name="letters", cases=cases, evaluators=[upper], report_evaluators=[share])
"""


@pytest.fixture
def letters(write):
    return write("eval_letters.py", LETTERS)


def shards(calipers, of, *more, out="shard-{}.json"):
    for number in range(1, of + 1):
        done = calipers(
            "run",
            "--shard",
            f"{number}/{of}",
            "--allow-errors",
            "--quiet",
            "--out",
            out.format(number),
            *more,
        )
        assert (done.exit_code, done.output) == (0, ""), done.output


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_merged_files_are_the_report_of_one_run(calipers, letters, folder, form):
    calipers("run", "--seed", "0", "--quiet", "--allow-errors", "--out", "whole.json")
    shards(calipers, 3, "--max-concurrency", "1", out=f"shard-{{}}.{form}")
    done = calipers(
        "merge",
        *[f"shard-{n}.{form}" for n in (2, 3, 1)],
        "--target",
        "eval_letters.py",
        "--out",
        "merged.json",
        "--allow-errors",
    )
    assert done.exit_code == 1, "the attempt that failed did not pass"
    merged, whole = read_report(folder / "merged.json"), read_report(folder / "whole.json")
    merged.reuse = whole.reuse = None  # the runs that they are
    assert without_times(merged) == without_times(whole)
    assert merged.analyses[0].value == 6 / 7


def test_runs_of_one_name_are_merged_kept_and_compared(calipers, letters, folder):
    calipers("run", "--seed", "0", "--quiet", "--name", "whole")
    shards(calipers, 2, "--name", "nightly")
    assert "finished, shard 2/2" in calipers("runs").output
    done = calipers(
        "merge", "nightly", "--target", "eval_letters.py", "--fail-under", "0.8", "--allow-errors", "--json"
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)["evaluations"][0]
    with open_store(folder / ".calipers" / "runs.db") as store:
        kept = store.run(told["kept"]["run"])
        assert (kept.name, kept.shard, kept.status, kept.attempts) == ("nightly", None, "finished", 7)
    compared = calipers("compare", "whole", kept.id)
    assert compared.exit_code == 0
    assert "7 cases in both" in compared.output


def test_a_shard_alone_judges_nothing_and_tells_what_it_is(calipers, letters):
    done = calipers("run", "--shard", "1/7")
    assert done.exit_code == 0
    assert "INCOMPLETE: shard 1 of 7, after 1 of 7 attempts" in done.output
    assert "This is shard 1 of 7: calipers merge makes one run of all" in done.output
    assert calipers("run", "--shard", "4/7", "--quiet").exit_code == 3, "the task failed"
    assert calipers("run", "--shard", "9/9", "--quiet").exit_code == 0, "no case falls into it"


@pytest.mark.parametrize(
    "option", [["--fail-under", "0.5"], ["--faults", "all"], ["--stop-when-decided", "x.yaml"]]
)
def test_what_is_for_whole_runs_is_refused(calipers, letters, option):
    done = calipers("run", "--shard", "1/2", *option)
    assert done.exit_code == 2
    assert f"remove {option[0]}, or --shard" in done.output


def test_a_shard_is_resumed_as_that_shard(calipers, letters, folder):
    shards(calipers, 2, "--max-concurrency", "1")
    with open_store(folder / ".calipers" / "runs.db") as store:
        first, second = store.runs()[::-1]
        for info in (first, second):
            store.remove_attempts(info.id, [info.attempts, 4, 5])
            store.finish_run(info.id, status="interrupted")
    done = calipers("run", "--shard", "1/2", "--resume", "--allow-errors")
    assert first.id in done.output
    assert done.exit_code == 0
    refused = calipers("run", "--shard", "1/2", "--resume", second.id)
    assert refused.exit_code == 3
    assert "--shard" in refused.output


def test_a_shard_that_was_killed_leaves_the_run_incomplete_until_it_is_resumed(calipers, letters, folder):
    shards(calipers, 3, "--name", "night")
    with open_store(folder / ".calipers" / "runs.db") as store:
        second = store.runs()[1]
        store.remove_attempts(second.id, [4])
        store._writer.execute(
            "UPDATE runs SET status = 'running', ending = NULL, owner = NULL WHERE id = ?", (second.id,)
        )
    for shown in (("night",), ("shard-1.json", "shard-3.json", second.id)):
        done = calipers(
            "merge", *shown, "--no-store", "--quiet", "--allow-errors", "--target", "eval_letters.py"
        )
        assert done.exit_code == 3, done.output
        assert "hard 2 of 3: abandoned" in done.output
    done = calipers(
        "run", "--shard", "2/3", "--name", "night", "--resume", second.id, "--quiet", "--allow-errors"
    )
    assert done.exit_code == 0, done.output
    done = calipers(
        "merge", "night", "--quiet", "--allow-errors", "--out", "merged.json", "--target", "eval_letters.py"
    )
    assert done.exit_code == 1, done.output
    calipers("run", "--seed", "0", "--out", "whole.json", "--no-store")
    merged, whole = (read_report(f"{name}.json") for name in ("merged", "whole"))
    assert merged.incomplete is None
    assert [(case.name, case.output) for case in merged.cases] == [
        (case.name, case.output) for case in whole.cases
    ]
    assert merged.counts() == whole.counts()


def test_what_cannot_be_merged_is_refused_with_all_that_is_wrong(calipers, letters, folder):
    shards(calipers, 2)
    calipers("run", "--shard", "2/2", "--seed", "5", "--quiet", "--out", "other.json")
    done = calipers("merge", "shard-1.json", "other.json")
    assert done.exit_code == 2
    assert "the seed differs: 0 in shard-1.json; 5 in other.json" in done.output
    done = calipers("merge", "shard-1.json", "--no-store", "--allow-errors")
    assert done.exit_code == 3
    assert "INCOMPLETE: shard 2 of 2 is missing" in done.output
    assert "report evaluator share did not finish" not in done.output
    done = calipers("merge", "shard-1.json", "shard-2.json", "--no-store")
    assert "report evaluator share did not finish" in done.output
    assert "--target TARGET" in done.output
