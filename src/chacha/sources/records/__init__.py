"""Records with fields of their own, such as JSON lines."""
