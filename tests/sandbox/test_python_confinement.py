import asyncio
import os

import pytest

from calipers.sandbox import Sandbox, SandboxError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the sandbox needs a POSIX system")


@pytest.fixture
def forbidden_bubblewrap(tmp_path):
    """A program that fails as bubblewrap does where namespaces are forbidden."""
    script = tmp_path / "bwrap"
    script.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    script.chmod(0o755)
    return str(script)


def test_without_bubblewrap_installed_the_note_says_so():
    outcome = Sandbox(bubblewrap="no-such-program").run_sync("print(1)")
    assert (outcome.stdout, outcome.protection) == ("1\n", "limits")
    assert "bubblewrap is not installed (no program 'no-such-program' on the PATH)" in outcome.protection_note


def test_where_bubblewrap_may_not_run_the_note_quotes_it(forbidden_bubblewrap):
    outcome = Sandbox(bubblewrap=forbidden_bubblewrap).run_sync("print(1)")
    assert (outcome.stdout, outcome.protection) == ("1\n", "limits")
    assert "could not start here: bwrap: No permissions to create new namespace" in outcome.protection_note


def test_where_bubblewrap_was_not_asked_for_the_note_says_so():
    outcome = Sandbox(bubblewrap=None).run_sync("")
    assert outcome.protection == "limits"
    assert "network and readable files open" in outcome.protection_note
    assert "bubblewrap was not asked for" in outcome.protection_note


@pytest.mark.parametrize("bubblewrap", [None, "no-such-program"])
def test_required_isolation_that_cannot_be_had_is_an_error_that_says_why(bubblewrap):
    with pytest.raises(
        SandboxError, match=r"isolation is required.*bubblewrap (was not asked for|is not installed)"
    ):
        Sandbox(bubblewrap=bubblewrap, require_isolation=True).run_sync("")


def test_the_trial_is_made_once_for_many_programs_at_once(tmp_path):
    script, log = tmp_path / "bwrap", tmp_path / "log"
    script.write_text(f"#!/bin/sh\necho tried >> {log}\nexit 1\n")
    script.chmod(0o755)
    sandbox = Sandbox(bubblewrap=str(script))

    async def many():
        return await asyncio.gather(*(sandbox.run("") for _ in range(8)))

    assert all(outcome.ok for outcome in asyncio.run(many()))
    assert log.read_text() == "tried\n"
