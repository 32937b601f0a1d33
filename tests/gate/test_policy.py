"""A policy is what it says, and a file says all that is wrong with it, each problem at its place."""

import json

import pytest

from calipers.errors import DatasetFileError, InvalidOptionError
from calipers.files.policy_file import load_policy, policy_schema
from calipers.gate import Growth, HumanAgreement, PassportRules, Policy, Rules

FULL = """
# yaml-language-server: $schema=gate.schema.json
confidence: 0.9
correction: none
min_cases: 50
max_task_failures: 0.02
max_evaluator_errors: 0
pass_rate: {at_least: 0.8}
evaluators:
  accuracy: {margin: 0.03, at_least: 0.8, max_errors: 0.01, min_cases: 40}
  toxicity: {at_most: 0.1, better: lower, margin: 0, bounds: [0, 5]}
  tone: {min_cases: 1}
  judge: {agreement: {labels: labels.csv, kappa: 0.6, share: 0.8}}
duration: {max_growth: 0.2, at_most: 3}
metrics:
  cost: {max_growth: 0.1}
"""


def test_a_file_gives_the_policy_that_it_describes(tmp_path):
    (tmp_path / "gate.yaml").write_text(FULL)
    policy = Policy.from_file(tmp_path / "gate.yaml")
    labels = str(tmp_path / "labels.csv")
    assert policy == Policy(
        confidence=0.9,
        correction="none",
        min_cases=50,
        max_task_failures=0.02,
        max_evaluator_errors=0,
        pass_rate=Rules(at_least=0.8),
        evaluators={
            "accuracy": Rules(margin=0.03, at_least=0.8, max_errors=0.01, min_cases=40),
            "toxicity": Rules(at_most=0.1, better="lower", margin=0, bounds=(0, 5)),
            "tone": Rules(min_cases=1),
            "judge": Rules(agreement=HumanAgreement(labels=labels, kappa=0.6, share=0.8)),
        },
        duration=Growth(max_growth=0.2, at_most=3),
        metrics={"cost": Growth(max_growth=0.1)},
    )
    assert policy.needs_baseline


def test_json_says_the_same(tmp_path):
    path = tmp_path / "gate.json"
    path.write_text(json.dumps({"$schema": "x", "pass_rate": {"at_least": 0.9}}))
    assert load_policy(path) == Policy(pass_rate=Rules(at_least=0.9))
    assert not load_policy(path).needs_baseline


def test_all_problems_are_told_at_once_with_line_and_column(tmp_path):
    path = tmp_path / "gate.yaml"
    path.write_text(
        "confidence: 1.5\ncorection: holm\nmin_cases: true\nevaluators:\n"
        "  accuracy: {margin: -1, at_least: .nan}\n  other: 3\n  3: {}\n  judge: {agreement: {labels: a.csv}}\n"
        "metrics: [cost]\nduration: {}\n"
    )
    with pytest.raises(DatasetFileError) as raised:
        load_policy(path)
    found = [(each.line, each.column, each.path) for each in raised.value.problems]
    assert found == [
        (1, 13, "confidence"),
        (2, 1, "corection"),
        (3, 12, "min_cases"),
        (5, 22, "evaluators.accuracy.margin"),
        (5, 36, "evaluators.accuracy.at_least"),
        (6, 10, "evaluators.other"),
        (7, 3, "evaluators[3]"),
        (8, 22, "evaluators.judge.agreement"),
        (9, 10, "metrics"),
        (10, 11, "duration"),
    ]
    assert "did you mean 'correction'?" in str(raised.value)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "min_cases: 3", "pass_rate: {}", "a: [", "pass_rate: {min_cases: 3}"]
)
def test_a_file_that_asks_for_nothing_is_refused(tmp_path, text):
    (tmp_path / "gate.yaml").write_text(text)
    with pytest.raises(DatasetFileError):
        load_policy(tmp_path / "gate.yaml")


@pytest.mark.parametrize("where", ["evaluators", "tags"])
@pytest.mark.parametrize("rules", ["", "{}", "{better: lower}"])
def test_an_evaluator_or_tag_without_a_limit_is_refused_with_the_way_out(tmp_path, where, rules):
    (tmp_path / "gate.yaml").write_text(f"pass_rate: {{at_least: 0.5}}\n{where}:\n  ok: {rules}\n")
    with pytest.raises(
        DatasetFileError, match="would let everything pass: set margin, at_least or at_most"
    ) as raised:
        load_policy(tmp_path / "gate.yaml")
    assert [(each.line, each.path) for each in raised.value.problems] == [(3, f"{where}.ok")]


