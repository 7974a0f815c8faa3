"""Models with derived groups that decide early, and what is compared of their runs."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from chacha import ChaCha, TableSpec
from chacha.config.derived_groups import DerivedFeatures
from chacha.config.space import RATES, Interactions
from chacha.pools.base import LivePool
from tests.support.fast_rules import EAGER, KEEN
from tests.support.models import contest_model

Row = dict[str, Any]

Table = list[tuple[Row, float]]

MORE = ["lag(label,2)", "ewma(temp,0.2)", "lag(hour,1)"]

POLICY = DerivedFeatures(first=30, knots=6, more=MORE)


def space(features: DerivedFeatures | None = POLICY, **domains: Any) -> dict[str, Any]:
    policy = {} if features is None else {"features": features}
    return {"interactions": Interactions(), "learning_rate": RATES, **policy, **domains}


def fast_model(pool: LivePool, **settings: Any) -> ChaCha:
    """Return a model that decides after few examples."""
    rules: dict[str, Any] = {"evidence": KEEN, "blending": EAGER, "first_lease": 40}
    others = {"budget": 5, "space": space(), "keep_decisions": 10**6, "pool": pool, **settings}
    return ChaCha(**others) if "rules" in settings else contest_model(**{**rules, **others})


def features_in(model: ChaCha, kind: str = "WentLive") -> set[str]:
    """The derived groups of those that went live, or were promoted."""
    return {name for d in model.decisions if d.kind == kind for name in d.config.derived}


def arrow_of(table: Table) -> pa.Table:
    names = sorted(table[0][0])  # as dicts are read
    columns = {name: [x[name] for x, _ in table] for name in names}
    return pa.table({**columns, "y": [y for _, y in table]})


TARGET = TableSpec(target="y")


def early_model(features: DerivedFeatures | None = None, **settings: Any) -> ChaCha:
    """Return a model that tries derived groups early; by default those of missing cells."""
    space: Any = {
        "features": features or DerivedFeatures(kinds=["missing"]),
        "interactions": Interactions(),
        "learning_rate": RATES,
    }
    settings = {"budget": 3, "first_lease": 100, "seed": 2, **settings}
    return contest_model(space=space, **settings)


def results(model: ChaCha) -> tuple[Any, ...]:
    """Return what two runs are compared by."""
    return [json.dumps(d.to_json()) for d in model.decisions], model.served, model.champion
