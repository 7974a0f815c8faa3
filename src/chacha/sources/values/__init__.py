"""What one value becomes: cells, dicts, JSON."""
