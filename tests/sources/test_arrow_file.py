"""Arrow IPC streams."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa


def test_an_arrow_stream_through_a_pipe(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(200_000) / 7, "y": np.arange(200_000) % 5})
    path = tmp_path / "t.arrows"
    with pa.ipc.new_stream(path, table.schema) as file:
        file.write_table(table)
    for flags in ("", "--format arrow"):
        command = f"cat {path} | {sys.executable} -m chacha convert - -o - --limit 3 {flags}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
        assert done.stdout.splitlines()[0] == "0.0 |x", done.stderr
