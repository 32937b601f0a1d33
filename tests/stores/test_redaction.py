"""What must not be written is not written."""

import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError, StoreError
from calipers.stores import Panel, RunInfo, SqliteStore, hide_keys, hide_matches, pack
from calipers.testing.stores import _EVALUATORS, record
from calipers.trace import ToolCall, Trace, Turn, TurnType

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


def test_keys_are_hidden_at_any_depth_whatever_their_case():
    hide = hide_keys("api_key", "Password")
    data = {"API_KEY": "x", "a": [{"password": {"b": 1}, "c": "x"}], "n": None}
    assert hide(data) == {"API_KEY": "[redacted]", "a": [{"password": "[redacted]", "c": "x"}], "n": None}


def test_matches_are_hidden_in_texts_and_keys():
    hide = hide_matches(r"\d{3,}", by="#")
    assert hide({"a 1234": ["b 12", 5000, "c 999 d"]}) == {"a #": ["b 12", 5000, "c # d"]}


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
    attempt, _ = pack(record(0), 0, Panel(run.evaluators))
    attempt.cells = '{"0":true,"2":"so-so"}'
    memory_store.append(run.id, [attempt])
    assert [cell.body for cell in memory_store.cells(run.id)] == ["true", '"[redacted]"']


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        (lambda data: 1 / 0, "raised ZeroDivisionError: nothing of this batch was stored"),
        (lambda data: None, "must return an object for an attempt"),
    ],
    ids=["raises", "returns nothing"],
)
def test_a_hook_that_does_not_work_stops_the_writing(memory_store, hook, said):
    run = memory_store.begin_run(RunInfo(name="r"))
    memory_store.redact = (hook,)
    with pytest.raises(StoreError, match=said) as error:
        memory_store.append(run.id, [pack(record(0, failed=True), 0, Panel(()))[0]])
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
