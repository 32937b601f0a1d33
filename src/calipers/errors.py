"""Every error Calipers raises on purpose.

CalipersError
├── NotAnEvaluatorError (TypeError)     an object of no shape that `as_evaluator` knows
├── InvalidCaseError (ValueError)       a case that cannot be run: wrong type, name taken, unknown name
├── InvalidOptionError (ValueError)     an option out of its range: a negative limit, zero repeats
│   ├── SettingsError (InvalidOptionError)  a project's file with problems, all of which the error lists
│   └── FilterError (InvalidOptionError)    a filter that means nothing; `at` says where
├── NotKnownError (LookupError)         a number or a part was asked for that there is not, such as a pass rate of no case
├── InvalidOutputError (ValueError)     an evaluator returned what is not a judgement (recorded, not raised)
├── NotApplicableError (ValueError)     an evaluator was called with what it cannot judge; in a run it is skipped
├── InvalidTraceError (ValueError)      a tool call or trace that cannot be: no tool name, two names for one tool
├── InvalidAudioError (ValueError)      sound that cannot be read, or that a file or format cannot hold
├── InvalidRolloutError (ValueError)    a turn or tree of turns that cannot be, or a player that answered with what is none
├── RolloutError (RuntimeError)         a conversation that a player broke off; `graph` is what there was of it
├── TaskContractError (TypeError)       a task broke its own promise, such as an async one with nothing to await
├── EvaluatorContractError (TypeError)  an evaluator changed what it was to judge (recorded, not raised)
├── AttemptTimeoutError (TimeoutError)  a task or evaluator exceeded its time (recorded, not raised)
├── OtherLoopError (RuntimeError)       a client was used on two event loops, which says nothing of the agent (recorded, not raised)
├── DatasetFileError (ValueError)       a dataset file with problems, all of which the error lists with their places
├── ReportFormatError (ValueError)      data that is not a stored report, or of a version this release cannot read
├── ShardsError (ValueError)            reports that are not the shards of one run; the error lists why
├── AgentError (RuntimeError)           an agent under test gave no answer; `response` is what it gave
│   ├── AgentTimeoutError (AgentError)     it had not finished when its time was over; also a TimeoutError
│   ├── AgentConnectionError (AgentError)  it cannot be reached, or hung up; also a ConnectionError
│   └── AgentReplyError (AgentError)       it answered with an error, or with what is no answer; `status` of HTTP
├── ModelError (RuntimeError)           a language model that was asked gave no answer, or none that can be used: never a verdict
│   ├── ModelKeyError (ModelError)         the key is missing, wrong or not allowed to do this
│   ├── ModelQuotaError (ModelError)       there is no credit left; waiting does not help
│   ├── ModelRateError (ModelError)        too many requests; `retry_after` says when to come back
│   ├── ModelOverloadedError (ModelError)  the provider is busy or failed
│   ├── ModelContextError (ModelError)     the question is longer than the model can read
│   ├── ModelFilteredError (ModelError)    the provider or the model declined to answer
│   ├── ModelRequestError (ModelError)     the request is wrong: no such model, a parameter it does not take
│   ├── ModelTimeoutError (ModelError)     it had not answered when its time was over; also a TimeoutError
│   ├── ModelConnectionError (ModelError)  it cannot be reached, or hung up; also a ConnectionError
│   └── UnreadableAnswerError (ModelError)  its answer is not what was asked for; `text` is what it said
├── JudgeCanaryError (ValueError)       a judge answered what the evidence dictated (recorded, not raised)
├── SpanTreeRecordingError              spans were read where none were recorded
├── PluginError (RuntimeError)          plugins that failed to load, or one that cannot make what it promises
├── ViewError (RuntimeError)            a view of your own that failed to draw or write a report
├── StoreError (RuntimeError)           a store that cannot be opened, read or written; it says what is safe
│   ├── StoreUnavailableError (StoreError)  it cannot be now and may be later: a full disk, a lock, a lost server
│   ├── RunChangedError (StoreError)        a run cannot be resumed, since the task or a setting is another
│   ├── StoreMissingError (StoreError)      there is none, and it was only to be read
│   ├── RunMissingError (StoreError)        it has no such run, or not any more, or several that could be meant
│   ├── StoreTimeoutError (StoreError)      reading it took longer than it may; also a TimeoutError
│   ├── StoreDamagedError (StoreError)      something in it is not what was written
│   └── ValueAwayError (StoreError)         a large value cannot be read where it was moved to
├── TapeError (RuntimeError)            a replay asked what its tape does not have; `step` says where
│   └── TapeFileError (TapeError)          a tape that cannot be read: damaged, of another version, or no tape at all
├── BudgetError (RuntimeError)          a model was not asked, since the budget of the run is used up (never recorded)
├── EngineError (RuntimeError)          where attempts were to run, none can; or one that could not be run there
│   ├── TravelError (EngineError)          something cannot be sent to another process, or back; also a TypeError
│   └── WorkerLostError (EngineError)      the process in which a task ran ended under it; also a ConnectionError
├── SearchError (RuntimeError)          a strategy that failed, or proposed what cannot be tried
├── SandboxError (RuntimeError)         a program that could not be run as asked; what it does wrong is in the outcome
└── MissingExtraError (ImportError)     a feature whose optional dependency is not installed

Warning:
├── InconclusiveWarning (UserWarning)   a gate in a test could not be decided, and the test passes all the same
└── UnassertedWarning (UserWarning)     a test evaluates and asserts nothing, so it passes whatever comes of it

A task or an evaluator that fails does not raise out of a run: it becomes data in the report.
Each class also derives from the built-in that describes it, so `except ValueError` works as a reader expects.
"""

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .files.problem import Problem


