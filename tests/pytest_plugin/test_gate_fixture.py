"""The verdict of a gate in a test, and tests that assert nothing."""

import pytest

from calipers.pytest_plugin.evaluate_fixtures import may_assert
from calipers.pytest_plugin.gate_fixture import share_of
from calipers.stores import open_store

UNSTEADY = """
import random
from calipers import current_attempt
from calipers.gate import Policy, Rules

many = Dataset(
    name="many",
    cases=[Case(name=f"case {n}", inputs=n, expected_output=n) for n in range(40)], evaluators=[EqualsExpected()]
)

def right_in(share):
    def agent(n):
        return n if random.Random(current_attempt().seed).random() < share else -1
    return agent
"""
QUIET = ("-W", "default::calipers.errors.InconclusiveWarning", "-p", "no:cacheprovider")


def test_a_gate_fails_only_what_is_shown_to_be_worse_and_has_an_outcome_for_what_is_open(folder):
    folder.write(
        "test_it.py",
        UNSTEADY
        + """
def test_good(evaluate, gate):
    assert gate(evaluate(many, right_in(1)), at_least=0.8).outcome == "PASS"

def test_open(evaluate, gate):
    assert gate(evaluate(many, right_in(0.9)), at_least=0.9).outcome == "INCONCLUSIVE"

def test_bad(evaluate, gate):
    gate(evaluate(many, right_in(0.3)), at_least=0.9)

def test_own_policy(evaluate, gate):
    gate(evaluate(many, right_in(1)), Policy(evaluators={"EqualsExpected": Rules(at_least=0.99)}))

def test_mistakes(evaluate, gate):
    report = evaluate(many, right_in(1))
    for wrong in {}, {"policy": Policy(pass_rate=Rules(at_least=0.5)), "at_least": 0.5}:
        with pytest.raises(ValueError, match="gate needs a policy, or at_least= or margin=, and not both"):
            gate(report, **wrong)
    with pytest.raises(ValueError, match="rounds must be a whole number from 1, got 0"):
        gate.until_decided(many, right_in(1), at_least=0.5, rounds=0)
    with pytest.raises(ValueError, match="takes no repeat: judge a run of your own"):
        gate.until_decided(many, right_in(1), at_least=0.5, repeat=2)
""",
    )
    done = folder.pytest("-q", "-rw", "--calipers-seed=1", *QUIET)
    assert done.code == 1
    assert done.counts == {"failed": 1, "passed": 2, "inconclusive": 2, "warning": 2}, done.out
    assert done.out.splitlines()[0].startswith(".?F?.")
    assert "InconclusiveWarning: pass rate: at least 90 %: " in done.out
    failure = done.out.partition("test_bad")[2]
    assert "E       AssertionError: FAIL" in failure
    assert "pass rate" in failure
    assert "did not pass EqualsExpected" in failure
    assert "src/calipers" not in done.out.partition("warnings summary")[0]
    strict = folder.pytest("-q", "--calipers-seed=1", "--calipers-inconclusive=fail", "-k", "open or good")
    assert strict.counts == {"failed": 1, "passed": 1, "deselected": 3}, strict.out
    assert "AssertionError: INCONCLUSIVE: pass rate: at least 90 %: " in strict.out
    as_error = folder.pytest("-q", "--calipers-seed=1", "-k", "open")
    assert as_error.counts == {"failed": 1, "deselected": 4}, "warnings are errors for those who say so"


