"""Functions whose calls are recorded: what of them, under which names, and what is left unrecorded."""

import asyncio
import functools
import inspect
import threading
from dataclasses import dataclass

import pytest

from calipers import Case, Dataset
from calipers.agents import TraceRecorder, tool
from calipers.data.redaction import REDACTED
from calipers.errors import InvalidOptionError


def recorded(function, *args, **kwargs):
    """The calls that one call of a function leaves, and what it gave or raised."""
    with TraceRecorder("bot") as recording:
        try:
            outcome = function(*args, **kwargs)
            if inspect.isawaitable(outcome):

                async def wait():
                    return await outcome

                outcome = asyncio.run(wait())
        except Exception as error:
            outcome = error
    return list(recording.trace.tool_calls), outcome


def only(function, *args, **kwargs):
    calls, _ = recorded(function, *args, **kwargs)
    assert len(calls) == 1
    return calls[0]


@tool
def search(query: str, limit: int = 10, *words: str, exact: bool = False, **more: object) -> list[str]:
    """Finds things."""
    return [f"{query} {number}" for number in range(min(limit, 2))]


@tool
async def fetch(url: str, *, tries: int = 1) -> str:
    """Fetches a page."""
    await asyncio.sleep(0)
    return f"page at {url}"


# ---------------------------------------------------------------------- what is recorded


@pytest.mark.parametrize(
    ("args", "kwargs", "arguments"),
    [
        (("x",), {}, {"query": "x"}),
        ((), {"query": "x", "limit": 1}, {"query": "x", "limit": 1}),
        (("x", 1, "a", "b"), {}, {"query": "x", "limit": 1, "words": ["a", "b"]}),
        (("x",), {"exact": True, "lang": "en"}, {"query": "x", "exact": True, "lang": "en"}),
        (("x",), {"more": 1}, {"query": "x", "more": 1}),
    ],
    ids=["positional", "keywords", "star", "others", "named like the catch-all"],
)
def test_arguments_stand_under_the_names_of_their_parameters_and_defaults_do_not(args, kwargs, arguments):
    call = only(search, *args, **kwargs)
    assert call.arguments == arguments
    assert call.name == "search"
    assert call.success
    assert call.output


def test_a_catch_all_that_would_hide_another_argument_keeps_its_own_name():
    @tool
    def odd(a, /, **rest):
        return a

    assert only(odd, 1, a=2).arguments == {"a": 1, "rest": {"a": 2}}


def test_an_async_tool_is_recorded_with_the_time_it_took():
    call = only(fetch, "here", tries=2)
    assert call.arguments == {"url": "here", "tries": 2}
    assert call.output == "page at here"
    assert call.latency_ms is not None
    assert call.timestamp is not None


def test_outside_a_recording_a_tool_is_just_called():
    assert search("x", 1) == ["x 0"]
    assert asyncio.run(fetch("here")) == "page at here"


def test_a_tool_stays_the_function_it_was():
    assert (search.__name__, search.__doc__, search.__module__) == ("search", "Finds things.", __name__)
    assert str(inspect.signature(search)).startswith("(query: str, limit: int = 10")
    assert inspect.iscoroutinefunction(fetch)
    assert not inspect.iscoroutinefunction(search)


@tool
def fail(text):
    raise KeyError(text)


@tool
async def fail_later(text):
    raise KeyError(text)


@pytest.mark.parametrize("function", [fail, fail_later], ids=["sync", "async"])
def test_a_failure_is_recorded_with_type_and_message_and_goes_on(function):
    (call,), outcome = recorded(function, "no such key")
    assert isinstance(outcome, KeyError)
    assert (call.success, call.error, call.output) == (False, "KeyError: 'no such key'", None)
    assert call.latency_ms is not None


def test_a_call_that_the_signature_refuses_is_a_failed_call_with_what_was_given():
    (call,), outcome = recorded(fetch, "a", "b", tries=2)
    assert isinstance(outcome, TypeError)
    assert call.arguments == {"args": ["a", "b"], "tries": 2}
    assert not call.success
    assert call.error.startswith("TypeError: ")


def test_a_cancelled_call_is_recorded_as_one_that_failed():
    @tool
    async def hang():
        await asyncio.Event().wait()

    async def main():
        async with TraceRecorder("bot") as recording:
            task = asyncio.create_task(hang())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return recording.trace.tool_calls[0]

    call = asyncio.run(main())
    assert (call.success, call.error) == (False, "CancelledError: cancelled before it had finished")


