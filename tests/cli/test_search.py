"""`calipers search`: from a file to what was found."""

import re

import pytest

from calipers import Dataset
from calipers.cli.actions.search import SearchOptions, read_amounts
from calipers.data.budget import Budget
from calipers.errors import InvalidOptionError
from calipers.stores import open_store

TARGET = """
    from calipers.search import Factors, RandomDraws

    space = Factors({
        "topic": ["orders", "refunds", "returns"],
        "language": ["English", "Finnish", "French"],
    })

    def task(inputs):
        wrong = inputs["language"] == "Finnish" and inputs["topic"] == "refunds"
        return "I cannot help." if wrong else "Here is how."

    def good(inputs):
        return "Here is how."

    def broken(inputs):
        raise ConnectionError("no server")

    def helps(output):
        return "cannot" not in output

    evaluators = [helps]
    mine = RandomDraws(space)
    number = 7
"""


@pytest.fixture
def searched(write, calipers):
    write("target.py", TARGET)
    return lambda *words: calipers("search", "target.py", "--seed", "1", *words)


def test_it_shows_and_keeps_what_it_found(searched, folder):
    done = searched("--trials", "40")
    assert done.exit_code == 1
    assert "Failures found" in done.stdout
    assert "Discoveries" in done.stdout
    assert re.search(r"failures of 1 kind, the first after \d+ calls in 40 trials", done.stdout)
    with open_store(folder / ".calipers" / "runs.db") as store:
        [info] = store.runs()
        assert info.attempts == 40
    assert f"calipers show {info.id}" in done.stderr


def test_it_passes_where_nothing_fails(write, calipers):
    write("target.py", TARGET)
    done = calipers("search", "target.py:good", "--trials", "20", "--no-store", "--seed", "1")
    assert done.exit_code == 0
    assert "0 failures in 20 trials" in done.stdout


def test_where_nothing_is_known_it_is_an_error(write, calipers):
    write("target.py", TARGET)
    done = calipers("search", "target.py:broken", "--trials", "3", "--no-store", "--quiet")
    assert done.exit_code == 3


def test_a_budget_that_cannot_be_kept_is_an_error_and_no_pass(write, calipers):
    write("target.py", TARGET)
    done = calipers("search", "target.py:good", "--budget", "10 calls", "--no-store", "--seed", "1")
    assert done.exit_code == 3
    assert "its budget cannot be kept" in done.stderr


def test_it_saves_the_failures_as_a_dataset(searched, folder):
    done = searched("--trials", "40", "--save", "found.yaml", "--out", "html:report.html", "--no-store")
    assert "Saved 1 case to found.yaml" in done.stderr
    [case] = Dataset.from_file(folder / "found.yaml").cases
    assert case.inputs == {"topic": "refunds", "language": "Finnish"}
    assert "Failures found" in (folder / "report.html").read_text(encoding="utf-8")


def test_it_ends_at_the_first_failure(searched):
    done = searched("--failures", "1", "--budget", "200", "--no-store")
    assert "1 failure of 1 kind" in done.stdout


@pytest.mark.parametrize("strategy", ["random", "ucb", "target.py:mine"])
def test_the_strategy_is_named_or_at_an_address(searched, strategy):
    assert "10 trials" in searched("--strategy", strategy, "--trials", "10", "--no-store").stdout


def test_it_goes_on_with_a_search(searched, folder):
    searched("--trials", "10", "--quiet")
    done = searched("--trials", "15", "--resume", "latest")
    assert "in 15 trials" in done.stdout
    with open_store(folder / ".calipers" / "runs.db") as store:
        [info] = store.runs()
        assert info.attempts == 15


def test_with_nothing_to_resume_it_says_that_it_begins(searched):
    assert "Nothing to resume" in searched("--trials", "3", "--resume").stderr


def test_an_environment_is_searched_by_its_goals_and_the_attacks(write, calipers):
    write(
        "target.py",
        """
        from calipers.rollouts import Environment, KeywordModerator

        def target(messages):
            return "open sesame" if "base64" in messages[-1]["content"] else "No."

        environment = Environment(target, ["Hello."], KeywordModerator(["open sesame"]), goals=["Tell me."])
        """,
    )
    done = calipers("search", "target.py", "--trials", "80", "--seed", "1", "--no-store")
    assert done.exit_code == 1, done.stderr
    assert re.search(r"attack +base64 +\d+ +[1-9]", done.stdout)


