"""VW's JSON: the text we make of it is the same to VW, bit for bit."""

from __future__ import annotations

import json
import math
import random
import struct
from typing import Any

import pytest
import vowpalwabbit
from hypothesis import given, settings
from hypothesis import strategies as st
from vowpalwabbit import pyvw

from chacha.data import parse_line
from chacha.errors import BadExample
from chacha.sources.formats.vw_json_file import looks_like_vw_json, vw_json_example

MASK = ((1 << 18) - 1) << 2  # VW's default table; each weight has a stride of four


def open_vw(*options: str) -> vowpalwabbit.Workspace:
    return vowpalwabbit.Workspace(arg_list=["--quiet", *options])


# Random weights make of every prediction a fingerprint of the features and their products,
# and products by full names one of the groups.
FINGERPRINT = ["--noconstant", "--random_weights", "-q", "::"]
for _names in ("a|apple", "user|usher", "user|a|b", "7|a", "a|aé"):
    FINGERPRINT += ["--experimental_full_name_interactions", _names]
_json = open_vw("--json", *FINGERPRINT)
_text = open_vw(*FINGERPRINT)


def vw_view(workspace: vowpalwabbit.Workspace, line: str) -> tuple[object, ...]:
    """What VW sees on a line: label, weight, initial, tag, and its features in its order."""
    (example,) = workspace._parse(line)
    head = (
        example.get_simplelabel_label(),
        example.get_simplelabel_weight(),
        example.get_simplelabel_initial(),
        example.get_tag(),
    )
    groups = [example.namespace(i) for i in range(example.num_namespaces())]
    features = [
        (group, example.feature(group, i) & MASK, example.feature_weight(group, i))
        for group in groups
        for i in range(example.num_features_in(group))
    ]
    pyvw.pylibvw.vw.predict(workspace, example)
    fingerprint = repr(example.get_partial_prediction() + 0.0)  # NaN is NaN, -0 is 0
    workspace._finish_example(example)
    return (*head, features, fingerprint)


def check_same(line: str) -> None:
    example = vw_json_example(line, "here")
    assert vw_view(_text, example.line) == vw_view(_json, line), example.line
    assert parse_line(example.line, "here") == example or example.body == "|"


