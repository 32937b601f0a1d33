"""What went wrong with a plugin, and where the plugin comes from: all of it is data, so that the others go on."""

from typing import Literal, TypeAlias

import msgspec

from calipers.data.result import describe_error

Origin: TypeAlias = Literal["entry point", "file", "class"]
"""How a plugin was found."""


LOADING = frozenset(
    {
        "import",
        "find",
        "create",
        "name",
        "duplicate",
        "version",
        "requires_calipers",
        "provides",
        "hooks",
        "on_load",
    }
)
"""Stages at which a plugin fails to be loaded."""

_SELF_EXPLAINING = {"find", "name", "duplicate", "version", "requires_calipers", "provides", "hooks"}
"""Stages whose own errors say all there is to say."""


class Source(msgspec.Struct, frozen=True):
    """Where a plugin comes from."""

    origin: Origin
    place: str
    """`module:Class`, or the path of a file, or that of a folder which is not as it should be."""
    package: str | None = None
    """The installed package, with its version: `calipers-tone 1.2`."""

    def __str__(self) -> str:
        return self.place if self.package is None else f"{self.package}, {self.place}"


class PluginFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that went wrong."""

    plugin: str
    """The plugin's name; where it has none yet, that of the entry point, the file or the class."""
    stage: str
    """What failed: `import`, `find` (there is no plugin where one was looked for), `create`, `name`, `duplicate`, `version`,
    `requires_calipers`, `provides` or `hooks`; or the method, such as `on_load`, `on_test_end` or `create_evaluator`."""
    source: Source
    error_type: str
    error_message: str
    """`Type: text`."""
    traceback: str
    count: int = 1
    """How often it happened; the error is that of the first time."""

    @property
    def summary(self) -> str:
        """What happened, in one line: `import failed: ImportError: ...`."""
        if self.error_type == "PluginError" and self.stage in _SELF_EXPLAINING:
            return self.error_message.removeprefix("PluginError: ")
        times = "" if self.count == 1 else f" ({self.count:,} times)"
        return f"{self.stage} failed{times}: {self.error_message}"

    def __str__(self) -> str:
        return f"{self.plugin} ({self.source}): {self.summary}"


def failure_of(error: BaseException, *, plugin: str, stage: str, source: Source) -> PluginFailure:
    """An error as a failure."""
    kind, message, stack = describe_error(error)
    return PluginFailure(
        plugin=plugin,
        stage=stage,
        source=source,
        error_type=kind,
        error_message=message,
        traceback=stack,
    )
