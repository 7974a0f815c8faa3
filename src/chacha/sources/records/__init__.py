"""Records: dicts with a label among their fields, one by one or, if alike, as columns."""
