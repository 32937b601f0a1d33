"""What must not be written is not written."""

from dataclasses import dataclass, field

import pytest

from calipers import (
    Case,
    CaseLifecycle,
    Dataset,
    EvaluationReason,
    Evaluator,
    Skipped,
    set_eval_attribute,
)
from calipers.data.trace import ToolCall, Trace, Turn, TurnType
from calipers.errors import InvalidOptionError, StoreError
from calipers.stores import (
    EvaluatorSlots,
    RunInfo,
    SqliteStore,
    hide_keys,
    hide_matches,
    open_store,
    pack,
    score_again,
    why,
)
from calipers.stores.attempt_notes import attempt_notes, cell_notes
from calipers.testing.store_check import _EVALUATORS, record

SECRET = "sk-12345"


def leaky(inputs):
    if inputs["n"] == 1:
        raise ValueError(f"refused {SECRET}")
    call = ToolCall("login", {"token": SECRET})
    return Trace(turns=[Turn(turn_type=TurnType.TOOL_CALL, tool_call=call)], output_text=f"used {SECRET}")


def quote(output):
    return {"said": SECRET, "long": f"because of {SECRET} " * 200}


def test_no_byte_of_a_secret_reaches_the_file(tmp_path):
    cases = [Case(name=f"c{n}", inputs={"n": n, "key": SECRET}, metadata={"who": SECRET}) for n in range(3)]
    dataset = Dataset(name="d", cases=cases, evaluators=[quote])
    report = dataset.evaluate_sync(leaky, progress=False, metadata={"note": SECRET})
    path = tmp_path / "runs.db"
    with SqliteStore(path, redact=[hide_matches(r"sk-\d+")]) as store:
        run = store.add_report(report)
        back = store.report(run.id)
        assert back.cases[0].inputs == {"n": 0, "key": "[redacted]"}
        assert back.cases[0].labels["said"].value == "[redacted]"
        assert back.failures[0].error_message == "ValueError: refused [redacted]"
        assert back.cases[0].trace.output_text == "used [redacted]"
        assert back.metadata == {"note": "[redacted]"}
        store.prune()
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert len(written) > 10_000
    assert SECRET.encode() not in written


def test_what_an_evaluator_notes_goes_through_the_hooks_whatever_it_says(memory_store):
    def notes(then):
        def judge(output):
            set_eval_attribute("request", {"note": "customer 4711", "what": Dataset})
            return then()

        return judge

    def fail():
        raise ValueError

    data = Dataset(
        cases=[Case(inputs=1)], evaluators=[notes(fail), notes(lambda: True), notes(lambda: Skipped("no"))]
    )
    memory_store.redact = [hide_matches(r"\d{4}")]
    report = data.evaluate_sync(lambda inputs: inputs, progress=False, store=memory_store)
    [case] = memory_store.report(report.reuse.run).cases
    told = [case.evaluator_failures[0], case.results[0], case.skipped[0]]
    assert [each.metadata["attributes"]["request"]["note"] for each in told] == ["customer [redacted]"] * 3


def test_keys_are_hidden_at_any_depth_whatever_their_case():
    hide = hide_keys("api_key", "Password")
    data = {"API_KEY": "x", "a": [{"password": {"b": 1}, "c": "x"}], "n": None}
    assert hide(data) == {"API_KEY": "[redacted]", "a": [{"password": "[redacted]", "c": "x"}], "n": None}


def test_matches_are_hidden_in_texts_and_keys():
    hide = hide_matches(r"\d{3,}", by="#")
    assert hide({"a 1234": ["b 12", 5000, "c 999 d"]}) == {"a #": ["b 12", 5000, "c # d"]}


@dataclass
class Asks(Evaluator):
    """An evaluator with a secret."""

    api_key: str = ""
    headers: dict = field(default_factory=dict)

    def evaluate(self, ctx):
        return {"said": EvaluationReason(True, f"asked with {self.api_key}")}


class Breaks(CaseLifecycle):
    async def teardown(self, *args):
        raise RuntimeError(f"still {SECRET}")


@pytest.mark.parametrize(
    "hook",
    [hide_matches(r"sk-\d+"), hide_keys("api_key", "authorization")],
    ids=["by pattern", "by key"],
)
def test_a_secret_of_an_evaluator_reaches_neither_its_column_nor_the_notes_of_a_resumed_run(tmp_path, hook):
    def run(version, **options):
        dataset = Dataset(name="d", cases=[Case(name="a", inputs=1)])
        dataset.evaluators = [Asks(SECRET, {"authorization": [SECRET, version]})]
        with SqliteStore(tmp_path / "runs.db", redact=[hook, hide_matches("asked with .*")]) as store:
            return dataset.evaluate_sync(same, store=store, progress=False, **options)

    first = run("1")
    again = run("2", resume=first.reuse.run)
    assert again.reuse.cells_computed == 1
    assert any("headers" in note for note in again.reuse.notes)
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"[redacted]" in written
    assert SECRET.encode() not in written


