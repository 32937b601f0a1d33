"""Agents behind one method: `invoke(input_text)` gives the trace of one execution."""

from .function import Adapter, FunctionAdapter
from .http import HttpAdapter

__all__ = ["Adapter", "FunctionAdapter", "HttpAdapter"]