def test_rounds_go_on_until_it_is_decided_or_the_most_is_reached(folder):
    folder.write(
        "test_it.py",
        UNSTEADY
        + """
def counted(agent, calls):
    def call(n):
        calls.append(current_attempt().seed)
        return agent(n)
    return call

def test_good(gate):
    calls = []
    verdict = gate.until_decided(many, counted(right_in(1), calls), at_least=0.7)
    assert verdict.outcome == "PASS" and len(calls) == 40

def test_after_some(gate):
    calls = []
    verdict = gate.until_decided(many, counted(right_in(0.96), calls), at_least=0.9, rounds=20)
    assert verdict.outcome == "PASS" and 40 < len(calls) < 800
    assert len(set(calls)) == len(calls), "every round draws anew"

def test_open(gate):
    calls = []
    verdict = gate.until_decided(many, counted(right_in(0.9), calls), at_least=0.9, rounds=3)
    assert verdict.outcome == "INCONCLUSIVE" and len(calls) == 120

def test_nothing_more_to_learn(gate):
    calls = []
    policy = Policy(pass_rate=Rules(at_least=0.5, min_cases=100))
    assert gate.until_decided(many, counted(right_in(1), calls), policy).outcome == "INCONCLUSIVE"
    assert len(calls) == 40, "no further attempt would make more cases"

@pytest.mark.asyncio
async def test_async(gate):
    verdict = await gate.until_decided_on_loop(many, right_in(1), at_least=0.7)
    assert verdict.outcome == "PASS"
""",
    )
    settings = ["-o", "asyncio_default_fixture_loop_scope=function"]
    done = folder.pytest(
        "-q",
        "--calipers-seed=1",
        *settings,
        *QUIET,
        plugins=["calipers.pytest_plugin", "pytest_asyncio.plugin"],
    )
    assert done.counts == {"passed": 3, "inconclusive": 2, "warning": 2}, done.out
    assert "test_it.py::test_open\nPassed 1" in done.section
    assert "of 120 attempts at 40 cases" in done.section


def test_a_baseline_comes_from_a_store_and_is_never_the_run_itself(folder):
    folder.write(
        "test_it.py",
        UNSTEADY
        + """
import os

def test_against(evaluate, gate):
    report = evaluate(many, right_in(float(os.environ["SHARE"])), store="runs.db", name="agent")
    gate(report, margin=0.05, baseline="agent", baseline_store="runs.db")

def test_session(evaluate, gate):
    report = evaluate(many, right_in(float(os.environ["SHARE"])), name="agent")
    if os.environ["SHARE"] != "1":
        gate(report, margin=0.05, baseline="pytest")
    else:
        assert report
""",
    )
    first = folder.pytest("-q", "--calipers-store=kept.db", *QUIET, SHARE="1")
    assert first.counts == {"failed": 1, "passed": 1}, first.out
    assert "baseline='agent': there is no other finished run of that name in" in first.out
    workers = ("calipers.pytest_plugin", "xdist.plugin")
    worse = folder.pytest("-q", "-n1", "--calipers-store=kept.db", *QUIET, plugins=workers, SHARE="0.5")
    assert worse.counts == {"failed": 2}, worse.out
    assert worse.out.count("AssertionError: FAIL") >= 2
    missing = folder.pytest("-q", "--calipers-store=other.db", "-k", "session", *QUIET, SHARE="0.5")
    assert "InvalidOptionError: baseline='pytest': " in missing.out


AGAINST = """
import os

wrong = int(os.environ["WRONG"])

def agent(n):
    return n if n >= wrong else -1

def test_gate(evaluate, gate):
    report = evaluate(many, agent, repeat=2)
    assert wrong != 39
    gate(report, margin=0.05, baseline="pytest")

def test_own_run(evaluate, gate):
    report = evaluate(many, agent, repeat=2, store="runs.db", name="agent")
    gate(report, margin=0.05, baseline="agent", baseline_store="runs.db")
"""


def test_a_session_in_which_the_gate_did_not_pass_is_no_baseline(folder):
    folder.write("test_it.py", UNSTEADY + AGAINST)
    counts = []
    for wrong in "4", "4", "5", "20", "20", "39", "20":
        done = folder.pytest("-q", "--calipers-store=kept.db", *QUIET, WRONG=wrong)
        counts.append(done.counts)
    first, second, within, *worse = counts
    assert (first, second) == ({"failed": 2}, {"passed": 2}), (
        "the first session has no other, and is the first baseline"
    )
    assert within == {"inconclusive": 2, "warning": 2}
    assert worse == [{"failed": 2}] * 4
    with open_store(folder.path / "kept.db", existing=True) as store:
        runs = store.runs()
        noted = {look.run: look.outcome for look in store.looks("pytest test_it.py::test_gate")}
    newest_first = [noted.get(run.id) for run in runs]
    assert newest_first == ["FAIL", "FAIL", "FAIL", "FAIL", "INCONCLUSIVE", "PASS", None]
    for test, name in ("test_gate", f"pytest {runs[5].id}"), ("test_own_run", "agent "):
        failure = done.out.partition(f"_ {test} _")[2].partition("test_it.py:")[0]
        assert f"AssertionError: FAIL  agent against {name}" in failure
        assert "Note: passed over: 4 newer runs in which this gate did not pass" in failure


