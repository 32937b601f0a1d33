"""The command line that every benchmark shares."""

import argparse
import json
import sys
from pathlib import Path

from machine import facts
from outcome import as_data, tables


def parser(description):
    """The options that every benchmark takes."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--json", action="store_true", help="print JSON instead of tables")
    made.add_argument("--rounds", type=int, default=5, help="measure each subject so often (default: 5)")
    made.add_argument(
        "--quick",
        action="store_true",
        help="a tenth of the cases, no gate: shows that the suite works, not how fast",
    )
    made.add_argument(
        "--all-peers",
        nargs="?",
        const=sys.executable,
        # Absolute, for measurements run in another directory; not resolved, for that would leave the environment.
        type=lambda path: str(Path(path).absolute()),
        metavar="PYTHON",
        help="also measure DeepEval and Inspect AI, in the environment of this interpreter (default: the present one)",
    )
    made.add_argument("--no-gate", action="store_true", help="exit with 0 even if a target is missed")
    return made


def alone(benchmark, description):
    """Run one benchmark as a program."""
    options = parser(description).parse_args()
    outcome = benchmark(options)
    print(drawn(outcome, options))
    sys.exit(exit_code(outcome, options))


def drawn(outcome, options):
    """The outcome as the options ask for it."""
    if options.json:
        return json.dumps(as_data(outcome, facts(options)), indent=2, ensure_ascii=False)
    return tables(outcome, facts(options))


def exit_code(outcome, options):
    """1 if a target is missed or could not be measured. Targets hold at full size, so a quick run has no gate."""
    return 0 if outcome.met or options.no_gate or options.quick else 1


def sized(count, options):
    """The number of cases, or a tenth of it for a quick run."""
    return max(1, count // 10) if options.quick else count
