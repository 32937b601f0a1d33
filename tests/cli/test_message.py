import click
import pytest

from calipers.cli.message import CommandError, UserCodeError, no_file, shown, tell, user_traceback
from calipers.errors import CalipersError, InvalidOptionError
from calipers.process.interrupt import Terminated


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (CommandError("it is gone", 4), 4, "Error: it is gone\n"),
        (click.UsageError("what?"), 2, "Error: what?\n"),
        (click.ClickException("no"), 2, "Error: no\n"),
        (InvalidOptionError("too low"), 2, "Error: too low\n"),
        (CalipersError("odd"), 3, "Error: odd\n"),
        (OSError(28, "No space left on device", "r.json"), 3, "Error: No space left on device: r.json\n"),
        (
            OSError("plain"),
            3,
            "Error: this should not have happened (run it again with --debug to see where): OSError: plain\n",
        ),
        (
            KeyError("x"),
            3,
            "Error: this should not have happened (run it again with --debug to see where): KeyError",
        ),
        (click.Abort(), 130, "Interrupted.\n"),
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
        (Terminated(), 143, "Terminated.\n"),
    ],
)
def test_every_error_is_one_message_with_a_code(capsys, error, code, message):
    assert tell(error, debug=False) == code
    assert capsys.readouterr().err.startswith(message)


def test_with_debug_the_traceback_comes_first(capsys):
    assert tell(KeyError("x"), debug=True) == 3
    told = capsys.readouterr().err
    assert told.startswith("KeyError: 'x'\n")


def test_a_message_cannot_move_the_cursor_but_keeps_its_lines(capsys):
    assert shown("red \x1b[31m\n\tnext\u202e") == "red \\x1b[31m\n\tnext\\u202e"
    tell(CommandError("\x1b[2J"), debug=False)
    assert "\x1b" not in capsys.readouterr().err


def test_the_traceback_of_users_begins_with_their_own_code():
    def theirs():
        return {}["key"]

    try:
        theirs()
    except KeyError as error:
        text = user_traceback(error)
        whole = UserCodeError("it failed:", error).message
    assert "in theirs" in text
    assert text.endswith("KeyError: 'key'")
    assert whole == f"it failed:\n\n{text}"


def test_an_error_without_a_frame_of_the_user_is_its_last_line_alone():
    assert user_traceback(ValueError("x")) == "ValueError: x"


def test_a_missing_file_is_told_with_the_files_that_are_there(folder):
    for name in ("cases.yaml", "other.yaml", "cases.txt", "gate.json"):
        (folder / name).touch()
    assert (
        str(no_file("cases2.yaml"))
        == "file not found: cases2.yaml (in this folder: cases.yaml, cases.txt, other.yaml)"
    )
    assert str(no_file("zzz")) == "file not found: zzz"
    assert str(no_file("sub/cases.yaml")) == "file not found: sub/cases.yaml (and there is no folder 'sub')"
