"""The rules: what is decided, from values alone."""
