"""For `make docs`: examples in docstrings become code blocks, Sphinx roles plain names."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?m)^>>> (?:.+\n?)+")
ROLE = re.compile(r":[a-z]+:`~?(?:[\w.]*\.)?(\w+)`")


class DoctestBlocks(griffe.Extension):
    """Fences every doctest of a docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every object that griffe has read."""
        if obj.docstring is not None:
            text = ROLE.sub(r"`\1`", obj.docstring.value)
            obj.docstring.value = EXAMPLE.sub(lambda m: f"```pycon\n{m[0].rstrip()}\n```\n", text)
