"""The cost of reading each format beside the cost of learning: CPU time per row.

    python benchmarks/reading.py [--rows 20000] [--rounds 3]

Three tables (10 numbers; 10 columns of numbers and words; 50 numbers) are written in every
format. Measured per row: reading the file into examples, and learning those examples at b = 5 and
b = 1 (paper rules, interactions tuned). Figures are medians of alternating rounds in one process.
CPU time is that of all threads, so the background reader is counted.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
from scipy import sparse

import chacha


def cpu() -> float:
    """Return the CPU time of all threads of this process."""
    times = os.times()
    return times.user + times.system


def tables(rows: int) -> dict[str, pa.Table]:
    """Return the tables, with the target last."""
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=(rows, 10)).round(6)
    words = {f"w{i}": rng.choice(["red", "green", "blue", "brown"], rows) for i in range(3)}
    wide = (rng.random((rows, 50)) * 200).round().astype(int)
    y = (numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=rows)).round(6)
    return {
        "10 numbers": pa.table({**{f"x{i}": numbers[:, i] for i in range(10)}, "y": y}),
        "7 numbers, 3 words": pa.table(
            {**{f"x{i}": numbers[:, i] for i in range(7)}, **words, "y": y}
        ),
        "50 integers": pa.table({**{f"x{i}": wide[:, i] for i in range(50)}, "y": y}),
    }


def write_arff(table: pa.Table, path: Path) -> None:
    """Write the table as ARFF."""
    lines = ["@relation t"]
    for name, column in zip(table.column_names, table.columns, strict=True):
        words = pa.types.is_string(column.type)
        kind = "{" + ",".join(column.unique().to_pylist()) + "}" if words else "numeric"
        lines.append(f"@attribute {name} {kind}")
    lines.append("@data")
    lines += [",".join(map(str, row.values())) for row in table.to_pylist()]
    path.write_text("\n".join(lines) + "\n")


def write_libsvm(table: pa.Table, path: Path) -> None:
    """Write the numbers of the table as LIBSVM."""
    names = [
        n
        for n, c in zip(table.column_names, table.columns, strict=True)
        if n != "y" and not pa.types.is_string(c.type)
    ]
    rows = table.to_pylist()
    path.write_text(
        "".join(
            f"{row['y']} " + " ".join(f"{i}:{row[name]}" for i, name in enumerate(names, 1)) + "\n"
            for row in rows
        )
    )


def write_vw(table: pa.Table, path: Path) -> None:
    """Write the table as VW text."""
    examples = chacha.open_source(table)
    path.write_text("".join(f"{e.line}\n" for e in examples if isinstance(e, chacha.Example)))


def write_vw_json(table: pa.Table, path: Path) -> None:
    """Write the table as VW's JSON, with the groups of a table."""
    group_of = chacha.TableSpec().group_columns(table.column_names[:-1])
    with path.open("w") as file:
        for row in table.to_pylist():
            example: dict[str, object] = {"_label": row.pop("y")}
            for name, value in row.items():
                group = example.setdefault(group_of[name], {})
                assert isinstance(group, dict)
                group[name] = value
            file.write(json.dumps(example) + "\n")


def files(table: pa.Table, folder: Path) -> dict[str, Callable[[], chacha.sources.Source]]:
    """Write the table in every format; return functions that open them."""
    pacsv.write_csv(table, folder / "t.csv")
    with pa.CompressedOutputStream(folder / "t.csv.gz", "gzip") as file:
        pacsv.write_csv(table, file)
    pq.write_table(table, folder / "t.parquet")
    feather.write_feather(table, str(folder / "t.feather"))
    with (folder / "t.jsonl").open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in table.to_pylist())
    write_arff(table, folder / "t.arff")
    write_libsvm(table, folder / "t.libsvm")
    write_vw(table, folder / "t.vw")
    write_vw_json(table, folder / "t.vwjson")
    openers: dict[str, Callable[[], chacha.sources.Source]] = {
        path.name.removeprefix("t"): lambda path=path: chacha.open_source(path)  # type: ignore[misc]
        for path in sorted(folder.iterdir())
    }
    openers["pandas"] = lambda: chacha.open_source(table.to_pandas())
    openers["polars, Arrow"] = lambda: chacha.open_source(table)
    rows = table.to_pylist()
    openers["dicts"] = lambda: chacha.open_source(rows, chacha.TableSpec(target="y"))
    if not any(pa.types.is_string(column.type) for column in table.columns):
        matrix = np.column_stack([table.column(n) for n in table.column_names[:-1]]).astype(float)
        y = table.column("y").to_numpy()
        openers["NumPy"] = lambda: chacha.open_source(matrix, y=y)
        openers["SciPy sparse"] = lambda: chacha.open_source(sparse.csr_array(matrix), y=y)
    return openers


def read(open_it: Callable[[], chacha.sources.Source]) -> float:
    """Return the CPU time of reading a source to its end."""
    gc.freeze()  # so that the collector does not walk over the tables of this benchmark
    began = cpu()
    for _ in open_it():
        pass
    seconds = cpu() - began
    gc.unfreeze()
    return seconds


def learn(examples: list[chacha.Example], budget: int) -> float:
    """Return the CPU time of learning the examples."""
    model = chacha.ChaCha.paper(budget=budget, seed=1)
    gc.freeze()  # a stream does not hold its examples, so the collector must not walk over them
    began = cpu()
    model.run(examples)
    seconds = cpu() - began
    gc.unfreeze()
    return seconds


def main() -> None:
    """Print a table of costs for each table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    for name, table in tables(options.rows).items():
        with tempfile.TemporaryDirectory() as folder:
            sources = files(table, Path(folder))
            reading: dict[str, list[float]] = {form: [] for form in sources}
            learning: dict[int, list[float]] = {5: [], 1: []}
            for _ in range(options.rounds):
                for form, open_it in sources.items():
                    reading[form].append(read(open_it) / options.rows * 1e6)
                rows = chacha.open_source(table)
                examples = [row for row in rows if isinstance(row, chacha.Example)]
                for budget, times in learning.items():
                    times.append(learn(examples, budget) / options.rows * 1e6)
                del examples
        costs = {b: statistics.median(times) for b, times in learning.items()}
        print(f"\n{name}, {options.rows} rows: learning costs {costs[5]:.0f} µs a row")
        print(f"at b = 5 and {costs[1]:.0f} at b = 1\n")
        print("| source | reading, µs a row | ÷ learning at b = 5 |\n|---|---|---|")
        for form, times in reading.items():
            median = statistics.median(times)
            print(f"| {form} | {median:.1f} | {median / costs[5]:.2f} |")


if __name__ == "__main__":
    main()
