"""The moves of the recommended rules: what to try beside a champion, one challenger at a time.

The paper calls its ConfigOracle once for each champion. Moves are requested whenever a slot is
free, and are notified when a challenger is promoted or leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

from chacha.config.config import LOG, Config, Product
from chacha.config.derived_groups import ColumnProfile
from chacha.config.space import Space
from chacha.rules.contest.feature_moves import FeatureMoves
from chacha.rules.contest.product_moves import ProductMoves
from chacha.rules.contest.rotation import TARGET, Move, MoveOption, MoveRequest, MoveRotation
from chacha.rules.contest.screening import CandidateScreen
from chacha.rules.contest.value_steps import IN_VAIN, ValueSteps

__all__ = ["Moves"]

EARLIER = 3  # champions that may come back
BUNDLES = 32  # configurations with several more products that are cached


class Moves(MoveRotation):
    """The recommended moves.

    - `values`: numbers and words, by :class:`~chacha.rules.contest.value_steps.ValueSteps`;
    - `several`: several more products: all pairs, the screen's best, all products with one group;
    - `one`: one more product, in the order of the screen;
    - `fewer`: one product or derived group less;
    - `features`: more derived groups, by
      :class:`~chacha.rules.contest.feature_moves.FeatureMoves`;
    - `target`: the logarithm of the label instead of the label, or the reverse, where a few
      labels are much larger than the others;
    - `back`: one of the last three champions.

    A configuration of `several` or `features` may have at most `grow` times as many features as
    the champion, or `free` features if that is more. Products are pairs of groups, a group with
    itself included, and the champion's products times groups and products, up to `order` groups.

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
        self._points = 0  # of the current round
        self.earlier: dict[str, Config] = {}  # champions, the last one first
        self.products = ProductMoves(self.order, squares, best, few)
        self._bundled: dict[tuple[Config, tuple[Product, ...]], Config] = {}  # a cache
        self._listed: tuple[tuple[Any, ...], list[Product]] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the constants, for reports."""
        names = ("grow", "free", "best", "few", "order", "squares")
        return {"is": "Moves", **{name: getattr(self, name) for name in names}}

    def next(self, request: MoveRequest) -> Move | None:
        """Return the next challenger, or None if all moves are live."""
        champion, groups, screen = request.champion, request.groups, request.screen
        kinds: dict[str, Callable[[], Iterable[MoveOption]]] = {}
        if self.space.domains:
            kinds["values"] = partial(self._values, champion)
        if self.space.interactions is not None:
            kinds["several"] = partial(self._several, champion, groups, screen)
            kinds["one"] = partial(self._one, request)
        if self.space.interactions is not None or self.features is not None:
            kinds["fewer"] = partial(self._fewer, champion)
        if self.features is not None:
            kinds["features"] = partial(self._features, request)
        if request.skewed or champion.target:
            kinds[TARGET] = partial(self._target, request)
        kinds["back"] = partial(self._back, champion)
        move = self.pick(kinds, request)
        return self._explained(move, request) if move is not None else None

    def _explained(self, move: Move, request: MoveRequest) -> Move:
        """Return the move with the reasons for its derived groups."""
        if move.kind != "features" or self.features is None:
            return move
        new = [name for name in move.config.derived if name not in request.champion.derived]
        return move._replace(why=self.features.why(new, request.columns))

    def crowned(self, move: Move | None, dethroned: Config) -> None:
        """Note a new champion: remember the dethroned one, and the step if a step has won."""
        super().crowned(move, dethroned)
        earlier = {str(dethroned): dethroned, **self.earlier}
        self.earlier = dict(islice(earlier.items(), EARLIER))
        if move is not None and move.kind == "values":
            assert isinstance(move.name, float)
            self.steps.won(move.name)
        else:
            self.steps.elsewhere()

    def ended(self, move: Move, n: int, eliminated: bool, until: int) -> None:
        """Note that a challenger left; halve the step once every point was tried in vain."""
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
        """Return what is worth screening: derived groups, as products of one, then products.

        >>> from chacha.config.space import Interactions
        >>> moves = Moves(Space.of({"interactions": Interactions(max_order=4)}), squares=False)
        >>> ["".join(p) for p in moves.candidates(Config(["ab", "cd"]), "abcd")]
        ['ac', 'ad', 'bc', 'bd', 'abc', 'abd', 'abcd', 'acd', 'bcd']
        """
        names = [] if self.features is None else self.features.names(champion, columns)
        key = champion, tuple(groups), tuple(names)
        if self._listed is None or self._listed[0] != key:
            tuned = self.space.interactions is not None
            products = self.products.candidates(champion, groups) if tuned else ()
            self._listed = key, [*((name,) for name in names), *products]
        return self._listed[1]

    def _values(self, champion: Config) -> Iterator[MoveOption]:
        points = self.steps.around(champion.values)
        self._points = len(points)
        for multiple, values in points:
            yield multiple, partial(champion.with_values, **values)

    def _most(self, champion: Config, screen: CandidateScreen) -> float:
        """Return the largest number of features that a move may lead to."""
        return max(float(self.free), self.grow * screen.width(champion))

    def _features(self, request: MoveRequest) -> Iterator[MoveOption]:
        assert self.features is not None
        most = self._most(request.champion, request.screen)
        return self.features.options(request.champion, request.columns, request.screen, most)

    def _several(
        self, champion: Config, groups: Sequence[str], screen: CandidateScreen
    ) -> Iterator[MoveOption]:
        most, width = self._most(champion, screen), screen.width(champion)
        present = set(champion.interactions)

        def bundle(products: Sequence[Product]) -> Config | None:
            more = [p for p in products if p not in present]
            if width + sum(map(screen.width_of, more)) > most:
                return None
            return self._bundle(champion, more)

        for name, products in self.products.bundles(champion, groups, screen, most):
            yield name, partial(bundle, products)

    def first_products(
        self, champion: Config, groups: Sequence[str], screen: CandidateScreen
    ) -> Sequence[Config]:
        """Return the first move to several more products, if there is one.

        >>> from chacha.rules.contest import Screening
        >>> from chacha.rules.contest.screen import Screen
        >>> from chacha.config.space import Interactions
        >>> moves = Moves(Space.of({"interactions": Interactions()}))
        >>> print(*moves.first_products(Config(), "abc", Screen(Screening())))
        interactions ab, ac, bc
        """
        if self.space.interactions is None:
            return []
        made = (make() for _, make in self._several(champion, groups, screen))
        return [*islice((config for config in made if config is not None), 1)]

    def _bundle(self, champion: Config, more: Sequence[Product]) -> Config:
        """Return the champion with more products; cached, as every request asks for it again."""
        key = champion, tuple(more)
        if key not in self._bundled:
            if len(self._bundled) == BUNDLES:
                self._bundled.clear()
            self._bundled[key] = champion.with_products(more)
        return self._bundled[key]

    def _one(self, request: MoveRequest) -> Iterator[MoveOption]:
        champion, screen = request.champion, request.screen
        present = set(champion.interactions)
        rest = screen.products or self.candidates(champion, request.groups, request.columns)
        for p in chain(self.products.ranked(champion, screen), rest):
            if p not in present and len(p) > 1:
                yield p, partial(champion.with_products, (p,))

    def _target(self, request: MoveRequest) -> Iterator[MoveOption]:
        """Yield the logarithm of the label, or the label itself; such models start empty."""
        if any(move.kind == TARGET for move in request.live):
            return
        champion = request.champion
        values = champion.values if request.initial is None else request.initial.values
        other = "" if champion.target else LOG
        config = champion.with_values(**values)
        yield other or "label", partial(config.with_target, other, request.t)

    def _back(self, champion: Config) -> Iterator[MoveOption]:
        for name, c in self.earlier.items():
            yield name, partial(c.as_started, champion)

    def _fewer(self, champion: Config) -> Iterator[MoveOption]:
        for p in champion.interactions:
            yield p, partial(champion.without_product, p)
        for name in champion.derived if self.features is not None else ():
            yield name, partial(champion.without_derived, name)
