"""A failure says what happened in a line."""

import pytest

from calipers.errors import PluginError
from calipers.plugins import Source
from calipers.plugins.failure import failure_of

FILE = Source("file", "plugins/tone.py")
PACKAGE = Source("entry point", "tone:TonePlugin", "calipers-tone 1.2")


@pytest.mark.parametrize(
    ("stage", "error", "source", "line"),
    [
        ("import", ImportError("no"), FILE, "tone (plugins/tone.py): import failed: ImportError: no"),
        (
            "on_load",
            ValueError("no"),
            PACKAGE,
            "tone (calipers-tone 1.2, tone:TonePlugin): on_load failed: ValueError: no",
        ),
        ("find", PluginError("there is none"), FILE, "tone (plugins/tone.py): there is none"),
        ("find", OSError("gone"), FILE, "tone (plugins/tone.py): find failed: OSError: gone"),
        ("on_load", PluginError("no"), FILE, "tone (plugins/tone.py): on_load failed: PluginError: no"),
    ],
)
def test_a_failure_tells_what_failed_where_and_why(stage, error, source, line):
    assert str(failure_of(error, plugin="tone", stage=stage, source=source)) == line


def test_the_traceback_is_that_of_the_error():
    try:
        raise ValueError("here")
    except ValueError as error:
        failure = failure_of(error, plugin="tone", stage="import", source=FILE)
    assert failure.error_type == "ValueError"
    assert "test_the_traceback_is_that_of_the_error" in failure.traceback
