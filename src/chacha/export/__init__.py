"""Export: models for Vowpal Wabbit, and streams with derived features."""

from __future__ import annotations

from chacha.export.transform import Transform

__all__ = ["Transform"]