def test_a_tool_that_ends_the_program_is_recorded_too():
    @tool
    def leave():
        raise SystemExit(3)

    with pytest.raises(SystemExit), TraceRecorder("bot") as recording:
        leave()
    assert recording.trace.tool_calls[0].error == "SystemExit: 3"


def test_a_stop_iteration_passes_through():
    @tool
    def advance(items):
        return next(items)

    (call,), outcome = recorded(advance, iter(()))
    assert isinstance(outcome, StopIteration)
    assert call.error == "StopIteration"


def test_what_the_tool_or_the_agent_changes_later_is_not_changed_in_the_record():
    @tool
    def sort(items):
        items.sort()
        return items

    with TraceRecorder("bot") as recording:
        items = sort([2, 1])
        items.append(3)
    call = recording.trace.tool_calls[0]
    assert call.arguments == {"items": [2, 1]}
    assert call.output == [1, 2]


def test_a_tool_that_calls_a_tool_leaves_two_calls_the_outer_first():
    @tool
    def outer(query):
        return search(query)

    calls, _ = recorded(outer, "x")
    assert [call.name for call in calls] == ["outer", "search"]


# ---------------------------------------------------------------------- which functions


class Desk:
    def __init__(self):
        self.book = {"A-1": "shipped"}

    @tool
    def state(self, order):
        return self.book[order]

    @tool
    async def state_later(self, order):
        return self.book[order]

    @classmethod
    @tool
    def count(cls, orders):
        return len(orders)

    @staticmethod
    @tool
    def shout(text):
        return text.upper()

    def plain(self, order):
        return self.book[order]


@pytest.mark.parametrize(
    ("call", "arguments", "output"),
    [
        (lambda desk: desk.state("A-1"), {"order": "A-1"}, "shipped"),
        (lambda desk: Desk.state(desk, order="A-1"), {"order": "A-1"}, "shipped"),
        (lambda desk: desk.state_later("A-1"), {"order": "A-1"}, "shipped"),
        (lambda desk: desk.count([1, 2]), {"orders": [1, 2]}, 2),
        (lambda desk: Desk.shout("a"), {"text": "a"}, "A"),
        (lambda desk: tool(desk.plain)("A-1"), {"order": "A-1"}, "shipped"),
    ],
    ids=["method", "method of the class", "async method", "class method", "static method", "bound method"],
)
def test_methods_are_tools_and_the_object_they_belong_to_is_no_argument(call, arguments, output):
    desk = Desk()
    found = only(lambda: call(desk))
    assert (found.arguments, found.output, found.success) == (arguments, output, True)


def test_a_method_called_with_too_much_does_not_record_its_object():
    calls, _ = recorded(Desk().state, "A-1", "B-1")
    assert calls[0].arguments == {"args": ["A-1", "B-1"]}


def test_a_function_whose_first_parameter_is_called_self_outside_a_class_keeps_it():
    @tool
    def portrait(self, size):
        return f"{self} at {size}"

    assert only(portrait, "me", 3).arguments == {"self": "me", "size": 3}


class Callable:
    def __call__(self, text):
        return text


class CallableLater:
    async def __call__(self, text):
        return text


def keeps_nothing(function):
    """A decorator that hides that its function is async."""

    def wrapper(*args):
        return function(*args)

    return wrapper


async def later(text):
    return text


@pytest.mark.parametrize(
    ("function", "name", "arguments"),
    [
        (tool(functools.partial(search, limit=1)), "search", {"query": "a"}),
        (tool(functools.partial(later)), "later", {"text": "a"}),
        (tool(Callable()), "Callable", {"text": "a"}),
        (tool(CallableLater()), "CallableLater", {"text": "a"}),
        (tool(keeps_nothing(later)), "wrapper", {"args": ["a"]}),
        (tool(functools.wraps(later)(keeps_nothing(later))), "later", {"text": "a"}),
        (tool(name="web.search")(search), "web.search", {"query": "a"}),
        (tool(lambda text: text, name="echo"), "echo", {"text": "a"}),
        (tool(max), "max", {"args": ["a"]}),
    ],
    ids=[
        "partial",
        "async partial",
        "object",
        "async object",
        "hidden async",
        "wrapped async",
        "named",
        "lambda",
        "built-in",
    ],
)
def test_whatever_can_be_called_may_be_a_tool(function, name, arguments):
    calls, outcome = recorded(function, "a")
    assert (calls[0].name, calls[0].arguments, calls[0].success) == (name, arguments, True)
    assert calls[0].output == outcome


