"""The policy of scaling: whether labels and columns are learned in units of their scale."""

from __future__ import annotations

from dataclasses import dataclass

from chacha.config.arguments import check_part, whole_number

__all__ = ["Scaling"]

MOST_ROWS = 64  # what drivers remember of recent labels


@dataclass(frozen=True)
class Scaling:
    """Learn labels and numeric columns in units of their scale.

    Then the unit of the label and of the columns does not matter, nor where their zero is.

    Parameters
    ----------
    rows
        The number of first rows that show the scale. After 1, 2, 4, ... of them, all models
        begin again and learn them on the scale known by then.
    columns
        Whether numeric columns are centred and scaled, or only labels are.

    Examples
    --------
    >>> Scaling().rows
    64
    """

    rows: int = 64
    columns: bool = True

    def __post_init__(self) -> None:
        whole_number("rows", self.rows, 1, most=MOST_ROWS)
        check_part("columns", self.columns, bool, "True")
