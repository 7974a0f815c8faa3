"""The streams of the speed benchmark: VW text and the same rows as an Arrow table.

fried, mv and pol are read from DATA/NAME.csv.gz (target last) if the file exists, else generated
alike. Every column belongs to one of at most ten groups, a to j, in order. Numbers are written as
in the source, or with six significant digits. `sparse` is `synth:sparse`.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa

import chacha

__all__ = ["GROUPS", "PRODUCTS", "TARGET", "Stream", "dense", "fried_text", "sparse"]

GROUPS = "abcdefghij"
TARGET = "y"
PRODUCTS = ("ab", "cd", "ef", "gh", "ij", "ac", "bd", "eg", "fh")
ROWS = {"fried": 40_768, "mv": 40_768, "pol": 15_000}
NUMBERS_AND_WORDS = chacha.TableSpec(target=TARGET, most_groups=len(GROUPS))
Cells = list[list[str]]


@dataclass(frozen=True)
class Stream:
    """Examples as lines of VW text and as a table; the products that challengers hold."""

    name: str
    lines: list[str]
    table: pa.Table
    origin: str
    products: Sequence[tuple[str, str]] = tuple((p[0], p[1]) for p in PRODUCTS)
    spec: chacha.TableSpec = NUMBERS_AND_WORDS

    def write(self, path: Path, rows: int | None = None) -> Path:
        """Write the lines to a file."""
        path.write_text("".join(f"{line}\n" for line in self.lines[:rows]))
        return path


def dense(name: str, rows: int, data: Path | None) -> Stream:
    """Return fried, mv or pol, repeated to `rows` rows."""
    path = data / f"{name}.csv.gz" if data else None
    if path is not None and path.exists():
        with gzip.open(path, "rt", newline="") as file:
            _, *cells = csv.reader(file)
        origin = path.name
    else:
        cells = pol_cells(ROWS[name]) if name == "pol" else list(synth_cells(name, ROWS[name]))
        origin = "generated"
    cells = [[plain(cell) for cell in row] for row in cells[:rows]]
    size = -(-(len(cells[0]) - 1) // len(GROUPS))
    lines = [as_line(row, size) for row in cells]
    repeats = -(-rows // len(lines))
    table = pa.concat_tables([as_table(cells)] * repeats).slice(0, rows).combine_chunks()
    return Stream(name, (lines * repeats)[:rows], table, origin)


def is_number(cell: str) -> bool:
    """Return whether a cell holds a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def plain(cell: str) -> str:
    """Return a number without an exponent; a word stays as it is."""
    if "e" not in cell.lower() or not is_number(cell):
        return cell
    return np.format_float_positional(float(cell), trim="-")


def six_digits(value: float) -> str:
    """Return a number with six significant digits, without an exponent."""
    return plain(f"{value:.6g}")


def as_line(row: list[str], size: int) -> str:
    """Return a row as VW text, with `size` columns in a group; words are `2=red`."""
    words = [row[-1]]
    for i, cell in enumerate(row[:-1]):
        if i % size == 0:
            words.append(f"|{GROUPS[i // size]}")
        words.append(f"{i}:{cell}" if is_number(cell) else f"{i}={cell}")
    return " ".join(words)


def as_table(cells: Cells) -> pa.Table:
    """Return the rows as columns; up to ten columns are named, and so grouped, by their group."""
    columns = list(zip(*cells, strict=True))
    few = len(columns) - 1 <= len(GROUPS)
    names = [GROUPS[i] if few else f"f{i}" for i in range(len(columns) - 1)] + [TARGET]
    return pa.table(
        {
            name: pa.array([float(cell) for cell in column])
            if is_number(column[0])
            else pa.array(column, pa.string()).dictionary_encode()  # words as categories
            for name, column in zip(names, columns, strict=True)
        }
    )


def synth_cells(name: str, rows: int) -> Iterator[list[str]]:
    """Yield the rows of a built-in stream with one column in each group."""
    for example in chacha.open_source(f"synth:{name},n={rows},seed=1"):
        assert isinstance(example, chacha.Example)
        assert example.label is not None
        row: list[str] = []
        for group in GROUPS:
            features = example.groups.get(group)  # a zero is left out
            word, value = (features[0].name, features[0].value) if features else ("", 0.0)
            row.append(word.partition("=")[2] if "=" in word else six_digits(value))
        yield [*row, six_digits(example.label)]


def pol_cells(rows: int) -> Cells:
    """Return rows like pol's: 4 constants, 5 numbers from 71 to 200, 21 mostly 0, 18 always 0."""
    rng = np.random.default_rng(1)
    x = np.zeros((rows, 48), dtype=int)
    x[:, :4] = [110, 100, 100, 100]
    least = np.array([40, 77, 76, 71, 94])
    x[:, 4:9] = np.minimum(200, least + rng.exponential([36, 18, 8, 4, 2], (rows, 5)))
    nonzero = np.concatenate([np.full(7, 0.5), np.full(5, 0.17), np.full(9, 0.07)])
    x[:, 12:33] = rng.exponential(20, (rows, 21)) * (rng.random((rows, 21)) < nonzero)
    y = np.where(rng.random(rows) < 0.62, 0, rng.choice([100, 100, *range(10, 100, 10)], rows))
    return [[str(cell) for cell in row] for row in np.column_stack([x, y]).tolist()]


def fried_text(rng: np.random.Generator, rows: int) -> str:
    """Return new rows like fried's as VW text."""
    x = rng.random((rows, 10))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    y += 10 * x[:, 3] + 5 * x[:, 4] + rng.normal(size=rows)
    form = "%.5f " + " ".join(f"|{group} {i}:%.6f" for i, group in enumerate(GROUPS)) + "\n"
    return "".join([form % tuple(row) for row in np.column_stack([y, x]).tolist()])


def sparse(rows: int) -> Stream:
    """Return examples of many words; challengers have four products of about 1100 features.

    In the table every group is a column of texts, which cannot hold the weights of words.
    """
    source = chacha.open_source(f"synth:sparse,n={rows},seed=1")
    examples = [row for row in source if isinstance(row, chacha.Example)]
    lines = [example.line for example in examples]
    sizes: Counter[str] = Counter()
    products: Counter[tuple[str, str]] = Counter()
    for example in examples:
        count = {group: len(features) for group, features in example.groups.items()}
        sizes.update(count)
        products.update({p: count[p[0]] * count[p[1]] for p in combinations(sorted(count), 2)})
    by_size = [pair for pair, _ in products.most_common()[::-1]]
    chosen = by_size[:3] + by_size[6:7]  # three of small groups, one of a small and a large group
    linear, crossed = sizes.total() / rows, sum(products[pair] for pair in chosen) / rows
    origin = f"synth:sparse: {linear:.0f} features per example, {crossed:.0f} in the four products"
    texts = {
        group: [" ".join(word.name for word in row.groups.get(group, ())) for row in examples]
        for group in sorted(sizes)
    }
    table = pa.table({**texts, TARGET: [example.label for example in examples]})
    spec = chacha.TableSpec(target=TARGET, kinds=dict.fromkeys(texts, chacha.sources.Kind.TEXT))
    return Stream("sparse", lines, table, origin, chosen, spec)