def test_the_failure_of_a_hidden_async_function_is_recorded_when_it_fails():
    async def broken():
        raise OSError("gone")

    (call,), outcome = recorded(tool(keeps_nothing(broken)))
    assert isinstance(outcome, OSError)
    assert call.error == "OSError: gone"


def yields():
    yield 1


async def yields_later():
    yield 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (3, "a tool is a function"),
        ("mail.send", r"goes by its keyword: @tool\(name='mail.send'\)"),
        (Desk, "a tool is a function"),
        (yields, "yields, so its call ends before its work begins"),
        (yields_later, "yields, so its call ends before its work begins"),
        (staticmethod(later), "stands below @staticmethod"),
        (classmethod(later), "stands below @classmethod"),
        (lambda text: text, "needs a name"),
    ],
    ids=[
        "number",
        "name",
        "class",
        "generator",
        "async generator",
        "static method",
        "class method",
        "lambda",
    ],
)
def test_what_is_no_tool_is_refused_where_it_is_marked(function, message):
    with pytest.raises(InvalidOptionError, match=message):
        tool(function)


@pytest.mark.parametrize("name", ["", 3], ids=repr)
def test_a_tool_has_a_name(name):
    with pytest.raises(InvalidOptionError, match="needs a name"):
        tool(name=name)(later)


# ---------------------------------------------------------------------- what is not recorded

SECRET = "sk-12345"


def test_named_secrets_are_not_recorded_nor_repeated_in_errors():
    @tool(redact=["api_key", "return"])
    def connect(host, api_key):
        if host == "bad":
            raise PermissionError(f"{api_key} may not")
        return f"token for {api_key}"

    for arguments in [("good", SECRET), ("bad", SECRET), ("good", SECRET, "one too many")]:
        (call,), outcome = recorded(connect, *arguments)
        assert SECRET not in repr((call.arguments, call.output, call.error))
        assert isinstance(outcome, str | PermissionError | TypeError)
    (call,), outcome = recorded(connect, "good", api_key=SECRET)
    assert call.arguments == {"host": "good", "api_key": REDACTED}
    assert (call.output, outcome) == (REDACTED, f"token for {SECRET}")
    (call,), outcome = recorded(connect, "bad", SECRET)
    assert call.error == f"PermissionError: {REDACTED} may not"
    assert str(outcome) == f"{SECRET} may not"


def test_secrets_among_further_keywords_can_be_named():
    @tool(redact={"password"})
    def log_in(**credentials):
        return "ok"

    assert only(log_in, user="ada", password=SECRET).arguments == {"user": "ada", "password": REDACTED}


def test_a_secret_stays_hidden_in_a_catch_all_that_keeps_its_own_name():
    @tool(redact=["password"])
    def log_in(user, /, **rest):
        raise PermissionError(f"not with {rest['password']}")

    call = only(log_in, "ada", user="bob", password=SECRET)
    assert call.arguments == {"user": "ada", "rest": {"user": "bob", "password": REDACTED}}
    assert call.error == f"PermissionError: not with {REDACTED}"


def test_a_catch_all_can_be_hidden_as_a_whole():
    @tool(redact=["credentials"])
    def log_in(user, **credentials):
        raise PermissionError(f"not with {credentials}")

    call = only(log_in, "ada", password=SECRET, pin=4321)
    assert call.arguments == {"user": "ada", "credentials": REDACTED}
    assert SECRET not in call.error
    assert "4321" not in call.error


def test_a_default_that_is_a_secret_is_hidden_in_errors():
    @tool(redact=["key"])
    def connect(key=SECRET):
        raise PermissionError(key)

    assert only(connect).error == f"PermissionError: {REDACTED}"


def test_an_error_with_a_secret_is_told_without_it_wherever_it_is_recorded():
    @tool(redact=["key"])
    def connect(key):
        raise PermissionError(f"{key} may not")

    @tool
    def ask():
        connect(SECRET)

    outer, inner = TraceRecorder("outer"), TraceRecorder("inner")
    with pytest.raises(PermissionError, match=SECRET), outer as one, inner as other:
        ask()
    for recording in (one, other):
        told = [call.error for call in recording.trace.tool_calls] + [recording.trace.metadata["error"]]
        assert told == [f"PermissionError: {REDACTED} may not"] * 3


