"""`calipers voice run` as its users see it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from calipers.stores import open_store
from calipers.views.formats import read_report
from calipers.voice import Audio

APP = """
    import asyncio
    from dataclasses import dataclass
    from pathlib import Path

    from calipers.voice import AgentResponse, Audio, ToolCall


    @dataclass(frozen=True)
    class Voice:
        pitch: int = 0

        def synthesize(self, text):
            with Path("said.txt").open("a") as file:
                file.write(text + "\\n")
            return Audio((text + " ").encode("utf-16-le"), "pcm", sample_rate=16000)


    class Ear:
        name = "ear"

        async def run(self, audio):
            heard = audio.pcm.decode("utf-16-le", "replace").strip()
            return await self.run_text(heard if heard.isascii() and heard.isprintable() else "noise")

        async def run_text(self, text):
            if text == "crash":
                raise ValueError("fell over")
            if text == "wait":
                Path("waiting").touch()
                await asyncio.sleep(60)
            calls = [] if text in {"noise", "nothing"} else [ToolCall(*text.split()[:1], dict([text.split()[1:]]))]
            return AgentResponse(calls, transcript=text)


    def greedy(expected, actual):
        return float(len(actual))
"""
HEAD = """
    agent: app:Ear
    synthesizer: app:Voice
"""
GOOD = (
    HEAD
    + """
    prompts:
      - {prompt: go to LA, name: LA, tags: [trip], expect: {go: {to: LA}}}
      - {prompt: nothing, name: nothing, expect: []}
