"""File formats, one file each, and how they are told apart."""
