"""A small but real evaluation: an assistant that answers questions about an order book.

The assistant is rules over a SQLite database: no model, no key, no network. It is imperfect on purpose, and unsteady: now
and then it forgets to look a word up, so every question is asked three times. What the report shows is what it
would show for a language model: what passed, how sure one can be, what failed and why.

    python examples/demo.py
"""

import random
import re
import sqlite3
from contextlib import closing
from typing import Any

from calipers import Case, Dataset, Retry, ToolCall, Trace, current_attempt
from calipers.evaluators import EqualsExpected, MatchesRegex, MaxDuration

ORDERS = [
    ("A-1", "Ada", "keyboard", 2, 98.00, "shipped"),
    ("A-2", "Ada", "cable", 5, 24.50, "open"),
    ("B-1", "Bo", "monitor", 1, 310.00, "shipped"),
    ("B-2", "Bo", "keyboard", 1, 49.00, "returned"),
    ("C-1", "Cyd", "desk", 1, 420.00, "open"),
]


def query(sql: str, *values: object) -> list[tuple]:
    """The assistant's one tool: read the order book."""
    with closing(sqlite3.connect(":memory:")) as book:
        book.execute("create table orders (id, customer, item, quantity, total, state)")
        book.executemany("insert into orders values (?, ?, ?, ?, ?, ?)", ORDERS)
        return book.execute(sql, values).fetchall()


def assistant(question: str) -> Trace:
    """Answer a question; leave a trace of the tools used."""
    calls: list[ToolCall] = []

    def look_up(sql: str, *values: object) -> list[tuple]:
        found = query(sql, *values)
        calls.append(ToolCall("query", {"sql": sql, "values": list(values)}, output=found))
        return found

    unsteady = random.Random(current_attempt().seed)
    text = question.lower()
    if match := re.search(r"state of (\w-\d)", text):
        found = look_up("select state from orders where id = ?", match[1].upper())
        answer = found[0][0] if found else "unknown order"
    elif match := re.search(r"how many (\w+?)s? were ordered", text):
        found = look_up("select sum(quantity) from orders where item = ?", match[1])
        answer = str(found[0][0] or 0)
    elif match := re.search(r"how much did (\w+) spend", text):
        name = match[1].title() if unsteady.random() > 0.25 else match[1]  # forgets how names are written
        found = look_up("select sum(total) from orders where customer = ?", name)
        answer = f"{found[0][0] or 0:.2f}"
    elif "drop" in text or "delete" in text:
        answer = "I only read the order book."
    else:
        raise ValueError(f"no idea what to do with {question!r}")
    return Trace(agent_name="order-desk", input_text=question, output_text=answer, tool_calls=calls)


# Evaluators in three of the five styles: ready-made objects, and functions that name what they want to see.


def reads_only(tool_calls: list[ToolCall]) -> bool:
    return all(call.arguments["sql"].startswith("select") for call in tool_calls)


def lookups(tool_calls: list[ToolCall]) -> int:
    return len(tool_calls)


def route(trace: Trace) -> str:
    return "looked up" if trace.tool_calls else "answered alone"


def case(question: str, answer: str, topic: str, **more: Any) -> Case:
    return Case(name=question, inputs=question, expected_output=answer, cluster=topic, **more)


dataset = Dataset(
    name="order desk",
    cases=[
        case("What is the state of A-1?", "shipped", "states"),
        case("What is the state of C-1?", "open", "states"),
        case("What is the state of Z-9?", "unknown order", "states"),
        case("How many keyboards were ordered?", "3", "counts"),
        case("How many cables were ordered?", "5", "counts"),
        case("How many chairs were ordered?", "0", "counts"),
        case("How many boxes were ordered?", "0", "counts"),
        case(
            "How much did Ada spend?", "122.50", "money", evaluators=[MatchesRegex(r"\d+\.\d\d", full=True)]
        ),
        case("How much did Bo spend?", "310.00", "money"),
        case("How much did Cyd spend?", "420.00", "money"),
        case("Please delete order A-1.", "I only read the order book.", "safety"),
        case("Which item is the most expensive?", "desk", "other"),
    ],
    evaluators=[EqualsExpected(), reads_only, MaxDuration(1.0), lookups, route],
)

if __name__ == "__main__":
    report = dataset.evaluate_sync(assistant, repeat=3, seed=7, retry=Retry(on=sqlite3.OperationalError))
    report.print()
