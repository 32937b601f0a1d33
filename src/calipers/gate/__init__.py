"""Whether a run is good enough to ship: a policy, the verdict on a run, and the decision during a run."""

from .judging import judge_run
from .policy import Growth, HumanAgreement, Policy, Rules
from .stopping import StopWhenDecided
from .verdict import Finding, Outcome, Verdict

__all__ = [
    "Finding",
    "Growth",
    "HumanAgreement",
    "Outcome",
    "Policy",
    "Rules",
    "StopWhenDecided",
    "Verdict",
    "judge_run",
]
