"""`calipers judge pairs`, and a `Pairwise` judge in a dataset file."""

import json

import pytest

from calipers.testing import OpenAIServer, judge_replies

EVALS = """
    from calipers import Case, Dataset
    from calipers.judges import LLMJudge, Pairwise
    from calipers.errors import ModelRateError
    from calipers.testing import ScriptedJudge

    def longer(ask):
        parts = ask.messages[1]["content"].split("===== BEGIN ")
        first, second = (
            next(len(part) for part in parts if part.startswith(f"{place} answer"))
            for place in ("first", "second")
        )
        # The word second is one letter longer than first, in both lines of the fence.
        first += 2
        winner = "tie" if first == second else "first" if first > second else "second"
        return {"reason": "it is longer", "winner": winner}

    judge = Pairwise(model=ScriptedJudge(longer))
    busy = Pairwise(model=ScriptedJudge(lambda ask: ModelRateError("busy")))
    alone = LLMJudge("is kind", model=ScriptedJudge([]))

    def old(inputs):
        return "no"

    def new(inputs):
        return "no" if inputs == 0 else "yes, indeed"

    def extra(inputs):
        return "why"

    def make(task, *names):
        return Dataset(name="words", cases=[Case(name=f"case {n}", inputs=n) for n in names]), task

    def eval_old():
        return make(old, 0, 1, 2, 3)

    def eval_new():
        return make(new, 0, 1, 2, 4)

    def eval_extra():
        return make(extra, 0, 1, 2, 3)
"""


@pytest.fixture
def runs(calipers, write):
    write("eval_words.py", EVALS)
    for name in ("old", "new", "extra"):
        done = calipers(
            "run", f"eval_words.py:eval_{name}", "--quiet", "--name", name, "--out", f"json:{name}.json"
        )
        assert done.exit_code in {0, 4}, done.output


def test_runs_are_compared_in_pairs_and_what_is_not_paired_is_listed(calipers, runs):
    done = calipers("judge", "pairs", "old", "new", "--judge", "eval_words.py:judge")
    assert done.exit_code == 0, done.output
    assert "3 pairs of answers judged by Pairwise, each in both orders" in done.output
    assert "new        old      83.3 %" in done.output
    assert "Not paired, only in old: case 3" in done.output
    assert "Not paired, only in new: case 4" in done.output
    assert "Strength" not in done.output


def test_three_runs_get_a_scale_and_a_winless_one_no_number(calipers, runs):
    done = calipers("judge", "pairs", "extra.json", "old.json", "new.json", "--judge", "eval_words.py:judge")
    assert done.exit_code == 0, done.output
    assert "old.json    none  won nothing" not in done.output
    assert "Strength (Bradley-Terry, in log-odds of a point against extra.json):" in done.output
    as_data = json.loads(
        calipers("judge", "pairs", "old", "new", "--judge", "eval_words.py:judge", "--json").stdout
    )
    assert [pair["outcome"] for pair in as_data["judged"]] == ["tie", "loss", "loss"]
    assert as_data["strengths"]["reference"] == "old"


def test_what_goes_wrong_has_its_exit_code(calipers, runs):
    failed = calipers("judge", "pairs", "old", "new", "--judge", "eval_words.py:busy")
    assert failed.exit_code == 3
    assert "case 0, old and new: ModelRateError: busy" in failed.output
    assert calipers("judge", "pairs", "old").exit_code == 2
    wrong = calipers("judge", "pairs", "old", "new", "--judge", "eval_words.py:alone")
    assert wrong.exit_code == 2
    assert "judges one answer at a time" in wrong.stderr
    assert calipers("judge", "pairs", "old", "gone", "--judge", "eval_words.py:judge").exit_code == 2


def test_a_dataset_file_names_its_baseline(calipers, runs, write, folder):
    write(
        "words.yaml",
        """
        name: words
        cases: [{name: case 1, inputs: 1}]
        evaluators:
          - Pairwise: {rubric: longer, baseline: old.json, model: "openai:none"}
        """,
    )
    assert calipers("check", "words.yaml").exit_code == 0
    (folder / "old.json").unlink()
    done = calipers("run", "words.yaml", "--task", "eval_words.py:new")
    assert done.exit_code == 2, done.output
    assert "file not found: old.json" in done.stderr


def test_answers_are_kept_in_the_store_of_the_runs(calipers, runs):
    with OpenAIServer(judge_replies({"reason": "alike", "winner": "tie"})) as server:
        given = ("judge", "pairs", "old", "new", "--model", f"{server.url}#some")
        for more, asked in (((), 6), ((), 6), (("--no-model-cache",), 12)):
            done = calipers(*given, *more)
            assert done.exit_code == 0, done.output
            assert len(server.requests) == asked