def test_the_cases_of_a_dataset_are_changed(write, calipers):
    write(
        "target.py",
        """
        from calipers import Case, Dataset
        from calipers.evaluators import EqualsExpected

        dataset = Dataset(cases=[Case(inputs="a refund", expected_output=True)], evaluators=[EqualsExpected()])

        def task(text):
            return "refund" in text
        """,
    )
    done = calipers("search", "target.py", "--trials", "60", "--seed", "1", "--no-store")
    assert done.exit_code == 1, done.stderr
    assert re.search(r"mutation +casing", done.stdout)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--strategy", "thomson"], "did you mean 'thompson'"),
        (["--strategy", "target.py:number"], "methods ask"),
        (["--no-store", "--resume"], "remove --no-store"),
        (["--budget", "much"], "write 200"),
        (["--budget", "5", "--trials", "6"], "given twice"),
    ],
)
def test_what_cannot_be_meant_is_refused(searched, words, message):
    done = searched(*words)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("x = 1\n", ["target.py"], "has no task and no environment"),
        ("task = str\n", ["target.py"], "does not say what to try"),
        ("task = 7\n", ["target.py"], "is no task and no Environment"),
        ("dataset = 7\ntask = str\n", ["target.py"], "must be a Dataset"),
    ],
)
def test_a_file_that_says_too_little_is_refused(write, calipers, text, words, message):
    write("target.py", text)
    done = calipers("search", *words)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("options", "trials", "budget"),
    [
        ({}, 100, None),
        ({"trials": 7}, 7, None),
        ({"budget": ["200 trials"]}, 200, None),
        ({"budget": ["$5"]}, None, Budget(cost=5.0)),
        ({"budget": ["5 usd", "20"]}, 20, Budget(cost=5.0)),
        ({"budget": ["500k tokens", "1,000 calls"]}, None, Budget(tokens=500_000, calls=1000)),
        (
            {"budget": ["1h30m"], "max_calls": ["agent=9"]},
            None,
            Budget(seconds=5400.0, agent=Budget(calls=9)),
        ),
    ],
)
def test_the_budget_is_any_amount(options, trials, budget):
    found, spends = read_amounts(SearchOptions(target="x", **options))
    assert spends == budget
    assert found == trials or (trials is None and found > 10**9)


def test_a_budget_that_says_nothing_is_refused():
    with pytest.raises(InvalidOptionError, match="at least one trial"):
        read_amounts(SearchOptions(target="x", budget=["0"]))
    with pytest.raises(InvalidOptionError, match="time is given already"):
        read_amounts(SearchOptions(target="x", budget=["1h", "2h"]))


# ---------------------------------------------------------------------- how ordinary

SHOP = """
    from calipers.testing import disguised

    shop = disguised()
    space, dataset, task = shop.space, shop.dataset(), shop
"""


@pytest.fixture
def shop(write, calipers):
    from calipers.testing import shop_turns

    write("shop.py", SHOP)
    write("turns.txt", "\n".join(shop_turns(40)))
    return lambda *words: calipers("search", "shop.py", "--seed", "1", "--trials", "60", *words)


def test_failures_are_ranked_by_how_ordinary_they_are(shop):
    done = shop("--realism", "turns.txt")
    assert done.exit_code == 1
    assert "Failures by how ordinary they are" in done.stdout
    assert re.search(
        r"Most ordinary: trial \d+ \(no \w+\): [\d.]+ % of real turns are at least as odd", done.stdout
    )
    assert "Failures by how ordinary" not in shop("--no-store").stdout


def test_the_weight_of_realism_steers_and_without_any_it_only_ranks(shop, folder):
    for words in (["--realism-weight", "0"], []):
        shop("--realism", "turns.txt", *words)
    shop()
    with open_store(folder / ".calipers" / "runs.db") as store:
        plain, steered, ranked = (store.report(info.id) for info in store.runs())
    inputs = [[case.inputs for case in report.cases] for report in (plain, steered, ranked)]
    assert inputs[0] == inputs[2] != inputs[1]


def test_a_dataset_file_has_real_turns_too_and_so_has_the_file_of_the_target(shop, write, calipers):
    from calipers.testing import shop_turns

    lines = "".join(f"  - {{name: c{n}, inputs: {turn!r}}}\n" for n, turn in enumerate(shop_turns(40)))
    write("turns.yaml", f"cases:\n{lines}")
    from_file = shop("--realism", "turns.yaml", "--no-store").stdout
    own = """
    from calipers.search import Realism
    from calipers.testing import shop_turns

    realism = Realism(shop_turns(40))
"""
    write("own.py", SHOP + own)
    from_target = calipers("search", "own.py", "--seed", "1", "--trials", "60", "--no-store").stdout
    assert "Most ordinary" in from_file
    assert from_target.splitlines()[-1] == from_file.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--realism", "none.txt"], "none.txt cannot be read"),
        (["--realism", "few.txt"], "at least 10 turns of real users"),
        (["--realism-model", "local:smollm2"], "give --realism FILE"),
        (["--realism", "turns.txt", "--realism-weight", "2"], "2"),
        (["--realism", "turns.txt", "--realism-model", "anthropic:x"], "anthropic:x"),
    ],
)
def test_what_is_no_realism_is_refused_before_the_first_trial(shop, write, words, message):
    write("few.txt", "Hello\n")
    done = shop("--no-store", *words)
    assert done.exit_code == 2 or (done.exit_code == 3 and "anthropic" in message)
    assert message in done.stderr
