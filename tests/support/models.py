"""Models with the recommended rules, whose settings are given beside the others."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from chacha import ChaCha, ContestRules, SampleComplexity

RULES = {field.name for field in fields(ContestRules)}


def contest_model(**settings: Any) -> ChaCha:
    """A model with the recommended rules; `settings` may have those of ContestRules too.

    With the paper's evidence, it is a model with the paper's rules.
    """
    if isinstance(settings.get("evidence"), SampleComplexity):
        return ChaCha.paper(**settings)
    rules = {name: value for name, value in settings.items() if name in RULES}
    others = {name: value for name, value in settings.items() if name not in RULES}
    return ChaCha(rules=ContestRules(**rules), **others)