def same(inputs):
    return inputs


def test_a_failed_teardown_and_a_cluster_tell_no_secret_and_clusters_stay_apart(tmp_path):
    cases = [Case(name=f"c{n}", inputs=n, cluster=f"{SECRET} {n % 2}") for n in range(4)]
    with SqliteStore(tmp_path / "runs.db", redact=[hide_matches(r"sk-\d+ .")]) as store:
        report = Dataset(name="d", cases=cases).evaluate_sync(
            same, store=store, progress=False, lifecycle=Breaks
        )
        back = store.report(report.reuse.run)
        store.redact = (hide_matches(r"sk-\d+"),)
    assert [case.teardown_failure.error_type for case in back.cases] == ["RuntimeError"] * 4
    clusters = [case.cluster for case in back.cases]
    assert clusters[:2] == clusters[2:]
    assert len(set(clusters)) == 2
    assert not any(SECRET in cluster for cluster in clusters)


def test_a_traceback_of_a_teardown_is_hidden_as_the_message_is(memory_store):
    memory_store.redact = (hide_matches(r"sk-\d+"),)
    dataset = Dataset(name="d", cases=[Case(name="a", inputs=1)])
    report = dataset.evaluate_sync(same, store=memory_store, progress=False, lifecycle=Breaks)
    failure = memory_store.report(report.reuse.run).cases[0].teardown_failure
    assert failure.error_message == "RuntimeError: still [redacted]"
    assert SECRET not in failure.error_stacktrace


WORDS = sorted(
    {
        "name",
        "seed",
        "value",
        "format",
        "notes",
        "results",
        "failures",
        "skipped",
        "source",
        "arguments",
        "turns",
    }
    | {
        "task",
        "parts",
        "reuse",
        "attributes",
        "metadata",
        "turn_type",
        "tool_call",
        "error_message",
        "analyses",
    }
    | {
        "task_duration",
        "evaluators",
        "calipers_report",
        "created_at",
        "trace_id",
        "dataset_name",
        "repeat",
        "spans",
    }
)


@pytest.mark.parametrize("word", WORDS)
def test_whatever_key_is_hidden_the_run_can_be_read_and_resumed(memory_store, word):
    memory_store.redact = (hide_keys(word),)
    cases = [Case(name=f"c{n}", inputs={"n": n, word: "inside"}, metadata={word: 1}) for n in range(3)]
    dataset = Dataset(name="d", cases=cases, evaluators=[Asks("x"), quote])
    report = dataset.evaluate_sync(leaky, store=memory_store, progress=False, metadata={word: 2})
    run = report.reuse.run
    back = memory_store.report(run)
    assert back.cases[0].inputs == {"n": "[redacted]" if word == "n" else 0, word: "[redacted]"}
    assert back.metadata == {word: "[redacted]"}
    assert [case.labels["said"].value for case in back.cases if "said" in case.labels] == []
    assert [case.name for case in back.cases] == ["c0", "c2"]
    assert (
        dataset.evaluate_sync(leaky, store=memory_store, progress=False, resume=run).reuse.attempts_made == 0
    )


@pytest.mark.parametrize("again", ["reuse", "score"])
def test_who_judges_what_was_hidden_is_told_though_the_store_hides_nothing_any_more(tmp_path, again):
    def has_secret(output):
        return SECRET in output

    dataset = Dataset(
        name="d", cases=[Case(name=f"c{n}", inputs=text) for n, text in enumerate(["x", SECRET])]
    )
    path = tmp_path / "runs.db"
    with SqliteStore(path, redact=[hide_matches(r"sk-\d+")]) as store:
        dataset.evaluate_sync(same, store=store, progress=False)
    with SqliteStore(path) as store:
        if again == "score":
            report = score_again(store, evaluators=[has_secret])
        else:
            dataset.evaluators = [has_secret]
            report = dataset.evaluate_sync(same, store=store, progress=False, reuse=True)
        cells = [cell_notes(cell.body).as_plain for cell in store.cells(report.reuse.run)]
    assert cells == [False, True]
    assert report.reuse.judged_as_plain == 1
    assert [note for note in report.reuse.notes if "redaction" in note] == [
        "attempts judged without what redaction hid: 1"
    ]


