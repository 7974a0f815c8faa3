"""File formats, one module each; `detect` has the table of them and opens files."""
