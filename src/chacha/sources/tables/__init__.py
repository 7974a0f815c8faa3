"""Batches of columns into examples."""
