"""The recommended rules: paired tests, screened moves, blended predictions."""
