"""Moves: what the recommended rules try next to a champion, one challenger at a time.

Unlike a ConfigOracle of the paper, which is called once for each champion, this one is asked
whenever a slot is free, and told what became of its challengers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

from chacha.config.config import Config, Product
from chacha.config.derived_groups import ColumnProfile
from chacha.config.space import Space
from chacha.rules.contest.feature_moves import FeatureMoves
from chacha.rules.contest.product_moves import ProductMoves
from chacha.rules.contest.rotation import Move, MoveOption, MoveRequest, MoveRotation, constant
from chacha.rules.contest.screening import CandidateScreen
from chacha.rules.contest.value_steps import IN_VAIN, ValueSteps

__all__ = ["Moves"]

EARLIER = 3  # champions that may come back
BUNDLES = 32  # configurations with many more products that are kept


class Moves(MoveRotation):
    """The recommended moves.

    - `values`: numbers and words, by :class:`~chacha.rules.contest.value_steps.ValueSteps`;
    - `several`: all pairs, the best of the screen at once, all products with one group;
    - `one`: one more product, in the order of the screen;
    - `fewer`: one product less;
    - `back`: an earlier champion, of the last three.

    A move of `several` may give a configuration `grow` times as many features as the champion
    has, or `free` of them. Products are of pairs of groups, a group with itself included, and of
    the champion's products with a group, up to `order` groups.

    >>> from chacha.rules.contest import Screening
    >>> from chacha.rules.contest.screen import Screen
    >>> from chacha.config.space import Interactions
    >>> moves = Moves(Space.of({"interactions": Interactions()}))
    >>> screen, live = Screen(Screening()), {}
    >>> for _ in range(4):
    ...     live[moves.next(MoveRequest(Config(), ["a", "b"], screen, live, t=0))] = 0
    >>> [(move.kind, move.config.since(Config())) for move in live]
    [('several', '+ab'), ('one', '+aa'), ('several', '+aa +ab +bb'), ('one', '+bb')]
    """

    def __init__(
        self,
        space: Space,
        seed: int = 0,
        *,
        grow: float = 2.0,
        free: int = 64,
        best: int = 8,
        few: int = 3,
        order: int = 3,
        squares: bool = True,
    ) -> None:
        super().__init__()
        self.space = space
        self.grow, self.free, self.best, self.few = grow, free, best, few
        interactions = space.interactions
        limit = None if interactions is None else interactions.max_order
        self.order = order if limit is None else limit
        self.squares = squares
        self.steps = ValueSteps(space.domains, seed)
        self.features = None if space.features is None else FeatureMoves(space.features)
        self._points = 0  # in this round
        self.earlier: dict[str, Config] = {}  # champions, the last one first
        self.products = ProductMoves(self.order, squares, best, few)
        self._bundled: dict[tuple[Config, tuple[Product, ...]], Config] = {}  # a few, for later use
        self._listed: tuple[tuple[Any, ...], list[Product]] | None = None

    def to_json(self) -> dict[str, Any]:
        """Its constants, for reports."""
        names = ("grow", "free", "best", "few", "order", "squares")
        return {"is": "Moves", **{name: getattr(self, name) for name in names}}

    def next(self, asked: MoveRequest) -> Move | None:
        """The next challenger, or None if there is nothing that is not live."""
        champion, groups, gains = asked.champion, asked.groups, asked.gains
        kinds: dict[str, Callable[[], Iterable[MoveOption]]] = {}
        if self.space.domains:
            kinds["values"] = partial(self._values, champion)
        if self.space.interactions is not None:
            kinds["several"] = partial(self._several, champion, groups, gains)
            kinds["one"] = partial(self._one, asked)
        if self.space.interactions is not None or self.features is not None:
            kinds["fewer"] = partial(self._fewer, champion)
        if self.features is not None:
            kinds["features"] = partial(self._features, asked)
        kinds["back"] = self._back
        move = self.pick(kinds, asked)
        return self._explained(move, asked) if move is not None else None

    def _explained(self, move: Move, asked: MoveRequest) -> Move:
        """With the reason why its derived groups were offered."""
        if move.kind != "features" or self.features is None:
            return move
        new = [name for name in move.config.derived if name not in asked.champion.derived]
        return move._replace(why=self.features.why(new, asked.columns))

    def crowned(self, move: Move | None, dethroned: Config) -> None:
        """The champion changed; a step that won is remembered, and so is who was dethroned."""
        super().crowned(move, dethroned)
        earlier = {str(dethroned): dethroned, **self.earlier}
        self.earlier = dict(islice(earlier.items(), EARLIER))
        if move is not None and move.kind == "values":
            assert isinstance(move.name, float)
            self.steps.won(move.name)
        else:
            self.steps.elsewhere()

    def ended(self, move: Move, n: int, eliminated: bool, until: int) -> None:
        """It left; when every point around was tried enough, the step changes."""
        super().ended(move, n, eliminated, until)
        if move.kind == "values":
            tried = [times for (kind, _), times in self.tried.items() if kind == "values"]
            if len(tried) >= self._points and min(tried) >= IN_VAIN:
                self.steps.in_vain()
                self.tried = {key: n for key, n in self.tried.items() if key[0] != "values"}
                self.rests = {key: n for key, n in self.rests.items() if key[0] != "values"}

    def candidates(
        self, champion: Config, groups: Sequence[str], columns: Sequence[ColumnProfile] = ()
    ) -> Sequence[Product]:
        """What is worth screening: derived groups, each a product of one; then products.

        >>> from chacha.config.space import Interactions
        >>> moves = Moves(Space.of({"interactions": Interactions(max_order=4)}), squares=False)
        >>> ["".join(p) for p in moves.candidates(Config(["ab", "cd"]), "abcd")]
        ['ac', 'ad', 'bc', 'bd', 'abc', 'abd', 'abcd', 'acd', 'bcd']
        """
        names = [] if self.features is None else self.features.names(champion, columns)
        asked = champion, tuple(groups), tuple(names)
        if self._listed is None or self._listed[0] != asked:
            tuned = self.space.interactions is not None
            products = self.products.candidates(champion, groups) if tuned else ()
            self._listed = asked, [*((name,) for name in names), *products]
        return self._listed[1]

    def _values(self, champion: Config) -> Iterator[MoveOption]:
        points = self.steps.around(champion.values)
        self._points = len(points)
        for multiple, values in points:
            yield multiple, partial(champion.with_values, **values)

    def _most(self, champion: Config, gains: CandidateScreen) -> float:
        """Features that a move may give."""
        return max(float(self.free), self.grow * gains.width(champion))

    def _features(self, asked: MoveRequest) -> Iterator[MoveOption]:
        assert self.features is not None
        most = self._most(asked.champion, asked.gains)
        return self.features.offers(asked.champion, asked.columns, asked.gains, most)

    def _several(
        self, champion: Config, groups: Sequence[str], gains: CandidateScreen
    ) -> Iterator[MoveOption]:
        most, have = self._most(champion, gains), gains.width(champion)
        known = set(champion.interactions)

        def bundle(products: Sequence[Product]) -> Config | None:
            more = [p for p in products if p not in known]
            if have + sum(map(gains.width_of, more)) > most:
                return None
            return self._bundle(champion, more)

        for name, products in self.products.bundles(champion, groups, gains, most):
            yield name, partial(bundle, products)

    def _bundle(self, champion: Config, more: Sequence[Product]) -> Config:
        """The champion with more products; asked for again and again as long as it reigns."""
        key = champion, tuple(more)
        if key not in self._bundled:
            if len(self._bundled) == BUNDLES:
                self._bundled.clear()
            self._bundled[key] = champion.with_products(more)
        return self._bundled[key]

    def _one(self, asked: MoveRequest) -> Iterator[MoveOption]:
        champion, gains = asked.champion, asked.gains
        have = set(champion.interactions)
        rest = gains.products or self.candidates(champion, asked.groups, asked.columns)
        for p in chain(self.products.ranked(champion, gains), rest):
            if p not in have and len(p) > 1:
                yield p, partial(champion.with_products, (p,))

    def _back(self) -> Iterator[MoveOption]:
        for name, c in self.earlier.items():
            yield name, partial(constant, c)

    def _fewer(self, champion: Config) -> Iterator[MoveOption]:
        for p in champion.interactions:
            yield p, partial(champion.without_product, p)
        for name in champion.derived if self.features is not None else ():
            yield name, partial(champion.without_derived, name)
