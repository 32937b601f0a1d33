"""`calipers run --record-tape` and `--replay-tape`: one tape for each evaluation, and what is said of it."""

import json

import pytest

from calipers.agents import Tape

APP = """
    import os
    from calipers import Case, Dataset
    from calipers.agents import tool
    from calipers.evaluators import EqualsExpected

    @tool
    def price(thing: str) -> int:
        return int(os.environ["PRICE"])

    def answer(thing):
        return price(thing)

    def skip(thing):
        return 7

    def eval_shop():
        cases = [Case(name=name, inputs=name, expected_output=7) for name in ("desk", "lamp")]
        return Dataset(cases=cases, evaluators=[EqualsExpected()]), answer
"""


@pytest.fixture
def shop(write, calipers, monkeypatch):
    """Runs an evaluation that calls a tool, by a given price of today."""
    write("eval_shop.py", APP)

    def run(*options, price=7):
        monkeypatch.setenv("PRICE", str(price))
        return calipers("run", "eval_shop.py", "--no-store", *options)

    return run


def test_a_run_is_recorded_and_replayed_whatever_the_tools_say_today(shop, folder):
    assert shop("--record-tape", "shop.tape").exit_code == 0
    assert [each.key.case for each in Tape.read(folder / "shop.tape").attempts] == ["desk", "lamp"]
    assert shop("--replay-tape", "shop.tape", price=1).exit_code == 0
    forked = shop("--replay-tape", "shop.tape", "--fork-at", "1", "--out", "json:report.json", price=1)
    assert forked.exit_code == 1
    assert "Replayed from shop.tape, forked at step 1: 0 exchanges, and 2 live" in forked.stderr
    assert json.loads((folder / "report.json").read_text())["metadata"] == {
        "tape": {"replayed_from": "shop.tape", "fork": {"at": 1}}
    }


def test_what_a_replay_did_not_ask_for_is_named(shop):
    shop("--record-tape", "shop.tape")
    skipped = shop("--replay-tape", "shop.tape", "--task", "eval_shop:skip", "--limit", "1").stderr
    assert "Never asked for, and on the tape shop.tape: step 1 of case 'desk' (the tool 'price')" in skipped
    assert "Not replayed: 1 attempt of the tape shop.tape" in skipped


def test_several_evaluations_have_a_tape_each(shop, write, folder):
    write("eval_other.py", APP.replace("eval_shop", "eval_other"))
    assert (
        "is one tape for 2 evaluations: write {name} in it"
        in shop("eval_other.py", "--record-tape", "a").stderr
    )
    assert shop("eval_other.py", "--record-tape", "{name}.tape").exit_code == 0
    assert {path.name for path in folder.glob("*.tape")} == {"shop.tape", "other.tape"}
    assert shop("eval_other.py", "--replay-tape", "{name}.tape", price=1).exit_code == 0


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--fork-at", "1"], "--fork-at needs a tape to fork from: add --replay-tape FILE"),
        (
            ["--replay-tape", "a", "--fork-model", "m"],
            "--fork-model needs the exchange to fork at: add --fork-at STEP",
        ),
        (["--replay-tape", "a", "--fork-at", "1", "--fork-result", "7,"], "--fork-result must be JSON"),
        (["--replay-tape", "none"], "the tape 'none' cannot be read: No such file"),
        (["--record-tape", "."], "is a folder: name a file in it"),
        (["--record-tape", "a", "--replay-tape", "./a"], "would overwrite the tape that is replayed"),
    ],
)
def test_options_that_do_not_go_together_are_refused_before_anything_runs(shop, options, why):
    result = shop(*options)
    assert why in result.stderr
    assert result.exit_code in {2, 3}


def test_recording_does_not_go_with_reuse(write, calipers):
    write("eval_shop.py", APP)
    result = calipers("run", "eval_shop.py", "--record-tape", "a", "--reuse")
    assert "--reuse leaves some out: remove one of them" in result.stderr


def test_a_run_that_is_resumed_adds_to_its_tape(write, calipers, monkeypatch, folder):
    closed = "if (Path.cwd() / 'closed').exists(): raise OSError('closed')"
    write(
        "eval_shop.py",
        APP.replace("return int", f"{closed}\n        return int").replace(
            "import os", "import os\n    from pathlib import Path"
        ),
    )
    monkeypatch.setenv("PRICE", "7")
    options = ("run", "eval_shop.py", "--record-tape", "shop.tape")
    write("closed", "")
    assert calipers(*options).exit_code == 3
    (folder / "closed").unlink()
    result = calipers(*options, "--resume", "latest", "--rerun-failed")
    assert result.exit_code == 0, result.stderr
    assert [each.key.case for each in Tape.read(folder / "shop.tape").attempts] == [
        "desk",
        "lamp",
        "desk",
        "lamp",
    ]
    write("closed", "")
    assert calipers("run", "eval_shop.py", "--no-store", "--replay-tape", "shop.tape").exit_code == 0


@pytest.mark.parametrize("by", ["option", "project"])
def test_a_tape_is_not_recorded_where_something_is_hidden_unless_that_is_said(
    write, calipers, monkeypatch, folder, by
):
    write("eval_shop.py", APP)
    write("hooks.py", "def hide(data):\n    return data\n")
    monkeypatch.setenv("PRICE", "7")
    if by == "project":
        write("calipers.toml", 'redact = ["thing"]\n')
    redact = ["--redact", "hooks.py:hide"] if by == "option" else []
    refused = calipers("run", "eval_shop.py", "--record-tape", "shop.tape", *redact)
    assert refused.exit_code == 2
    assert "--record-tape writes word for word" in refused.stderr
    assert "--unredacted-tape" in refused.stderr
    assert not (folder / "shop.tape").exists()
    recorded = calipers("run", "eval_shop.py", "--record-tape", "shop.tape", "--unredacted-tape", *redact)
    assert recorded.exit_code == 0
    monkeypatch.setenv("PRICE", "1")
    assert calipers("run", "eval_shop.py", "--replay-tape", "shop.tape", *redact).exit_code == 0
