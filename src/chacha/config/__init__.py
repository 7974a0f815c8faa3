"""Configurations, the space they are drawn from, and the names of derived groups."""
