"""Importing a package in a process that has imported nothing of the kind. It must not import any of them itself."""

import sys
from importlib import import_module
from time import perf_counter


def seconds(module, names=()):
    """Seconds for `import module`, or for `from module import …`."""
    assert module not in sys.modules, f"{module} is imported before the clock starts"
    start = perf_counter()
    found = import_module(module)
    for name in names:
        getattr(found, name)
    return perf_counter() - start


def until_first_report(subject):
    """Seconds from nothing to the report of one case: what late imports put off is paid here."""
    import workload

    start = perf_counter()
    used = import_module(subject)
    used.evaluate(used.dataset(1), workload.double)
    return perf_counter() - start
