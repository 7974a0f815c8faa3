"""Text columns: the native engine finds the same words as Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chacha import ChaCha, NativePool, ReferencePool, TableSpec
from chacha._native import count_words
from chacha.drivers.native_columns import native_words
from chacha.sources import Kind, Missing
from chacha.sources.tables.blocks import WordsColumn

LETTERS = st.text(st.sampled_from("aAbBzZ019_ ,.\n\0\x1fİßéÉ中²٣ªK\u0300"), max_size=30)
TEXTS = st.lists(st.one_of(st.none(), LETTERS, st.text(max_size=8)), max_size=20)


@given(TEXTS, st.integers(0, 3))
def test_words_are_those_of_python(texts: list[str | None], skipped: int) -> None:
    """In any mix of texts, of a column or of a slice of one."""
    column = WordsColumn("t", pa.array(texts, pa.string()).slice(skipped), 7)
    cell_of, starts, hashes, values = native_words(column)
    assert len(starts) == len(column.texts) + 1
    for row, text in enumerate(texts[skipped:]):
        assert cell_of[row] == (-1 if text is None else row)
        part = slice(starts[row], starts[row + 1])
        found = list(zip(hashes[part].tolist(), values[part].tolist(), strict=True))
        assert found == [(word.hashed, word.value) for word in column.features(row)]


def documents(rows: int) -> pa.Table:
    """Texts in two columns, some missing, and a label that depends on some words."""
    rng = np.random.default_rng(3)
    words = [f"Word{i}" for i in range(40)] + ["naïve", "ÉTÉ", "d'or"]
    chosen = [rng.choice(len(words), rng.integers(0, 25)) for _ in range(2 * rows)]
    texts: list[str | None] = [" ".join(words[i] for i in row) for row in chosen]
    labels = [
        float((a == 3).sum() * (b == 5).sum())
        for a, b in zip(chosen[::2], chosen[1::2], strict=True)
    ]
    for missing in range(0, 2 * rows, 17):
        texts[missing] = None
    return pa.table({"a": texts[::2], "b": texts[1::2], "n": rng.random(rows), "y": labels})


@pytest.mark.parametrize("missing", [Missing.ZERO, Missing.INDICATOR])
def test_a_run_over_texts_is_that_of_the_reference(missing: Missing) -> None:
    """Which makes examples of the rows, one by one."""
    spec = TableSpec(target="y", kinds={"a": Kind.TEXT, "b": Kind.TEXT}, missing=missing)
    table = documents(600)
    runs = []
    for pool in (NativePool(), ReferencePool()):
        model = ChaCha.paper(budget=3, seed=1, pool=pool)
        summary = model.run(table, table=spec)
        runs.append((summary.loss, summary.examples, [str(d) for d in model.decisions]))
    assert runs[0] == runs[1]


def test_texts_out_of_order_are_refused() -> None:
    """The offsets come from outside."""
    data = np.frombuffer(b"abc", np.uint8)
    for offsets in ([0, 4], [-1, 2], [2, 1], []):
        with pytest.raises(ValueError, match=r"offsets|order"):
            count_words(data, np.array(offsets, np.int32), "t=", 0)
