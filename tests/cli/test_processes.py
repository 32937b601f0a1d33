"""The command line as a process of its own: what it loads, signals, pipes, and the shell's completion."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from calipers import Case, Dataset
from calipers.cli.app import COMMANDS
from calipers.evaluators import IsInstance
from calipers.stores import open_store
from calipers.testing import HttpAgentServer, Reply
from calipers.views.formats import read_report

SCRIPT = str(Path(sys.executable).with_name("calipers"))
HEAVY = {"asyncio", "msgspec", "pydantic", "rich", "yaml", "json", "logging", "calipers.run.dataset"}


def environment(**more):
    plain = {
        key: value for key, value in os.environ.items() if key not in {"CI", "CALIPERS_DEBUG", "NO_COLOR"}
    }
    return {**plain, "COLUMNS": "80", **more}


def run(*args, cwd=None, **more):
    return subprocess.run(
        [SCRIPT, *args], cwd=cwd, capture_output=True, text=True, env=environment(**more), timeout=60
    )


# ---------------------------------------------------------------------- what a start costs


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_help_and_version_load_no_command_and_nothing_heavy(option):
    code = (
        "import sys; before = set(sys.modules); from calipers.cli.app import app\n"
        f"try:\n    app.main(['{option}'])\nexcept SystemExit as done:\n    code = done.code\n"
        "print(code, *(set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    exit_code, *loaded = done.stderr.split()
    assert exit_code == "0"
    assert not HEAVY & {*loaded, *(name.partition(".")[0] for name in loaded)}
    assert {name for name in loaded if name.startswith("calipers.cli.")} == {
        "calipers.cli.app",
        "calipers.cli.entry",
        "calipers.cli.exits",
        "calipers.cli.message",
    }
    assert len(loaded) <= 100, "a bare click needs most of these"


HELP = """
import os, sys
from calipers.cli.app import app
for number, command in enumerate(sys.argv[2:]):
    if not os.fork():  # each in a process of its own, in which only the app is loaded yet
        sys.stdout = open(f"{sys.argv[1]}/{number}", "w")
        try:
            app.main([*command.split(), "--help"])
        except SystemExit:
            print(*sys.modules)
        sys.stdout.close()
        os._exit(0)
    os.wait()
"""


MOST_MODULES = 203
"""Modules of Calipers that a run loads: neither gates and comparisons, nor views and readers of files that it does not use."""


EVALUATION = """
from calipers import Case, Dataset
from calipers.evaluators import EqualsExpected

