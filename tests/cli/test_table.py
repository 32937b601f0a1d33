"""`calipers table`."""

import csv
import io

from calipers import Case, Dataset
from calipers.views.formats import write_report


def evaluated(store, rate, **options):
    cases = [Case(name=f"c{n}", inputs=n) for n in range(20)]
    dataset = Dataset(name="numbers", cases=cases, evaluators=[lambda output: output])
    return dataset.evaluate_sync(lambda n: n < 20 * rate, store=store, progress=False, **options)


def test_runs_and_files_stand_in_one_table(calipers, kept, tmp_path):
    evaluated(kept, 0.5, name="a")
    write_report(evaluated(kept, 0.75, name="b"), "b.json")
    done = calipers("table", "a", "b.json")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "| Run | Cases | Pass rate | Time |"
    assert lines[2].startswith("| a | 20 | 50.0 % [29.9, 70.1] | ")
    assert lines[3].startswith("| b | 20 | 75.0 % ")


def test_runs_of_one_name_are_told_apart(calipers, kept):
    one, two = (evaluated(kept, rate, name="same").reuse.run for rate in (0.5, 0.75))
    done = calipers("table", one, two, "--to", "csv")
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["label"] for row in found] == [f"same ({one})", f"same ({two})"]
    assert [row["run"] for row in found] == [one, two]


def test_tables_are_written_to_files(calipers, kept, tmp_path):
    evaluated(kept, 0.5, name="a", repeat=2)
    done = calipers("table", "a", "--to", "a.tex", "--to", "csv:numbers.txt")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "Wrote a.tex" in done.stderr
    assert calipers("table", "a", "--to", "latex").stdout.startswith(r"\begin{tabular}{lrrrrr}")


def test_wrong_usage_is_refused(calipers, kept):
    write_report(evaluated(kept, 0.5, name="a"), "a.json")
    for words, problem in (
        (["a", "nothing"], "no run"),
        (["a", "--to", "html"], "a table of runs is written as"),
        (["a", "--to", "latex", "--to", "csv"], "two --to write to standard output"),
        (["a.json", "--to", "csv:a.json"], "would overwrite 'a.json'"),
        (["a", "--metric", "cost"], "no run has a metric 'cost'"),
    ):
        done = calipers("table", *words)
        assert done.exit_code == 2, (words, done.output)
        assert problem in done.output