"""
)
WRONG = GOOD.replace("{go: {to: LA}}", "{go: {to: SF}}")
CRASH = GOOD.replace("nothing,", "crash,", 1)


@pytest.fixture
def voice(calipers, write):
    """Run a voice file that may take its parts from `app.py`."""
    write("app.py", APP)

    def run(text, *args, **options):
        write("home.yaml", text)
        return calipers("voice", "run", "home.yaml", "--allow-module", "app", *args, **options)

    return run


# ---------------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("text", "args", "code", "message"),
    [
        (GOOD, [], 0, ""),
        (WRONG, [], 1, "Failed: 1 of 2 cases did not pass"),
        (WRONG, ["--runs", "3"], 1, "Failed: 3 of 6 attempts did not pass"),
        (WRONG, ["--fail-under", "0.5"], 0, ""),
        (WRONG, ["--fail-under", "60%"], 1, "Failed: the pass rate is 0.5, which is below 0.6"),
        (WRONG, ["--tag", "trip"], 1, "Failed: 1 of 1 case did not pass"),
        (WRONG, ["--filter", "noth*"], 0, ""),
        (WRONG, ["--filter", "noone"], 4, "nothing ran: no case is called 'noone'"),
        (WRONG, ["--fail-under", "Exact=0.5"], 2, "there is no such evaluator; there are 'ExactEvaluator'"),
        (CRASH, [], 3, "Error: 1 of 2 tasks did not finish"),
        (CRASH, ["--allow-errors"], 1, "Failed: 1 of 2 cases did not pass"),
        (GOOD + "    evaluators: []\n", [], 4, "no evaluator gave a result: nothing was judged"),
        (GOOD + "    runs: many\n", [], 3, "home.yaml:8:7: runs: expected a whole number from 1, got 'many'"),
        (GOOD, ["--limit", "0"], 2, "--limit"),
        (GOOD, ["--out", "json:home.yaml"], 2, "would overwrite a file that the run is made of"),
        (GOOD, ["--json", "--out", "csv:-"], 2, "exclude each other"),
    ],
)
def test_the_exit_code_says_what_came_of_it_and_a_sentence_says_why(voice, text, args, code, message):
    done = voice(text, "--no-store", *args)
    assert (done.exit_code, message in done.stderr) == (code, True), done.output
    if not message:
        assert done.stderr == ""


def test_a_file_that_is_not_there_is_wrong_usage(calipers):
    done = calipers("voice", "run", "nowhere.yaml")
    assert (done.exit_code, done.stderr) == (2, "Error: file not found: nowhere.yaml\n")


def test_all_problems_of_a_file_are_told_with_their_places(voice):
    done = voice("agent: app:Ear\nsynthesizer: other:Voice\nprompts:\n  - hello\n")
    assert done.exit_code == 3
    assert done.stderr == (
        "Error: 2 problems in home.yaml:\n"
        "  home.yaml:2:14: synthesizer: synthesizers of the module 'other' are not allowed here: --allow-module other allows them\n"
        "  home.yaml:4:5: prompts[0]: nothing is expected of this prompt: give it expect, or expect: [] for no call\n"
    )


def test_ctrl_c_ends_it_with_what_is_finished(write, folder):
    write("app.py", APP)
    write("home.yaml", GOOD.replace("nothing,", "wait,", 1) + "    compare: text\n    max_concurrency: 1\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "calipers", "voice", "run", "home.yaml", "--allow-module", "app", "--json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (folder / "waiting").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "Interrupted by Ctrl-C after 1 of 2 attempts" in stderr
    assert "1 evaluation did not begin" in stderr
    found = json.loads(stdout)
    assert (found["outcome"], found["hearing"]) == ("interrupted", None)


def test_a_failed_run_whose_report_is_not_read_still_fails(write, folder):
    write("app.py", APP)
    write("home.yaml", WRONG)
    # The reader is gone before there is anything to read.
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "calipers",
            "voice",
            "run",
            "home.yaml",
            "--allow-module",
            "app",
            "--no-store",
        ],
        cwd=folder,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "Failed: 1 of 2 cases did not pass\n")


# ---------------------------------------------------------------------- what is said


def test_the_report_names_the_agent_the_file_and_the_prompts(voice):
    done = voice(GOOD.replace("nothing,", "crash,", 1), "--include-cases", "all")
    assert "ear on home" in done.stdout
    assert "LA" in done.stdout
    assert "Hearing\nword error rate      0.0% [0.0%, 79.3%] of 3 words" in done.stdout


def test_file_and_options_say_how_often_and_the_options_win(voice):
    text = GOOD + "    runs: 3\n"
    assert "6 attempts at 2 cases" in voice(text).stdout
    assert "4 attempts at 2 cases" in voice(text, "--repeat", "2").stdout


def test_quiet_shows_nothing_but_what_is_wrong(voice):
    text = WRONG + "    compare: text\n    sweep: {gain: [0]}\n"
    done = voice(text, "--quiet")
    assert (done.stdout, done.stderr) == ("", "Failed: 1 of 2 cases did not pass\n")


def test_evaluators_of_ones_own_may_be_named(voice):
    text = GOOD + "    evaluators: [ExactEvaluator, greedy]\n"
    done = voice(text, "--evaluator-type", "app:greedy", "--fail-under", "greedy=0.5")
    assert done.exit_code == 0, done.output
    assert "greedy" in done.stdout
    assert voice(GOOD + "    evaluators: ['app:greedy']\n").exit_code == 0


# ---------------------------------------------------------------------- comparisons


SWEEP = """
    sweep: {packet_loss: [null, 0, 1]}
