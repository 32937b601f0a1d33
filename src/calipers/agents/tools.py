"""`@tool`: a function whose calls are recorded.

Inside a recording, and in an attempt of a run, each call becomes a `ToolCall`: its arguments, what it returned or why it
failed, and how long it took. Errors and cancellations reach the caller. Elsewhere the function is just called.

- Arguments are recorded by parameter name, and only those that were given: a default is the tool's choice, not the
  agent's. `*args` is a list under its own name, `**kwargs` are arguments like others.
- What the agent did not choose is not recorded: a method's `self`, what a framework fills in, such as the `RunContext` of
  pydantic-ai or the `RunnableConfig` of LangChain (`injected_parameters.py`), and the parameters in `exclude`.
- Secrets are recorded as `[redacted]`: what `redact` names, and what looks like a key or has a name such as `password`
  (`calipers.data.redaction`), in arguments, outputs and errors. Outputs and errors do not repeat the secrets of the
  arguments, nor those of what is left out, such as `ctx.deps.api_key`.
- A call that the function's signature refuses is a failed call. Its positional arguments are recorded under `args`, unless
  something is to be redacted or left out.
- In a block of `intercepting_tools` the call goes through its interceptors, and what the agent saw is recorded.
- Arguments are recorded as they were before the call, the output as it was when it was returned (see `recording.snapshot`).
"""

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, ParamSpec, TypeAlias, TypeVar, overload

from calipers.data.redaction import REDACTED, masked, masked_text, secrets_in, without
from calipers.data.result import tell_error_as
from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError
from calipers.models.wire_tap import check_seal
from calipers.run.task import find_silent_traces_with

from .call_evidence import MARK
from .event_log import error_text
from .injected_parameters import injected_parameters, is_injected_value
from .recording import Recording, place_to_record, snapshot, trace_without_calls
from .tool_interception import (
    MarkedArguments,
    Outcome,
    Return,
    are_tools_intercepted,
    await_tool,
    call_tool,
    record_marked,
    record_seen,
)

ArgumentsT = ParamSpec("ArgumentsT")
ResultT = TypeVar("ResultT")

Redact: TypeAlias = Collection[str] | Callable[[str, Any], Any]
"""What not to record: names of parameters, or a function of a name and a value that gives what to record."""


@overload
def tool(
    function: Callable[ArgumentsT, ResultT],
    /,
    *,
    name: str | None = None,
    exclude: Collection[str] = (),
    redact: Redact = (),
    keep_secrets: bool = False,
) -> Callable[ArgumentsT, ResultT]: ...
@overload
def tool(
    *,
    name: str | None = None,
    exclude: Collection[str] = (),
    redact: Redact = (),
    keep_secrets: bool = False,
) -> Callable[[Callable[ArgumentsT, ResultT]], Callable[ArgumentsT, ResultT]]: ...
def tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    exclude: Collection[str] = (),
    redact: Redact = (),
    keep_secrets: bool = False,
) -> Any:
    """Record the calls of a function, sync or async. `@tool` and `@tool(name="search")` both work.

    Args:
        function: the tool. It keeps its name, docstring and signature.
        name: what the tool is called in traces; default: the function's name.
        exclude: names of parameters that the agent does not choose; they are not recorded. Those that a known framework
            fills in are left out anyway.
        redact: what not to record. Names of parameters, such as `["api_key"]`, are recorded as `"[redacted]"`, also in
            the text of an error; `"return"` stands for the output. Or a function of a name and a value that gives what
            to record: it is called for each argument, for `"return"` and, with the text of an error, for `"raise"`.
        keep_secrets: record what looks like a secret as it is, for a tool whose claim is about one. `redact` still holds.

    Raises:
        InvalidOptionError: it is not a function, it yields, or `exclude` or `redact` names an unknown parameter.
    """
    if function is None:
        return functools.partial(tool, name=name, exclude=exclude, redact=redact, keep_secrets=keep_secrets)
    described = _Tool(function, name, exclude, redact, keep_secrets=keep_secrets)

    def call(*args: Any, **kwargs: Any) -> Any:
        recording, run = place_to_record(), described.intercepted(args, kwargs)
        if recording is None:
            return run()
        with ExitStack() as block:
            returned = block.enter_context(described.recorded(recording, args, kwargs))
            output = run()
            if isinstance(output, Coroutine):  # an async function behind another decorator
                return _finish(block.pop_all(), output, returned)
            returned(output)
            return output

    async def call_later(*args: Any, **kwargs: Any) -> Any:
        recording, run = place_to_record(), described.intercepted(args, kwargs)
        if recording is None:
            return await run()
        with described.recorded(recording, args, kwargs) as returned:
            output = await run()
            returned(output)
            return output

    marked = functools.wraps(function)(call_later if described.is_async else call)
    setattr(marked, MARK, described.name)
    find_silent_traces_with(trace_without_calls)
    return marked


