"""Tasks that worker processes can import, and an engine that several tests share."""

import sys
from pathlib import Path

import pytest

from calipers.engines import ProcessEngine

sys.path.append(str(Path(__file__).parent / "importable"))


@pytest.fixture(scope="module")
def engine():
    """Two workers, which stay from test to test."""
    with ProcessEngine(2, patience=0.3) as engine:
        yield engine
