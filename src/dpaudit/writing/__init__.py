"""A first test of a mechanism: what its signature and docstring say, put into a pytest file."""

from dpaudit.writing.page import pytest_file
from dpaudit.writing.signature import read_signature

__all__ = ["pytest_file", "read_signature"]
