"""Install the programs that some tests drive, where that takes no more than a package manager's word.

Without bubblewrap the tests of the isolated sandbox are skipped, without Chromium those of the HTML report in a
browser; each skip says so.
"""

import os
import shutil
import subprocess

PROGRAMS = {"bwrap": "bubblewrap", "chromium": "chromium"}
"""Program and the Debian package that brings it."""


def main() -> None:
    """Install what is missing, if we are root and apt-get is there."""
    missing = [package for program, package in PROGRAMS.items() if not shutil.which(program)]
    if not missing or os.name != "posix" or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    print(f"installing {' and '.join(missing)} for the tests ...", flush=True)
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *missing]):
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for program, package in PROGRAMS.items():
        if not shutil.which(program):
            print(f"{package} could not be installed: the tests that need it will be skipped")


if __name__ == "__main__":
    main()
