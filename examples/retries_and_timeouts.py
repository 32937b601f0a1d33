"""A service that is slow, unsteady or broken, and what a run makes of it.

python examples/retries_and_timeouts.py
"""

from calipers import Case, Dataset, Retry
from calipers.evaluators import Contains, MaxDuration
from calipers.testing import Delay, InTurn, ScriptedTask

service = ScriptedTask(
    {
        "steady": "fine",
        "unsteady": InTurn(ConnectionError("reset by peer"), ConnectionError("reset by peer"), "fine again"),
        "slow": Delay(0.05, "fine, but late"),
        "stuck": Delay(60, "never seen"),
        "broken": ValueError("no such page"),
    }
)

dataset = Dataset(
    name="a service",
    cases=[Case(name=name, inputs=name) for name in service.script],
    evaluators=[Contains("fine"), MaxDuration(0.04)],
)

if __name__ == "__main__":
    report = dataset.evaluate_sync(
        service,
        task_timeout=0.5,
        retry=Retry(attempts=4, on=ConnectionError, backoff=0.01),  # a ValueError is not worth a second try
    )
    for case in report.cases:
        held = {name: result.value for name, result in case.assertions.items()}
        print(f"{case.name:9} tries: {case.tries}  {held}")
    for failure in report.failures:
        print(f"{failure.name:9} tries: {failure.tries}  {failure.error_message}")
    print(f"passed {report.pass_rate().value:.0%} of {report.pass_rate().n_units} cases")
