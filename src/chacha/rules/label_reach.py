"""How far labels have been from their centre: one that is much farther than all before is cut.

So a wild label does not spoil what models have learned, nor the units of the evidence. The losses
that are reported are those of the labels as they are.

Twin: native/src/rules/label_reach.hpp
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LabelReach"]

FARTHER = 16.0  # times as far as all labels before, at most
GROWTH = 2.0  # of the reach by one label, at most


@dataclass(slots=True)
class LabelReach:
    """The centre of the first labels, and about the distance of the farthest label so far.

    If labels grow for good, the cut follows within some examples; a few wild ones move it little.

    >>> reach = LabelReach()
    >>> reach.begin(centre=10.0, scale=1.0)
    >>> for y in (12.0, 1e9, 1e9):
    ...     print(reach.cut(y))
    ...     reach.observe(y)
    12.0
    42.0
    74.0
    """

    centre: float = 0.0
    reach: float = 0.0

    def begin(self, centre: float, scale: float) -> None:
        """Begin with the centre and the scale of the first labels; 0 is not known yet."""
        self.centre, self.reach = centre, scale

    def cut(self, y: float) -> float:
        """Return the label, or as far in its direction as it may be."""
        if not self.reach > 0.0:
            return y
        most = FARTHER * self.reach
        return min(max(y, self.centre - most), self.centre + most)

    def observe(self, y: float) -> None:
        """Count a label."""
        self.reach = max(self.reach, min(abs(y - self.centre), GROWTH * self.reach))
