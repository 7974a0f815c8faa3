"""Examples, one row of a stream each, and VW's text format."""

from __future__ import annotations

from chacha.data.example import Example, Feature, make_example
from chacha.data.text_parser import parse_line

__all__ = ["Example", "Feature", "make_example", "parse_line"]