class CalipersError(Exception):
    """Base of every error Calipers raises on purpose."""


class NotAnEvaluatorError(CalipersError, TypeError):
    """An object of no shape that `as_evaluator` knows."""


class InvalidCaseError(CalipersError, ValueError):
    """A case that cannot be run: wrong type, a name already taken, or an unknown name."""


class InvalidOptionError(CalipersError, ValueError):
    """An option out of its range."""


class SettingsError(InvalidOptionError):
    """A `calipers.toml`, or `[tool.calipers]` in a `pyproject.toml`, that is wrong; the message lists all problems."""

    def __init__(self, message: str, problems: "Sequence[Problem]" = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)
        """Each problem with its place; see `calipers.files.Problem`."""


class FilterError(InvalidOptionError):
    """A filter of attempts that means nothing, or nothing in this place."""

    def __init__(self, message: str, at: int = 0) -> None:
        super().__init__(message)
        self.at = at
        """Where in the filter, in characters from 0."""


class NotKnownError(CalipersError, LookupError):
    """A number or a part was asked for that there is not, such as the pass rate of a run in which nothing was asserted."""


_T = TypeVar("_T")
DefaultT = TypeVar("DefaultT")
NO_DEFAULT: Final = object()
"""Stands for a default that is not given, where `None` may be one."""


def known(value: _T | None) -> _T:
    """The value, where it may be `None` and you know that it is not: `known(rate.interval).low`.

    Type checkers believe it.

    Raises:
        NotKnownError: it is `None`.
    """
    if value is None:
        raise NotKnownError("the value is None: it is not known, or there is none")
    return value


class InvalidOutputError(CalipersError, ValueError):
    """An evaluator returned what is not a judgement; recorded as an evaluator failure."""


class NotApplicableError(CalipersError, ValueError):
    """What an evaluator was called with is nothing that it can judge. In a run the evaluator is skipped, with this reason."""


class InvalidTraceError(CalipersError, ValueError):
    """A tool call or trace that cannot be: no tool name, arguments that are no mapping, two names for one tool."""


class InvalidAudioError(CalipersError, ValueError):
    """Sound that cannot be read, or that a file or format cannot hold."""


class InvalidRolloutError(CalipersError, ValueError):
    """A turn, or a tree of turns, that cannot be; or what a player gave where a move, an answer or a score was due."""


class RolloutError(CalipersError, RuntimeError):
    """A conversation that a player broke off, so that it is not known how it would have ended: never "no success"."""

    def __init__(self, message: str, *, graph: "Any" = None, where: str = "") -> None:
        super().__init__(message)
        self.graph = graph
        """The turns that there were, as a `calipers.rollouts.Graph`."""
        self.where = where
        """Which player failed in which turn, with its error as `__cause__`; empty where none did."""


class TaskContractError(CalipersError, TypeError):
    """A task broke its own promise, such as a coroutine function that returned nothing to await."""


class EvaluatorContractError(CalipersError, TypeError):
    """An evaluator changed an object that other evaluators judge as well; recorded as a failure."""

    def __init__(self, message: str, before: "Mapping[str, Any] | None" = None) -> None:
        super().__init__(message)
        self.before = before or {}
        """What was changed, as plain data, as it was before."""


class AttemptTimeoutError(CalipersError, TimeoutError):
    """A task or an evaluator exceeded its time; recorded as a failure."""


