"""An agent that calls tools, recorded while it works, and judged by six evaluators.

It serves a help desk: it looks orders up, pays money back and writes letters. Its language model is a few rules, so it
needs no key and no network and answers the same every time. It is imperfect on purpose. Three things make it a measured
agent: the decorators on its tools, the record of its model calls, and the adapter in the last lines.

    python examples/agent.py
"""

import re

from calipers import Case, Dataset, known
from calipers.agents import (
    FunctionAdapter,
    RegexPatternMatcher,
    TokenBudgetEvaluator,
    ToolCall,
    Trace,
    current_recording,
    tool,
)
from calipers.evaluators import EqualsExpected, FollowsTrajectory
from calipers.matching import AtMost, Before, Flow, Trajectory

ORDERS = {
    "A-1": {"item": "keyboard", "paid": 49.0, "state": "delivered"},
    "B-2": {"item": "monitor", "paid": 310.0, "state": "delivered"},
    "C-3": {"item": "cable", "paid": 4.9, "state": "under way"},
}


# ---------------------------------------------------------------------- the agent


@tool
def find_order(order: str) -> dict:
    return ORDERS[order]


@tool
def refund(order: str, amount: float) -> str:
    if amount > 300:
        raise PermissionError(f"{amount:.2f} needs a signature")
    return f"refunded {amount:.2f}"


@tool(name="mail.send", redact=["address"])
def send_mail(address: str, text: str) -> str:
    return "sent"


def decide(request: str) -> str:
    """The model: what to do about a request."""
    answer = "refund" if re.search(r"refund|money back", request) else "state"
    if recording := current_recording():
        recording.record_llm_call(
            "rules-1",
            input_tokens=len(request.split()),
            output_tokens=1,
            input_text=request,
            output_text=answer,
        )
    return answer


def help_desk(request: str) -> str:
    found = re.search(r"[A-Z]-\d", request)
    if found is None:
        raise ValueError("the request names no order")
    try:
        order = find_order(found[0])
    except KeyError:
        return f"There is no order {found[0]}."
    if decide(request) == "state":
        return f"Your {order['item']} is {order['state']}."
    amount = order["paid"]
    if "full" in request:
        amount += 5  # the postage, which was never paid: it makes the number up
    try:
        refund(found[0], amount)
    except PermissionError:
        send_mail("boss@example.org", f"Please sign a refund of {amount:.2f} for {found[0]}.")
        return "A colleague will look into it."
    return f"You get {amount:.2f} back."


# ---------------------------------------------------------------------- the evaluators

# Three styles: claims about attempts, verdicts on traces, and functions that name what they want to see.

careful = Trajectory(
    [],
    constraints=[
        Before("find_order", "refund"),
        AtMost("refund", 1),
        Flow("find_order", "refund", "amount"),
    ],
)


def keeps_addresses_secret(tool_calls: list[ToolCall]) -> bool:
    return not any("@" in str(call.arguments) for call in tool_calls)


def failed_tools(trace: Trace) -> int:
    return sum(not call.success for call in trace.tool_calls)


dataset = Dataset(
    name="help desk",
    cases=[
        Case(
            name="state",
            inputs="Where is my order C-3?",
            expected_output="Your cable is under way.",
        ),
        Case(
            name="refund",
            inputs="I want a refund for order A-1.",
            expected_output="You get 49.00 back.",
        ),
        Case(
            name="full refund",
            inputs="Give me my money back for A-1, the full sum.",
            expected_output="You get 49.00 back.",
        ),
        Case(
            name="large refund",
            inputs="I want a refund for order B-2.",
            expected_output="A colleague will look into it.",
        ),
        Case(
            name="unknown order",
            inputs="I would like a refund for my order Z-9, please.",
            expected_output="There is no order Z-9.",
        ),
        Case(
            name="chatty",
            inputs="Hello! " * 12 + "Where is C-3?",
            expected_output="Your cable is under way.",
        ),
        Case(
            name="no order",
            inputs="I want my money back!",
            expected_output="Which order is it?",
        ),
    ],
    evaluators=[
        EqualsExpected(),
        FollowsTrajectory(careful),
        RegexPatternMatcher(
            [{"pattern": r"^[A-Z].*\.$", "description": "a whole sentence"}], name="sentence"
        ),
        TokenBudgetEvaluator(max_total_tokens=12, name="tokens"),
        keeps_addresses_secret,
        failed_tools,
    ],
)


def show(trace: Trace) -> None:
    for turn in trace.turns:
        if turn.llm_call is not None:
            print(f"  {turn.llm_call.model} decided: {turn.llm_call.output_text}")
        elif turn.tool_call is not None:
            call = turn.tool_call
            print(f"  {call} {'gave ' + repr(call.output) if call.success else f'failed: {call.error}'}")


if __name__ == "__main__":
    report = dataset.evaluate_sync(FunctionAdapter(help_desk), seed=7)
    report.print()
    for case in report.cases:
        if case.name == "large refund":
            print(f"\n{case.name}, step by step:")
            show(known(case.trace))
