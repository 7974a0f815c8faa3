"""Settings of tables that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chacha import TableSpec, open_source
from chacha.errors import ConfigError
from chacha.sources import CsvDialect
from tests.support.sources import write


def test_settings_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    vw = write(tmp_path / "a.vw", "1 |a x\n")
    svm = write(tmp_path / "a.svm", "1 1:1\n")
    table = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1], "y": [1]}), table)
    for path, spec, word in (
        (vw, TableSpec(target="y"), "--target"),
        (svm, TableSpec(ignore=("1",)), "--ignore"),
        (str(table), TableSpec(csv=CsvDialect(delimiter=";")), "--delimiter"),
        ("synth:fried,n=2", TableSpec(weight="w"), "--weight"),
    ):
        with pytest.raises(ConfigError, match=f"for which .*{word}.* means nothing"):
            open_source(path, spec)
    wrong: list[dict[str, Any]] = [
        {"kinds": {"x": "number"}},
        {"ignore": "id"},
        {"group_by": "order"},
        {"groups": {"a": "bc"}},
        {"formats": {"a": "%Y%Y"}},
        {"formats": {"a": "%Q"}},
        {"most_groups": "x"},
    ]
    for settings in wrong:
        with pytest.raises(ConfigError):
            TableSpec(**settings)
