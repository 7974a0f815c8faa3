"""Golden decision lists: the presets decide as they always did.

Made on the reference pool, which needs no other library. A change here is a change of
the algorithm: say why in the changelog.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from chacha import ChaCha, Interactions, LogUniform, Promoted, ReferencePool
from chacha.config.space import RATES

NI = {"interactions": Interactions()}
NI_LR = {**NI, "learning_rate": LogUniform(2e-10, 1.0)}
LR = {"learning_rate": LogUniform(2e-10, 10.0)}
STAR = "interactions aa, ab, ac, ad, ae"


def run(preset: str, space: Mapping[str, Any], init: Mapping[str, Any], stream: str) -> ChaCha:
    presets: dict[str, Callable[..., ChaCha]] = {
        "paper": ChaCha.paper,
        "flaml": ChaCha.flaml,
        "chacha": ChaCha,
    }
    model = presets[preset](
        pool=ReferencePool(), space=space, init=init, seed=1, keep_decisions=10**6
    )
    model.run(f"synth:{stream}")
    return model


def digest(model: ChaCha) -> str:
    """A fingerprint of every decision: who, when, with which numbers (to 9 digits)."""

    def rounded(value: object) -> object:
        if isinstance(value, dict) and not value["features"]:
            return {k: v for k, v in value.items() if k != "features"}
        return float(f"{value:.9g}") if isinstance(value, float) else value

    records = [{k: rounded(v) for k, v in d.to_json().items()} for d in model.decisions]
    return hashlib.sha256(json.dumps(records, sort_keys=True).encode()).hexdigest()[:12]


@dataclass
class Golden:
    preset: str
    space: Mapping[str, Any]
    init: Mapping[str, Any]
    stream: str
    fingerprint: str
    kinds: str
    champions: list[tuple[int, str]]


GOLDEN = [
    Golden(
        "paper",
        NI,
        {},
        "interactions,n=2400",
        "c01935a5ceb5",
        "Eliminated:2 LeaseDoubled:40 Promoted:1 Retired:32 WentLive:36",
        [(2104, "interactions ab")],
    ),
    Golden(
        "flaml",
        NI,
        {},
        "interactions,n=1200",
        "c53f1f38c982",
        "Eliminated:4 LeaseDoubled:36 Promoted:1 Retired:26 WentLive:30",
        [(706, "interactions ab")],
    ),
    Golden(
        "paper",
        LR,
        {"learning_rate": 0.01},
        "fried,n=400",
        "b7e8eeff9f87",
        "Eliminated:4 LeaseDoubled:14 Promoted:2 WentLive:4",
        [
            (273, "no interactions; learning_rate 0.117461894309"),
            (284, "no interactions; learning_rate 8.37554283444"),
        ],
    ),
    Golden(
        "paper",
        NI_LR,
        {},
        "mv,n=1500",
        "1ef7af5e4036",
        "Eliminated:7 LeaseDoubled:51 Retired:47 WentLive:51",
        [],
    ),
    Golden(
        "flaml",
        NI_LR,
        {},
        "2dplanes,n=1500",
        "4d43b16f7f8c",
        "Eliminated:3 LeaseDoubled:61 Retired:52 WentLive:56",
        [],
    ),
    Golden(
        "chacha",
        NI,
        {},
        "interactions,n=1500",
        "43d569ff727e",
        "Eliminated:2 LeaseDoubled:1 Promoted:1 Retired:7 WentLive:11",
        [(131, "interactions aa, ab, ac, ad, ae")],
    ),
    Golden(
        "chacha",
        {**NI, "learning_rate": RATES},
        {},
        "drift,n=2200",
        "f0859588915d",
        "Eliminated:5 Promoted:3 Retired:15 WentLive:19",
        [
            (121, "interactions aa, ab, ac, ad, ae; learning_rate 0.5"),
            (591, "interactions aa, ab, ac, ad, ae, bc, bd, be, cd, ce, de; learning_rate 0.5"),
            (1421, "interactions aa, ab, ac, ad, ae, bc, bd, be, cd, ce, de; learning_rate 2"),
        ],
    ),
]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda g: f"{g.preset}-{g.stream}")
def test_the_presets_decide_as_they_always_did(golden: Golden) -> None:
    model = run(golden.preset, golden.space, golden.init, golden.stream)
    kinds = Counter(d.kind for d in model.decisions)
    champions = [(d.t, str(d.config)) for d in model.decisions if isinstance(d, Promoted)]
    assert champions == golden.champions
    assert " ".join(f"{kind}:{n}" for kind, n in sorted(kinds.items())) == golden.kinds
    assert digest(model) == golden.fingerprint