SAME = [
    # labels
    ('{"_label": 1, "x": 2}', "1.0 | x:2.0"),
    ('{"_label": -0.1, "x": 2}', "-0.1 | x:2.0"),
    ('{"_label": {"Label": 1, "weight": 2, "INITIAL": 0.5}, "x": 2}', "1.0 2.0 0.5 | x:2.0"),
    ('{"_label": {"Label": 1, "Weight": null}, "x": 2}', "1.0 | x:2.0"),
    ('{"_label": " 1  0.1 0.3", "x": 2}', "1.0 0.1 0.3 | x:2.0"),
    ('{"_label": "3.14159265", "x": 2}', None),
    ('{"_label": "", "x": 2}', "| x:2.0"),
    ('{"_label": null, "x": 2}', "| x:2.0"),
    ('{"_label_Label": 3, "_label_weight": 0, "x": 2}', "3.0 0.0 | x:2.0"),
    ('{"_label": 1, "a": {"_label": 2, "x": 1}}', "2.0 |a x"),
    ('{"_label_weight": 2, "a": {"_label": {"Initial": 5}}, "_label": 7}', "7.0 2.0 5.0 |"),
    ('{"_LABEL": 1, "x": 2}', "| x:2.0"),
    # tags
    ('{"_label": 1, "_tag": "t", "x": 2}', "1.0 't| x:2.0"),
    ('{"_label": 1, "_Tag": "\'t", "a": {"_tag": "2", "x": 2}}', "1.0 ''t2|a x:2.0"),
    ('{"_tag": "größe", "x": 2}', "'größe| x:2.0"),
    ('{"_tag": "", "_label": 1}', "1.0 |"),
    ('{"_tag": null}', "|"),
    # values
    ('{"a": {"x": 1, "y": true, "z": false, "n": null, "o": 0, "m": -0.0}}', "|a x y"),
    ('{"a": {"x": 1e-50, "y": 1e-40, "z": 3e38, "w": 9007199254740992}}', None),
    ('{"a": {"x": 0.1, "y": 16777217, "z": 0.7860628962516785}}', None),
    # strings
    ('{"a": {"color": "red", "x": "", "1": "2"}}', "|a colorred x 12"),
    ('{"a": {"city": "New\\tYork: a|b "}}', "|a cityNew_York__a_b_"),
    ('{"": "", "x y": "z"}', None),
    ('{"a": {"x": "two\\nlines", "y": "end\\r\\n", "": "  "}}', None),
    # names
    ('{"a": {"17": 2, "017": 3, "-1": 4, "1e3": 5, "4294967297": 6}}', None),
    ('{"a": {"größe": 2, "日本": "語", "🎉": true}}', "|a größe:2.0 日本語 🎉"),
    ('{"a": {"x y": 2, "x:y": 3, "x|y": 4, "x\\ty": true, "x\\ny": 6}}', None),
    ('{"a": {" x ": 2, "\\u0001y": 3, "\\u00a0z\\u00a0": 4, "": 5, "   ": 6}}', None),
    ('{"a": {"x\\u000by": 2, "\'q": 3, "%20": 4, "\\"": 5, "\\\\": 6}}', None),
    # groups
    ('{"x": 1, "a": {"y": 2}, "z": 3}', "|a y:2.0 | x z:3.0"),
    ('{"a": {"x": 1, "b": {"y": 2, "c": {"z": 3}}}}', "|c z:3.0 |b y:2.0 |a x"),
    ('{"a": {"x": 1, "apple": {"y": 2}, "z": 3}}', "|a x |apple y:2.0 |a z:3.0"),
    ('{"a": {"x": 1, "b": {"y": 2}, "apple": {}}}', "|b y:2.0 |a x"),
    ('{"a": {"x": 1}, "b": {"a": {"y": 2}, "z": 3}}', "|a x y:2.0 |b z:3.0"),
    ('{"a": {}, "b": {"x": 0}, "c": [], "d": [0, 0]}', "|"),
    ('{" ": {"x": 1}, "a ": {"y": 2}, "a": {"z": 3}, "12": {"1": 2}}', None),
    ('{"-d": {"x": 1}, "aé": {"x": 1}, "\'": {"x": 1}, "\\u0001": {"x": 1}}', None),
    # arrays
    ('{"a": [1, 0, null, 3]}', "|a :1.0 :0 :3.0"),
    ('{"a": [{"x": 1}, 5, {"y": 2}, 6]}', "|a x :5.0 y:2.0 :6.0"),
    ('{"a": [1, {"apple": {"y": 2}}, 3]}', "|a :1.0 |apple y:2.0 |a :0 :3.0"),
    ('{"a": [1, 2], "b": {"a": [3, 4]}}', "|a :1.0 :2.0 |a :3.0 :4.0"),
    ('{"a": [1, {"a": [5, 6]}, 7]}', "|a :1.0 |a :5.0 :6.0 :7.0"),
    ('{"a": [1, {"b": [5, 6]}, 7, 8]}', None),
    ('{"a": [1, {"_text": "u v", "s": "w"}]}', "|a :1.0 u v sw"),
    # text, and what is left out
    ('{"_text": "a:b c|d  e\\tf ", "x": 2}', "| a_b c_d e f x:2.0"),
    ('{"a": {"_text": "x\\ny \\n 12", "_text2": 3}}', None),
    ('{"_text": null, "_aux": {"q": [1, {"r": "},]"}]}, "_": 1, "x": 2}', "| x:2.0"),
    ('{"_aux":"a\\"b,}","_x":[[1],2],"x":2}', "| x:2.0"),
    ('{"_labe": 1, "_definitely_bad": true, "x": 2}', "| x:2.0"),
    ("{}", "|"),
    (' {"x" : 2 } ', "| x:2.0"),
]


