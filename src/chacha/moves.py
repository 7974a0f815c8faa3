"""Moves: what the recommended rules try next to a champion, one challenger at a time.

Unlike a ConfigOracle of the paper, which is called once for each champion, this one is asked
whenever a slot is free, and told what became of its challengers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, combinations, combinations_with_replacement, islice
from typing import Any

from chacha.config import Config, Product, product
from chacha.featuremoves import FeatureMoves, face_pairs, source
from chacha.features import Column
from chacha.screening import Gains
from chacha.space import Space
from chacha.steps import IN_VAIN, Steps
from chacha.turns import Asked, Move, Offer, Turns, same

__all__ = ["Moves"]

EARLIER = 3  # champions that may come back
MOST_LISTED = 100_000  # candidates of one champion


class Moves(Turns):
    """The recommended moves.

    - `values`: numbers and words, by :class:`~chacha.steps.Steps`;
    - `several`: all pairs, the best of the screen at once, all products with one group;
    - `one`: one more product, in the order of the screen;
    - `fewer`: one product less;
    - `back`: an earlier champion, of the last three.

    A move of `several` may give a configuration `grow` times as many features as the champion
    has, or `free` of them. Products are of pairs of groups, a group with itself included, and of
    the champion's products with a group, up to `order` groups.

    >>> from chacha import Screening
    >>> from chacha.screen import Screen
    >>> from chacha.space import Interactions
    >>> moves = Moves(Space.of({"interactions": Interactions()}))
    >>> screen, live = Screen(Screening()), {}
    >>> for _ in range(4):
    ...     live[moves.next(Asked(Config(), ["a", "b"], screen, live, t=0))] = 0
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
        self.steps = Steps(space.domains, seed)
        self.features = None if space.features is None else FeatureMoves(space.features)
        self._points = 0  # in this round
        self._known_pairs: tuple[tuple[str, ...], list[Product], list[Product]] | None = None
        self.earlier: dict[str, Config] = {}  # champions, the last one first
        self._listed: tuple[tuple[Any, ...], list[Product]] | None = None

    def to_json(self) -> dict[str, Any]:
        """Its constants, for reports."""
        names = ("grow", "free", "best", "few", "order", "squares")
        return {"is": "Moves", **{name: getattr(self, name) for name in names}}

    def next(self, asked: Asked) -> Move | None:
        """The next challenger, or None if there is nothing that is not live."""
        champion, groups, gains = asked.champion, asked.groups, asked.gains
        kinds: dict[str, Callable[[], Iterable[Offer]]] = {}
        if self.space.domains:
            kinds["values"] = partial(self._values, champion)
        if self.space.interactions is not None:
            kinds["several"] = partial(self._several, champion, groups, gains)
            kinds["one"] = partial(self._one, champion, groups, gains)
        if self.space.interactions is not None or self.features is not None:
            kinds["fewer"] = partial(self._fewer, champion)
        if self.features is not None:
            kinds["features"] = partial(self._features, asked)
        kinds["back"] = self._back
        move = self.pick(kinds, asked)
        return self._explained(move, asked) if move is not None else None

    def _explained(self, move: Move, asked: Asked) -> Move:
        """With the reason why its derived groups were offered."""
        if move.kind != "features" or self.features is None:
            return move
        new = [name for name in move.config.features if name not in asked.champion.features]
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
        self, champion: Config, groups: Sequence[str], columns: Sequence[Column] = ()
    ) -> Sequence[Product]:
        """Products the champion does not have: pairs, then its products with groups and products.

        Before them, derived groups that it does not have; each is a product of one.

        >>> from chacha.space import Interactions
        >>> moves = Moves(Space.of({"interactions": Interactions(max_order=4)}), squares=False)
        >>> ["".join(p) for p in moves.candidates(Config(["ab", "cd"]), "abcd")]
        ['ac', 'ad', 'bc', 'bd', 'abc', 'abd', 'abcd', 'acd', 'bcd']
        """
        names = [] if self.features is None else self.features.names(champion, columns)
        asked = champion, tuple(groups), tuple(names)
        if self._listed is None or self._listed[0] != asked:
            products = islice(self._products(champion, groups), MOST_LISTED)
            self._listed = asked, [*((name,) for name in names), *products]
        return self._listed[1]

    def _products(self, champion: Config, groups: Sequence[str]) -> Iterator[Product]:
        if self.space.interactions is None:
            return
        known = set(champion.interactions)
        for p in self._pairs(groups):
            if p not in known:
                yield p
        for name in champion.features:
            for other in (*groups, *champion.features):
                p: Product = (name, other) if name < other else (other, name)
                if source(name) != source(other) and p not in known:
                    known.add(p)
                    yield p
        singles = [(group,) for group in groups]
        for have in champion.interactions:
            room = self.order - len(have)
            for more in chain(singles, champion.interactions if room > 1 else ()):
                if len(more) > room or not (self.squares or set(have).isdisjoint(more)):
                    continue
                p = tuple(sorted((*have, *more)))
                if p not in known:
                    known.add(p)
                    yield p

    def _pairs(self, groups: Sequence[str]) -> Iterator[Product]:
        pairs = combinations_with_replacement if self.squares else combinations
        return iter(pairs(sorted(groups), 2))

    def _ranked(self, champion: Config, gains: Gains) -> list[Product]:
        """Those that helped, best first."""
        if not gains.known:
            return []
        have = set(champion.interactions)
        every = gains.gains().items()
        found = [(gain, p) for p, gain in every if gain > 0.0 and p not in have and len(p) > 1]
        return [p for _, p in sorted(found, key=lambda pair: -pair[0])]

    def _values(self, champion: Config) -> Iterator[Offer]:
        points = self.steps.around(champion.values)
        self._points = len(points)
        for multiple, values in points:
            yield multiple, partial(champion.with_values, **values)

    def _several(self, champion: Config, groups: Sequence[str], gains: Gains) -> Iterator[Offer]:
        ranked = self._ranked(champion, gains)
        have = gains.width(champion)
        most = self._most(champion, gains)
        known = set(champion.interactions)

        def bundle(products: Sequence[Product]) -> Config | None:
            more = [p for p in products if p not in known]
            if have + sum(map(gains.width_of, more)) > most:
                return None
            return champion.with_products(more)

        for name, products in self._bundles(champion, groups, gains, ranked, most):
            yield name, partial(bundle, products)

    def _most(self, champion: Config, gains: Gains) -> float:
        """Features that a move may give."""
        return max(float(self.free), self.grow * gains.width(champion))

    def _features(self, asked: Asked) -> Iterator[Offer]:
        assert self.features is not None
        most = self._most(asked.champion, asked.gains)
        return self.features.offers(asked.champion, asked.columns, asked.gains, most)

    def _bundles(
        self,
        champion: Config,
        groups: Sequence[str],
        gains: Gains,
        ranked: Sequence[Product],
        most: float,
    ) -> Iterator[tuple[str, Sequence[Product]]]:
        if len(groups) * (len(groups) - 1) / 2 <= most:
            squares, pairs = self._every_pair(groups)
            yield "all pairs", pairs
            if self.squares:
                yield "all pairs and squares", [*pairs, *squares]
            if champion.features:
                yield "all derived pairs", face_pairs(champion, groups)
        for count in (self.best, self.few):
            if len(ranked) > 1:
                yield f"best {count}", ranked[:count]
        for group in self._leaders(groups, gains) if len(groups) <= most else ():
            others = groups if self.squares else [other for other in groups if other != group]
            yield f"all with {group}", [product((group, other)) for other in others]

    def _every_pair(self, groups: Sequence[str]) -> tuple[list[Product], list[Product]]:
        """Squares, and pairs of two groups."""
        if self._known_pairs is None or self._known_pairs[0] != tuple(groups):
            every = [product(pair) for pair in combinations(groups, 2)]
            squares = [product((group, group)) for group in groups]
            self._known_pairs = tuple(groups), squares, every
        return self._known_pairs[1], self._known_pairs[2]

    def _leaders(self, groups: Sequence[str], gains: Gains) -> Iterable[str]:
        """The group whose products help most; any, as long as that is not known."""
        if not gains.known:
            return groups
        sums: dict[str, float] = {}
        for p, gain in gains.gains().items():
            if gain > 0.0 and len(p) == 2:
                for group in dict.fromkeys(p):
                    sums[group] = sums.get(group, 0.0) + gain
        return sorted(sums, key=lambda group: -sums[group])[:1]

    def _one(self, champion: Config, groups: Sequence[str], gains: Gains) -> Iterator[Offer]:
        first, have = self._ranked(champion, gains), set(champion.interactions)
        for p in chain(first, gains.products or self.candidates(champion, groups)):
            if p not in have and len(p) > 1:
                yield p, partial(champion.with_products, (p,))

    def _back(self) -> Iterator[Offer]:
        for name, c in self.earlier.items():
            yield name, partial(same, c)

    def _fewer(self, champion: Config) -> Iterator[Offer]:
        for p in champion.interactions:
            yield p, partial(champion.without_product, p)
        for name in champion.features if self.features is not None else ():
            yield name, partial(champion.without_feature, name)
