"""Golden decision lists: the presets decide as they always did.

Made on the reference pool, which needs no other library. A change here is a change of
the algorithm: say why in the changelog.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from chacha import ChaCha, Interactions, LogUniform, Promoted, ReferencePool

NI = {"interactions": Interactions()}
NI_LR = {**NI, "learning_rate": LogUniform(2e-10, 1.0)}


def run(preset: str, space: Mapping[str, Any], stream: str) -> ChaCha:
    make = {"paper": ChaCha.paper, "flaml": ChaCha.flaml}[preset]
    model = make(pool=ReferencePool(), space=space, seed=1, keep_decisions=10**6)
    model.run(f"synth:{stream}")
    return model


def digest(model: ChaCha) -> str:
    """A fingerprint of every decision: who, when, with which numbers (to 9 digits)."""

    def rounded(value: object) -> object:
        return float(f"{value:.9g}") if isinstance(value, float) else value

    records = [{k: rounded(v) for k, v in d.to_json().items()} for d in model.decisions]
    return hashlib.sha256(json.dumps(records, sort_keys=True).encode()).hexdigest()[:12]


GOLDEN: list[tuple[str, Mapping[str, Any], str, str, dict[str, int], list[tuple[int, str]]]] = [
    (
        "paper",
        NI,
        "interactions,n=2400",
        "6e9dabbdc0ec",
        {"WentLive": 36, "LeaseDoubled": 40, "Retired": 32, "Promoted": 1, "Eliminated": 2},
        [(2104, "interactions ab")],
    ),
    (
        "flaml",
        NI,
        "interactions,n=1200",
        "f6815e32983e",
        {"WentLive": 30, "LeaseDoubled": 36, "Retired": 26, "Promoted": 1, "Eliminated": 4},
        [(706, "interactions ab")],
    ),
    (
        "paper",
        NI_LR,
        "mv,n=1500",
        "ea1c66d55950",
        {"WentLive": 51, "LeaseDoubled": 51, "Retired": 47, "Eliminated": 7},
        [],
    ),
    (
        "flaml",
        NI_LR,
        "2dplanes,n=1500",
        "e72a85e9fca5",
        {"WentLive": 48, "LeaseDoubled": 49, "Retired": 44, "Eliminated": 7},
        [],
    ),
]


@pytest.mark.parametrize(("preset", "space", "stream", "fingerprint", "kinds", "champions"), GOLDEN)
def test_the_presets_decide_as_they_always_did(
    preset: str,
    space: Mapping[str, Any],
    stream: str,
    fingerprint: str,
    kinds: dict[str, int],
    champions: list[tuple[int, str]],
) -> None:
    model = run(preset, space, stream)
    assert dict(Counter(d.kind for d in model.decisions)) == kinds
    assert [(d.t, str(d.config)) for d in model.decisions if isinstance(d, Promoted)] == champions
    assert digest(model) == fingerprint
