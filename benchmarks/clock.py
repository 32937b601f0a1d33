"""Taking the time, and the memory, of one call in this process.

Each function sweeps up earlier rubbish first, keeps the call's result alive until the measurement is over, and then
hands it to `check`, so that a run that failed fast is not taken for a fast run.
"""

import gc
import sys
import tracemalloc
from pathlib import Path
from time import perf_counter, process_time


def seconds_of(call, check=None, *, now=perf_counter):
    """Seconds that a call takes."""
    gc.collect()
    start = now()
    kept = call()
    taken = now() - start
    if check is not None:
        check(kept)
    return taken


def processor_seconds_of(call, check=None):
    """Seconds that the processor works for this process during a call. Other work on the machine does not count."""
    return seconds_of(call, check, now=process_time)


def bytes_kept_by(call, check):
    """Bytes that Python allocated during a call and that live as long as its result does."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = call()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    check(kept)
    return grown


def peak_growth_of(call, check):
    """Bytes by which the process's resident memory grows, at its highest, during a call."""
    gc.collect()
    before = _resident_now()
    kept = call()
    grown = _resident_peak() - before
    check(kept)
    return grown


def held_growth_of(call, check):
    """Bytes by which the process's resident memory has grown after a call, while its result lives. Linux only."""
    gc.collect()
    before = _status("VmRSS")
    kept = call()
    gc.collect()
    grown = _status("VmRSS") - before
    check(kept)
    return grown


def _resident_now():
    if sys.platform != "linux":
        return _resident_peak()  # the nearest there is: the highest so far
    # Writing 5 sets the high-water mark back to what is resident now; see proc(5).
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _status("VmRSS")


def _resident_peak():
    if sys.platform == "linux":
        return _status("VmHWM")  # ru_maxrss would include the parent process
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _status(field):
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise LookupError(f"/proc/self/status has no {field!r}")
