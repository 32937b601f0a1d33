"""A store to look at with the viewer: a run of a million results, and one whose agent leaves long traces."""

import random
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from calipers import Case, Dataset, EvaluationReason
from calipers.data.attempt import increment_eval_metric
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn, TurnType
from calipers.stores import open_store
from calipers.stores.store_copy import copy_store

LARGE = "large"
"""The name of the run of a million results."""
EVALUATORS = 3
STEPS = {"long": 10_000, "very long": 300_000}
"""Steps of the traces, by the names of their runs: each has one case."""
BODY = 430
"""Bytes that a step of a trace holds, so that ten thousand are 5 MB."""
TOPICS = ("refund", "billing", "delivery", "account", "returns", "invoice", "warranty", "login")
LANGUAGES = ("en", "de", "fr", "es", "pl")
SENTENCE = "the order was late and no one said when it would come so I want my money back at once please"
WORDS = SENTENCE.split()


def large(cases):
    """Questions of customers: 120 bytes in, 240 out, a tag, three fields of metadata, a cost."""

    def made():
        for number in range(cases):
            draw = random.Random(number)
            topic = TOPICS[number % len(TOPICS)]
            asked = f"Order {number}: " + " ".join(draw.choices(WORDS, k=22))
            metadata = {
                "lang": LANGUAGES[number % len(LANGUAGES)],
                "priority": number % 4,
                "shop": f"shop {number % 40}",
            }
            yield Case(
                name=f"{topic} {number:06d}",
                inputs=asked,
                expected_output=topic,
                metadata=metadata,
                tags=(topic,),
            )

    return Dataset(name="support desk", cases=list(made()), evaluators=[right, tone, route])


async def sorts(asked):
    """The answer of the agent, which is wrong one time in ten."""
    number = int(asked[6 : asked.index(":")])
    draw = random.Random(-number - 1)
    increment_eval_metric("cost", draw.randrange(1, 900) / 1e5)
    topic = TOPICS[(number + (draw.random() < 0.1)) % len(TOPICS)]
    return f"{topic}: " + " ".join(draw.choices(WORDS, k=48))


def right(output, expected_output):
    given = output.partition(":")[0]
    return EvaluationReason(
        given == expected_output, "" if given == expected_output else f"filed under {given}"
    )


def tone(output):
    return len(output) % 101 / 100


def route(output):
    return output.partition(":")[0]


def traced(steps):
    """An agent's trace: in every turn of a user twenty steps, a request to a model or a call of a tool in turn."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    text = " ".join(WORDS * 10)
    turns = []
    for step in range(steps):
        at = start + timedelta(milliseconds=200 * step)
        said = f"{step} {text}"[: BODY // 2]
        if step % 20 == 0:
            turns.append(Turn(turn_type=TurnType.USER_MESSAGE, content=f"{step} {text}"[:BODY], timestamp=at))
        elif step % 2:
            asked = LLMCall(
                model="model-1",
                input_text=said,
                output_text=said,
                input_tokens=50,
                output_tokens=20,
                latency_ms=90.0,
                cost=0.001,
            )
            turns.append(Turn(llm_call=asked, timestamp=at))
        else:
            error = "no such order" if step % 1000 == 998 else None
            call = ToolCall(
                "look_up", {"order": step, "note": said}, output=said, error=error, latency_ms=60.0
            )
            turns.append(Turn(tool_call=call, timestamp=at))
    return Trace(agent_name="clerk", turns=turns, output_text="done")


def build(folder, cases):
    """Seconds that it takes to keep the runs, large and traced."""
    began = time.perf_counter()
    with open_store(Path(folder, "runs.db")) as store:
        for name, steps in STEPS.items():
            one = Dataset(name="traces", cases=[Case(name=name, inputs=steps)], evaluators=[answered])
            one.evaluate_sync(traced, name=name, store=store, progress=False)
        report = large(cases).evaluate_sync(
            sorts, name=LARGE, store=store, keep="failed", progress=False, seed=1
        )
        assert report.counts().attempts == cases, report.counts()
    return time.perf_counter() - began


def copied(folder, url):
    """Seconds that it takes to copy the runs to another store."""
    began = time.perf_counter()
    with open_store(Path(folder, "runs.db")) as source, open_store(url) as target:
        assert {each.became for each in copy_store(source, target)} == {"copied"}
    return time.perf_counter() - began


def answered(output):
    return output.output_text == "done"
