"""Hypothesis strategies for VW text: plain lines, and lines with every odd corner."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["GROUPS", "good_lines", "numbers", "odd_lines"]

GROUPS = ["a", "b", "c", "ab", "user", "usher", "item", "-d", "7", "é", ""]

numbers = st.one_of(
    st.floats(-1e6, 1e6).map(repr),
    st.floats(-10, 10).map(lambda x: f"{x:.4f}"),
    st.floats(width=32).map(repr),
    st.integers(-(10**12), 10**12).map(str),
    st.from_regex(r"-?[0-9]{0,12}(\.[0-9]{0,12})?([eE]-?[0-9]{0,3})?", fullmatch=True),
    st.from_regex(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,11})?", fullmatch=True),
    st.sampled_from(
        [
            *(
                "-",
                ".",
                "-.",
                "e",
                "+",
                "+1",
                "1e+0",
                "0x1f",
                "inf",
                "-NaN",
                "nano",
                "info",
                "12ab",
            ),
            *("1e", "1e-", "1e+", "1.5.2", "1e38", "1e39", "-1e-45", "1e-46", "1e127", "1e128"),
            *("1.00000005960464477539062500001e+0", "1.0000000596046447753906250000e+0", "ınf"),
            *("3.4028235e38", "3.4028236e+38", "16777217", "16777216.5", "000000000012", "--1"),
            *("1e255", "0", "１"),
        ]
    ),
)
"""Numbers as people and machines write them, and texts that are nearly numbers."""

_plain_numbers = st.one_of(
    st.floats(-5, 5).map(lambda x: f"{x:.3f}"),
    st.integers(-(10**9), 10**9).map(lambda i: repr(i / 3e8)),
    st.sampled_from(["0", "1", "-1", "0.5", "1e-3", "2e1", ".25", "3.", "1e-20", "100"]),
)

names = st.one_of(
    st.sampled_from(
        ["x", "y", "z", "0", "1", "17", "x1", "1x", "f_0", "4294967295", "é", "-", "'q"]
    ),
    st.text(st.characters(exclude_characters=" \t\r\n:|", exclude_categories=["Cs"]), max_size=6),
)

_odd_groups = st.one_of(
    st.sampled_from(GROUPS),
    st.builds(lambda name, weight: f"{name}:{weight}", st.sampled_from(GROUPS), numbers),
    st.sampled_from(["a:", ":2", "a:red", "a:1:2", "\x01", "a\x02"]),
)
_odd_features = st.one_of(
    names,
    st.builds(lambda name, value: f"{name}:{value}", names, numbers),
    st.builds(lambda name, value: f"{name}:{value}", names, names),
    st.sampled_from(["x:", ":", "::", "x:1:2", "x:red:blue", ":1", ":0", ":red", "\x00", "x\x00y"]),
)
_gaps = st.sampled_from([" ", " ", " ", "  ", "\t", " \t ", ""])
_heads = st.one_of(
    st.sampled_from(["", " ", "1 ", "-1 ", "0.5 ", "1", "'t", "1 't", "1 2 ", "1 2 0.5 't ", "t"]),
    st.lists(st.one_of(numbers, st.sampled_from(["'tag", "tag", "'", "''x"])), max_size=5).map(
        lambda words: " ".join(words)
    ),
    st.lists(numbers, min_size=1, max_size=4).map(lambda words: " ".join(words) + " "),
    st.sampled_from(["\t1 ", "9 9\t1 2 ", "1\t", "\t", "1 \t|"]),
)
_ends = st.sampled_from(
    ["", "", "", " ", "\t", "\r", "\n", "\r\n", "\r\r\n\n", " \n", "\n|b y", "\r x"]
)


@st.composite
def odd_lines(draw: st.DrawFn) -> str:
    """A line with anything in place of VW's words, numbers and gaps."""
    line = draw(_heads)
    for _ in range(draw(st.integers(0, 4))):
        line += "|" + draw(_odd_groups)
        for _ in range(draw(st.integers(0, 4))):
            line += draw(_gaps) + draw(_odd_features)
        line += draw(_gaps)
    return line + draw(_ends)


@st.composite
def good_lines(draw: st.DrawFn, labels: st.SearchStrategy[str] | None = None) -> str:
    """A line that every pool can learn: labels, weights, initials, tags, scaled groups."""
    words = [draw(labels if labels is not None else _plain_numbers)]
    rest = draw(st.sampled_from(["", "", "", "0", "2", "0.25", "1 0.5", "3 -0.25"]))
    words += [rest] if rest else []
    line = " ".join(words) + draw(st.sampled_from([" ", " ", " 't", " 'long_tag ", "  "]))
    for _ in range(draw(st.integers(1, 5))):
        group = draw(st.sampled_from(GROUPS))
        scale = draw(st.sampled_from(["", "", "", ":0.5", ":-2", ":0"])) if group else ""
        line += f"|{group}{scale} "
        for _ in range(draw(st.integers(0, 3))):
            name = draw(st.sampled_from(["x", "y", "z", "0", "1", "é", "17", ""]))
            value = draw(st.one_of(st.just("1"), _plain_numbers))
            kind = draw(st.sampled_from(["value", "value", "name", "word"]))
            forms = {"value": f"{name}:{value}", "name": name or "w", "word": f"{name}:red"}
            line += forms[kind] + " "
    return line