@pytest.mark.parametrize(("line", "text"), SAME, ids=[line for line, _ in SAME])
def test_vw_sees_the_same_in_the_text(line: str, text: str | None) -> None:
    check_same(line)
    if text is not None:
        assert vw_json_example(line).line == text


def test_a_group_that_begins_with_an_accent_is_written_as_it_is() -> None:
    """VW 9.11 reads beside its table there (a negative index) and mostly crashes."""
    example = vw_json_example('{"_label": 1, "größe": [2], "élan": {"x": 1}, "êtes": {"y": 1}}')
    assert example.line == "1.0 |größe :2.0 |élan x |êtes y"
    assert parse_line(example.line) == example


BAD = [
    ("", "malformed JSON", "at character 1: expecting value; the line was cut off"),
    ('{"a": {"x": 1}', "malformed JSON", "at character 15: .* the line was cut off"),
    ('{"a": "x', "malformed JSON", "at character 7: unterminated string .* cut off"),
    ('{"a": {"x": 1},}', "malformed JSON", "at character 1[56]: "),
    ('{"a" 1}', "malformed JSON", "at character 6: expecting ':' delimiter$"),
    ('{"a": 01}', "malformed JSON", "at character 8: "),
    ('{"a": 1} 2', "malformed JSON", "at character 10: extra data$"),
    ('{"a": "\t"}', "malformed JSON", "at character 8: invalid control character"),
    ("{'a': 1}", "malformed JSON", "at character 2: "),
    ("[1]", "malformed JSON", r"\[1\] is not an object"),
    ("5", "malformed JSON", "5 is not an object"),
    ('{"x": 1, "x": 2}', "malformed JSON", "the key 'x' occurs twice in one object"),
    ('{"b": 0, "a": {"y": 1, "x": 1, "x": 2}}', "malformed JSON", "the key 'x' occurs twice"),
    ('{"a": {"x": ' * 5000, "malformed JSON", "too deep|at character"),
    ('{"a":' * 99999 + "{}" + "}" * 99999, "malformed JSON", "nested too deep"),
    ('{"\\ud800": 1}', "malformed JSON", r"half a surrogate pair, '\\ud800'"),
    ('{"a": {"x": "\\udc00"}}', "malformed JSON", "half a surrogate pair"),
    ('{"\\udc00": [1]}', "malformed JSON", "half a surrogate pair"),
    ('{"_tag": "\\ud800"}', "malformed JSON", "half a surrogate pair"),
    ('{"_tag": 5}', "malformed JSON", "'_tag' is 5; it must be a string"),
    ('{"_text": ["a"]}', "malformed JSON", "'_text' is .*; it must be a string"),
    ('{"x": NaN}', "value not finite", "feature 'x' of group ' ' is nan"),
    ('{"a": {"x": -Infinity}}', "value not finite", "feature 'x' of group 'a' is -inf"),
    ('{"a": [1, 1e999]}', "value not finite", "feature 'a' of group 'a' is inf"),
    ('{"x": 1e39}', "value not finite", r"is 1e\+39; values must be finite"),
    ('{"x": 0e400}', "value not finite", "is inf"),
    ('{"x": 9007199254740993}', "integer beyond 2^53", "feature 'x' of group ' ' is 9007199254"),
    ('{"a": [-9007199254740993]}', "integer beyond 2^53", "give an identifier as a string"),
    ('{"_label": 9007199254740993}', "integer beyond 2^53", "the label is 9007199254740993"),
    ('{"x": ' + "9" * 5000 + "}", "integer beyond 2^53", "a number is too long"),
    ('{"_label": NaN}', "label not finite", "the label is nan; labels must be finite"),
    ('{"_label": 1e39}', "label not finite", "the label is 1e"),
    ('{"_label": true}', "label not finite", "the label is True"),
    ('{"_label": [1]}', "label not finite", r"the label is \[1\]"),
    ('{"_label": "one"}', "label not finite", "the label is 'one'"),
    ('{"_label": "1:2:0.5"}', "label not finite", "the label is '1:2:0.5'"),
    ('{"_label": "1e39"}', "label not finite", "the label is inf"),
    ('{"_label": {"Label": "NaN"}}', "label not finite", "the label is 'NaN'"),
    ('{"_label": {"Label": "1"}}', "label not finite", "the label is '1'"),
    ('{"_label": {"Label": 1, "Weight": -1}}', "weight negative", "the weight is -1"),
    ('{"_label": "1 -1"}', "weight negative", "weights must not be negative"),
    ('{"_label_Weight": Infinity}', "weight not finite", "the weight is inf"),
    ('{"_label": {"Initial": NaN}}', "initial prediction not finite", "initial prediction is nan"),
    ('{"_label": {"Weight": 2}}', "no label", "weight or initial prediction without a label"),
    ('{"_label": {"Initial": 2}}', "no label", "weight or initial prediction without a label"),
    ('{"_label": "1 2 3 4"}', "not a simple label", "has 4 words; chacha needs one number"),
    ('{"_label": {"Action": 1, "Cost": 2}}', "not a simple label", "a label with 'Action'"),
    ('{"_label_cost": 1}', "not a simple label", "a label with 'cost' .* one number as the label"),
    ('{"_label_Action": 1}', "not a simple label", "chacha needs one number as the label"),
    ('{"_label_ca": {"action": 1}}', "not a simple label", "chacha needs one number as the label"),
    ('{"_labelIndex": 0}', "not a simple label", "the key '_labelIndex'"),
    ('{"_labels": 0}', "not a simple label", "the key '_labels'"),
    ('{"_multi": [{"a": {"x": 1}}]}', "not a simple label", "the key '_multi'"),
    ('{"c": {"_multi": []}, "p": [1]}', "not a simple label", "the key '_multi'"),
    ('{"_slots": []}', "not a simple label", "the key '_slots'"),
    ('{"_slot_id": 1}', "not a simple label", "the key '_slot_id'"),
    ('{"_outcomes": [], "c": {}}', "not a simple label", "the key '_outcomes'"),
    ('{"EventId": "1", "c": {"x": 1}}', "not a simple label", "VW's dsjson; chacha needs one"),
    ('{"_a": [1], "_p": [0.5]}', "not a simple label", "the key '_a'"),
    ('{"__aid": 1}', "not a simple label", "the key '__aid'"),
    ('{"a": ["x"]}', "not a value", "the array 'a' holds 'x'"),
    ('{"a": [true]}', "not a value", "the array 'a' holds True"),
    ('{"a": [[1]]}', "not a value", r"the array 'a' holds \[1\]"),
    ('{"the user": {"x": 1}}', "not in VW text", "the group name 'the user' cannot be written"),
    ('{" user": {"x": 1}}', "not in VW text", "rename the group"),
    ('{"a:b": [1]}', "not in VW text", "the group name 'a:b'"),
    ('{"a": {"b|c": {}}}', "not in VW text", r"the group name 'b\|c'"),
    ('{"a\\u0000b": {}}', "not in VW text", "the group name"),
    ('{"\\t": {}}', "not in VW text", "the group name"),
    ('{"": {"x": 1}}', "not in VW text", "must not be empty"),
    ('{"a": {"x\\u0000y": 1}}', "not in VW text", "holds a NUL"),
    ('{"a": {"x": "y\\u0000"}}', "not in VW text", "holds a NUL"),
    ('{"_tag": "my tag"}', "not in VW text", "the tag 'my tag' holds ' '"),
    ('{"_tag": "a|b"}', "not in VW text", r"the tag 'a\|b' holds '\|'"),
]


