"""The paper's claims, counted on the paper's tables and on our runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import paper_scores
from paper_scores import Score

__all__ = ["CLAIMS", "Claim", "claim_lines", "reported_scores"]

Scores = Mapping[str, Score]
"""By method: random, chacha, no-champion, aggressive."""
SMALL = 0.05  # a difference of scores that counts as almost no degradation


class Claim(NamedTuple):
    """A claim of the paper, and the condition that must hold on a data set."""

    words: str
    measured: str
    task: str
    holds: Callable[[Scores], bool]


def _clearly_above(a: Score, b: Score) -> bool:
    return a.mean - b.mean > max(a.sd, b.sd)


CLAIMS = (
    Claim(
        "better than Random on over half of the sets",
        "ChaCha's mean score is above Random's",
        "NI",
        lambda s: s["chacha"].mean > s["random"].mean,
    ),
    Claim("", "", "NI+LR", lambda s: s["chacha"].mean > s["random"].mean),
    Claim(
        '"significantly" so',
        "above by more than the larger of the two sds",
        "NI",
        lambda s: _clearly_above(s["chacha"], s["random"]),
    ),
    Claim("", "", "NI+LR", lambda s: _clearly_above(s["chacha"], s["random"])),
    Claim(
        "better than Exhaustive on almost half",
        "ChaCha's mean score is above 1",
        "NI",
        lambda s: s["chacha"].mean > 1.0,
    ),
    Claim("", "", "NI+LR", lambda s: s["chacha"].mean > 1.0),
    Claim(
        "almost no degradation against Naive",
        f"ChaCha's mean score is at least -{SMALL}",
        "NI",
        lambda s: s["chacha"].mean >= -SMALL,
    ),
    Claim("", "", "NI+LR", lambda s: s["chacha"].mean >= -SMALL),
    Claim(
        "almost no degradation against Random",
        f"ChaCha's mean score is at most {SMALL} below Random's",
        "NI",
        lambda s: s["chacha"].mean >= s["random"].mean - SMALL,
    ),
    Claim("", "", "NI+LR", lambda s: s["chacha"].mean >= s["random"].mean - SMALL),
    Claim(
        "aggressive scheduling is worse",
        "its mean score is below ChaCha's",
        "NI",
        lambda s: s["aggressive"].mean < s["chacha"].mean,
    ),
    Claim(
        "without the champion it is worse",
        "its mean score is below ChaCha's",
        "NI",
        lambda s: s["no-champion"].mean < s["chacha"].mean,
    ),
)


def reported_scores(task: str) -> Sequence[Scores]:
    """Return the paper's table of a task."""
    return list((paper_scores.NI if task == "NI" else paper_scores.NI_LR).values())


def claim_lines(ours: Mapping[str, Mapping[str, Sequence[Scores]]]) -> Iterator[str]:
    """Yield a Markdown table of: constants -> task -> the scores of every meaningful set."""
    heads = [f"ours, {constants} constants" for constants in ours]
    yield "| the paper says | measured as | task | the paper's tables | " + " | ".join(heads) + " |"
    yield "|---" * (4 + len(heads)) + "|"
    for claim in CLAIMS:
        cells = [_count(claim, reported_scores(claim.task))]
        cells += [_count(claim, tasks[claim.task]) for tasks in ours.values()]
        yield f"| {claim.words} | {claim.measured} | {claim.task} | {' | '.join(cells)} |"


def _count(claim: Claim, sets: Sequence[Scores]) -> str:
    return f"{sum(claim.holds(scores) for scores in sets)} of {len(sets)}"
