"""`TraceRecorder`: records what an agent does while it does it. What is recorded how stands in `recording.py`."""

import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from calipers.data.trace import Trace
from calipers.errors import InvalidTraceError

from .recording import Recording, current_recording


class TraceRecorder:
    """Makes recordings of an agent, one for each execution.

    ```python
    with TraceRecorder("weather-bot", input_text=question) as recording:
        recording.output_text = agent(question)  # calls of functions marked with @tool are recorded
    recording.trace
    ```

    `async with` works the same. One recorder may record many executions, also at once.

    Args:
        agent_name: whose traces these are.
        model: the model the agent asks; default: the one that its requests name.
        tags: of each trace.
        input_text: what the agent is asked.
        metadata: of each trace.
        keep_secrets: record what looks like a secret as it is, rather than as `[redacted]`.
        records_calls: whether every tool call is recorded here, so that a trace without any says that none was made;
            default: whether the code around has tools marked with `@tool`, or records calls by hand.

    Raises:
        InvalidTraceError: the agent has no name, or the tags are no list of texts.
    """

    def __init__(
        self,
        agent_name: str,
        model: str | None = None,
        tags: Sequence[str] = (),
        *,
        input_text: str = "",
        metadata: Mapping[str, Any] | None = None,
        keep_secrets: bool = False,
        records_calls: bool | None = None,
    ) -> None:
        if not isinstance(agent_name, str) or not agent_name.strip():
            raise InvalidTraceError(
                f"a recorder needs the agent's name, a non-empty text, got {agent_name!r}"
            )
        Trace(tags=tags)  # what a trace would refuse at the end is better refused here
        self.agent_name = agent_name
        self.model = model
        self.tags = tags
        self.input_text = input_text
        self.metadata = metadata
        self.keep_secrets = keep_secrets
        self.records_calls = records_calls
        self._lock = threading.Lock()
        self._recordings: list[Recording] = []
        self._last: Recording | None = None
        self._overlapping = False

    def recording(self, *, input_text: str | None = None) -> Recording:
        """A new recording, to be entered with `with` or `async with`."""
        made = Recording(
            self.agent_name,
            model=self.model,
            tags=self.tags,
            input_text=self.input_text if input_text is None else input_text,
            metadata=self.metadata,
            keep_secrets=self.keep_secrets,
            records_calls=self.records_calls,
        )
        with self._lock:
            self._recordings = [each for each in self._recordings if not each.log.ended]
            self._overlapping = any(each.log.is_open for each in self._recordings)
            self._recordings.append(made)
            self._last = made
        return made

    def finalize(self, *, input_text: str | None = None, output: str | None = None) -> Trace:
        """The trace of the last recording, with what was asked and answered; the recorder is then as new.

        Raises:
            InvalidTraceError: nothing was recorded, it is still being recorded, or several were recorded at once.
        """
        with self._lock:
            last = self._last
            if last is None:
                raise InvalidTraceError(
                    "nothing was recorded: first `with recorder.recording() as recording: ...`"
                )
            if not last.log.ended:
                raise InvalidTraceError(
                    "the recording has not ended: enter and leave its block, then finalize"
                )
            if self._overlapping:
                raise InvalidTraceError(
                    "several executions were recorded at once, and the last is any of them: "
                    "take the `trace` of each recording"
                )
            self._last = None
        if input_text is not None:
            last.input_text = input_text
        if output is not None:
            last.output_text = output
        last.attach()
        return last.trace

    def __enter__(self) -> Recording:
        return self.recording().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._innermost().__exit__(kind, error, traceback)

    async def __aenter__(self) -> Recording:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    def __repr__(self) -> str:
        return f"TraceRecorder({self.agent_name!r})"

    def _innermost(self) -> Recording:
        """The recording that the block being left has entered."""
        with self._lock:
            own = [each for each in self._recordings if each.log.is_open]
        recording = current_recording()
        while recording is not None and recording not in own:
            recording = recording.outer
        if not own:
            raise InvalidTraceError("this recorder records nothing: enter it with `with` before you leave it")
        # Found nowhere around here, it was entered in another context: a fixture may do that.
        return recording or own[-1]
