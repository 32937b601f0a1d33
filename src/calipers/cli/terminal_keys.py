"""Keys from a terminal, one at a time, as they are pressed.

The terminal is told to hand out keys at once, and not to show them, for as long as the block lasts; Ctrl-C stays what it is. What was typed
ahead is kept: `click.getchar` would drop it, since it switches the terminal back after each key. On Windows, where it does not, keys come from it.
"""

import codecs
import os
import re
import signal
import sys
from types import TracebackType
from typing import Any, Final, Self

import click

_NAMES: Final = {
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\b": "backspace",
    "\x1b": "escape",
    "\x04": "",
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1b[5~": "pageup",
    "\x1b[6~": "pagedown",
}
"""What a session calls the keys that give no character; Ctrl-D is the end."""
_SEQUENCE: Final = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O.)")
"""What a key that gives no character sends, all at once."""
_LONGEST = 4096


class TerminalKeys:
    """The keys of the terminal that standard input is."""

    def __init__(self) -> None:
        self._typed = ""
        self._restore: Any = None
        self._resumed: Any = None
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def __enter__(self) -> Self:
        if sys.platform != "win32":
            import termios

            self._restore = termios.tcgetattr(sys.stdin.fileno())
            self._hand_out_keys()
            # A shell that stopped us by Ctrl-Z may have changed the terminal meanwhile.
            self._resumed = signal.signal(signal.SIGCONT, self._hand_out_keys)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if sys.platform != "win32":
            import termios

            signal.signal(signal.SIGCONT, self._resumed)
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._restore)

    def _hand_out_keys(self, *_: object) -> None:
        if sys.platform != "win32":
            import termios
            import tty

            tty.setcbreak(sys.stdin.fileno(), termios.TCSADRAIN)

    def read(self) -> str:
        """The next key; "" at the end of the input."""
        if sys.platform == "win32":
            key = click.getchar()
            return _NAMES.get(key, key)
        while not self._typed:
            data = os.read(sys.stdin.fileno(), _LONGEST)
            if not data:
                return ""
            self._typed += self._decode(data)
        found = _SEQUENCE.match(self._typed)
        key = self._typed[0] if found is None else found[0]
        self._typed = self._typed[len(key) :]
        return _NAMES.get(key, "unknown" if len(key) > 1 or not key.isprintable() else key)
