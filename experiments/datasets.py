"""The data sets of the paper: from a folder with an INDEX.tsv, and from OpenML."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from chacha import TableSpec
from chacha.compare import Stream
from chacha.errors import ConfigError
from chacha.sources import Categories, GroupBy, LogTarget
from chacha.sources.spec import MOST_GROUPS

__all__ = [
    "LISTED",
    "REPORTED",
    "DataSet",
    "find_binary",
    "find_sets",
    "missing_ids",
    "stream_of",
]

LISTED = (
    *(573, 1201, 1195, 344, 1192, 201, 216, 41065, 42731, 4545, 42688, 1196, 23515, 1206),
    *(1193, 42721, 42571, 42713, 537, 42724, 41540, 4549, 296, 574, 218, 5648, 215, 41539),
    *(1199, 1203, 1191, 564, 1208, 42183, 42225, 42728, 42705, 42729, 42496, 41506),
)
"""The 40 data sets of appendix A.1, by their OpenML numbers."""
REPORTED = (
    *(1191, 1199, 1203, 1206, 1575, 201, 215, 23515),
    *(344, 41506, 42183, 42496, 42729, 5648, 564),
)
"""The 15 with results in the paper. 1575 is not among the 40 that the appendix lists."""
ENDINGS = (".csv.gz", ".csv", ".parquet", ".arff")


@dataclass(frozen=True)
class DataSet:
    """One data set: its name, its OpenML number if it has one, and its source."""

    name: str
    number: int | None
    source: str
    target: str | None = None
    exact: bool = True  # the same rows as at OpenML, not a relative

    @property
    def title(self) -> str:
        """The name with the number."""
        if self.number is None:
            return self.name
        return f"{self.name} ({self.number}{'' if self.exact else ', a relative'})"

    @property
    def reported(self) -> int | None:
        """The number, if the paper has results on the data set."""
        return self.number if self.number in REPORTED else None


def find_sets(folder: Path | None, openml: bool) -> list[DataSet]:
    """Return the regression sets of a folder, and with `openml` the paper's other sets.

    Sets with results in the paper come first, then the others that it lists.

    `INDEX.tsv` has the columns name, openml_id (or -), task and target. In the optional column
    exact_or_relative, a value that begins with "near relative" marks a relative. A set that the
    paper treats as regression counts as such, whatever its task is called.
    """
    sets = []
    if folder is not None:
        sets = list(_in_folder(folder, "regression", REPORTED))
    if openml:
        ids = missing_ids(sets)
        sets += [DataSet(f"openml {number}", number, f"openml:{number}") for number in ids]
    if not sets:
        raise ConfigError("there are no data: give DATA=DIR, or OPENML=1 to fetch them")
    return sorted(sets, key=lambda data: (data.number not in REPORTED, data.number not in LISTED))


def find_binary(folder: Path) -> list[DataSet]:
    """Return the sets of a folder with two classes."""
    return list(_in_folder(folder, "binary"))


def missing_ids(sets: Iterable[DataSet]) -> list[int]:
    """Return the numbers of the paper's data sets that are not among `sets`."""
    present = {data.number for data in sets}
    return [number for number in dict.fromkeys((*REPORTED, *LISTED)) if number not in present]


def _in_folder(folder: Path, wanted: str, numbers: Sequence[int] = ()) -> Iterator[DataSet]:
    """Yield the sets of a folder with that task, or with one of the numbers."""
    index = folder / "INDEX.tsv"
    if not index.exists():
        raise ConfigError(f"{index}: no such file; it lists the names, targets and OpenML numbers")
    with index.open(encoding="utf-8", newline="") as file:
        for i, row in enumerate(csv.DictReader(file, delimiter="\t"), start=2):
            try:
                name, number, task = row["name"], row["openml_id"], row["task"]
            except KeyError as error:
                raise ConfigError(f"{index}:{i}: there is no column {error}") from error
            openml_id = int(number) if number.isdecimal() else None
            if task != wanted and openml_id not in numbers:
                continue
            paths = [path for end in ENDINGS if (path := folder / f"{name}{end}").exists()]
            if not paths:
                raise ConfigError(f"{index}:{i}: there is no file {name}.csv.gz")
            exact = not (row.get("exact_or_relative") or "").startswith("near relative")
            yield DataSet(name, openml_id, str(paths[0]), row.get("target") or None, exact)


def stream_of(data: DataSet, limit: int) -> Stream:
    """Return the data set as the paper reads it (`--paper-protocol`)."""
    table = TableSpec(
        target=data.target,
        most_groups=MOST_GROUPS,
        group_by=GroupBy.ORDER,
        categories=Categories.CODE,
    )
    return Stream(data.source, table, log_target=LogTarget.AUTO, limit=limit)
