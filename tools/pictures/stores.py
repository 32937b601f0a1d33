"""The stores whose runs stand in the pictures: each is made anew, from fixed seeds."""

import os
import random
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from settled import NOW, Began, settle
from table import StoreName

from calipers import Case, Dataset, EvaluationReason, current_attempt
from calipers.evaluators import ConfusionMatrixEvaluator, ROCEvaluator
from calipers.stores import SqliteStore
from calipers.voice import ExactEvaluator, VoiceTask
from calipers.voice.demo import OfflineAgent, spoken_requests
from calipers.voice.perturbations import Noise
from calipers.voice.synthesizers import EspeakSynthesizer

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.page_examples import run_page  # noqa: E402 - `tests` is not installed
from tests.viewer.gallery import keep_rollouts  # noqa: E402

STORE = Path(".calipers") / "runs.db"
"""Where a store is in its folder, as in a project."""


def make_stores(names: set[StoreName], folder: Path) -> dict[StoreName, Path]:
    """Make some of the stores below a folder, and return the folder of each."""
    found: dict[StoreName, Path] = {}
    for name in sorted(names):
        found[name] = folder / name
        found[name].mkdir()
        STORES[name](found[name])
    return found


# ---------------------------------------------------------------------- the tutorial


def support_as_begun(folder: Path) -> None:
    """What the tutorial leaves behind, as it is before anyone labels."""
    _keep_support(folder, with_judging=False)


def support(folder: Path) -> None:
    """What the tutorial leaves behind at its end."""
    _keep_support(folder, with_judging=True)


def _keep_support(folder: Path, *, with_judging: bool) -> None:
    work = folder / "work"
    work.mkdir()
    run_page(ROOT / "docs" / "tutorial-support-agent.md", work)

    def began(number: int) -> Began:
        return Began(NOW - timedelta(hours=4 - number, minutes=12 * number))

    settle(work / STORE, folder / STORE, began, with_judging=with_judging)


# ---------------------------------------------------------------------- a desk with a history


DEPARTMENTS: Final = ("billing", "delivery", "refunds", "technics")
LANGUAGES: Final = ("en", "de", "fr", "pl")
COMMITS: Final = 12


def desk(folder: Path) -> None:
    """Nightly runs of an agent that sorts mail, one that tries each case five times, spoken requests, and attacks."""
    work = folder / "work" / STORE
    with SqliteStore(work) as store:
        for night in range(COMMITS):
            skill = (0.62, 0.66, 0.65, 0.7, 0.74, 0.73, 0.79, 0.8, 0.71, 0.82, 0.85, 0.88)[night]
            _mail(200 if night < 6 else 240).evaluate_sync(
                _sorter(skill), store=store, name="nightly", seed=night, progress=False
            )
        _mail(40, "hard mail").evaluate_sync(
            _sorter(0.72), store=store, name="five times each", repeat=5, seed=1, progress=False
        )
        keep_rollouts(store)
        _keep_voice(store, folder / STORE.parent)

    def began(number: int) -> Began:
        if number < COMMITS:
            commit = random.Random(number).randbytes(20).hex()
            return Began(NOW - timedelta(days=COMMITS - number, hours=13), commit)
        return Began(NOW - timedelta(minutes=20 * (COMMITS + 3 - number)))

    settle(work, folder / STORE, began)


def _mail(cases: int, name: str = "mail") -> Dataset[Any, Any, Any]:
    made = []
    for number in range(cases):
        wanted = DEPARTMENTS[number % 4]
        draw = random.Random(number)
        language = draw.choices(LANGUAGES, (5, 3, 2, 1))[0]
        customer = f"customer {draw.randrange(30)}"
        text = _TEXTS[wanted][draw.randrange(3)].format(order=4000 + number)
        made.append(
            Case(
                name=f"mail {number:03}",
                inputs={"subject": text, "language": language},
                expected_output=wanted,
                metadata={"language": language, "words": len(text.split())},
                tags=("urgent",) if draw.random() < 0.2 else (),
                cluster=customer,
            )
        )
    return Dataset(
        name=name,
        cases=made,
        evaluators=[right_department, confidence, department],
        report_evaluators=[
            ConfusionMatrixEvaluator(
                predicted_from="labels", predicted_key="department", expected_from="expected_output"
            ),
            ROCEvaluator(score_key="confidence", positive_from="assertions", positive_key="right_department"),
        ],
    )


_TEXTS: Final[Mapping[str, tuple[str, str, str]]] = {
    "billing": (
        "The bill for order {order} is wrong",
        "I was charged twice for {order}",
        "Send the bill of {order} again",
    ),
    "delivery": (
        "Where is order {order}?",
        "Order {order} came to my neighbour",
        "{order} is two weeks late",
    ),
    "refunds": ("I want my money back for {order}", "I sent {order} back", "Please cancel order {order}"),
    "technics": ("The radio of {order} does not start", "{order} makes a noise", "How do I reset {order}?"),
}


def right_department(output: Mapping[str, Any], expected_output: str) -> EvaluationReason:
    """Whether the mail went where it belongs."""
    is_right = output["department"] == expected_output
    return EvaluationReason(is_right, f"sent to {output['department']!r}, it belongs to {expected_output!r}")


def confidence(output: Mapping[str, Any]) -> float:
    """How sure the agent is: a score from 0 to 1."""
    return float(output["confidence"])


def department(output: Mapping[str, Any]) -> str:
    """A label."""
    return str(output["department"])


def _sorter(skill: float) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Sorts a share of the mail right, less of it in Polish, and loses its connection now and then."""

    def sort(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        subject = inputs["subject"]
        draw, luck = random.Random(subject), random.Random(current_attempt().seed)
        wanted = next(name for name, texts in _TEXTS.items() if any(_fits(subject, text) for text in texts))
        share = skill - (0.3 if inputs["language"] == "pl" else 0)
        is_right = (draw if luck.random() < 0.7 else luck).random() < share
        if luck.random() < 0.01:
            raise ConnectionError(f"no answer within {luck.randrange(4000, 5000)} ms")
        said = wanted if is_right else draw.choice([each for each in DEPARTMENTS if each != wanted])
        sure = min(1.0, max(0.0, luck.gauss(0.8 if is_right else 0.55, 0.15)))
        return {"department": said, "confidence": round(sure, 2)}

    return sort


def _fits(subject: str, text: str) -> bool:
    return all(part in subject for part in text.split("{order}"))


def _keep_voice(store: SqliteStore, folder: Path) -> None:
    """Spoken requests with noise; the sounds are kept beside the store."""
    cases = [
        Case(name=each.text, inputs=each.text, expected_output=list(each.calls))
        for each in spoken_requests()[::5]
    ]
    home = Dataset(name="home", cases=cases, evaluators=[ExactEvaluator(ignore_extra_calls=False)])
    task = VoiceTask(
        OfflineAgent(),
        EspeakSynthesizer("en-us+f2"),
        perturbation=Noise(12),
        keep_audio=folder / "heard",
    )
    home.evaluate_sync(
        task, store=store, name="spoken, with noise", progress=False, max_concurrency=os.cpu_count()
    )


STORES: Final[Mapping[StoreName, Callable[[Path], None]]] = {
    "support as begun": support_as_begun,
    "support": support,
    "desk": desk,
}
