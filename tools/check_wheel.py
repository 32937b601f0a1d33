"""Whether what `make wheel` built is fit to be published: run by `make wheel`, with the interpreter that builds.

The source distribution has to build the same wheel. The wheel goes into an empty environment, where `calipers --help`, a
first run and `calipers view` have to work without anything of this checkout.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = """
from calipers import Case, Dataset
from calipers.evaluators import EqualsExpected

dataset = Dataset(cases=[Case(inputs="a", expected_output="A")], evaluators=[EqualsExpected()])
report = dataset.evaluate_sync(str.upper, progress=False)
assert report.pass_rate().value == 1
"""


def main() -> None:
    """Check the newest wheel and source distribution in dist/; an error ends the process."""
    wheel, source = _newest("*.whl"), _newest("*.tar.gz")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        again = _built_from(source, folder)
        lost = sorted(_names(wheel) ^ _names(again))
        if lost:
            sys.exit(f"the wheel built from {source.name} differs in: {', '.join(lost[:10])}")
        _try(wheel, folder)
    print(f"built and tried: dist/{wheel.name}, dist/{source.name}")


def _newest(pattern: str) -> Path:
    found = sorted((ROOT / "dist").glob(pattern), key=lambda path: path.stat().st_mtime)
    if not found:
        sys.exit(f"there is no {pattern} in dist/")
    return found[-1]


def _names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def _built_from(source: Path, folder: Path) -> Path:
    """The wheel that a source distribution makes."""
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    unpacked = folder / source.name.removesuffix(".tar.gz")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=unpacked, check=True)
    return next((unpacked / "dist").glob("*.whl"))


def _try(wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment, and use it there."""
    place = folder / "empty"
    venv.create(place, with_pip=True)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    quiet = ["--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([programs / "python", "-m", "pip", *quiet, wheel], cwd=folder, check=True)
    asked = subprocess.run([programs / "calipers", "--help"], cwd=folder, check=True, capture_output=True)
    if b"Commands:" not in asked.stdout:
        sys.exit("calipers --help does not list its commands")
    subprocess.run([programs / "python", "-c", EXAMPLE], cwd=folder, check=True)
    subprocess.run([programs / "calipers", "init", "evals"], cwd=folder, check=True, capture_output=True)
    ran = subprocess.run([programs / "calipers", "run", "--quiet"], cwd=folder / "evals", check=False)
    if ran.returncode != 1:  # one case of the example fails on purpose
        sys.exit(f"the example of calipers init ended with {ran.returncode}")
    subprocess.run([programs / "python", "-m", "pip", *quiet, f"{wheel}[view]"], cwd=folder, check=True)
    _look(programs / "calipers", folder / "evals")


def _look(calipers: Path, project: Path) -> None:
    """Start the viewer of a project, and read its page and the files of the page as a browser does."""
    command = [str(calipers), "view", "--port", "0", "--no-browser", "--run", "latest"]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True) as viewer:
        try:
            address = viewer.stdout.readline().strip() if viewer.stdout else ""
            browser = build_opener(HTTPCookieProcessor(CookieJar()), ProxyHandler({}))
            with browser.open(address, timeout=30) as answer:
                page = answer.read().decode()
            parts = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
            if not {"/static/viewer.js", "/static/style.css", "/static/favicon.svg"} <= set(parts):
                sys.exit(f"the page of the viewer names {parts}")
            for part in parts:
                with browser.open(urljoin(address, part), timeout=30) as answer:
                    if not answer.read():
                        sys.exit(f"{part} of the viewer is empty")
        finally:
            viewer.terminate()


if __name__ == "__main__":
    main()
