"""Streams that change: models recover as fast as one that starts then; logarithms stay in range."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable

import pytest

from chacha import ChaCha, NativePool
from chacha.losses import Loss, Quantile, Squared
from tests.support.derived_runs import Row, Table
from tests.support.fast_rules import PlainPool
from tests.support.scaled_runs import WAYS, keen_model, learned

BEFORE, WITHIN, MEASURED = 5000, 2000, 500

LOSSES: dict[str, Loss] = {
    "squared": Squared(),
    "quantile 0.5": Quantile(0.5),
    "quantile 0.9": Quantile(0.9),
}


def linear(n: int, seed: int, noise: float = 1.0, function: int = 0) -> Table:
    """Six columns and a linear label."""
    weights, table = random.Random(f"weights {seed} {function}"), Table()
    w = [weights.gauss(0, 1) for _ in range(6)]
    rng = random.Random(f"rows {seed} {function}")
    for _ in range(n):
        x: Row = {f"c{j}": rng.gauss(0, 1) for j in range(6)}
        y = math.fsum(a * b for a, b in zip(w, x.values(), strict=True))
        table.append((x, y + rng.gauss(0, noise)))
    return table


def changed(drift: str, seed: int, noise: float = 1.0) -> tuple[Table, Table]:
    """The rows before a change, and those after it."""
    n = WITHIN + MEASURED
    table = linear(BEFORE + n, seed, noise)
    before, after = table[:BEFORE], table[BEFORE:]
    deviation = statistics.pstdev(y for _, y in before)
    changes: dict[str, Callable[[float], float]] = {
        "times 1000": lambda y: 1000 * y,
        "by 1000": lambda y: y / 1000,
        "ten deviations up": lambda y: y + 10 * deviation,
    }
    if drift == "a new function":
        return before, linear(n, seed, noise, function=1)
    return before, [(x, changes[drift](y)) for x, y in after]


def total_loss(loss: str, track: list[float], table: Table) -> float:
    return math.fsum(LOSSES[loss].loss(p, y) for p, (_, y) in zip(track, table, strict=True))


def times_the_loss_of_a_fresh_model(
    loss: str, drift: str, way: str = "a table", seed: int = 0, noise: float = 1.0
) -> float:
    """The served loss from `WITHIN` rows after the change on, over that of a model begun at it."""
    before, after = changed(drift, seed, noise)
    old, fresh = (
        learned(ChaCha(loss=LOSSES[loss]), table, way)[0][-MEASURED:]
        for table in (before + after, after)
    )
    rows = after[-MEASURED:]
    return total_loss(loss, old, rows) / total_loss(loss, fresh, rows)


DRIFTS = ["times 1000", "ten deviations up", "a new function"]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_soon_those_of_a_model_that_begins_at_the_change(
    loss: str, drift: str, seed: int
) -> None:
    assert times_the_loss_of_a_fresh_model(loss, drift, seed=seed) < 1.2


@pytest.mark.parametrize("way", WAYS)
def test_in_whatever_form_the_rows_come(way: str) -> None:
    assert times_the_loss_of_a_fresh_model("squared", "times 1000", way) < 1.2


@pytest.mark.parametrize("noise", [1.0, 4.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_also_where_labels_become_smaller(loss: str, noise: float) -> None:
    worst = max(
        times_the_loss_of_a_fresh_model(loss, "by 1000", seed=seed, noise=noise)
        for seed in range(3)
    )
    assert worst < 1.2


def times_a_fresh_model(
    table: Table, k: int, measured: int = MEASURED, loss: str = "squared"
) -> float:
    """The served loss long after row k, over that of a model that begins there."""
    rows = table[k : k + WITHIN + measured]
    old, fresh = (
        learned(ChaCha(loss=LOSSES[loss]), each, "a table")[0][-measured:]
        for each in (table[:k] + rows, rows)
    )
    return total_loss(loss, old, rows[-measured:]) / total_loss(loss, fresh, rows[-measured:])


def words(n: int, seed: int, number: int = 3000) -> Table:
    """Sentences of eight words, each of which has a weight."""
    rng, table = random.Random(f"words {seed}"), Table()
    weights = [rng.gauss(0, 1) for _ in range(number)]
    for _ in range(n):
        some = [int(number * rng.random() ** 2) for _ in range(8)]
        y = math.fsum(weights[i] for i in some) + rng.gauss(0, 0.3)
        table.append(({"text": " ".join(f"w{i}" for i in some)}, y))
    return table


def flipped(table: Table, first: int) -> Table:
    return table[:first] + [(x, -y) for x, y in table[first:]]


@pytest.mark.parametrize("loss", ["quantile 0.5", "quantile 0.9"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_loss_that_grows_with_the_error_shows_a_change_sooner(loss: str, seed: int) -> None:
    """Errors twice as large are a surprise, where squared ones need three times the loss."""
    k = 5000
    table = flipped(words(k + WITHIN + MEASURED, seed), k)
    assert times_a_fresh_model(table, k, loss=loss) < 1.2


def products(n: int, seed: int) -> Table:
    """Five columns of which only products matter."""
    rng, table = random.Random(f"products {seed}"), Table()
    for _ in range(n):
        x: Row = {f"c{j}": rng.gauss(0, 1) for j in range(5)}
        y = 4 * x["c0"] * x["c1"] + 2 * x["c2"] * x["c3"]
        table.append((x, y + rng.gauss(0, 0.3)))
    return table


def waves(n: int, seed: int) -> Table:
    """A season with a high rate: each label is near the one before."""
    rng, table, level = random.Random(f"waves {seed}"), Table(), 0.0
    for i in range(n):
        level = 0.98 * level + rng.gauss(0, 0.2)
        x: Row = {"sine": math.sin(i / 50), "cosine": math.cos(i / 50), "c": rng.gauss(0, 1)}
        table.append((x, x["sine"] + 0.5 * x["c"] + level))
    return table


def times(table: Table, factor: float, first: int, end: int | None = None) -> Table:
    """The rows with the labels of some of them times a factor."""
    later = [(x, factor * y) for x, y in table[first:end]]
    return table[:first] + later + (table[end:] if end is not None else [])


@pytest.mark.parametrize("rows", [60, 150, 1000])
@pytest.mark.parametrize("make", [linear, products], ids=["linear", "products"])
def test_labels_that_jump_and_return(make: Callable[[int, int], Table], rows: int) -> None:
    """The return is a change as well, after few labels of the other size."""
    end = BEFORE + rows
    table = times(make(end + WITHIN + MEASURED, 0), 1000.0, BEFORE, end)
    assert times_a_fresh_model(table, end) < 1.2


@pytest.mark.parametrize("k", [65, 100, 150])
def test_labels_that_jump_before_anything_is_learned(k: int) -> None:
    """A linear model gains nothing on the new scale, and products gain nothing on the old one."""
    table = times(products(k + WITHIN + MEASURED, 1), 1000.0, k)
    assert times_a_fresh_model(table, k) < 2.0


def test_the_first_labels_may_be_much_smaller_than_the_others() -> None:
    """No usual loss is known yet that later ones would be far from."""
    table = times(linear(BEFORE, 3), 1e-3, 0, 70)
    assert times_a_fresh_model(table, 70) < 1.2


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_high_rate_does_not_hide_that_the_scale_is_wrong(seed: int) -> None:
    table = times(waves(BEFORE + WITHIN + MEASURED, seed), 1000.0, BEFORE)
    assert times_a_fresh_model(table, BEFORE) < 1.2


@pytest.mark.parametrize("seed", [0, 1])
def test_products_that_come_after_a_curve(seed: int) -> None:
    """The champion has bins of all columns, from which products are far."""
    rng, table = random.Random(f"curves {seed}"), Table()
    for i in range(BEFORE + WITHIN + MEASURED):
        x: Row = {f"c{j}": rng.random() for j in range(8)}
        if i < BEFORE:
            y = 3 * (x["c0"] > 0.3) - 2 * (x["c1"] > 0.7) + 5 * (x["c2"] - 0.5) ** 2
        else:
            y = 24 * (x["c0"] - 0.5) * (x["c1"] - 0.5) + 12 * (x["c2"] - 0.5) * (x["c3"] - 0.5)
        table.append((x, y + rng.gauss(0, 0.2)))
    assert times_a_fresh_model(table, BEFORE) < 1.2


# Logarithms


def heavy(n: int, seed: int = 0) -> Table:
    rng, table = random.Random(f"h{seed}"), Table()
    for _ in range(n):
        x: Row = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 1), "c": rng.choice("xyz")}
        log = 3.0 * (x["a"] + x["b"] + (x["c"] == "x") + rng.gauss(0, 0.3))
        table.append((x, math.exp(log)))
    return table


def heavy_and_changing(seed: int) -> Table:
    later = [(x, 1000 * y) for x, y in heavy(800, seed + 50)]
    return heavy(2000, seed) + later + [(x, y / 1000) for x, y in heavy(800, seed + 90)]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", [0, 1])
def test_predictions_from_logarithms_stay_near_the_labels_so_far(seed: int, loss: str) -> None:
    """Within ten times their range, and they are never NaN."""
    table = heavy_and_changing(seed)
    track, decided = learned(keen_model(loss=LOSSES[loss]), table, "a table")
    low = high = table[0][1]
    for prediction, (_, y) in zip(track[1:], table[1:], strict=True):
        slack = 10 * (high - low)
        assert low - slack <= prediction <= high + slack
        low, high = min(low, y), max(high, y)
    assert any(kind == "WentLive" and "target log" in config for kind, _, config in decided)


@pytest.mark.parametrize("loss", ["squared", "quantile 0.5"])
def test_logarithms_do_not_depend_on_the_unit_of_the_label(loss: str) -> None:
    table = heavy_and_changing(1)
    track, decided = learned(keen_model(loss=LOSSES[loss]), table, "a table")
    assert any(kind == "Promoted" and "target log" in config for kind, _, config in decided)
    small = [(x, math.ldexp(y, -20)) for x, y in table]
    scaled, same = learned(keen_model(loss=LOSSES[loss]), small, "a table")
    assert scaled == [math.ldexp(prediction, -20) for prediction in track]
    assert same == decided
    moved = [(x, 37.3 * y + 1000.0) for x, y in table]
    assert learned(keen_model(loss=LOSSES[loss]), moved, "a table")[1] == decided


def test_nor_if_the_last_labels_were_all_equal() -> None:
    """A model that learns logarithms is started anew while all labels are equal."""
    rows: dict[int, Table] = {}
    for seed in (1, 4, 8):
        rng = random.Random(f"h{seed}")
        rows[seed] = []
        for _ in range(500):
            x: Row = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 1), "c": rng.choice("xyz")}
            log = 2.0 * (x["a"] + x["b"] + (x["c"] == "x") + rng.gauss(0, 0.3))
            rows[seed].append((x, math.exp(log)))
    table = rows[1] + [(x, 0.01) for x, _ in rows[8][:60]] + rows[4][:400]
    track, decided = learned(keen_model(loss=Quantile(0.5)), table, "a table")
    small = [(x, math.ldexp(y, -30)) for x, y in table]
    scaled, same = learned(keen_model(loss=Quantile(0.5)), small, "a table")
    assert same == decided
    assert scaled == [math.ldexp(prediction, -30) for prediction in track]


@pytest.mark.parametrize("pool", [NativePool, PlainPool])
def test_nor_if_labels_jump_to_a_single_value(pool: type[NativePool]) -> None:
    """Logarithms of equal labels have no unit, and are not corrected by one."""
    rng, table = random.Random("v1"), Table()
    for i in range(860):
        a = rng.gauss(0, 1)
        y = 1e-6 * math.exp(3.0 * (a + rng.gauss(0, 0.1)))
        table.append(({"a": a}, y if i < 800 else 1e9))
    track, decided = learned(keen_model(pool()), table)
    assert any(t > 800 and "target log" in config for _, t, config in decided)
    small = [(x, math.ldexp(y, -20)) for x, y in table]
    scaled, same = learned(keen_model(pool()), small)
    assert same == decided
    assert scaled == [math.ldexp(prediction, -20) for prediction in track]
