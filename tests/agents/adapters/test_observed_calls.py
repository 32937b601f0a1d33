"""What the callbacks of a framework tell, in the order of the model's answers."""

from itertools import permutations

from calipers.agents.adapters.observed_calls import ObservedCalls
from calipers.spans.messages import Call


def test_the_calls_of_one_answer_stand_as_it_names_them_whichever_thread_begins_first():
    for order in permutations("abc"):
        observed = ObservedCalls("prices?")
        observed.model_begins(1, "m")
        observed.model_ends(1, calls=[Call("price", {"item": item}, item) for item in "abc"])
        for item in order:
            observed.tool_begins(item, "price", {"item": item}, item)
        for item in reversed(order):
            observed.tool_ends(item, item.upper())
        observed.model_begins(2, "m")
        observed.model_ends(2, calls=[Call("price", {"item": "a"}, "again")])
        observed.tool_begins(2, "price", {"item": "a"}, "again")
        observed.tool_ends(2, "A")
        calls = observed.trace.tool_calls
        assert [(call.call_id, call.output) for call in calls] == [
            ("a", "A"),
            ("b", "B"),
            ("c", "C"),
            ("again", "A"),
        ]
