import os
from pathlib import Path

import pytest

from calipers.sandbox import Limits
from calipers.sandbox.confinement import Confinement, borrowed_user

pytestmark = pytest.mark.skipif(os.name != "posix", reason="users and their processes are POSIX's")


def test_users_borrowed_at_once_differ():
    with borrowed_user() as one, borrowed_user() as two, borrowed_user() as three:
        assert len({one, two, three}) == 3
        assert min(one, two, three) >= 60_000


def test_a_user_of_its_own_has_the_limit_as_asked():
    confinement = Confinement(bubblewrap=None, own_user=True, note="")
    assert confinement.process_limits(Limits(processes=7))["RLIMIT_NPROC"] == 7


@pytest.mark.skipif(os.geteuid() == 0, reason="the system does not count root's processes")
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are counted in /proc")
def test_a_plain_user_gets_the_limit_on_top_of_what_runs_already():
    confinement = Confinement(bubblewrap=None, own_user=False, note="")
    assert confinement.process_limits(Limits(processes=7))["RLIMIT_NPROC"] > 7


@pytest.mark.parametrize(("bubblewrap", "protection"), [(None, "limits"), ("/usr/bin/bwrap", "bubblewrap")])
def test_bubblewrap_decides_the_protection(bubblewrap, protection):
    assert Confinement(bubblewrap=bubblewrap, own_user=False, note="").protection == protection
