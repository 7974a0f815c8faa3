"""Derived features: statistics of columns, and the groups that are derived from them."""
