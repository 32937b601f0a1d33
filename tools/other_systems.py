"""Check types as they are on Windows and on macOS: a function that a system lacks is an error there.

Libraries are not looked into, for their types are checked on this system already: that would take most of the time.

What runs nowhere but on POSIX systems is left out on Windows, and listed here with the reason; a file that is listed and
has no such error is pointed out, so that the list stays true.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import run

ROOT = Path(__file__).resolve().parent.parent
POSIX_ONLY = {
    "src/calipers/sandbox/child.py": "Sandbox.run refuses Windows before it starts a child",
    "src/calipers/sandbox/confinement.py": "the same",
    "src/calipers/sandbox/launcher.py": "the same: it is what the child runs",
    "src/calipers/sandbox/python.py": "the same: it reads how a child ended",
}
"""Files with calls that Windows lacks, and why it never makes them."""


def problems(platform: str) -> list[str]:
    """What mypy says for a platform, apart from what is left out there."""
    words = ["--platform", platform, "--cache-dir", f".mypy_cache/{platform}", "--no-error-summary"]
    words += ["--no-site-packages", "--ignore-missing-imports", "--no-warn-unused-ignores"]
    done = run(
        [sys.executable, "-m", "mypy", *words, "src"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode > 1 or (done.returncode and not done.stdout):
        return [f"mypy failed on {platform}: {done.stdout}{done.stderr}"]
    lacking = [line for line in done.stdout.splitlines() if line.endswith("[attr-defined]")]
    lines = [line.replace("\\", "/") for line in lacking]
    left_out = POSIX_ONLY if platform == "win32" else {}
    found = [line for line in lines if line.partition(":")[0] not in left_out]
    unused = [name for name in left_out if not any(line.startswith(f"{name}:") for line in lines)]
    return [
        *(f"{platform}: {line}" for line in found),
        *(f"{name} runs on {platform} as it is: take it off POSIX_ONLY" for name in unused),
    ]


def main() -> int:
    """Check each platform; 1 if there are problems."""
    with ThreadPoolExecutor() as pool:
        found = [line for lines in pool.map(problems, ("win32", "darwin")) for line in lines]
    print("\n".join(found) or "types hold on Windows and macOS, too")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
