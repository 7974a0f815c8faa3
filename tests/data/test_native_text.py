"""The native parser reads what chacha.data.parse_line reads, and what real VW reads."""

from __future__ import annotations

import pytest
import vowpalwabbit
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chacha import Example
from chacha._native import hash_name, murmur, read_line
from chacha.data import parse_line
from chacha.data.vw_text import FLOAT32_MAX, read_number
from chacha.data.vw_text import hash_name as plain_hash
from chacha.data.vw_text import murmur as plain_murmur
from chacha.errors import BadExample
from tests.support.vw_text_strategy import good_lines, names, numbers, odd_lines

Read = tuple[dict[str, list[tuple[int, float]]], float | None, float, float, str]


def native(line: str) -> Read | None:
    """What the native parser reads, groups of one name together as parse_line has them."""
    parsed = read_line(line)
    if parsed is None:
        return None
    groups: dict[str, list[tuple[int, float]]] = {}
    for name, features in parsed[0]:
        groups.setdefault(name, []).extend(features)
    return groups, *parsed[1:]


def plain(line: str) -> Read | None:
    """What parse_line reads; None if it refuses the line."""
    try:
        read: Example = parse_line(line)
    except BadExample:
        return None
    groups = {name: [(f.hashed, f.value) for f in some] for name, some in read.groups.items()}
    return groups, read.label, read.weight, read.initial, read.tag


def left_to_python(line: str) -> bool:
    """Whether parse_line accepts the line and the native parser does not: the only such case.

    A tab before the first bar: VW ignores the text before it.
    """
    return "\t" in line.partition("|")[0]


@settings(max_examples=1000)
@given(odd_lines())
@example("1 |a x\n")
@example("1 |a\n")
@example("1 |a x:\n")
@example("1 |a x\n2 |b y")
@example("1 |a: x")
@example("1 |a x:ınf")
@example("1 |a x:1.00000005960464477539062500000000000001e+0")
@example("1 |a x:1:2 |b")
@example("|")
@example("1\t|a x")
def test_a_line_means_the_same_natively_and_in_python(line: str) -> None:
    """Features, values, label, weight, initial prediction and tag; and the same lines are bad."""
    expected = plain(line)
    if expected is not None and left_to_python(line):
        assert native(line) in (None, expected)
    else:
        assert native(line) == expected


@settings(max_examples=300)
@given(st.binary(max_size=60))
def test_bytes_that_are_not_text_are_handed_back(data: bytes) -> None:
    """What is not UTF-8 is refused; what is, is read as text is."""
    line = b"1 |a x:2 |b " + data
    try:
        text = line.decode()
    except UnicodeDecodeError:
        assert read_line(line) is None
    else:
        assert read_line(line) == read_line(text)
        assert native(text) == plain(text)


@settings(max_examples=1000)
@given(numbers)
@example("1.00000005960464477539062500000000000001e+0")
@example("0.00000000000000000000000000000000000000000000070064923216240853546186479164497e+0")
def test_numbers_are_read_as_in_python(text: str) -> None:
    """As a value, as a label and as the weight of a group."""
    value = read_number(text)
    finite = value is not None and -FLOAT32_MAX <= value <= FLOAT32_MAX
    read = read_line(f"1 |a x:{text} |b y") if text else None
    if text and value is None:
        assert read is not None
        assert read[0][0][1] == [(plain_hash(text, plain_hash("x", plain_hash("a", 0))), 1.0)]
    elif text and finite:
        assert read is not None
        assert [value for _, value in read[0][0][1]] == ([value] if value else [])
    else:
        assert read is None
    head = read_line(f"{text} |a x") if text and " " not in text else None
    if value is not None and finite and text:
        assert head is not None
        assert head[1] == value
    scaled = read_line(f"1 |a:{text} x")
    assert (scaled is not None) == finite


STRIDE = 4  # VW keeps four numbers for a weight
_vw = vowpalwabbit.Workspace(arg_list=["--quiet", "--noconstant"])


@settings(max_examples=400)
@given(good_lines())
def test_vw_itself_reads_the_same_features(line: str) -> None:
    """Hashes and values, as VW keeps them by the first byte of a group."""
    read = read_line(line)
    assert read is not None
    expected: dict[int, list[tuple[int, float]]] = {}
    for name, features in read[0]:
        pairs = [(hashed & 0x3FFFF, value) for hashed, value in features]
        expected.setdefault(name.encode()[0], []).extend(pairs)
    (parsed,) = _vw._parse(line)
    for letter, pairs in expected.items():
        count = parsed.num_features_in(letter)
        vw_pairs = [
            (parsed.feature(letter, i) // STRIDE % 2**18, parsed.feature_weight(letter, i))
            for i in range(count)
        ]
        assert vw_pairs == pairs
    assert parsed.get_simplelabel_label() == read[1]
    assert parsed.get_simplelabel_weight() == read[2]
    assert parsed.get_simplelabel_initial() == read[3]
    assert parsed.get_tag() == read[4]
    _vw._finish_example(parsed)


@given(names, st.integers(0, 2**32 - 1))
def test_names_are_hashed_as_in_python(name: str, seed: int) -> None:
    assert hash_name(name, seed) == plain_hash(name, seed)
    assert murmur(name.encode(), seed) == plain_murmur(name.encode(), seed)


@pytest.mark.parametrize("size", [10, 1000, 100_000])
def test_names_of_any_length(size: int) -> None:
    for name in ("x" * size, "7" * size, " " + "7" * size + " ", "é" * size):
        assert hash_name(name, 5) == plain_hash(name, 5)