"""


def test_prompts_as_text_tell_hearing_from_deciding(voice):
    done = voice(WRONG + "    compare: text\n    perturbation: {gain: -60}\n", "--include-cases", "none")
    assert done.exit_code == 1
    assert "Hearing and deciding\nas text      50.0%" in done.stdout
    assert "as speech" in done.stdout
    assert "as text" not in done.stderr, "that a text does not pass fails nothing"


def test_a_sweep_is_drawn_and_its_levels_fail_nothing(voice):
    done = voice(GOOD + SWEEP, "--no-store")
    assert (done.exit_code, done.stderr) == (0, "")
    _, plot = done.stdout.split("\nSweep\n")
    lines = plot.splitlines()
    assert [line.split()[0] for line in lines] == ["packet_loss", "none", "0", "1"]
    assert "100.0%" in lines[1]
    assert "50.0%" in lines[3], "nothing is right where nothing is to be done"


def test_what_errors_at_a_level_is_an_error(voice):
    done = voice(GOOD.replace("nothing,", "crash,", 1) + "    compare: text\n", "--limit", "1")
    assert done.exit_code == 0
    done = voice(CRASH + "    compare: text\n", "--no-store")
    assert done.exit_code == 3
    assert done.stderr == (
        "Error: 1 of 2 tasks did not finish\nFailed: 1 of 2 cases did not pass\nError: home.yaml as text: 1 of 2 tasks did not finish\n"
    )


def test_json_holds_every_evaluation_and_what_follows(voice):
    done = voice(GOOD + "    compare: text\n" + SWEEP, "--json")
    found = json.loads(done.stdout)
    assert [each["target"] for each in found["evaluations"]] == [
        "home.yaml",
        "home.yaml as text",
        "home.yaml at packet_loss rate 0",
        "home.yaml at packet_loss rate 1",
    ]
    assert [each["outcome"] for each in found["evaluations"]] == ["passed"] * 4
    assert found["transcripts"]["words"]["words"] == 4
    assert found["hearing"]["both"] == 2
    assert found["deciding"]["value"] == 0.0
    assert found["deciding"]["interval"]["high"] > 0.5, "two prompts prove little"
    assert found["sweep"]["label"] == "packet_loss rate"
    assert [(each["level"], each["rate"]["value"]) for each in found["sweep"]["points"]] == [
        (None, 1.0),
        (0, 1.0),
        (1, 0.5),
    ]


def test_json_of_a_plain_run_has_nothing_to_compare(voice):
    found = json.loads(voice(GOOD, "--json").stdout)
    assert (found["deciding"], found["hearing"], found["sweep"]) == (None, None, None)


def test_reports_of_levels_are_written_where_each_has_its_own_file(voice, folder):
    done = voice(
        GOOD + "    compare: text\n" + SWEEP, "--quiet", "--out", "reports/{name}.json", "--out", "main.html"
    )
    assert done.exit_code == 0, done.output
    names = sorted(path.name for path in (folder / "reports").iterdir())
    assert names == [
        "home-as-text.json",
        "home-packet_loss-rate-0.json",
        "home-packet_loss-rate-1.json",
        "home.json",
    ]
    assert (folder / "main.html").exists()
    assert len(read_report(folder / "reports" / "home-as-text.json").cases) == 2


def test_scores_alone_cannot_be_compared_and_that_is_said(voice):
    done = voice(GOOD + "    compare: text\n    evaluators: ['app:greedy']\n")
    assert done.exit_code == 0
    assert "Nothing to compare: nothing was asserted of the requests" in done.stderr


# ---------------------------------------------------------------------- sounds


def test_each_text_is_said_once_and_never_again(voice, folder):
    assert voice(GOOD, "--runs", "2").exit_code == 0
    assert voice(GOOD).exit_code == 0
    assert sorted((folder / "said.txt").read_text().split("\n")) == ["", "go to LA", "nothing"]
    assert len(list((folder / ".calipers" / "audio").glob("*.audio"))) == 2
    assert voice(GOOD.replace("app:Voice", "{'app:Voice': {pitch: 3}}")).exit_code == 0
    assert (folder / "said.txt").read_text().count("LA") == 2, "another voice is another sound"


@pytest.mark.parametrize(
    ("args", "said", "kept"), [(["--no-cache"], 2, []), (["--cache-dir", "sounds"], 1, ["sounds"])]
)
def test_the_cache_may_be_left_out_or_be_elsewhere(voice, folder, args, said, kept):
    for _ in range(2):
        assert voice(GOOD, "--no-store", *args).exit_code == 0
    assert (folder / "said.txt").read_text().count("LA") == said
    assert [path.name for path in folder.iterdir() if path.name in {".calipers", "sounds"}] == kept


def test_what_the_agent_heard_may_be_kept(voice, folder):
    assert voice(GOOD, "--keep-audio", "heard", "--out", "json:report.json").exit_code == 0
    paths = [case.attributes["audio"] for case in read_report(folder / "report.json").cases]
    assert sorted(Audio.load(path).pcm.decode("utf-16-le") for path in paths) == ["go to LA ", "nothing "]
    assert voice(GOOD, "--out", "json:report.json").exit_code == 0
    assert "audio" not in read_report(folder / "report.json").cases[0].attributes


# ---------------------------------------------------------------------- secrets and real parts


def test_a_secret_comes_from_the_environment_and_is_shown_nowhere(voice, monkeypatch, folder):
    text = """
        agent: {http: {url: "http://127.0.0.1:9/agent", headers: {Authorization: "Bearer ${VOICE_TEST_TOKEN}"}}}
        synthesizer: app:Voice
        expect: []
        prompts: [hello]
    """
    monkeypatch.delenv("VOICE_TEST_TOKEN", raising=False)
    done = voice(text)
    assert (
        "agent.http.headers.Authorization: the environment variable 'VOICE_TEST_TOKEN' is not set"
        in done.stderr
    )
    monkeypatch.setenv("VOICE_TEST_TOKEN", "s3cret-token")
    done = voice(text, "--tracebacks", "--out", "json:report.json")
    assert done.exit_code == 3
    assert "127.0.0.1" in done.output
    assert "s3cret" not in done.output + (folder / "report.json").read_text()


def test_a_file_with_the_parts_that_come_along_needs_no_option(calipers, write):
    write(
        "home.yaml",
        """
        agent: offline
        prompts:
          - prompt: Turn on the kitchen lights
            expect: {set_light: {on: true, room: kitchen}}
        """,
    )
    done = calipers("voice", "run", "home.yaml")
    assert done.exit_code == 0, done.output
    assert "OfflineAgent on home" in done.stdout


def test_a_file_in_the_place_of_the_cache_is_told_once_before_anything_runs(calipers, write):
    write("home.yaml", "agent: offline\ncompare: text\nexpect: []\nprompts: [hello there]\n")
    write(".calipers", "a file")
    done = calipers("voice", "run", "home.yaml")
    assert done.exit_code == 2
    assert done.stderr.count("a file is in the way") == 1


def test_a_folder_that_cannot_keep_sounds_is_told_once_before_anything_runs(voice, folder):
    for quiet in ([], ["-q"]):
        done = voice(GOOD, "--keep-audio", "/dev/null", *quiet)
        assert done.exit_code == 2
        assert done.stderr.count("sounds cannot be kept in '/dev/null'") == 1
    assert not (folder / "said.txt").exists()


def test_what_follows_fits_a_narrow_screen(voice, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    done = voice(GOOD + "    compare: text\n")
    _, conclusion = done.stdout.split("\nHearing and deciding\n")
    assert max(map(len, conclusion.splitlines())) <= 50


def test_a_file_of_another_kind_is_told_what_a_voice_file_is(calipers, write):
    write("home.csv", "prompt\n")
    done = calipers("voice", "run", "home.csv")
    assert done.exit_code == 2
    assert "a voice file is YAML or JSON: 'home.csv' is neither; end its name with .yaml" in done.stderr


# ---------------------------------------------------------------------- what is kept


def test_every_condition_is_a_run_of_its_own_and_is_gone_on_with_alone(voice, folder):
    text = GOOD + "    compare: text\n"
    done = voice(text)
    with open_store(folder / ".calipers/runs.db") as store:
        spoken, written = reversed(store.runs())
        assert (spoken.name, written.name) == ("ear", "home-as-text")
        assert (
            done.stderr
            == f"Kept in .calipers/runs.db: calipers show {spoken.id}, or calipers view --run {spoken.id}\n"
        )
        for run in (spoken, written):
            store.remove_attempts(run.id, [0])
            store.finish_run(run.id, status="interrupted")
        again = voice(text, "--resume")
        assert again.exit_code == 0
        assert again.stderr.startswith("Not done again: 1 of 2 attempts")
        assert [(run.id, run.status, run.attempts) for run in reversed(store.runs())] == [
            (spoken.id, "finished", 2),
            (written.id, "finished", 2),
        ]
