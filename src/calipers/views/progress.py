"""A bar."""
from contextlib import nullcontext
from typing import Any
def show_progress(counts: Any) -> Any:
    """Bar."""
    return nullcontext()
