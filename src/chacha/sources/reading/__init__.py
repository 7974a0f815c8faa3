"""Bytes from files, pipes and addresses, and lines of them."""
