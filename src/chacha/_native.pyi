"""The native engine (native/src/bindings/module.cpp)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

ProgressiveLossTuple = tuple[int, float, float]
StateTuple = tuple[float, float, float, float, float, float]
PairingTuple = tuple[Any, ...]  # the fields PAIRING of chacha.drivers.native_state
BlendGainTuple = tuple[int, float, float, float, float, float]
ChallengerTuple = tuple[int, int, PairingTuple, BlendGainTuple]
ServingTuple = tuple[int, float, float, float, float]

class ColumnBlock:
    def __init__(
        self,
        groups: Sequence[str],
        labels: NDArray[np.float32],
        weights: NDArray[np.float32] | None,
    ) -> None: ...
    def add_numbers(
        self,
        part: int,
        name: str,
        numbers: NDArray[Any],
        missing_hashes: NDArray[np.uint32],
        missing_values: NDArray[np.float32],
    ) -> None: ...
    def add_cells(
        self,
        part: int,
        cell_of: NDArray[np.int32],
        starts: NDArray[np.uint32],
        hashes: NDArray[np.uint32],
        values: NDArray[np.float32],
        missing_hashes: NDArray[np.uint32],
        missing_values: NDArray[np.float32],
    ) -> None: ...
    def name_cells(self, features: Callable[[int, int], Sequence[tuple[int, str]]]) -> None: ...
    @property
    def rows(self) -> int: ...

def count_words(
    data: NDArray[np.uint8], offsets: NDArray[np.int32], prefix: str, seed: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float32], NDArray[np.uint32]]: ...

class DictPlan:
    def __init__(
        self,
        entries: Sequence[tuple[Any, Any, str, str, str]],
        size: int,
        inner_sizes: Sequence[tuple[Any, int]],
    ) -> None: ...

class Engine:
    def __init__(self, bits: int, kernel: str = "") -> None: ...
    def start(
        self,
        bits: int,
        settings: Sequence[tuple[str, str]],
        products: Sequence[Sequence[str]],
        source: int = -1,
        damping: float = 0.0,
    ) -> int: ...
    def undamp(self, model: int) -> None: ...
    def stop(self, model: int) -> None: ...
    def raw(self, line: str, models: Sequence[int], learn: bool) -> list[float] | None: ...
    def serve_line(self, line: str) -> float | None: ...
    def serve_dict(self, plan: DictPlan, x: Any) -> float | None: ...
    def learn_line(self, line: str, y: float | None, weight: float | None) -> int: ...
    def learn_dict(self, plan: DictPlan, x: Any, y: float | None, weight: float | None) -> int: ...
    def tell(
        self, line: str, forecast: Sequence[tuple[int, float]], served: float, baseline: float
    ) -> int: ...
    def observe(self, line: str) -> bool: ...
    def advance_text(self, text: Any, at: int, end: int, limit: int) -> tuple[int, int, int]: ...
    def advance_columns(
        self, block: ColumnBlock, row: int, end: int, limit: int
    ) -> tuple[int, int, int]: ...
    def record(self, wanted: bool, tags: bool) -> None: ...
    def take_record(
        self,
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.uint32],
        list[str],
        NDArray[np.uint32],
        NDArray[np.float64],
    ]: ...
    def turn_on_derivation(self, first: int) -> None: ...
    def add_derived(self, name: str, kind: str, source: str, parameter: float) -> None: ...
    def derived(self, line: str, groups: Sequence[str]) -> list[list[tuple[str, float]]] | None: ...
    def bases(self, name: str) -> tuple[list[tuple[str, list[float], list[float]]], int]: ...
    def base_hashes(self, name: str) -> list[int]: ...
    @property
    def profile(self) -> list[tuple[str, str, int, bool, float, float, float]]: ...
    @property
    def profile_version(self) -> int: ...
    def set_observed_bits(self, bits: int) -> None: ...
    def set_rules(
        self,
        *,
        loss: tuple[str, Sequence[tuple[str, float]]],
        scale: float,
        delta: float,
        log_in_root: bool,
        p: float,
        comp: float | None,
        natural: bool,
        log_of_base: float,
        count_challengers: bool,
        burn_in: int,
    ) -> None: ...
    def set_contenders(
        self,
        contenders: Sequence[tuple[int, bool, int]],
        incumbent: int,
        challengers: int,
        decide_anyway: bool,
    ) -> None: ...
    def set_contest_rules(
        self,
        *,
        loss: tuple[str, Sequence[tuple[str, float]]],
        margin: float,
        block: int,
        clip: float,
        block_clip: float,
        most: float,
        eliminates: float,
        patience: int,
        warm_up: int,
        bernstein: bool,
        coin: tuple[int, int] | None,
        burn_in: int,
        early: int,
        decay: float,
        standard_errors: float,
        blend_clip: float,
        tolerance: float,
        champion_only: bool,
        share: float,
        rate: float,
    ) -> None: ...
    def set_contest(
        self,
        champion: int,
        challengers: Sequence[ChallengerTuple],
        serving: ServingTuple,
        level: float,
        charged: int,
        decide_anyway: bool,
    ) -> None: ...
    @property
    def contest(self) -> tuple[list[ChallengerTuple], ServingTuple, float, int]: ...
    @property
    def serving(self) -> tuple[int, int, float]: ...
    def set_screen(self, products: Sequence[tuple[Sequence[str], int]]) -> None: ...
    @property
    def screened(self) -> tuple[bool, list[float]]: ...
    @property
    def screen_rounds(self) -> int: ...
    @property
    def active(self) -> tuple[int, list[tuple[str, int]]]: ...
    def set_baseline(self, model: int) -> None: ...
    def wait_for(self, what: int) -> None: ...
    def standing(self, model: int) -> ProgressiveLossTuple: ...
    @property
    def served(self) -> ProgressiveLossTuple: ...
    @property
    def baseline(self) -> ProgressiveLossTuple: ...
    @property
    def metrics(self) -> tuple[float, float]: ...
    @property
    def t(self) -> int: ...
    @property
    def incumbent(self) -> int: ...
    @property
    def served_raw(self) -> float: ...
    @property
    def served_loss(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def raw_features(self) -> int: ...
    @property
    def sizes(self) -> dict[str, int]: ...
    def dump(
        self, model: int
    ) -> tuple[
        NDArray[np.uint32], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]
    ]: ...
    def load(
        self,
        model: int,
        index: NDArray[np.uint32],
        w: NDArray[np.float32],
        adaptive: NDArray[np.float32],
        norm: NDArray[np.float32],
    ) -> None: ...
    def state(self, model: int) -> StateTuple: ...
    def set_state(self, model: int, state: StateTuple) -> None: ...
    @property
    def bytes(self) -> int: ...
    @property
    def kernel(self) -> str: ...

def kernels() -> list[str]: ...
def murmur(data: bytes, seed: int) -> int: ...
def hash_name(name: str, seed: int) -> int: ...
def read_line(
    line: bytes | str,
) -> tuple[list[tuple[str, list[tuple[int, float]]]], float | None, float, float, str] | None: ...
