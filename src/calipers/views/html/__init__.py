"""A report as one HTML file that needs nothing else: no server, no network, no library."""

from .document import report_html, write_html

__all__ = ["report_html", "write_html"]
