"""Which judges of a stored run have a passport."""

import msgspec
import pytest

from calipers import Case, Dataset
from calipers.errors import StoreError
from calipers.judges import LLMJudge
from calipers.report import Measurement, Passport
from calipers.report.passport import passport_identity
from calipers.stores import open_store
from calipers.stores.standings import keep_passport, read_passports
from calipers.stores.stored_passport import StoredPassport
from calipers.testing import ScriptedJudge
from calipers.views.markdown import report_markdown


def judge(rubric="Is it kind?"):
    model = ScriptedJudge(lambda ask: {"reason": "so", "pass": True})
    return LLMJudge(rubric, model=model)


def run(store, one):
    dataset = Dataset(name="d", cases=[Case(name="a", inputs=1)], evaluators=[one])
    return dataset.evaluate_sync(lambda n: str(n), progress=False, store=store)


def passport_of(store, at="2026-11-01T00:00:00+00:00"):
    (stored,) = store.run("latest").evaluators
    assert stored.is_judge
    return Passport(
        judge=stored.name,
        identity=passport_identity(stored.parts),
        parts=stored.parts,
        at=at,
        labels=10,
        measured={"kappa": Measurement(value=0.7, n=10)},
    )


@pytest.fixture
def store():
    with open_store("memory:") as opened:
        yield opened


def test_a_judge_has_the_newest_passport_of_its_own_identity(store):
    report = run(store, judge())
    assert report.passports["LLMJudge"].passport is None
    keep_passport(store, passport_of(store))
    newest = passport_of(store, at="2026-11-02T00:00:00+00:00")
    keep_passport(store, newest)
    assert store.report("latest").passports["LLMJudge"].passport == newest
    assert run(store, judge()).passports["LLMJudge"].passport == newest


def test_a_changed_prompt_has_none(store):
    run(store, judge())
    keep_passport(store, passport_of(store))
    standing = run(store, judge("Is it polite?")).passports["LLMJudge"]
    assert standing.passport is None
    assert standing.other is not None
    assert standing.changes


def test_an_evaluator_that_asks_no_model_needs_none(store):
    assert run(store, lambda output: output == "1").passports == {}


def test_passports_of_a_later_release_are_left_out(store):
    store.add_passport(StoredPassport(identity="x", at="2026-11-01T00:00:00+00:00", format=2, body={}))
    assert read_passports(store) == []
    store.add_passport(StoredPassport(identity="x", at="2026-11-01T00:00:00+00:00", body={"odd": 1}))
    with pytest.raises(StoreError, match="cannot be read"):
        read_passports(store)


def test_a_report_shows_the_passport_beside_the_rate(store):
    run(store, judge())
    assert "| none |" in report_markdown(store.report("latest"))
    keep_passport(store, passport_of(store))
    assert "kappa 0.70, 2026-11-01" in report_markdown(store.report("latest"))
    changed = msgspec.structs.replace(passport_of(store), identity="other")
    store.remove_passports(passport_of(store).identity)
    keep_passport(store, changed)
    assert "of another judge" in report_markdown(store.report("latest"))


def test_the_judge_of_a_single_case_is_known_at_the_end_of_its_run_as_in_the_store(store):
    own = LLMJudge("Is it short?", model=judge().model, evaluation_name="short")
    cases = [Case(name="a", inputs=1, evaluators=[own]), Case(name="b", inputs=2)]
    dataset = Dataset(name="d", cases=cases, evaluators=[judge()])
    report = dataset.evaluate_sync(lambda n: str(n), progress=False, store=store)
    assert {*report.passports} == {*store.report("latest").passports} == {"LLMJudge", "short"}
