"""Derived features: statistics of columns, and the groups made from them."""
