"""What a store keeps of a judge's passport: plain data, under the identity of the judge and the date of the check.

The store does not look into it: `calipers.stores.standings` writes and reads the body (`calipers.report.Passport`), and `format` says by
which layout.
"""

from typing import Any

import msgspec

from calipers.data.argument_checks import check_mapping, check_text, check_whole_number


class StoredPassport(msgspec.Struct, frozen=True, kw_only=True):
    """One check of one judge."""

    identity: str
    """Of the judge: code, prompt, model and parameters (`calipers.report.passport.passport_identity`)."""
    at: str
    """When it was checked: ISO 8601, UTC."""
    format: int = 1
    """The version of the body's layout."""
    body: dict[str, Any]
    """What was measured, as plain data."""

    def __post_init__(self) -> None:
        check_text("identity", self.identity)
        check_text("at", self.at)
        check_whole_number("format", self.format, at_least=1)
        check_mapping("body", self.body)