@pytest.mark.parametrize(
    "text",
    [
        "evaluators: {a: {at_least: }}",
        "{evaluators: {a: {at_least: 0.5}}, duration: }",
        "{evaluators: {a: {at_least: 0.5}}, max_task_failures: null}",
    ],
)
def test_a_limit_that_was_left_empty_is_refused(tmp_path, text):
    (tmp_path / "gate.yaml").write_text(text)
    with pytest.raises(DatasetFileError, match="no value is given"):
        load_policy(tmp_path / "gate.yaml")


def test_only_documents_are_policies(tmp_path):
    with pytest.raises(InvalidOptionError, match=r"end its name with \.yaml, \.yml, \.json, got"):
        load_policy(tmp_path / "gate.csv")
    with pytest.raises(InvalidOptionError, match=r"a policy is a YAML or JSON file: .*gate\.toml'"):
        load_policy(tmp_path / "gate.toml")
    (tmp_path / "gate.yaml").mkdir()
    with pytest.raises(IsADirectoryError):
        load_policy(tmp_path / "gate.yaml")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Policy(), "without a rule"),
        (lambda: Rules(), "without a limit"),
        (lambda: Rules(better="lower", bounds=(0, 5)), "without a limit"),
        (lambda: Policy(evaluators={"a": Rules(at_least=0.5)}, confidence=1.0), "confidence"),
        (lambda: Policy(evaluators={"a": Rules(at_least=0.5)}, correction="bonferroni"), "correction"),
        (lambda: Policy(evaluators={"a": Rules(at_least=0.5)}, min_cases=0), "min_cases"),
        (lambda: Policy(evaluators={"a": {"margin": 1}}), "evaluators"),
        (lambda: Rules(margin=float("nan")), "finite"),
        (lambda: Rules(margin=float("inf")), "finite"),
        (lambda: Rules(margin=-0.1), "margin"),
        (lambda: Rules(margin="a lot"), "margin"),
        (lambda: Rules(at_least=0.9, at_most=0.1), "nothing between"),
        (lambda: Rules(bounds=(1.0, 0.0)), "bounds"),
        (lambda: Rules(bounds=(0.0, float("inf"))), "finite"),
        (lambda: Rules(bounds=(-1e308, 1e308)), "too far apart"),
        (lambda: Rules(bounds=(1.0, 5.0), margin=4.0), "nothing could lose more"),
        (lambda: Rules(bounds=(1.0, 5.0), at_least=1.0), "never miss it"),
        (lambda: Rules(bounds=(1.0, 5.0), at_most=0.5), "never meet it"),
        (
            lambda: Policy(pass_rate=Rules(margin=5)),
            r"margin 5 is 500 points: results lie .* more; write 0\.05 for 5 points, or set",
        ),
        (lambda: Policy(pass_rate=Rules(at_most=80)), r"at_most 80 is 8000 %: .*; write 0\.8 for 80 %"),
        (
            lambda: Policy(pass_rate=Rules(at_least=0)),
            "at_least 0 is 0 %: .* never miss it; choose one between them, or",
        ),
        (
            lambda: Policy(pass_rate=Rules(at_least=1)),
            "at_least 1 is 100 %: .* never meet it; choose one between them, or",
        ),
        (
            lambda: Policy(pass_rate=Rules(margin=1)),
            "margin 1 is 100 points: .* lose more; choose one between them, or",
        ),
        (lambda: Rules(agreement=3), "agreement"),
        (lambda: Policy(pass_rate=Rules(at_least=0.5, max_errors=0.0)), "max_errors would not be read"),
        (lambda: Policy(pass_rate=Rules(at_least=0.5, bounds=(0, 1))), "bounds would not be read"),
        (
            lambda: Policy(
                pass_rate=Rules(at_least=0.5, agreement=HumanAgreement(labels="nope.csv", kappa=0.9))
            ),
            "agreement would not be read",
        ),
        (lambda: HumanAgreement(labels="a", share=0), "share"),
        (lambda: HumanAgreement(labels="a", share=1), "share"),
        (lambda: HumanAgreement(labels="a", kappa=-1), "kappa"),
        (lambda: HumanAgreement(labels="a", kappa=1), "kappa"),
        (lambda: Growth(), "nothing to meet"),
        (lambda: Rules(margin=0.1, agreement=HumanAgreement(corrects=True)), "at_least"),
        (
            lambda: Policy(
                evaluators={"a": Rules(at_least=0.5, agreement=HumanAgreement(corrects=True))},
                population="these-cases",
            ),
            "cases like these",
        ),
        (lambda: HumanAgreement(kappa=0.5, labels="a", run="b"), "not both"),
        (lambda: HumanAgreement(kappa=0.5, labels="a", question="b"), "which people answered in the store"),
        (lambda: HumanAgreement(labels="a"), "how well"),
    ],
)
def test_what_cannot_be_a_policy_is_refused(make, words):
    with pytest.raises(InvalidOptionError, match=words):
        make()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("correction: bonferroni", "correction: expected 'holm' or 'none', got 'bonferroni'"),
        ("evaluators: {a: {better: lowr}}", "better: expected 'higher' or 'lower', got 'lowr'"),
        ("evaluators: {a: {at_least: 75%}}", "at_least: expected a number, such as 0.75 for 75%, got '75%'"),
        (
            "evaluators: {a: {margin: 2 %}}",
            "margin: expected a number, such as 0.02 for 2 %, got '2 %'",
        ),
        ("evaluators: {a: {at_least: [1]}}", "at_least: expected a number, got [1]"),
        ("evaluators: {a: {at_least: x%}}", "at_least: expected a number, got 'x%'"),
        ("min_cases: many", "min_cases: expected a whole number, got 'many'"),
        ("min_cases: 0", "min_cases: expected a whole number >= 1, got 0"),
        ("evaluators: {a: {bounds: 5}}", "bounds: expected a list, got 5"),
        ("evaluators: {a: {agreement: {labels: 3, share: 0.9}}}", "labels: expected text, got 3"),
        ("pass_rate: {at_least: 1}", "pass_rate: at_least 1 is 100 %: results lie between 0 and 1"),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_in_words_with_what_would_be_right(tmp_path, text, shown):
    (tmp_path / "gate.yaml").write_text(text)
    with pytest.raises(DatasetFileError) as caught:
        load_policy(tmp_path / "gate.yaml")
    (problem,) = caught.value.problems
    assert shown in str(problem)


