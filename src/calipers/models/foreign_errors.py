"""Errors of other libraries' clients as a `ModelError`, by their status and their kind."""

from calipers.data.infrastructure import is_infrastructure
from calipers.errors import ModelConnectionError, ModelError, ModelTimeoutError

from .model_answer import read
from .model_errors import kind_of
from .request_redaction import shown_text


def model_error(error: Exception, name: str) -> ModelError:
    """What an error of a client means; a key in its text is hidden."""
    if isinstance(error, ModelError):
        return error
    said = f"{name}: {type(error).__name__}: {shown_text(str(error), [])}"
    status = read(error, "status_code", "code")
    body = read(error, "body")
    if isinstance(status, int) and not isinstance(status, bool) and status >= 300:
        return kind_of(body, status)(said, status=status)
    if isinstance(error, TimeoutError) or "timeout" in type(error).__name__.lower():
        return ModelTimeoutError(said)
    return ModelConnectionError(said) if is_infrastructure(error) else ModelError(said)
