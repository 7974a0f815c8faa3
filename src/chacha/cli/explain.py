"""`chacha explain`: the decisions of a saved run as a story."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from chacha.config.config import Config
from chacha.data.label_map import LabelMap
from chacha.drivers.records import beside_constant, label_scale_line
from chacha.errors import ChaChaError, SourceError
from chacha.rules.decisions import (
    Decision,
    Eliminated,
    LeaseDoubled,
    Promoted,
    Retired,
    WentLive,
    decision_from_json,
)

__all__ = ["explain", "read_decisions", "sentence", "story"]


def read_decisions(path: str) -> tuple[dict[str, Any], list[Decision], dict[str, Any] | None]:
    """Return what --save-decisions wrote: the run, its decisions, and its end if it has one."""
    try:
        data = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SourceError(f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: cannot be read: {error}") from error
    about: dict[str, Any] = {}
    end: dict[str, Any] | None = None
    decisions: list[Decision] = []
    lines = data.removesuffix("\n").split("\n") if data else []
    for number, line in enumerate(lines, start=1):
        if number == len(lines) > 1 and not data.endswith("\n"):
            break  # a killed run may leave an incomplete line
        try:
            record = json.loads(line)
            kind = record["kind"]
            if kind == "Run":
                if about:
                    raise SourceError("a second run begins here; explain one at a time")
                about = record
            elif kind == "End":
                end = record
            else:
                decisions.append(decision_from_json(record))
        except (ValueError, KeyError, TypeError, ChaChaError) as error:
            raise SourceError(
                f"{path}:{number}: not a decision of `chacha run`: {error}"
            ) from error
    if "settings" not in about:
        raise SourceError(f"{path}: not the decisions of a run; `run --save-decisions` writes them")
    return about, decisions, end


def sentence(decision: Decision, champion: Config, initial: Config) -> str:
    """Return one decision in words; configurations are named by their change of the champion.

    >>> sentence(WentLive(0, Config(["ab"]), lease=75), Config(), Config())
    '+ab went live for 75 examples'
    """
    who = decision.config.since(champion)
    if decision.config == initial:
        who = "the initial configuration"
    if getattr(decision, "odds", None) is not None and not getattr(decision, "eliminated", False):
        return _paired_sentence(decision, who)
    match decision:
        case WentLive():
            why = f" ({decision.why})" if decision.why else ""
            return f"{who} went live for {decision.lease} examples{why}"
        case LeaseDoubled():
            return f"{who} used up its lease and may go on to {decision.lease} examples"
        case Retired(eliminated=True):
            return f"{who} left its slot after {decision.n} examples: it is out"
        case Retired():
            return f"{who} made room after {decision.n} examples: its bound is above the median"
        case Eliminated():
            return (
                f"{who} is out: after {decision.n} examples its loss is at least "
                f"{decision.lower:.4g}, the champion's at most {decision.champion_upper:.4g}"
            )
        case Promoted():
            return (
                f"{decision.config.since(decision.dethroned)} is the new champion: after "
                f"{decision.n} examples its loss is at most {decision.upper:.4g}, the old "
                f"champion's at least {decision.champion_lower:.4g}, "
                f"more than {decision.margin:.4g} above it"
            )
        case _:
            return f"{who}: {decision.kind}"


def _paired_sentence(decision: Any, who: str) -> str:
    """Return a decision by paired evidence in words, with its odds.

    >>> decision = LeaseDoubled(1000, Config(["ab"]), 2000, 1000, odds=14.2, needed=200.0)
    >>> _paired_sentence(decision, "+ab")
    '+ab may go on to 2000 examples: 14 : 1 for it, promotes at 200 : 1'
    """
    odds = f"{_odds(decision.odds)} for it, promotes at {_odds(decision.needed)}"
    match decision:
        case LeaseDoubled():
            return f"{who} may go on to {decision.lease} examples: {odds}"
        case Retired():
            return f"{who} made room after {decision.n} examples: {odds}"
        case Eliminated():
            return (
                f"{who} is out after {decision.n} examples: {_odds(decision.odds or 0)} that it is "
                f"worse, its loss {decision.lower:.4g}, "
                f"the champion's {decision.champion_upper:.4g}"
            )
        case _:
            new = decision.config.since(decision.dethroned)
            return (
                f"{new} is the new champion after {decision.n} examples: {odds}; its loss "
                f"{decision.upper:.4g}, the old champion's {decision.champion_lower:.4g}"
            )


def _odds(odds: float) -> str:
    """Return odds in words: `14 : 1`, or `1 : 3` if they are below even.

    >>> _odds(14.2), _odds(1.25), _odds(0.3), _odds(4.1e6), _odds(1e99)
    ('14 : 1', '1.2 : 1', '1 : 3.3', '4.1 million : 1', 'over a billion : 1')
    """
    if odds < 1:
        return f"1 : {1 / odds:.2g}" if odds > 0 else "0 : 1"
    if odds >= 1e9:
        return "over a billion : 1"
    if odds >= 1e6:
        return f"{odds / 1e6:.2g} million : 1"
    return f"{odds:.2g} : 1" if odds < 10 else f"{odds:.0f} : 1"


def story(
    about: dict[str, Any],
    decisions: Iterable[Decision],
    end: dict[str, Any] | None,
    everything: bool = False,
) -> Iterator[str]:
    """Yield the lines of the story: the reign of every champion, and how it ended."""
    settings = about["settings"]
    champion = initial = Config.from_json(settings["initial"])
    rules, b, seed = settings["rules"], settings["budget"], settings["seed"]
    yield f"{about['source']}: rules {rules}, b = {b}, seed {seed}"
    yield f"{0:>9}  champion: {champion}"
    tried: dict[Config, str | None] = {}  # with the reason
    leases = 0
    for decision in decisions:
        if isinstance(decision, WentLive):
            tried[decision.config] = decision.why
        leases += isinstance(decision, LeaseDoubled)
        final = isinstance(decision, Eliminated) and decision.odds is None  # others may return
        if everything or final or isinstance(decision, Promoted):
            yield f"{decision.t:>9}  {sentence(decision, champion, initial)}"
        if isinstance(decision, Promoted):
            champion = decision.config
            if why := tried.get(champion):
                yield f"{'':>9}  it was tried because of {why}"
            yield f"{'':>9}  {len(tried)} challengers had been live, {leases} leases used up"
            yield f"{decision.t:>9}  champion: {champion}"
            tried.clear()
            leases = 0
    yield f"{'':>9}  {len(tried)} challengers were live since, {leases} leases used up"
    if end is None:
        yield "the run did not reach its end"
    else:
        loss = "none" if end["loss"] is None else f"{end['loss']:.6g}"
        loss += beside_constant(settings.get("loss", {}).get("name", ""), end.get("r2"))
        yield f"{end['examples']:>9}  end: served loss {loss}, champion: {champion}"
        if (same_as := end.get("same_as", f"vw {champion.vw_args()}".rstrip())) is not None:
            yield f"{'':>9}  same as: {same_as}"
        if line := label_scale_line(champion, _label_map(end)):
            yield f"{'':>9}  {line}"


def _label_map(end: dict[str, Any]) -> LabelMap | None:
    """Return how the last champion learned labels, if the end of a run says so."""
    if (shift := end.get("label_shift")) is None:
        return None
    label_map = LabelMap(shift, end["label_scale"])
    if (low := end.get("label_low")) is None:
        return label_map
    return label_map._replace(logarithm=True, low=low, unit=end["label_unit"])


def explain(
    file: Annotated[
        str, typer.Argument(help="A file that `chacha run --save-decisions FILE` wrote.")
    ],
    everything: Annotated[
        bool, typer.Option("--all", help="Every decision, not only promotions and eliminations.")
    ] = False,
) -> None:
    """Print the decisions of a saved run as a story."""
    about, decisions, end = read_decisions(file)
    for line in story(about, decisions, end, everything):
        print(line)
