"""Examples, and VW's text format."""