task = str
dataset = Dataset(cases=[Case(inputs=1, expected_output="1")], evaluators=[EqualsExpected()])
"""


def test_a_run_loads_what_it_needs_and_little_more(tmp_path):
    (tmp_path / "eval_text.py").write_text(EVALUATION, encoding="utf-8")
    code = (
        "import sys; from calipers.cli.app import app\n"
        "try:\n    app.main(['run'])\nexcept SystemExit as done:\n    code = done.code\n"
        "print(code, *(name for name in sys.modules if name.partition('.')[0] == 'calipers'))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment())
    exit_code, *loaded = done.stdout.splitlines()[-1].split()
    assert exit_code == "0", done.stderr
    assert len(loaded) <= MOST_MODULES
    packages = {name.split(".")[1] for name in loaded if "." in name}
    assert not packages & {"gate", "comparison", "rollouts", "voice", "exchange", "testing"}
    assert not {name for name in loaded if name.startswith(("calipers.views.html", "calipers.files.load"))}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_the_help_of_a_command_loads_nothing_heavy(tmp_path):
    commands = [*COMMANDS, "voice run", "voice say"]
    subprocess.run([sys.executable, "-c", HELP, tmp_path, *commands], env=environment(), check=True)
    for number, command in enumerate(commands):
        *shown, loaded = (tmp_path / str(number)).read_text().splitlines()
        assert "Examples:" in shown, command
        assert "calipers.cli.app" in loaded.split(), command
        assert not (HEAVY - {"json", "logging"}) & set(loaded.split()), command


def test_the_module_is_the_same_program_as_the_script():
    done = subprocess.run(
        [sys.executable, "-m", "calipers", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == run("--version").stdout
    assert done.stdout.startswith("calipers ")


# ---------------------------------------------------------------------- codes and signals


@pytest.mark.parametrize(
    ("body", "args", "code"),
    [
        ("return numbers(1), task", [], 0),
        ("return numbers(-1), task", [], 1),
        ("return numbers(1), task", ["--no-such-option"], 2),
        ("return numbers('boom'), task", [], 3),
        ("return numbers(), task", [], 4),
    ],
)
def test_a_process_ends_with_the_code_of_its_outcome(write_eval, folder, body, args, code):
    write_eval(f"def eval_it():\n    {body}\n")
    assert run("run", *args, cwd=folder).returncode == code


def test_a_client_of_a_module_serves_every_evaluation_of_a_command(write, folder):
    with HttpAgentServer(Reply(text="ok")) as server:
        write(
            "agent.py",
            f"""
            import httpx
            from calipers import Case, Dataset

            client = httpx.AsyncClient()

            async def ask(inputs):
                return (await client.post({server.url!r}, json=inputs)).json()["text"]

            dataset = Dataset(cases=[Case(inputs=n) for n in range(3)], evaluators=[lambda output: output == "ok"])
            """,
        )
        write("eval_one.py", "from agent import ask, dataset\n\ndef eval_one():\n    return dataset, ask\n")
        write(
            "eval_two.py",
            "from agent import ask, dataset\n\nasync def eval_two():\n    return dataset, ask\n",
        )
        write(
            "eval_three.py", "from agent import ask, dataset\n\ndef eval_three():\n    return dataset, ask\n"
        )
        done = run("run", "--json", cwd=folder, PYTHONWARNINGS="error")
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == 9
    assert "Warning" not in done.stderr


SLOW = """
    import time
    from pathlib import Path

    def slow(inputs):
        if inputs:
            Path("waiting").touch()
            time.sleep(60)
        return 1

    def eval_slow():
        return numbers(0, 1), slow

    def eval_later():
        return numbers(0), slow
"""


SIGNALS = pytest.mark.parametrize(
    ("number", "name", "code", "word"),
    [(signal.SIGINT, "Ctrl-C", 130, "interrupted"), (signal.SIGTERM, "SIGTERM", 143, "terminated")],
)


@SIGNALS
def test_a_signal_ends_a_run_with_what_is_finished(write_eval, folder, number, name, code, word):
    write_eval(SLOW)
    outs = ["--out", "json:{name}.json", "--out", "jsonl:{name}.jsonl", "--out", "html:{name}.html"]
    process = subprocess.Popen(
        [SCRIPT, "run", "--json", "--max-concurrency", "1", *outs],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    until(lambda: (folder / "waiting").exists())
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == code, stderr
    assert f"eval_numbers.py:eval_slow: interrupted by {name} after 1 of 2 attempts" in stderr
    assert "1 evaluation did not begin" in stderr
    found = json.loads(stdout)
    assert (found["outcome"], len(found["evaluations"])) == (word, 1)
    for file in ("slow.json", "slow.jsonl"):
        report = read_report(folder / file)
        assert [case.name for case in report.cases] == ["number 0"]
        assert report.interrupted_by == name
    assert (folder / "slow.html").exists()
    with open_store(folder / ".calipers" / "runs.db") as store:
        assert [(info.status, info.attempts) for info in store.runs()] == [("interrupted", 1)]


@SIGNALS
def test_a_signal_before_anything_runs_is_the_same_outcome(write, folder, number, name, code, word):
    del name
    write("eval_it.py", "import time\nfrom pathlib import Path\nPath('waiting').touch()\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [SCRIPT, "run"], cwd=folder, stderr=subprocess.PIPE, text=True, env=environment()
    )
    until(lambda: (folder / "waiting").exists())
    process.send_signal(number)
    _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (code, f"{word.capitalize()}.\n")


@pytest.mark.parametrize("module", ["click", "calipers.cli.app", "calipers.cli.message"])
def test_a_ctrl_c_while_everything_loads_is_one_line(module):
    code = f"""
import os, signal, sys
class Interrupts:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
from calipers.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")


