"""Algorithms 2 and 3, line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from chacha import Config, Decision
from chacha.rules.paper import Scheduler
from tests.support.scripted import conf, kinds_and_names


def names(letters: str) -> list[Config]:
    return [conf(letter) for letter in letters]


class Leases:
    """A scheduler with the leases and the random numbers of one run."""

    def __init__(self, budget: int, leases: Mapping[str, int], seed: int = 0) -> None:
        self.scheduler, self.rng = Scheduler(budget), Random(seed)
        self.lease = {conf(name): lease for name, lease in leases.items()}

    def choose(self, S: Sequence[Config], n_min: int) -> Config:
        return self.scheduler.choose(S, self.lease, self.rng, n_min)


def scheduler(budget: int, leases: Mapping[str, int], seed: int = 0) -> Leases:
    return Leases(budget, leases, seed)


def call(
    s: Leases, B: str, S: str, n: Sequence[int], upper: Sequence[float], n_min: int = 10
) -> tuple[str, list[Decision]]:
    live = names(B)
    new, decisions = s.scheduler.schedule(
        live,
        dict.fromkeys(names(S)),
        dict(zip(live, n, strict=True)),
        dict(zip(live, upper, strict=True)),
        s.lease,
        s.rng,
        n_min,
    )
    return "".join(str(c.values["name"]) for c in new), decisions


def test_lines_2_to_4_drop_the_eliminated_when_others_wait() -> None:
    s = scheduler(3, {"x": 10, "y": 10})
    B, decisions = call(s, "xy", "yabc", [3, 3], [0.5, 0.4])
    assert B[0] == "y"
    assert kinds_and_names(decisions)[0] == ("Retired", "x")
    assert decisions[0].to_json()["eliminated"] is True
    assert conf("x") not in s.lease


def test_line_3_guard_keeps_the_eliminated_while_s_is_small() -> None:
    s = scheduler(3, {"x": 10, "y": 10})
    assert call(s, "xy", "yab", [3, 3], [0.5, 0.4]) == ("xy", [])


def test_lines_5_to_7_double_a_lease_that_is_used_up() -> None:
    s = scheduler(3, {"x": 10, "y": 10})
    B, decisions = call(s, "xy", "xy", [10, 9], [0.5, 0.4])
    assert B == "xy"
    assert kinds_and_names(decisions) == [("LeaseDoubled", "x")]
    assert s.lease == {conf("x"): 20, conf("y"): 10}


def test_line_6_is_at_least() -> None:
    s = scheduler(3, {"x": 10})
    assert kinds_and_names(call(s, "x", "x", [11], [0.5])[1]) == [("LeaseDoubled", "x")]
    assert call(s, "x", "x", [19], [0.5])[1] == []
    assert kinds_and_names(call(s, "x", "x", [20], [0.5])[1]) == [("LeaseDoubled", "x")]


def test_lines_8_and_9_the_worse_half_makes_room() -> None:
    s = scheduler(5, dict.fromkeys("wxyz", 10) | {"p": 10})
    B, decisions = call(s, "wxyz", "wxyzpq", [10] * 4, [0.1, 0.2, 0.3, 0.4])
    assert B[:2] == "wx"
    assert set(B[2:]) == {"q", "p"}
    assert kinds_and_names(decisions) == [
        *[("LeaseDoubled", c) for c in "wxyz"],
        ("Retired", "y"),
        ("Retired", "z"),
        ("WentLive", "q"),
        ("WentLive", "p"),
    ]


def test_line_8_the_median_is_taken_before_any_removal() -> None:
    """If the median were taken again after z left, y (0.3 > 0.2) would have to leave too."""
    s = scheduler(4, dict.fromkeys("zyx", 10))
    B, _ = call(s, "zyx", "zyxpq", [10] * 3, [0.4, 0.3, 0.2])
    assert "y" in B
    assert "z" not in B


def test_line_8_only_who_used_up_its_lease_can_go() -> None:
    s = scheduler(4, {"x": 10, "y": 10, "z": 40})
    B, _ = call(s, "xyz", "xyzpq", [10, 10, 39], [0.1, 0.2, 0.9])
    assert "z" in B


def test_line_8_guard_no_challenger_leaves_while_s_is_small() -> None:
    s = scheduler(3, {"x": 10, "y": 10})
    B, decisions = call(s, "xy", "xyz", [10, 10], [0.5, 0.4])
    assert B == "xy"
    assert [d.kind for d in decisions] == ["LeaseDoubled"] * 2


def test_lines_10_to_12_fill_up_to_b_minus_1() -> None:
    B, decisions = call(scheduler(4, {}), "", "abcdef", [], [])
    assert len(B) == 3
    assert [d.kind for d in decisions] == ["WentLive"] * 3


def test_line_10_stops_when_no_challenger_waits() -> None:
    assert call(scheduler(9, {}), "", "ab", [], [])[0] in ("ab", "ba")
    assert call(scheduler(9, {}), "", "", [], []) == ("", [])


def test_line_13_no_wasted_restart() -> None:
    """z leaves and is chosen again in the same call (shortest lease): it keeps its model."""
    s = scheduler(3, {"x": 10, "z": 10, "p": 99, "q": 99})
    B, decisions = call(s, "xz", "xzpq", [3, 10], [0.1, 0.9])
    assert sorted(B) == ["x", "z"]
    assert kinds_and_names(decisions) == [("LeaseDoubled", "z")]


def test_algorithm_3_lines_1_to_4_a_random_newcomer_with_the_shortest_lease() -> None:
    first: Counter[str] = Counter()
    for seed in range(400):
        s = scheduler(2, {"old": 1}, seed)
        chosen = s.choose([conf("old"), *names("abcd")], n_min=35)
        assert s.lease[chosen] == 35
        first[str(chosen.values["name"])] += 1
    assert set(first) == set("abcd"), "a challenger with a lease is not a newcomer"
    assert all(70 <= count <= 130 for count in first.values()), first


def test_algorithm_3_line_5_the_shortest_lease_then_the_order_of_s() -> None:
    s = scheduler(2, {"a": 80, "b": 20, "c": 40})
    assert s.choose(names("abc"), 10) == conf("b")
    s.lease[conf("c")] = 20
    assert s.choose(names("acb"), 10) == conf("c")


def test_same_seed_same_choices() -> None:
    def choices(seed: int) -> list[Config]:
        s = scheduler(2, {}, seed)
        return [s.choose(names("abcdefgh"), 10) for _ in range(8)]

    assert choices(3) == choices(3)
    assert choices(3) != choices(4)


def test_starvation_b_2_the_only_challenger_is_its_own_median() -> None:
    """A known case of the literal algorithm (docs/algorithm.md)."""
    s = scheduler(2, {"x": 10})
    B, _ = call(s, "x", "xabcdef", [10], [0.9])
    assert B == "x"


def test_starvation_equal_bounds_none_is_above_the_median() -> None:
    """A known case of the literal algorithm (docs/algorithm.md)."""
    s = scheduler(5, dict.fromkeys("wxyz", 10))
    B, _ = call(s, "wxyz", "wxyzpq", [10] * 4, [0.5] * 4)
    assert B == "wxyz"


def test_who_has_no_bound_yet_does_not_count_in_the_median() -> None:
    """Labels may come late: two of four have made no forecast that could be charged."""
    s = scheduler(5, dict.fromkeys("wxyz", 10))
    inf = float("inf")
    B, decisions = call(s, "wxyz", "wxyzpq", [10, 10, 0, 0], [0.1, 0.4, inf, inf])
    assert "x" not in B
    assert {"w", "y", "z"} <= set(B)
    assert kinds_and_names(decisions)[2] == ("Retired", "x")
