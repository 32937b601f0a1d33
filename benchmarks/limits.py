"""How much of what a server takes is used, and how many requests it refuses, when the limit is hard and changes during the run.

The server is a process of its own on this machine: so many requests and tokens a second, with five seconds of each at once, as a minute
that passes twelve times as fast. For fifteen seconds requests are what is short, then half as many are taken, then more requests and few
tokens. Each subject asks by the same client, until the server has no limit any more. Used is the share of the calls that a client would get which has
always one waiting; refused, the share after the first ten seconds. The server says in its headers what is left, as OpenAI does, or nothing.
"""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median

from command import alone
from measuring import Subject, in_fresh_process
from outcome import Outcome, Promise, Row

WINDOW = 5.0
"""Seconds of its limit that the server takes at once."""
PHASES = (
    {"seconds": 15, "requests": 50, "tokens": 20_000},
    {"seconds": 15, "requests": 25, "tokens": 20_000},
    {"seconds": 15, "requests": 100, "tokens": 5_000},
)
"""What the server takes in a second, and for how long."""
TOKENS = 110
"""About so many tokens has a question."""
MORE = 1.3
"""Cases, as a multiple of those that the server can take, so that there is work to the end."""
PATIENCE = 60
"""Seconds that a subject has after the last phase to come to its end."""
SETTLED = 10.0
"""Seconds from which on refused requests count."""
STEP = 0.01
OURS = "Calipers, auto"
ADEQUATE = 20
"""Calls in flight of those with a fixed limit: what the server takes at first, at 0.35 s a call."""
SAYS = {True: "which says what is left", False: "which says nothing"}
TARGETS = {True: 0.95, False: 0.85}


def subjects(options):
    """Function, options and Python of each."""
    fixed = {"at_once": ADEQUATE}
    found = {
        OURS: ("with_calipers", {"at_once": "auto"}, sys.executable),
        f"Calipers, {ADEQUATE} in flight": ("with_calipers", fixed, sys.executable),
        f"pydantic_evals, {ADEQUATE} in flight": ("with_pydantic_evals", fixed, sys.executable),
    }
    if options.all_peers:
        found["Inspect AI, adaptive"] = ("with_inspect", {}, options.all_peers)
    return found


def possible(tokens, phases=PHASES):
    """Calls of so many tokens that a client gets which has always one waiting: it empties the buckets as they fill."""
    left = {kind: phases[0][kind] * WINDOW for kind in ("requests", "tokens")}
    calls = 0.0
    for phase in phases:
        for _ in range(round(phase["seconds"] / STEP)):
            left = {kind: min(phase[kind] * WINDOW, each + phase[kind] * STEP) for kind, each in left.items()}
            now = min(left["requests"], left["tokens"] / tokens)
            left = {"requests": left["requests"] - now, "tokens": left["tokens"] - now * tokens}
            calls += now
    return calls


@contextmanager
def server(tells):
    """The address of the server, and what it tells when the block is left."""
    given = {"phases": PHASES, "window": WINDOW, "tells": tells}
    program = [
        sys.executable,
        str(Path(__file__).parent / "subjects" / "limited_model.py"),
        json.dumps(given),
    ]
    told = []
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1", told
        told += json.loads(process.communicate()[0])


def tried(label, function, given, python, tells):
    """The share used, the share refused and what else there is to say, or why there is nothing."""
    count = round(MORE * possible(TOKENS))
    with server(tells) as (url, told):
        subject = Subject(
            label, f"subjects.{function}:limited", {"url": url, "count": count, **given}, python
        )
        failed = in_fresh_process(subject, timeout=sum(phase["seconds"] for phase in PHASES) + PATIENCE)
    if not told:
        return failed
    late = [taken for at, taken, _ in told if at >= SETTLED]
    sizes = [tokens for _, taken, tokens in told if taken]
    said = failed if isinstance(failed, str) else f"{failed:,} cases failed" if failed else ""
    found = len(sizes) / possible(fmean(sizes)), late.count(False) / max(1, len(late)), said
    print(f"    used {found[0]:.3f}, refused {found[1]:.4f} {said}", file=sys.stderr)
    return found


def measured(tells, options):
    """The rows, and the promises about ours, with servers that tell or do not."""
    what = f"server with a limit that changes, {SAYS[tells]}"
    found = {label: [] for label in subjects(options)}
    missing = {}
    for turn in range(1 if options.quick else min(3, options.rounds)):
        for label, (function, given, python) in subjects(options).items():
            if turn and label != OURS:  # peers promise nothing: once tells enough
                continue
            print(f"  round {turn + 1}: {label}, {SAYS[tells]}", file=sys.stderr)
            outcome = tried(label, function, given, python, tells)
            if isinstance(outcome, str):
                missing[label] = outcome
            else:
                found[label].append(outcome)
    drawn = []
    for name, place, best in (("used", 0, max), ("refused after 10 s", 1, min)):
        for label, values in found.items():
            shares = [each[place] for each in values]
            note = missing.get(label) or "; ".join(each[2] for each in values if each[2] and not place)
            numbers = (best(shares), median(shares)) if shares else (None, None)
            drawn.append(Row(f"{what}: share {name}", label, *numbers, len(shares), "", note))
    ours = found[OURS]
    used, refused = (
        min((each[0] for each in ours), default=None),
        max((each[1] for each in ours), default=None),
    )
    return Outcome(
        tuple(drawn),
        (
            Promise(what, "used, the worst round", used, target=TARGETS[tells], at_least=True),
            Promise(what, "refused after 10 s, the worst round", refused, target=0.01, at_least=False),
        ),
    )


def benchmark(options):
    return measured(True, options) + measured(False, options)


if __name__ == "__main__":
    alone(benchmark, __doc__)