WHOLE = {
    "confidence": 0.9,
    "correction": "none",
    "population": "these-cases",
    "min_cases": 50,
    "max_task_failures": 0.02,
    "max_evaluator_errors": 0,
    "pass_rate": {"at_least": 0.8},
    "evaluators": {
        "a": {
            "margin": 0.03,
            "at_least": 0.2,
            "at_most": 0.9,
            "better": "lower",
            "min_cases": 3,
            "max_errors": 0.01,
            "max_skipped": 0.1,
            "bounds": [0, 5],
            "agreement": {"labels": "labels.csv", "human": "people", "kappa": 0.6, "share": 0.8},
        },
        "b": {"agreement": {"run": "labelled", "question": "fine?", "kappa": 0.6, "corrects": False}},
        "c": {
            "passport": {
                "max_age_days": 90,
                "min_labels": 50,
                "kappa": 0.6,
                "share": 0.8,
                "sensitivity": 0.8,
                "specificity": 0.8,
                "self_consistency": 0.9,
                "max_injections": 0.02,
                "max_order_bias": 0.1,
                "max_length_bias": 0.1,
                "max_self_preference": 0.1,
            }
        },
    },
    "tags": {"hard": {"at_least": 0.5, "margin": 0.1}},
    "duration": {"max_growth": 0.2, "at_most": 3},
    "metrics": {
        "cost": {"max_growth": 0.1, "max_missing": 0.1, "max_possible": 5.0},
        "retries": {"at_most": 1, "missing_is_zero": True},
    },
}
"""A policy with every key that there is."""


def places(data, steps=()):
    """The way to every value."""
    for key, value in data.items():
        yield (*steps, key)
        if isinstance(value, dict):
            yield from places(value, (*steps, key))


def changed(steps, value):
    """The whole policy with another value in one place."""
    data = json.loads(json.dumps(WHOLE))
    part = data
    for step in steps[:-1]:
        part = part[step]
    part[steps[-1]] = value
    return data