async def _finish(
    block: ExitStack, coroutine: Coroutine[Any, Any, Any], returned: Callable[[Any], None]
) -> Any:
    with block:
        output = await coroutine
        returned(output)
        return output


class _Tool:
    """What is known of a tool before it is called."""

    def __init__(
        self, function: Any, name: str | None, exclude: Collection[str], redact: Redact, *, keep_secrets: bool
    ) -> None:
        _check_function(function)
        plain = function
        while isinstance(plain, functools.partial):
            plain = plain.func
        called = getattr(plain, "__name__", type(plain).__name__) if name is None else name
        if not isinstance(called, str) or not called or called == "<lambda>":
            raise InvalidOptionError(f"a tool needs a name, got {called!r}: use tool(name=...)")
        self.name = called
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            type(function).__call__
        )
        self.gives_coroutine = self.is_async or inspect.iscoroutinefunction(inspect.unwrap(plain))
        self.function = function
        self._plain = plain
        self.receiver = _receiver(plain, self.signature)
        parameters = () if self.signature is None else self.signature.parameters.values()
        self.catch_all = next((each.name for each in parameters if each.kind is each.VAR_KEYWORD), None)
        self.exclude = exclude
        self.redact = redact
        self.keep_secrets = keep_secrets
        _check_names(self.name, "exclude", exclude, self.signature)
        if not callable(redact):
            _check_names(self.name, "redact", redact, self.signature, "return")
        if redact:
            record_marked(self.name, self._shown_argument)

    @functools.cached_property
    def signature(self) -> inspect.Signature | None:
        """How the function is called; `None` of a built-in that does not tell."""
        try:
            return _signature(self.function)
        except (TypeError, ValueError):
            return None

    @functools.cached_property
    def no_arguments(self) -> frozenset[str]:
        """The parameters that are not recorded. Read at the first call, when the module's names exist."""
        own = frozenset() if self.receiver is None else {self.receiver}
        filled_in = (
            frozenset() if self.signature is None else injected_parameters(self._plain, self.signature)
        )
        return filled_in | own | frozenset(self.exclude)

    def intercepted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Any]:
        """The call of the function, through interceptors where some are set."""
        call = functools.partial(self.function, *args, **kwargs)
        if not are_tools_intercepted():
            check_seal(f"the tool {self.name!r} was called")
            return call
        given, _ = self._arguments(args, kwargs)
        marked = MarkedArguments(snapshot(given))
        marked.shown = self._shown_argument if self.redact else None
        way = await_tool if self.gives_coroutine else call_tool
        return functools.partial(way, self.name, marked, call, is_marked=True)

    @contextmanager
    def recorded(
        self, recording: Recording, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Iterator[Callable[[Any], None]]:
        """Record a call while it is made; the block gets a function for what the tool returned."""
        given, rest = self._arguments(args, kwargs)
        given = snapshot(given)
        shown = {name: self._shown_argument(name, value) for name, value in given.items()}
        keep = self.keep_secrets or recording.keep_secrets
        call = ToolCall(self.name, shown if keep else masked(shown), keep_secrets=keep)

        def returned(output: Any) -> None:
            told = self._shown("return", snapshot(output))
            call.output = told if keep else masked(told, secrets_in([given, rest]))

        def raised(text: str) -> str:
            shown = self._shown_error(text, given)
            call.error = shown if keep else masked_text(without(shown, secrets_in([given, rest])))
            return call.error

        def seen(outcome: Outcome) -> None:
            call.output, call.error, call.success = None, None, isinstance(outcome, Return)
            if isinstance(outcome, Return):
                returned(outcome.value)
            else:
                raised(error_text(outcome.error))

        record_seen(self.name, seen)
        with recording.log.tool_call(call):
            try:
                yield returned
            except BaseException as error:
                text = error_text(error)
                if (shown_error := raised(text)) != text:
                    # It is raised on, through other calls and the recording itself.
                    tell_error_as(error, shown_error)
                raise

    def _arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arguments by parameter name, and apart from them what is not recorded."""
        try:
            bound = None if self.signature is None else self.signature.bind(*args, **kwargs).arguments
        except TypeError:  # the function itself will raise it
            bound = None
        found: dict[str, Any] = {}
        if self.signature is None or bound is None:
            unnamed = list(args[1:] if self.receiver else args)
            unknown = self.redact or self.no_arguments - {self.receiver}  # any of them may be the secret
            found = ({"args": REDACTED if unknown else unnamed} if unnamed else {}) | kwargs
        else:
            for name, value in bound.items():
                kind = self.signature.parameters[name].kind
                hidden = not callable(self.redact) and name in self.redact
                if name == self.catch_all and not hidden and not value.keys() & (bound.keys() - {name}):
                    found.update(value)
                else:
                    found[name] = list(value) if kind is inspect.Parameter.VAR_POSITIONAL else value
        rest = {
            name: value
            for name, value in found.items()
            if name in self.no_arguments or is_injected_value(value)
        }
        return {name: value for name, value in found.items() if name not in rest}, rest

    def _shown_argument(self, name: str, value: Any) -> Any:
        """What is recorded of an argument; of a catch-all, each item by its own name."""
        if (
            name == self.catch_all
            and isinstance(value, dict)
            and (callable(self.redact) or name not in self.redact)
        ):
            return {key: self._shown(key, item) for key, item in value.items()}
        return self._shown(name, value)

    def _shown(self, name: str, value: Any) -> Any:
        """What is recorded of a value."""
        if not callable(self.redact):
            return REDACTED if name in self.redact else value
        try:
            return self.redact(name, value)
        except Exception as error:  # the call must go on, and the secret must not be recorded
            return f"{REDACTED} (redact raised {type(error).__name__})"

    def _shown_error(self, text: str, given: dict[str, Any]) -> str:
        if callable(self.redact):
            return str(self._shown("raise", text))
        return without(text, [self._secret(name, given) for name in self.redact])

    def _secret(self, name: str, given: dict[str, Any]) -> Any:
        """What stands behind a name: the argument, one in the catch-all, or the default."""
        caught = given.get(self.catch_all) if self.catch_all is not None else None
        parameter = None if self.signature is None else self.signature.parameters.get(name)
        default = None if parameter is None or parameter.default is parameter.empty else parameter.default
        within = caught.get(name) if isinstance(caught, dict) else None
        return [given.get(name, default), within]


def _check_function(function: Any) -> None:
    if isinstance(function, staticmethod | classmethod):
        kind = type(function).__name__
        raise InvalidOptionError(
            f"@tool stands below @{kind}, next to the function: swap the two lines of {function!r}"
        )
    if isinstance(function, str):
        raise InvalidOptionError(f"the name of a tool goes by its keyword: @tool(name={function!r})")
    if not callable(function) or isinstance(function, type):
        raise InvalidOptionError(f"a tool is a function, got {function!r}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidOptionError(
            f"{function!r} yields, so its call ends before its work begins: "
            "collect the items and return them, or record it with `with recording.tool_call(...)`"
        )


def _check_names(
    tool_name: str, option: str, names: Any, signature: inspect.Signature | None, *others: str
) -> None:
    if isinstance(names, str) or not isinstance(names, Collection):
        function = " or a function" if option == "redact" else ""
        raise InvalidOptionError(f"{option} must be a list of parameter names{function}, got {names!r}")
    parameters = {} if signature is None else signature.parameters
    unknown = sorted(str(each) for each in names if each not in {*parameters, *others})
    if unknown and not any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        output = ", and 'return' is its output" if others else ""
        raise InvalidOptionError(
            f"the tool {tool_name!r} has no parameter {unknown[0]!r} to {option}; "
            f"it has {', '.join(parameters) or 'none that it tells'}{output}"
        )


def _signature(function: Any) -> inspect.Signature:
    """The signature, with annotations that cannot be read left as they are written."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(function)


def _receiver(function: Any, signature: inspect.Signature | None) -> str | None:
    """The name of the first parameter if it is the object that a method is called on."""
    first = None if signature is None else next(iter(signature.parameters), None)
    within = getattr(function, "__qualname__", "").rpartition(".")[0]
    in_class_body = bool(within) and not within.endswith("<locals>")
    return first if in_class_body and first in {"self", "cls"} else None
