"""Install packages into an environment: `python tools/packages.py PYTHON [--no-deps] REQUIREMENT ...`.

uv does it, which is many times faster than pip and keeps what two environments share once; where uv could not be installed,
or fails, pip does it. uv does not read pip's settings, so those that say where packages come from are handed on.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = Path(sys.executable).with_name("uv")
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "no-index": "UV_NO_INDEX",
    "cert": "SSL_CERT_FILE",
}
"""Settings of pip, and the variables by which uv reads the same."""


def settings_for_uv() -> dict[str, str]:
    """What pip is set to, as uv reads it."""
    done = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=False)
    found = {}
    for line in done.stdout.splitlines():
        name, _, value = line.partition("=")
        if variable := NAMES.get(name.rpartition(".")[2]):
            found[variable] = " ".join(str(ast.literal_eval(value)).split())
    if "UV_FIND_LINKS" in found:
        found["UV_FIND_LINKS"] = found["UV_FIND_LINKS"].replace(" ", ",")
    # Like pip, take the best version that any index has.
    return {"UV_INDEX_STRATEGY": "unsafe-best-match", **found}


def install(python: Path, words: Sequence[str]) -> int:
    """Install into the environment of that Python; the exit code of the program that did it, or tried last."""
    if UV.exists():
        command = [UV, "pip", "install", "--quiet", "--python", python, *words]
        if not subprocess.run(command, cwd=ROOT, env=settings_for_uv() | os.environ, check=False).returncode:
            return 0
        print("uv could not install that: trying pip", flush=True)
    # What is imported gets compiled then; most of what is installed never is.
    command = [*PIP, "--python", python, "install", "--quiet", "--no-compile", *words]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(install(Path(sys.argv[1]), sys.argv[2:]))