@pytest.mark.parametrize(("line", "reason", "message"), BAD, ids=[f"{b[0]:.50}" for b in BAD])
def test_what_cannot_be_used_is_refused_in_words(line: str, reason: str, message: str) -> None:
    with pytest.raises(BadExample, match=message) as caught:
        vw_json_example(line)
    assert caught.value.reason == reason
    assert len(str(caught.value)) < 250


def test_what_vw_refuses_is_refused() -> None:
    """Not the other way round: VW takes words as label 0 and reads infinity from 1e39."""
    keys = ["_labelIndex", "_labels", "_tag", "_text", "_slot_id", "_multi", "_original_label_cost"]
    bodies = ['"a":[[1]]', '"a":["x"]', '"a":[true]', '"_label":true', '"x":NaN', '"x":"']
    for body in [f'"{key}":[1]' for key in keys] + bodies:
        with pytest.raises(RuntimeError):
            vw_view(_json, f"{{{body}}}")
        with pytest.raises(BadExample):
            vw_json_example(f"{{{body}}}")


def halfway(rng: random.Random) -> float:
    """A double at, or next to, the middle between two float32."""
    bits = rng.getrandbits(23) | rng.randrange(1, 254) << 23
    low, high = (struct.unpack("<f", struct.pack("<I", bits + i))[0] for i in (0, 1))
    value = float(low + high) / 2
    for _ in range(rng.randrange(4)):
        value = math.nextafter(value, rng.choice([0.0, math.inf]))
    return value * rng.choice([1, -1])