def test_next_to_nothing_is_loaded_before_a_ctrl_c_is_understood():
    code = "import sys; before = set(sys.modules); from calipers.cli import main; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded <= {"calipers", "__future__", "importlib", "warnings"}


def until(happened):
    deadline = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


# ---------------------------------------------------------------------- pipes and terminals


@pytest.mark.parametrize(
    "command", ["calipers run", "calipers evaluators", "calipers schema", "calipers --help"]
)
def test_a_reader_that_has_seen_enough_ends_it_quietly(write_eval, folder, command):
    write_eval("def eval_it():\n    return numbers(*range(1, 2000)), task\n")
    # `true` reads nothing at all, and the sleep makes sure that it is gone.
    shell = (
        f"set -o pipefail; {{ sleep 0.3; {command} --no-store --include-cases all --max-cases 0; }} | true"
    )
    if command != "calipers run":
        shell = shell.replace(" --no-store --include-cases all --max-cases 0", "")
    path = f"{Path(SCRIPT).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", shell],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment(PATH=path),
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_whose_report_is_not_read_still_fails_and_still_writes(write_eval, folder):
    write_eval("def eval_it():\n    return numbers(*range(-1000, 1000)), task\n")
    done = subprocess.run(
        [
            "bash",
            "-c",
            f"set -o pipefail; {{ sleep 0.3; {SCRIPT} run -q --out text:- --out r.json; }} | true",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
    )
    assert done.returncode == 1
    assert len(read_report(folder / "r.json").cases) == 2000


def test_what_another_process_prints_does_not_reach_the_json(write_eval, folder):
    write_eval("""
        import subprocess

        def shout(inputs):
            subprocess.run(["echo", "from a child"], check=True)
            return inputs

        def eval_shout():
            return numbers(1), shout
    """)
    done = run("run", "--json", cwd=folder)
    assert json.loads(done.stdout)["exit_code"] == 0
    assert "from a child" in done.stderr


@pytest.mark.parametrize(
    ("more", "coloured"),
    [({"FORCE_COLOR": "1"}, True), ({}, False), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False)],
)
def test_colours_are_for_terminals_and_can_be_turned_off(write_eval, folder, more, coloured):
    write_eval("def eval_it():\n    return numbers(1, -1), task\n")
    shown = run("run", cwd=folder, **more).stdout
    assert ("\x1b[" in shown and "31m" in shown) is coloured


@pytest.mark.parametrize("columns", ["20", "40", "200"])
def test_it_fits_terminals_of_any_width(write_eval, folder, columns):
    write_eval("def eval_it():\n    return numbers(1, -1), task\n")
    done = run("run", cwd=folder, COLUMNS=columns)
    assert done.returncode == 1
    assert max(map(len, done.stdout.splitlines())) <= int(columns)


def test_an_encoding_that_knows_few_characters_costs_no_output(write_eval, folder):
    write_eval("def eval_it():\n    return numbers('\\u9875', evaluators=[lambda output: False]), task\n")
    done = run("run", cwd=folder, PYTHONIOENCODING="ascii")
    assert done.returncode == 1, done.stderr
    assert "\\u9875" in done.stdout


def test_a_process_without_streams_ends_with_its_code(write_eval, folder):
    write_eval("def eval_it():\n    return numbers(-1), task\n")
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        command = ["bash", "-c", f"{SCRIPT} run {closed}"]
        done = subprocess.run(command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, timeout=60)
        assert done.returncode == 1, closed


