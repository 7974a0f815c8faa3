"""Bytes and lines: files, pipes and addresses, opened, decompressed and read ahead."""