class OtherLoopError(CalipersError, RuntimeError):
    """A task or an evaluator used a client, or a lock, that belongs to another event loop; recorded as a failure.

    That says nothing of the agent. It is not tried again: a try that succeeds would hide the mistake.
    """

    @classmethod
    def found_in(cls, error: BaseException) -> "OtherLoopError | None":
        """The error to record, if this one, or one it came from, is about two event loops; else `None`."""
        rest: list[BaseException | None] = [error]
        seen: set[int] = set()
        try:
            while rest:
                each = rest.pop()
                if each is None or id(each) in seen:
                    continue
                if isinstance(each, cls):
                    return each
                seen.add(id(each))
                rest += [each.__context__, each.__cause__]
                if isinstance(each, BaseExceptionGroup):
                    rest += each.exceptions
                if isinstance(each, RuntimeError | ValueError):
                    text = " ".join(part for part in each.args if type(part) is str)
                    if any(phrase in text for phrase in _OTHER_LOOP):
                        found = cls(f"{_WAY_OUT} ({type(each).__name__}: {text})")
                        found.__cause__ = error
                        return found
        except Exception:  # an error whose own attributes raise
            return None
        return None


_WAY_OUT = (
    "it uses a client or lock that was first used on another event loop, and a client keeps connections of both: make a new one "
    "inside the task, or use a new one with blocking calls alone (`evaluate_sync`), or with await alone "
    "(`await dataset.evaluate(...)`); in pytest, if a fixture made it, make the test async, on the fixture's loop"
)
"""What happened, and what to do."""

_OTHER_LOOP = (
    "is bound to a different event loop",  # asyncio's locks, events and queues
    "attached to a different loop",  # its tasks, of futures; so asyncpg, grpc, redis
    "belongs to a different loop",
    "Event loop is closed",
    "has to use same event loop",  # aiohttp
    "in different event loop",  # pymongo
)
"""What errors of two event loops say: asyncio and its libraries have no type for them."""


class DatasetFileError(CalipersError, ValueError):
    """A dataset file that cannot be read, or a dataset that a file cannot hold; the message lists all problems."""

    def __init__(self, message: str, problems: "Sequence[Problem]" = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)
        """Each problem with its place; see `calipers.files.Problem`."""


class ReportFormatError(CalipersError, ValueError):
    """Data that is not a stored report, or one of a version this release cannot read."""


class ShardsError(CalipersError, ValueError):
    """Reports that are not the shards of one run, or one shard twice; the message lists all that is wrong."""

    def __init__(self, message: str, problems: "Sequence[str]" = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)
        """Each thing that is wrong, as a sentence."""


class AgentError(CalipersError, RuntimeError):
    """An agent under test gave no answer, so there is nothing to judge: a failed run, never "no calls"."""

    def __init__(self, message: str, *, response: "Any" = None) -> None:
        super().__init__(message)
        self.response = response
        """What had arrived, as a `calipers.voice.AgentResponse`; `None` if nothing had."""


class AgentTimeoutError(AgentError, TimeoutError):
    """An agent had not finished when its time was over; `response.timed_out` is True."""


class AgentConnectionError(AgentError, ConnectionError):
    """An agent cannot be reached, or hung up before it had finished."""


class AgentReplyError(AgentError):
    """An agent answered with an error, or with what is no answer."""

    def __init__(self, message: str, *, response: "Any" = None, status: int | None = None) -> None:
        super().__init__(message, response=response)
        self.status = status
        """The status of the HTTP answer; `None` where there is none."""


class ModelError(CalipersError, RuntimeError):
    """A language model gave no answer, or none that can be used. It never becomes a verdict."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        tries: int = 1,
    ) -> None:
        super().__init__(message)
        self.status = status
        """The status of the HTTP answer; `None` where there is none."""
        self.code = code
        """The provider's own word for the error; `None` if it gave none."""
        self.request_id = request_id
        """By which the provider can find the request; `None` if it gave none."""
        self.tries = tries
        """How many requests were made."""


class ModelKeyError(ModelError):
    """The key for a model is missing, wrong, or not allowed to do this. Every further question would fail, too."""


class ModelQuotaError(ModelError):
    """There is no credit left with the provider of a model. Waiting does not help."""


class ModelRateError(ModelError):
    """The provider of a model takes no more requests for now, and still did not after the retries."""

    retry_after: float | None = None
    """Seconds after which the provider wants to be asked again; `None` if it did not say."""


class ModelOverloadedError(ModelError):
    """The provider of a model is busy or failed, and still was after the retries."""


class ModelContextError(ModelError):
    """The question is longer than the model can read."""


class ModelFilteredError(ModelError):
    """The provider filtered the question or the answer, or the model declined to answer."""


class ModelRequestError(ModelError):
    """The request is wrong: there is no such model, or it does not take a parameter."""

    parameter: str | None = None
    """Which parameter is wrong, where the provider says."""


class ModelTimeoutError(ModelError, TimeoutError):
    """A model had not answered when its time was over. The request may have been paid for."""