@pytest.mark.parametrize("args", [[], ["--json"], ["--out", "json:-"]], ids=["text", "json", "out"])
@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_task_that_closes_a_stream_costs_no_output(write_eval, folder, name, args):
    write_eval(f"""
        def close(inputs):
            import sys
            sys.{name}.close()
            return inputs

        def eval_it():
            return numbers(-1), close
    """)
    done = run("run", *args, cwd=folder)
    assert done.returncode == 1, done.stderr
    assert "positive" in done.stdout
    assert "Failed: 1 of 1 case did not pass" in done.stderr


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the system does not tell what a process needed"
)
def test_the_memory_of_a_lazy_dataset_does_not_hold_its_attempts(write, folder):
    write(
        "eval_lazy.py",
        """
        from calipers import Case, Dataset

        def eval_lazy():
            cases = (Case(name=f"case {n}", inputs="x" * 5000 + str(n)) for n in range(5_000))
            return Dataset(cases=cases, evaluators=[lambda output: True]), str.upper
        """,
    )

    def kilobytes(*args):
        """The most that a run needed at any time, by the system's count for the program alone."""
        code = (
            "import sys; from calipers.cli.app import app\ntry:\n    app.main(sys.argv[1:])\nfinally:\n"
            "    print(*(line for line in open('/proc/self/status') if 'VmHWM' in line), file=sys.stderr)"
        )
        command = [sys.executable, "-c", code, "run", *args]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, env=environment(), timeout=60
        )
        assert "Passed 5,000 of 5,000 cases" in done.stdout
        return int(done.stderr.split()[-2])

    assert kilobytes("--out", "r.csv") + 30_000 < kilobytes("--include-cases", "all", "--max-cases", "1")


# ---------------------------------------------------------------------- completion


@pytest.fixture
def complete(calipers):
    """What a shell is offered for the last of the words, by a command line in this process."""

    def complete(*words):
        more = {
            "COMP_WORDS": "\n".join(["calipers", *words]),
            "COMP_CWORD": str(len(words)),
            "_CALIPERS_COMPLETE": "bash_complete",
        }
        return calipers(prog_name="calipers", env=more).stdout.splitlines()

    return complete


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ev"], ["plain,evaluators"]),
        (["run", "--fail"], ["plain,--fail-under"]),
        (["run", "eval_"], ["file,eval_"]),
        (["evaluators", "Contains"], [f"plain,Contains{more}" for more in ("", "All", "Any", "Expected")]),
        (["run", "--fail-under", "Equals"], ["plain,Equals=", "plain,EqualsExpected="]),
        (["run", "--out", "js"], ["plain,json:report.json", "plain,jsonl:report.jsonl"]),
        (["show", "a.json", "--to", "h"], ["plain,html:report.html"]),
        (["run", "--include-cases", "n"], ["plain,none"]),
        (["completion", "z"], ["plain,zsh"]),
    ],
)
def test_a_shell_is_offered_what_could_come_next(complete, words, offered):
    assert complete(*words) == offered


def test_a_path_after_a_format_is_completed_from_the_files_there_are(complete, write):
    write("out/old.json", "")
    assert complete("run", "--out", "json:o") == ["plain,json:out/"]
    assert complete("run", "--out", "json:out/") == ["plain,json:out/old.json"]


def test_runs_cases_and_evaluators_are_completed_from_the_store(complete, folder, kept):
    cases = [Case(name="one", inputs=1), Case(name="two", inputs=2)]
    dataset = Dataset(cases=cases, evaluators=[IsInstance("int")])
    ids = [dataset.evaluate_sync(abs, store=kept, progress=False).reuse.run for _ in range(2)]
    newest, oldest = reversed(ids)
    assert complete("show", "2") == [f"plain,{newest}", f"plain,{oldest}"]
    assert complete("show", "report") == ["file,report"]
    assert complete("run", "--resume", oldest[:-3]) == [f"plain,{oldest}"]
    assert complete("why", newest, "t") == ["plain,two"]
    assert complete("why", "latest", "two", "") == ["plain,IsInstance"]
    assert not any(complete("prune", "--store", "nowhere.db", "--run", "2"))
    assert not (folder / "nowhere.db").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_asks_this_program(calipers, shell):
    script = calipers("completion", shell)
    assert script.exit_code == 0
    assert f"_CALIPERS_COMPLETE={shell}_complete" in script.stdout


def test_bash_completes_with_the_script(folder):
    lines = f"""
        PATH="{Path(SCRIPT).parent}:$PATH"
        eval "$(calipers completion bash)"
        COMP_WORDS=(calipers sch) COMP_CWORD=1
        _calipers_completion calipers
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", lines], capture_output=True, text=True, env=environment(), timeout=60
    )
    assert (done.stdout.strip(), done.stderr) == ("schema", "")
