"""The cost of late labels: ask + tell beside predict_one + learn_one, for dicts of numbers.

    python benchmarks/ask_tell.py [--rows 20000] [--columns 8] [--rounds 7] [--wait 100] [--most X]

Both ways learn the same rows with the recommended rules and take turns. Figures are medians of
CPU time per row, ratios are medians of the rounds' ratios: from the first row on, and after a
warm-up of as many rows. With `late`, a label comes `--wait` rows after its prediction.
"""

from __future__ import annotations

import argparse
import random
from collections import deque
from collections.abc import Callable, Sequence

import chacha
from timing import Method, Times, interleave, nanoseconds

Rows = Sequence[tuple[dict[str, float], float]]
Pass = Callable[[chacha.ChaCha, Rows], None]


def rows_of(n: int, columns: int) -> Rows:
    """Return rows of independent numbers; the label has a product of two columns."""
    rng = random.Random(0)
    rows = []
    for _ in range(n):
        x = {f"x{i}": rng.uniform(-1, 1) for i in range(columns)}
        y = x["x0"] * x["x1"] + x[f"x{columns - 1}"] + 0.1 * rng.gauss(0, 1)
        rows.append((x, y))
    return rows


def at_once(model: chacha.ChaCha, rows: Rows) -> None:
    """Predict and learn every row."""
    for x, y in rows:
        model.predict_one(x)
        model.learn_one(x, y)


def by_ticket(model: chacha.ChaCha, rows: Rows) -> None:
    """Ask for every row, and give its label at once."""
    for x, y in rows:
        model.tell(model.ask(x), y)


def late(wait: int) -> Pass:
    """Return a pass in which labels come `wait` rows later."""

    def one_pass(model: chacha.ChaCha, rows: Rows) -> None:
        waiting: deque[tuple[chacha.Ticket, float]] = deque()
        for x, y in rows:
            waiting.append((model.ask(x), y))
            if len(waiting) > wait:
                model.tell(*waiting.popleft())
        while waiting:
            model.tell(*waiting.popleft())

    return one_pass


def measure(rows: Rows, warm_up: Rows, wait: int, rounds: int, about: str) -> Times:
    """Return the times of all ways over `rows`, after `warm_up`."""

    def method(name: str, one_pass: Pass) -> Method:
        def timed() -> float:
            model = chacha.ChaCha()
            one_pass(model, warm_up)
            return nanoseconds(lambda: one_pass(model, rows), len(rows))

        return Method(name, timed)

    ways = [
        method("predict_one + learn_one", at_once),
        method("ask + tell", by_ticket),
        method(f"ask + tell, {wait} rows late", late(wait)),
    ]
    return interleave(ways, rounds, about)


def main() -> None:
    """Print the times and the ratios as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--wait", type=int, default=100, help="rows until a late label comes")
    parser.add_argument("--most", type=float, help="fail if ask + tell has a larger ratio")
    options = parser.parse_args()
    rows = rows_of(2 * options.rows, options.columns)
    first, second = rows[: options.rows], rows[options.rows :]
    periods: dict[str, tuple[Rows, Rows]] = {
        "from the start": (first, []),
        f"after {options.rows} rows": (second, first),
    }
    ratios = []
    print(f"| dicts of {options.columns} numbers | ns a row | ratio |\n|---|---|---|")
    for about, (period, warm_up) in periods.items():
        times = measure(period, warm_up, options.wait, options.rounds, about)
        for name, median in times.medians().items():
            ratio = times.ratio(name, "predict_one + learn_one") or 0.0
            print(f"| {about}: {name} | {median:.0f} | {ratio:.2f} |", flush=True)
        ratios.append(times.ratio("ask + tell", "predict_one + learn_one") or 0.0)
    if options.most is not None and max(ratios) > options.most:
        raise SystemExit(f"ask + tell costs {max(ratios):.2f} times, more than {options.most}")


if __name__ == "__main__":
    main()