def test_what_a_hook_changes_in_place_is_noted_as_well(memory_store):
    def blank(data):
        if isinstance(data, dict) and "key" in data:
            data["key"] = None
        return data

    memory_store.redact = (blank,)
    report = Dataset(name="d", cases=[Case(name="a", inputs={"key": 1})]).evaluate_sync(
        same, store=memory_store, progress=False
    )
    (attempt,) = memory_store.attempts(report.reuse.run)
    notes = attempt_notes(attempt.output)
    assert (notes.redacted, notes.redacted_case) == (True, True)


def test_hooks_run_one_after_the_other(memory_store):
    memory_store.redact = (
        lambda data: {**data, "inputs": 1},
        lambda data: {**data, "inputs": data["inputs"] + 1},
    )
    run = memory_store.begin_run(RunInfo(name="r", parameters={"inputs": 0}, metadata={"inputs": 0}))
    assert (run.parameters, run.metadata) == ({"inputs": 2}, {"inputs": 2})


def test_what_an_attempt_holds_of_its_evaluators_goes_through_the_hooks_too(memory_store):
    run = memory_store.begin_run(RunInfo(name="r", evaluators=_EVALUATORS))
    memory_store.redact = (hide_matches("so-so"),)
    attempt, _ = pack(record(0), 0, EvaluatorSlots(run.evaluators))
    attempt.cells = '{"0":true,"2":"so-so"}'
    memory_store.append(run.id, [attempt])
    assert [cell.body for cell in memory_store.cells(run.id)] == ["true", '"[redacted]"']


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        (lambda data: 1 / 0, "raised ZeroDivisionError: nothing of this batch was stored"),
        (lambda data: object() if not isinstance(data, str) else data, "must return plain data"),
        (lambda data: None, "was given a text and must return one, not NoneType"),
    ],
    ids=["raises", "returns an object", "returns nothing"],
)
def test_a_hook_that_does_not_work_stops_the_writing(memory_store, hook, said):
    run = memory_store.begin_run(RunInfo(name="r"))
    memory_store.redact = (hook,)
    with pytest.raises(StoreError, match=said) as error:
        memory_store.append(run.id, [pack(record(0, failed=True), 0, EvaluatorSlots(()))[0]])
    assert error.value.__cause__ is None, "which might quote what was to be hidden"
    assert memory_store.done(run.id) == []


@pytest.mark.parametrize("names", [(), (3,), (["a"],)], ids=repr)
def test_keys_to_hide_have_names(names):
    with pytest.raises(InvalidOptionError, match="names of keys"):
        hide_keys(*names)


@pytest.mark.parametrize("pattern", ["(", None, 3])
def test_a_pattern_to_hide_is_a_regular_expression(pattern):
    with pytest.raises(InvalidOptionError, match="takes a regular expression"):
        hide_matches(pattern)


@dataclass
class Calls(Evaluator):
    """An evaluator that is given keys."""

    api_key: str
    url: str = ""
    token: int = 0
    limit: int = 0

    def evaluate(self, ctx):
        return True


def shout(text):
    return text.upper()


def test_keys_among_the_arguments_of_an_evaluator_are_neither_stored_nor_reported(tmp_path):
    hidden = ("plain-Key-77", "sk-proj-abcdEFGH1234567890", "40414243")
    asks = Calls(hidden[0], f"https://host/?key={hidden[1]}", int(hidden[2]), limit=515253)
    cases = [Case(name="a", inputs="a"), Case(name="b", inputs="b", evaluators=[Calls(hidden[0], limit=1)])]
    with open_store(tmp_path / "runs.db") as store:
        dataset = Dataset(name="d", cases=cases, evaluators=[asks])
        report = dataset.evaluate_sync(shout, store=store, progress=False)
        told = str(report.to_dict())
        again = dataset.evaluate_sync(shout, store=store, reuse=True, progress=False)
        assert (again.reuse.cells_computed, again.reuse.cells_reused) == (0, 3), (
            "without keys it is known, too"
        )
        asks.api_key = "another-Key-78"
        other = Dataset(name="d", cases=cases[:1], evaluators=[asks])
        report = other.evaluate_sync(shout, store=store, reuse=True, progress=False)
        assert report.reuse.cells_computed == 1
        assert "parameter api_key changed" in str(why(store, "latest", "a", "Calls"))
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir()).decode("latin-1")
    for text in (told, stored):
        assert not [secret for secret in (*hidden, "another-Key-78") if secret in text]
        assert "515253" in text
    assert report.cases[0].results[0].source.arguments["api_key"] == "[redacted]"
