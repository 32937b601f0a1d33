"""Datasets on disk: YAML and JSON documents, and JSON Lines, CSV and Parquet files of cases."""

from .format import Format
from .load import check_file, load_dataset
from .problem import Problem
from .save import save_dataset
from .schema import dataset_schema
from .table import JSONColumn

__all__ = [
    "Format",
    "JSONColumn",
    "Problem",
    "check_file",
    "dataset_schema",
    "load_dataset",
    "save_dataset",
]