def test_against_a_baseline_the_lost_cases_are_listed_and_the_others_counted(folder):
    folder.write("test_it.py", UNSTEADY + AGAINST)
    for wrong in "4", "20":
        done = folder.pytest("-q", "--calipers-store=kept.db", "-k", "test_gate", *QUIET, WRONG=wrong)
    told = [line.removeprefix("E       ") for line in done.out.splitlines()]
    start = told.index("16 cases passed more often in the baseline:")
    assert told[start + 1].startswith("case 4 [1-2/2]: did not pass")
    assert "4 more cases did not pass; the baseline did no better there" in told
    assert not any(line.startswith("case 0 ") for line in told)


@pytest.mark.parametrize("rounds", [1, 2, 5, 20])
def test_the_looks_of_all_rounds_have_the_whole_doubt_and_the_last_one_most_of_it(rounds):
    shares = [share_of(number, rounds) for number in range(1, rounds + 1)]
    assert sum(shares) == pytest.approx(1)
    assert shares[-1] >= 0.8


# ---------------------------------------------------------------------- tests that assert nothing


def test_a_test_that_evaluates_and_asserts_nothing_is_pointed_out(folder):
    folder.write(
        "test_it.py",
        """
def test_nothing(evaluate):
    report = evaluate(dataset, paris)
    report.print()

@pytest.mark.calipers(dataset)
def test_case(case, evaluate_case):
    print(evaluate_case(paris))

def test_something(evaluate):
    assert_rate(evaluate(dataset, paris), at_least=0.1)

def test_gate(gate):
    gate.until_decided(dataset, right, at_least=0.1)

@pytest.fixture
def report(evaluate):
    return evaluate(dataset, right)

def test_of_a_fixture(report): ...
""",
    )
    done = folder.pytest("-q", "-W", "default::calipers.errors.UnassertedWarning", "-p", "no:cacheprovider")
    assert done.counts == {"passed": 7, "warning": 4}, done.out
    assert "test_nothing evaluates and asserts nothing, so it passes whatever was measured" in done.out
    assert "test_case[Peru] evaluates and asserts nothing" in done.out


def asserts(evaluate):
    assert evaluate(1, 2)


def fails(evaluate_case):
    if evaluate_case(1).passed is False:
        raise ValueError


def helps(evaluate, compare):
    found = evaluate(1, 2)
    rows = [case.output for case in found.cases]
    for row in rows:
        compare("golden.json", row)


def expects(evaluate):
    with pytest.raises(ValueError, match="no"):
        evaluate(1, 2)


def leaves_it_to(others):
    others()


def looks(evaluate):
    report = evaluate(1, 2)
    print(len(report.cases), sorted(report.cases))
    report.print()
    unrelated = [1]
    unrelated.append(2)


async def waits(evaluate):
    report = await evaluate.on_loop(1, 2)
    print(report)


@pytest.mark.parametrize("test", [asserts, fails, helps, expects, leaves_it_to])
def test_what_can_fail_by_what_it_found_is_left_alone(test):
    assert may_assert(test)


@pytest.mark.parametrize("test", [looks, waits])
def test_what_only_looks_cannot_fail(test):
    assert not may_assert(test)


def test_what_has_no_source_is_not_accused():
    names = {}
    exec("def test(evaluate): evaluate(1, 2)", names)
    assert may_assert(names["test"])
