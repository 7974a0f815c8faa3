"""One value at a time: the kind of a cell, its features, dicts, and JSON text."""
