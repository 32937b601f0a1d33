"""Install bubblewrap for the sandbox tests, where that takes no more than a package manager's word.

Without it the tests of the isolated sandbox are skipped, and say so.
"""

import os
import shutil
import subprocess


def main() -> None:
    """Install bubblewrap if it is missing, we are root and apt-get is there."""
    if shutil.which("bwrap") or os.name != "posix" or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    print("installing bubblewrap for the sandbox tests ...", flush=True)
    for command in (
        ["apt-get", "update"],
        ["apt-get", "install", "-y", "--no-install-recommends", "bubblewrap"],
    ):
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not shutil.which("bwrap"):
        print("bubblewrap could not be installed: the tests that need it will be skipped")


if __name__ == "__main__":
    main()
