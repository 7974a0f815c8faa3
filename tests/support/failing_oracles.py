"""Oracles that fail, or propose what the learner refuses; and the outcome of a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chacha import ChaChaError, Config
from chacha.rules.paper import second_order_products

Proposals = list[Config]


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    """Return the result of a call, or its error."""
    try:
        return call(*args)
    except (ChaChaError, ArithmeticError, RuntimeError) as error:
        return type(error), str(error), getattr(error, "__notes__", [])


def failing_oracle(times: Sequence[int]) -> Callable[[Config, Sequence[str]], Proposals]:
    """The paper's oracle, but some of its calls fail."""
    calls = iter(range(10**6))

    def oracle(champion: Config, groups: Sequence[str]) -> Proposals:
        if next(calls) in times:
            raise ArithmeticError(f"no idea next to {champion}")
        return second_order_products(champion, groups)

    return oracle


def refused_oracle(champion: Config, groups: Sequence[str]) -> Proposals:
    """Every other proposal has an option that the learner does not have."""
    good = second_order_products(champion, groups)
    wrong = [c.with_values(abacus=1) for c in good]
    return [c for two in zip(good, wrong, strict=True) for c in two]


def only_refused_oracle(champion: Config, groups: Sequence[str]) -> Proposals:
    """Nothing that the learner takes."""
    return [champion.with_values(abacus=len(groups) + i) for i in range(3)]
