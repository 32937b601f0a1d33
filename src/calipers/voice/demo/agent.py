"""An agent that hears and decides on this machine: no key, no network, no model to ask.

It recognizes speech with a grammar (`Recognizer`) and turns the text into tool calls by the same grammar's rules
(`CommandGrammar`). It is small and honest rather than clever: what it does not understand it does not act upon, and
its answer says what it heard and why it believed it or not. So a voice test can be tried, and shown to fail, on any
machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from calipers.voice.audio import Audio
from calipers.voice.recognition.recognizer import Recognizer
from calipers.voice.response import AgentResponse

from .commands import CommandGrammar
from .home import HOME


@dataclass(frozen=True)
class OfflineAgent:
    """Hears a request, or reads it, and calls the tools that its grammar names.

    ```python
    response = await OfflineAgent().run(audio)
    response.tool_calls  # [ToolCall('set_light', {'on': True, 'room': 'kitchen'})]
    response.raw.reason  # why it was believed, or not
    ```
    """

    grammar: CommandGrammar = HOME
    """What it understands."""
    max_distance: float = field(default=0.6, kw_only=True)
    """How far the sounds may be from a command for it to act; see `Recognizer`."""
    pronunciations: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """Words of the grammar that the dictionary lacks, with their phones; see `Recognizer`."""

    async def run(self, audio: Audio) -> AgentResponse:
        """The calls that a spoken request means; none if it was not understood.

        `transcript` is the command that fits best. `raw` is the `Hearing`, which tells whether it was accepted and why.

        Raises:
            InvalidAudioError: sound that cannot be read.
            MissingExtraError: pocketsphinx, numpy or soxr is not installed.
        """
        recognizer = Recognizer(
            self.grammar.jsgf, max_distance=self.max_distance, pronunciations=self.pronunciations
        )
        hearing = await recognizer.recognize(audio)
        calls = self.grammar.parse(hearing.text) if hearing.accepted else []
        return AgentResponse(calls, raw=hearing, transcript=hearing.text)

    async def run_text(self, text: str) -> AgentResponse:
        """The calls that a written request means: the same decision without the hearing."""
        return AgentResponse(self.grammar.parse(text), raw=text, transcript=text)
