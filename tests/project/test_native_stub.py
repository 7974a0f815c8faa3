"""The committed stub of the compiled module is the one that its bindings generate."""

from __future__ import annotations

import difflib

from tests.project.native_stub import ROOT, STUB, generate_stub


def test_the_stub_is_the_generated_one() -> None:
    generated, committed = generate_stub(), STUB.read_text()
    difference = difflib.unified_diff(
        *(committed.splitlines(), generated.splitlines()), "committed", "generated", lineterm=""
    )
    assert generated == committed, (
        f"{STUB.relative_to(ROOT)} is not the stub of the compiled module: "
        "run `make stub` and commit the result\n" + "\n".join(difference)
    )