def test_the_policy_that_schema_and_reader_are_tried_on_has_every_key():
    found = {steps[-1] for steps in places(WHOLE)}
    for part in (Policy, Rules, Growth, HumanAgreement, PassportRules):
        assert found.issuperset(part.__struct_fields__)


@pytest.fixture(scope="module")
def is_valid():
    jsonschema_rs = pytest.importorskip("jsonschema_rs", reason="the extra schema is not installed")
    return jsonschema_rs.validator_for(policy_schema()).is_valid


def is_read(path, data):
    path.write_text(json.dumps(data))
    try:
        load_policy(path)
    except DatasetFileError:
        return False
    return True


@pytest.mark.parametrize("steps", list(places(WHOLE)), ids=".".join)
def test_schema_and_reader_agree_on_what_may_stand_in_every_place(tmp_path, is_valid, steps):
    for value in (None, True, -1, 0.5, 2, 1000, "x", "", [], [0, 5], [1, 2, 3], {}, {"nonsense": 1}):
        data = changed(steps, value)
        valid, read = is_valid(data), is_read(tmp_path / "gate.json", data)
        # That a limit lies inside the bounds is between two values, which no schema can say.
        against_bounds = steps[-1] in {"margin", "at_least", "at_most"} and isinstance(value, int | float)
        assert valid == read or (against_bounds and valid), value
    assert not is_valid(changed(steps, None))


@pytest.mark.parametrize(
    ("data", "fine"),
    [
        (WHOLE, True),
        ({"evaluators": {"a": None}}, False),
        ({"evaluators": {"a": {"better": "lower", "bounds": [0, 5]}}}, False),
        ({"evaluators": {"a": {"min_cases": 1}}}, True),
        ({"evaluators": {"a": {"margni": 1}}}, False),
        ({"evaluators": {"": {}}}, False),
        ({"duration": {}}, False),
        ({"duration": {"at_most": 1, "max_missing": 0.1}}, False),
        ({"pass_rate": {"at_least": 0.5, "max_errors": 0.1}}, False),
        ({"pass_rate": {"at_least": 0.5, "bounds": [0, 1]}}, False),
        ({"pass_rate": {"at_least": 0.5, "agreement": {"labels": "a", "kappa": 0.5}}}, False),
        ({"pass_rate": {"at_least": 0.5, "min_cases": 3, "max_skipped": 0.1}}, True),
        ({"tags": {"hard": None}}, False),
        ({"tags": {"hard": {"at_least": 0.5, "max_errors": 0.1}}}, False),
        ({"evaluators": {"a": {"agreement": {"labels": "a", "kappa": -1}}}}, False),
        ({"evaluators": {"a": {"agreement": {"labels": "a", "share": 0}}}}, False),
        ({"metrics": {"cost": {"max_missing": 0.1}}}, False),
        ({"metrics": {"cost": {"at_most": 1, "max_possible": 0}}}, False),
        ({"metrics": {"cost": {"at_most": 1, "max_missing": 0.1, "missing_is_zero": True}}}, False),
        ({"metrics": {"cost": {"at_most": 1, "max_missing": 0.1, "missing_is_zero": False}}}, True),
        ({"duration": {"at_most": 1, "missing_is_zero": True}}, False),
        ({"duration": {"at_most": 1, "missing_is_zero": False}}, True),
        ({"evaluators": {"a": {"agreement": {"labels": "a", "run": "b", "kappa": 0.5}}}}, False),
        ({"evaluators": {"a": {"agreement": {"labels": "a"}}}}, False),
        ({"evaluators": {"a": {"at_least": 0.5, "agreement": {"corrects": True}}}}, True),
        ({"evaluators": {"a": {"at_least": 0.5, "agreement": {"corrects": False}}}}, False),
        ({"evaluators": {"a": {"margin": 0.1, "agreement": {"corrects": True}}}}, False),
        (
            {
                "population": "these-cases",
                "evaluators": {"a": {"at_least": 0.5, "agreement": {"corrects": True}}},
            },
            False,
        ),
    ],
)
def test_schema_and_reader_agree_on_whole_policies(tmp_path, is_valid, data, fine):
    assert is_valid(data) == is_read(tmp_path / "gate.json", data) == fine


def test_the_example_is_what_the_schema_takes(is_valid):
    yaml = pytest.importorskip("yaml", reason="PyYAML is a dependency")
    assert is_valid(yaml.safe_load(FULL))
