"""The paper's ConfigOracle: one more second-order product, and FLOW² on numbers and words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from chacha.config.config import Config, product
from chacha.config.space import Space
from chacha.errors import ConfigError
from chacha.rules.paper.flow2 import FLOOR, MOST_IN_VAIN, STEP, Flow2

__all__ = ["DefaultOracle", "second_order_products"]

MOST_FACTORS = 1000  # half a million products


def second_order_products(
    champion: Config, groups: Sequence[str], max_order: int | None = None
) -> list[Config]:
    """Return every configuration with one additional second-order product (section 5).

    The factors are the groups and the champion's products. A product is a set of groups (set
    union removes duplicates), so `ab` times `bc` is `abc`.

    >>> [c.since(Config()) for c in second_order_products(Config(), "abc")]
    ['+ab', '+ac', '+bc']
    >>> [c.since(Config(["ab"])) for c in second_order_products(Config(["ab"]), "abc")]
    ['+ac', '+bc', '+abc']
    >>> [c.since(Config(["ab"])) for c in second_order_products(Config(["ab"]), "abc", 2)]
    ['+ac', '+bc']
    """
    present = set(champion.interactions)
    factors: list[tuple[str, ...]] = [(group,) for group in groups]
    factors += champion.interactions
    if len(factors) > MOST_FACTORS:
        raise ConfigError(
            f"the oracle tries the products of at most {MOST_FACTORS} groups and products, "
            f"got {len(factors)}; tune something else (--tune), or use a custom oracle"
        )
    unions = (sorted({*left, *right}) for left, right in combinations(factors, 2))
    products = dict.fromkeys(product(union) for union in unions if len(union) > 1)
    return [
        champion.with_product(p)
        for p in products
        if p not in present and (max_order is None or len(p) <= max_order)
    ]


class DefaultOracle:
    """The paper's default: one more product, and FLOW² on numbers and words.

    Each call gives `numeric` proposals of FLOW², +u and -u of one direction. One FLOW² state,
    seeded by `seed`, serves the whole run and moves with the champion.

    >>> from chacha.config.space import Interactions
    >>> oracle = DefaultOracle(Space.of({"interactions": Interactions()}), seed=0)
    >>> [str(c) for c in oracle(Config(), ["a", "b"])]
    ['interactions ab']
    """

    def __init__(self, space: Space, seed: int = 0, numeric: int = 2) -> None:
        self.space = space
        self.seed = seed
        self.numeric = numeric
        self.flow2: Flow2 | None = None
        self.proposed: set[Config] = set()

    def to_json(self) -> dict[str, Any]:
        """Return the constants, for reports."""
        constants = {"step": STEP, "floor": FLOOR, "most_in_vain": MOST_IN_VAIN}
        return {"is": "DefaultOracle", "numeric": self.numeric, "flow2": constants}

    def __call__(self, champion: Config, groups: Sequence[str]) -> list[Config]:
        """Return the paper's ConfigOracle(C)."""
        proposals: list[Config] = []
        if self.space.domains:
            proposals += self._numeric(champion)
        if self.space.interactions is not None:
            order = self.space.interactions.max_order
            proposals += second_order_products(champion, groups, order)
        return proposals

    def _numeric(self, champion: Config) -> list[Config]:
        if self.flow2 is None:
            self.flow2 = Flow2(self.space.domains, champion.values, self.seed)
        self.flow2.incumbent(champion.values)
        self.proposed.add(champion)
        proposals: list[Config] = []
        for _ in range(20 * self.numeric):  # a point proposed before is drawn again
            c = champion.with_values(**self.flow2.propose())
            if c not in self.proposed:
                self.proposed.add(c)
                proposals.append(c)
            if len(proposals) == self.numeric:
                break
        return proposals
