"""Keys that a test presses, in place of a terminal: for `calipers label`."""

from collections.abc import Iterable


class ScriptedKeys:
    """A source of keys for `calipers.cli.label_session.LabelSession`.

    `ScriptedKeys("yyn")` presses three keys; a list also names those that give no character, such as `["c", *"fine", "enter", "y"]`. After the last one the
    input is at its end, and the session quits. An exception in the list is raised in its turn, as Ctrl-C raises `KeyboardInterrupt`.
    """

    def __init__(self, keys: Iterable[str | BaseException]) -> None:
        self._keys = iter(keys)
        self.pressed: list[str] = []
        """Those that were read."""

    def read(self) -> str:
        """The next key; "" if there are no more."""
        key = next(self._keys, "")
        if isinstance(key, BaseException):
            raise key
        self.pressed.append(key)
        return key
