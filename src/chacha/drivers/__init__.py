"""Drivers: how rules and models are run, in Python and in the native engine."""
