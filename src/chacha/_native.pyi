"""The native engine; `make stub` writes its stub from native/src."""

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy
from numpy.typing import NDArray

__version__: str

class ColumnBlock:
    """Rows of a table as columns, for the engine."""

    def __init__(
        self,
        groups: Sequence[str],
        labels: NDArray[numpy.float64],
        weights: NDArray[numpy.float32] | None,
    ) -> None: ...
    @overload
    def add_numbers(
        self,
        part: int,
        name: str,
        numbers: NDArray[numpy.float32],
        missing_hashes: NDArray[numpy.uint32],
        missing_values: NDArray[numpy.float32],
    ) -> None: ...
    @overload
    def add_numbers(
        self,
        part: int,
        name: str,
        numbers: NDArray[numpy.float64],
        missing_hashes: NDArray[numpy.uint32],
        missing_values: NDArray[numpy.float32],
    ) -> None: ...
    @overload
    def add_numbers(
        self,
        part: int,
        name: str,
        numbers: NDArray[numpy.int32],
        missing_hashes: NDArray[numpy.uint32],
        missing_values: NDArray[numpy.float32],
    ) -> None: ...
    @overload
    def add_numbers(
        self,
        part: int,
        name: str,
        numbers: NDArray[numpy.int64],
        missing_hashes: NDArray[numpy.uint32],
        missing_values: NDArray[numpy.float32],
    ) -> None: ...
    def add_cells(
        self,
        part: int,
        cell_of: NDArray[numpy.int32],
        starts: NDArray[numpy.uint32],
        hashes: NDArray[numpy.uint32],
        values: NDArray[numpy.float32],
        missing_hashes: NDArray[numpy.uint32],
        missing_values: NDArray[numpy.float32],
        numbers: NDArray[numpy.float64] | None = None,
        name: str = "",
    ) -> None: ...
    def name_cells(self, features: Callable[[int, int], Sequence[tuple[int, str]]]) -> None:
        """Set the function of part and row that names the features of cells."""

    @property
    def rows(self) -> int: ...

def count_words(
    data: NDArray[numpy.uint8], offsets: NDArray[numpy.int32], prefix: str, seed: int
) -> tuple[
    NDArray[numpy.uint32], NDArray[numpy.uint32], NDArray[numpy.float32], NDArray[numpy.uint32]
]:
    """Return starts, hashes and values of words, and texts not in ASCII."""

class DictPlan:
    """How to read dicts with the same keys."""

    def __init__(
        self,
        entries: Sequence[tuple[object, object, str, str, str]],
        size: int,
        inner_sizes: Sequence[tuple[object, int]],
    ) -> None: ...

class Asked:
    """An example whose label comes late, and what the models predicted."""

    @property
    def prediction(self) -> float: ...
    @property
    def learned(self) -> bool: ...
    @property
    def serving(self) -> tuple[int, int, float]:
        """The champion, the model blended in, and its share."""

