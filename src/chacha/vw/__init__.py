"""Vowpal Wabbit's options and model files."""