class ModelConnectionError(ModelError, ConnectionError):
    """The server of a model cannot be reached, or hung up before it had answered."""


_SAID = 500
"""How many characters of a model's answer a message shows."""


class UnreadableAnswerError(ModelError):
    """A model answered with something else than what was asked for, or not completely."""

    def __init__(self, message: str, *, text: str | None = None, **details: "Any") -> None:
        said = "" if text is None else f". It said: {text if len(text) <= _SAID else text[:_SAID] + '…'!r}"
        super().__init__(message + said, **details)
        self.problem = message
        """What is wrong with it, without what it said."""
        self.text = text
        """What it said; `None` if it said nothing."""


class JudgeCanaryError(CalipersError, ValueError):
    """A judge obeyed what it was shown, or ignored how it was to answer; recorded as an evaluator failure, never a verdict."""

    def __init__(self, message: str, *, obeyed: bool = False) -> None:
        super().__init__(message)
        self.obeyed = obeyed
        """Whether it did what the decoy in the evidence says; otherwise the seal is missing."""


class SpanTreeRecordingError(CalipersError):
    """Spans were read where none were recorded; the message says how to turn recording on."""


class PluginError(CalipersError, RuntimeError):
    """Plugins that failed to load, or one that cannot make what it promises."""


class ViewError(CalipersError, RuntimeError):
    """A view of your own, or of a plugin, failed to draw or write a report."""


class StoreError(CalipersError, RuntimeError):
    """A store that cannot be opened, read or written: the message says what happened, and what is safe."""


class StoreUnavailableError(StoreError):
    """A store that cannot be reached or written now and may be later: a full disk, a lock, a lost server."""


class RunChangedError(StoreError):
    """A stored run that cannot be resumed, since the task or a setting is not what it was."""

    def __init__(self, message: str, *, why: str | None = None) -> None:
        super().__init__(message)
        self.why = message if why is None else why
        """The message without the way to take over what still holds, which the command line has an option for."""


class StoreMissingError(StoreError):
    """There is no store in that place, and reading makes none."""


class RunMissingError(StoreError):
    """A store has no run of that name or id, or not any more; or several that could be meant."""


class StoreTimeoutError(StoreError, TimeoutError):
    """Reading a store took longer than the reader allowed, or was ended since no one waits for it."""


class StoreDamagedError(StoreError):
    """Something in a store is not what was written: the message says what, and in which run. The rest can be read."""


class ValueAwayError(StoreError):
    """A large value was moved out of the store, and cannot be read where it is. The rest of its run can."""


class TapeError(CalipersError, RuntimeError):
    """A replay asked what its tape does not have, or cannot give back. It never goes on live by itself."""

    def __init__(self, message: str, *, step: int | None = None, differences: "Sequence[Any]" = ()) -> None:
        super().__init__(message)
        self.step = step
        """Which exchange of the attempt left the tape, from 1; `None` where it was not an exchange."""
        self.differences = tuple(differences)
        """Where what was asked differs from what the tape has at this place; see `calipers.matching.Difference`."""


class TapeFileError(TapeError):
    """A tape that cannot be read, since it is damaged, of another version, or no tape at all; or one that cannot be written."""


class SearchError(CalipersError, RuntimeError):
    """A strategy of a search that failed, or proposed what cannot be tried."""


class SandboxError(CalipersError, RuntimeError):
    """A program could not be run as asked: no isolation here, no interpreter to start, a system without fork.

    What the program itself does wrong is never raised: it is in the `Outcome`.
    """


class BudgetError(CalipersError, RuntimeError):
    """A model was not asked, since the budget of the run is used up. The attempt that wanted to ask it is given up, whatever it does then."""


class EngineError(CalipersError, RuntimeError):
    """Where attempts were to run, none can; or an attempt that could not be run there."""


class TravelError(EngineError, TypeError):
    """Something that cannot be sent to another process, or back from there: it cannot be pickled, or is too large."""


class WorkerLostError(EngineError, ConnectionError):
    """The process in which a task ran ended under it, and again when the task was called once more (recorded, not raised)."""


class MissingExtraError(CalipersError, ImportError):
    """A feature whose optional dependency is not installed; the message names the extra."""

    @classmethod
    def of(cls, feature: str, extra: str) -> "MissingExtraError":
        """The error for a feature and the extra that brings it."""
        return cls(f"{feature} needs an optional dependency: pip install 'calipers[{extra}]'")


class InconclusiveWarning(UserWarning):
    """A gate in a test could not be decided: the interval holds the limit. The test passes all the same."""


class UnassertedWarning(UserWarning):
    """A test evaluates and asserts nothing, so that it passes whatever was measured."""
