"""`GET /session`: what this server serves, and to whom."""

import sys
from getpass import getuser

from calipers.data.human_label import check_name
from calipers.errors import InvalidOptionError

from .similar_outputs import is_offered
from .viewed_store import ViewedStore
from .wire import SessionAnswer


def session_answer(viewed: ViewedStore) -> SessionAnswer:
    """What this server serves, and to whom."""
    with viewed.reading() as store:
        runs = len(store.runs())
    return SessionAnswer(
        version=sys.modules["calipers"].__version__,
        store=viewed.url,
        read_only=viewed.read_only,
        csrf=viewed.csrf,
        person=login_name(),
        runs=runs,
        has_embeddings=is_offered(),
    )


def login_name() -> str | None:
    """The name of the user who runs this; `None` if it is not known."""
    try:
        return check_name("the login name", getuser())
    except (OSError, KeyError, ImportError, InvalidOptionError):
        return None
