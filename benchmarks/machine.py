"""Which machine and which versions the numbers belong to; nothing that names the machine or its owner."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from measuring import Subject, in_fresh_process

PACKAGES = ("calipers", "pydantic-evals")
MORE_PACKAGES = ("deepeval", "inspect-ai")


def facts(options):
    """What a reader has to know to compare the numbers with their own."""
    found = {
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        **versions(PACKAGES),
    }
    if options.all_peers:
        theirs = Subject("versions", "machine:versions", {"packages": MORE_PACKAGES}, options.all_peers)
        found |= in_fresh_process(theirs)
    return found


def versions(packages):
    """The installed version of each package."""
    return {package: _version(package) for package in packages}


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
