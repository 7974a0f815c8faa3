"""Examples: one row of a stream, and VW's text format."""

from __future__ import annotations

from chacha.data.example import Example, Feature, make_example, parse_line

__all__ = ["Example", "Feature", "make_example", "parse_line"]
