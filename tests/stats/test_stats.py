import subprocess
import sys

from calipers import stats


def test_the_list_of_names_is_sorted_and_every_name_is_there():
    assert stats.__all__ == sorted(stats.__all__)
    assert all(hasattr(stats, name) for name in stats.__all__)


def test_importing_the_package_loads_no_numerical_library():
    heavy = {"numpy", "scipy", "statistics", "random", "fractions"}
    script = "import sys, calipers.stats; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert heavy.isdisjoint(loaded.split())
