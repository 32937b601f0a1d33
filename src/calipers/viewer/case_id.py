"""The id of a case in addresses: names may hold slashes, and be as long as they like."""

import hashlib


def case_id(name: str) -> str:
    """The first twelve hex digits of the BLAKE2b hash of a case's name."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