class Engine:
    """All live models and the rules, one step per example."""

    def __init__(self, bits: int, kernel: str = "") -> None: ...
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
        custom: tuple[Callable[[float, float, float, float], float], list[Any]] | None,
    ) -> None:
        """Set the rules; a custom test gets mean, variance, gain and harm."""

    def set_contest(
        self,
        champion: int,
        charged: int,
        level: float,
        surprise: tuple[Any, ...],
        decide_anyway: bool,
        serving: tuple[Any, ...],
        challengers: Sequence[tuple[int, int, tuple[Any, ...], tuple[Any, ...]]],
    ) -> None:
        """Set the state; a challenger is a model, lease, Pairing and BlendGain."""

    @property
    def contest(
        self,
    ) -> tuple[
        int,
        int,
        float,
        tuple[Any, ...],
        tuple[Any, ...],
        list[tuple[int, int, tuple[Any, ...], tuple[Any, ...]]],
    ]:
        """
        Examples, those charged, the usual loss, Surprise, Serving, challengers.
        """

    @property
    def serving(self) -> tuple[int, int, float]:
        """The champion, the model blended in, and its share."""

    @property
    def block_ends(self) -> bool:
        """
        Whether the next example may fill a block, which is when a custom test is called.
        """

    def set_screen(self, products: Sequence[tuple[Sequence[str], int]], keep: int = 0) -> None: ...
    @property
    def screened(self) -> tuple[bool, list[float]]:
        """Whether all candidates have a gain, and the gain per look of each."""

    @property
    def screen_rounds(self) -> int: ...
    @property
    def screen_kept(self) -> int:
        """The number of candidates, the first ones, that kept their learners."""

    @property
    def active(self) -> tuple[int, list[tuple[str, int]]]:
        """The number of examples, and of the features of each raw group."""

    def turn_on_centring(self) -> None:
        """Centre numeric columns from now on, as the first rows show."""

    @property
    def centres(self) -> list[tuple[str, int, float, float]]:
        """
        Group and hash of every numeric column of the first rows, its centre and factor.
        """

    def turn_on_derivation(self, first: int) -> None: ...
    def add_derived(self, name: str, kind: str, source: str, parameter: float) -> None: ...
    def derived(
        self, line: str, groups: Sequence[str], numbers: Sequence[tuple[str, int, str, float]] = []
    ) -> list[list[tuple[str, float]]] | None:
        """Return the features of derived groups; None if the line is refused."""

    def bases(self, name: str) -> tuple[list[tuple[str, list[float], list[float]]], int]: ...
    def base_hashes(self, name: str) -> list[int]: ...
    @property
    def profile(self) -> list[tuple[str, str, int, bool, int, float, float, float]]:
        """
        Group, name, distinct values, whether few, steps, least, largest, median.
        """

    @property
    def profile_version(self) -> int: ...
    def hold(self) -> None:
        """Keep other threads out until `let_go`."""

    def let_go(self) -> None:
        """End a `hold` of this thread."""

    def start(
        self,
        bits: int,
        settings: Sequence[tuple[str, str]],
        products: Sequence[Sequence[str]],
        source: int = -1,
        damping: float = 0.0,
    ) -> int:
        """Start a model, empty or as a copy of `source`, and return its number."""

    def undamp(self, model: int) -> None: ...
    def stop(self, model: int) -> None: ...
    def incarnation(self, model: int) -> int:
        """
        Return a number that the model has until it is stopped or begins again.
        """

    def raw(
        self,
        line: str,
        models: Sequence[int],
        learn: bool,
        numbers: Sequence[tuple[str, int, str, float]] = [],
    ) -> list[float] | None:
        """Return the raw predictions of models; None if the line is refused."""

    def serve_line(self, line: str) -> float | None:
        """Return the prediction for a line; None if it needs a closer look."""

    def serve_dict(self, plan: DictPlan, x: object) -> float | None:
        """Return the prediction for a dict; None if it needs a closer look."""

    def learn_line(self, line: str, y: float | None, weight: float | None) -> int:
        """Learn a line; return a Status, or -1 if it needs a closer look."""

    def learn_row(
        self, line: str, y: float | None, numbers: Sequence[tuple[str, int, str, float]]
    ) -> int:
        """Learn a row that Python has read; return what learn_line does."""

    def learn_dict(self, plan: DictPlan, x: object, y: float | None, weight: float | None) -> int:
        """Learn a dict; return what learn_line does."""

    def ask_line(self, line: str) -> Asked | None:
        """Predict a line whose label comes late; None if it needs a closer look."""

    def ask_dict(self, plan: DictPlan, x: object) -> Asked | None:
        """Predict a dict whose label comes late; None if it needs a closer look."""

    def tell(self, asked: Asked, y: float | None, weight: float | None) -> int:
        """Learn an asked example with its label; return what learn_line does."""

    def tell_line(
        self,
        line: str,
        forecast: Sequence[tuple[int, int, float]],
        served: float,
        baseline: float,
        constant: float,
        y: float | None,
        numbers: Sequence[tuple[str, int, str, float]],
    ) -> int:
        """Learn a labelled line, charging the given predictions."""

    def observe(self, line: str, numbers: Sequence[tuple[str, int, str, float]]) -> bool:
        """Count the groups and features of a line; return whether it was read."""

    def advance_text(self, text: object, at: int, end: int, limit: int) -> tuple[int, int, int]:
        """Learn lines of a buffer; return Status, next position, examples."""

    def advance_columns(
        self, block: ColumnBlock, row: int, end: int, limit: int
    ) -> tuple[int, int, int]:
        """Learn rows of a block; return Status, next row, examples."""

    def take_record(
        self,
    ) -> tuple[
        NDArray[numpy.float64],
        NDArray[numpy.float64],
        NDArray[numpy.uint32],
        list[str],
        NDArray[numpy.uint32],
        NDArray[numpy.float64],
    ]:
        """Return predictions, labels, models, tags, models blended in, shares."""

    def record(self, wanted: bool, tags: bool) -> None: ...
    def set_rules(
        self,
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
    ) -> None:
        """Set the contenders: model, whether it is a challenger, lease."""

    def scale_labels(self, rows: int) -> None:
        """Learn labels in units of their scale, which the first rows show."""

    def renew_scale(self, last: int, logarithms: bool) -> None:
        """
        Let models that start empty learn labels, or their logarithms, on the last scale.
        """

    @property
    def skewed(self) -> bool: ...
    def beyond_scale(self, model: int) -> bool:
        """Whether the last labels spread much more than in the scale of a model."""

    def logarithm_map(self, model: int) -> tuple[bool, float, float, float]:
        """
        Return whether a model learns logarithms; lowest label, unit, correction.
        """

    def label_map(self, model: int) -> tuple[bool, float, float]:
        """
        Return whether a model's labels are scaled, their shift and their scale.
        """

    @property
    def has_bases(self) -> bool:
        """
        Whether labels are scaled, and an example brought an initial prediction.
        """

    def set_baseline(self, model: int) -> None: ...
    def wait_for(self, what: int) -> None: ...
    def set_observed_bits(self, bits: int) -> None: ...
    def standing(self, model: int) -> tuple[int, float, float]:
        """Return the examples charged to a model, their loss and weight."""

    def standings(self, models: Sequence[int]) -> tuple[int, int, list[tuple[int, float, float]]]:
        """Return the number of examples, the incumbent and the standings."""

    @property
    def served(self) -> tuple[int, float, float, float]: ...
    @property
    def baseline(self) -> tuple[int, float, float]: ...
    @property
    def constant(self) -> tuple[int, float, float]: ...
    @property
    def label_origin(self) -> float: ...
    @property
    def beside_constant(
        self,
    ) -> tuple[tuple[int, float, float], tuple[int, float, float], tuple[int, float, float]]: ...
    @property
    def constant_raw(self) -> float: ...
    @property
    def metrics(self) -> tuple[float, float]: ...
    @property
    def t(self) -> int: ...
    @property
    def decision_due(self) -> bool: ...
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
        NDArray[numpy.uint32],
        NDArray[numpy.float32],
        NDArray[numpy.float32],
        NDArray[numpy.float32],
    ]:
        """Return the weights: index, weight, adaptive, norm."""

    def load(
        self,
        model: int,
        index: NDArray[numpy.uint32],
        w: NDArray[numpy.float32],
        adaptive: NDArray[numpy.float32],
        norm: NDArray[numpy.float32],
    ) -> None: ...
    def state(self, model: int) -> tuple[float, float, float, float, float, float]:
        """Return sum_norm_x, total_weight, low, high, gravity, contraction."""

    def set_state(
        self, model: int, state: tuple[float, float, float, float, float, float]
    ) -> None: ...
    @property
    def bytes(self) -> int: ...
    @property
    def kernel(self) -> str: ...

def fields() -> dict[str, list[str]]:
    """
    Return the fields of Pairing, BlendGain, Serving and Surprise, in their order.
    """

def derived_kinds() -> list[tuple[str, float, float, bool, bool, bool]]:
    """Return name, least, most, whether whole, keeps the past, is given."""

def kernels() -> list[str]:
    """Return the names of the kernels that this machine can run."""

def murmur(data: bytes, seed: int) -> int: ...
def hash_name(name: str, seed: int) -> int: ...
def read_line(
    line: bytes | str,
) -> tuple[list[tuple[str, list[tuple[int, float]]]], float | None, float, float, str] | None:
    """Return groups, label, weight, initial value, tag; None if refused."""