def test_numbers_are_rounded_as_vw_rounds_them() -> None:
    """VW's JSON reader is off by a few bits of a double; between two float32 it matters."""
    rng = random.Random(1)
    shapes = ["%r", "%.16g", "%.17g", "%.20g", "%.25f", "%.17e", "%.1f", "%.3E", "%d.0"]
    for _ in range(40):
        texts = [rng.choice(shapes) % halfway(rng) for _ in range(25)]
        texts = [text if set(text) & set(".eE") else f"{text}.0" for text in texts]
        texts += [rng.choice(shapes[5:]) % (rng.uniform(-1, 1) * 10.0 ** rng.randrange(-42, 36))]
        texts += [f"{rng.uniform(-99, 99)!r}{rng.randrange(10**9)}e{rng.randrange(-40, 35)}"]
        texts += [str(rng.randrange(-(2**53), 2**53)), f"{rng.getrandbits(80)}.5", "0.0e-999"]
        check_same('{"a": [' + ", ".join(texts) + "]}")
        check_same(f'{{"_label": {{"Label": {texts[0]}, "Initial": {texts[1]}}}, "x": 2}}')


def letters(alphabet: str) -> st.SearchStrategy[str]:
    return st.text(st.sampled_from(alphabet), max_size=4)


odd = letters("ab1 0:|\té🎉\n_'\x01\u00a0\u2028")
feature_names = (odd | st.sampled_from(["x", "y", "12", "trip distance"])).filter(
    lambda name: not name.startswith("_")
)
GROUPS = ["a", "b", "apple", "aé", "user", "user ", "usher", "7", "007", " ", "-d", "a,b", "\x01"]
group_names = st.sampled_from(GROUPS)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-(2**53), 2**53),
    st.floats(-1e6, 1e6),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    odd,
)
numbers = st.none() | st.integers(-2, 2) | st.floats(-10, 10)
labels = st.one_of(
    st.none(),
    st.floats(-1e9, 1e9),
    st.sampled_from(["1", "2 0.5", "0.1 0.2 0.3", ""]),
    st.fixed_dictionaries(
        {"Label": st.floats(-9, 9)},
        optional={"weight": st.floats(0, 9), "Initial": st.floats(-9, 9)},
    ),
)
specials = st.one_of(
    st.tuples(st.just("_text"), odd),
    st.tuples(st.sampled_from(["_aux", "_", "_x"]), scalars),
    st.tuples(st.just("_tag"), st.sampled_from(["", "t", "'t", "é"])),
    st.tuples(st.just("_label"), labels),
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    arrays = st.lists(numbers | inner, max_size=5)
    feature = st.tuples(feature_names, scalars)
    group = st.tuples(group_names, inner | arrays)
    members = st.one_of(feature, group, feature, group, specials)
    return st.lists(members, min_size=2, max_size=7).map(dict)


rows = objects(objects(objects(st.just({}))))


@settings(max_examples=400)
@given(rows, st.booleans())
def test_any_example_is_the_same_to_vw(row: dict[str, Any], ascii_only: bool) -> None:
    check_same(json.dumps(row, ensure_ascii=ascii_only))


def nested(rng: random.Random, depth: int) -> dict[str, Any]:
    """A deeper and wider example than Hypothesis makes."""
    row: dict[str, Any] = {}
    for _ in range(rng.randrange(6)):
        kind = rng.randrange(10)
        if depth and kind < 3:
            row[rng.choice(GROUPS)] = nested(rng, depth - 1)
        elif depth and kind < 5:
            choices = [None, 0, 1, rng.gauss(0, 1), rng.gauss(0, 1), nested(rng, depth - 1)]
            row[rng.choice(GROUPS)] = rng.choices(choices, k=rng.randrange(6))
        elif kind == 5:
            row["_text"] = rng.choice(["u v", "x:y", " "])
        elif kind == 6:
            row["_label"] = rng.choice([2, None, "1 2 0.5", {"Label": rng.gauss(0, 1)}])
        else:
            name = "".join(rng.choices("ab1 :|é\n'\x01xyz%", k=rng.randrange(4)))
            row[name] = rng.choice([None, True, 0, 1, "red", rng.gauss(0, 1), rng.uniform(-9, 9)])
    return row


def test_nested_examples_are_the_same_to_vw() -> None:
    rng = random.Random(11)
    for _ in range(1500):
        check_same(json.dumps(nested(rng, 4)))


def a_row(rng: random.Random) -> dict[str, Any]:
    def features() -> dict[str, Any]:
        members: dict[str, Any] = {f"f{i}": rng.uniform(-2, 2) for i in range(rng.randrange(3))}
        members["color"] = rng.choice(["red", "deep blue", "a:b"])
        members["vip"] = rng.random() < 0.5
        members["trip distance"] = rng.choice([0, 1, 0.25, rng.gauss(0, 1)])
        return members

    row: dict[str, Any] = {"_label": rng.uniform(-3, 3), "x": rng.gauss(0, 1)}
    if rng.random() < 0.3:
        row["_label"] = {"Label": rng.uniform(-3, 3), "Weight": rng.choice([0, 0.5, 2])}
    for group in rng.sample(["user", "usher", "item", "b"], 3):
        row[group] = features()
    row["item2"] = [rng.choice([0, rng.gauss(0, 1)]) for _ in range(3)]
    row["nest"] = {"user": features(), "y": 1, "arr": [1, {"inner": features()}, 0.5]}
    row["_text"] = rng.choice(["the cat", "a dog:x"])
    return row


@pytest.mark.parametrize(
    "options",
    [
        ["-q", "::"],
        ["--interactions", "uib", "--interactions", "uu", "-b", "12"],
        ["--experimental_full_name_interactions", "user|item"],
        ["--experimental_full_name_interactions", "usher|item2|inner", "--noconstant"],
        ["--cubic", ": n", "--ftrl"],
    ],
    ids=" ".join,
)
def test_learning_from_the_text_is_learning_from_the_json(options: list[str]) -> None:
    rng = random.Random(7)
    from_json, from_text = open_vw("--json", *options), open_vw(*options)
    plain = open_vw()
    different = 0
    for _ in range(200):
        line = json.dumps(a_row(rng))
        text = vw_json_example(line).line
        predicted = []
        for workspace, form in ((from_json, line), (from_text, text), (plain, text)):
            parsed = workspace.parse(form)
            workspace.predict(parsed)
            predicted.append(parsed.get_simplelabel_prediction())
            workspace.learn(parsed)
            workspace.finish_example(parsed)
        assert predicted[0] == predicted[1]
        different += predicted[1] != predicted[2]
    assert different > 100, "the options do something"


def test_the_first_object_determines_the_format() -> None:
    keys = ["_label", "_label_cost", "_labelIndex", "_multi", "_slots"]
    assert all(looks_like_vw_json({"x": 1, key: 2}) for key in keys)
    assert not any(looks_like_vw_json({"x": 1, key: 2}) for key in ["label", "_id", "_text", "y"])
    assert not looks_like_vw_json({})