def test_a_function_decides_what_is_recorded_of_each_argument_of_the_output_and_of_errors():
    asked = []

    def masked(name, value):
        asked.append(name)
        return value[:2] + "…" if isinstance(value, str) else value

    @tool(redact=masked)
    def connect(host, port):
        if host == "broken":
            raise OSError("secret")
        return "secret"

    assert (call := only(connect, "localhost", 80)).arguments == {"host": "lo…", "port": 80}
    assert call.output == "se…"
    assert only(connect, "broken", 80).error == "OS…"
    assert asked == ["host", "port", "return", "host", "port", "raise"]


@pytest.mark.parametrize("given", ["", None], ids=repr)
def test_an_error_that_is_hidden_altogether_stays_hidden(given):
    @tool(redact=lambda name, value: given if name == "raise" else value)
    def connect(key):
        raise OSError(key)

    call = only(connect, SECRET)
    assert not call.success
    assert SECRET not in call.error


def test_a_redaction_that_fails_hides_the_value_and_does_not_disturb_the_call():
    @tool(redact=lambda name, value: value.strip())
    def add(a, b):
        return a + b

    (call,), outcome = recorded(add, 1, 2)
    assert outcome == 3
    assert call.arguments["a"] == f"{REDACTED} (redact raised AttributeError)"
    assert call.success


def test_a_redaction_cannot_change_what_the_tool_is_given():
    def clear(name, value):
        value.clear()
        return value

    @tool(redact=clear)
    def count(items):
        return [len(items)]

    assert recorded(count, [1, 2])[1] == [2]


@pytest.mark.parametrize(
    ("redact", "message"),
    [
        (["api_kye"], "has no parameter 'api_kye' to redact; it has host, api_key"),
        ("api_key", "must be a list of parameter names or a function"),
        (3, "must be a list of parameter names or a function"),
    ],
    ids=["misspelt", "text", "number"],
)
def test_a_redaction_that_would_hide_nothing_is_refused(redact, message):
    with pytest.raises(InvalidOptionError, match=message):

        @tool(redact=redact)
        def connect(host, api_key):
            return host


def test_a_tool_may_be_called_by_many_threads_at_once():
    start = threading.Barrier(8)

    def work(number):
        start.wait(10)
        results[number] = recorded(search, f"q{number}")[0]

    results = {}
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, calls in results.items():
        assert [call.arguments for call in calls] == [{"query": f"q{number}"}]


@dataclass
class Deps:
    api_key: str


class Service:
    def __init__(self):
        self.api_key = "kx9-plainkey-4411"

    @tool
    def of_self(self, city):
        return {"asked": [f"/w?k={self.api_key}"], "city": city}


@tool(exclude=["deps"])
def of_deps(deps, city):
    return {"asked": [f"/w?k={deps.api_key}"], "city": city}


@tool(exclude=["deps"])
def failing(deps, city):
    raise RuntimeError(f"/w?k={deps.api_key} gave 401")


@tool
def of_arguments(password, city):
    return {"asked": [f"/w?k={password}"], "city": city}


def test_an_output_does_not_repeat_a_secret_that_the_tool_was_given():
    deps = Deps("kx9-plainkey-4411")
    with TraceRecorder("bot") as recording:
        outputs = [of_deps(deps, "Rome"), Service().of_self("Rome"), of_arguments(deps.api_key, "Rome")]
    assert all("plainkey" in str(output) for output in outputs), "the agent gets what the tool returned"
    for call in recording.trace.tool_calls:
        assert call.output == {"asked": [f"/w?k={REDACTED}"], "city": "Rome"}
    with TraceRecorder("bot", keep_secrets=True) as recording:
        of_deps(deps, "Rome")
    assert "plainkey" in str(recording.trace.tool_calls[0].output)


def test_a_plain_task_fails_without_telling_the_secret_of_its_tool():
    (failure,) = (
        Dataset(cases=[Case(inputs="Rome")])
        .evaluate_sync(lambda city: failing(Deps("kx9-plainkey-4411"), city), progress=False)
        .failures
    )
    assert failure.error_message == f"RuntimeError: /w?k={REDACTED} gave 401"
    assert failure.trace.tool_calls[0].error == failure.error_message
    assert "plainkey" not in failure.error_stacktrace.replace('Deps("kx9-plainkey-4411")', "")
