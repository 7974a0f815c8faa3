"""FLAML's AutoVW over VW text in a separate environment: its cost and loss as JSON.

    python flaml_peer.py FILE.vw ROWS [SEED]

The script needs the packages flaml and vowpalwabbit, and nothing of chacha. FLAML expects a VW
before version 9, in which the class `Workspace` was called `pyvw.vw`; nothing else is changed.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.metadata import version
from itertools import islice

from flaml import AutoVW
from vowpalwabbit import pyvw


def main() -> None:
    """Predict and learn every line with five live models; products are tuned."""
    warnings.filterwarnings("ignore")
    pyvw.vw = pyvw.Workspace
    path, rows, *seed = sys.argv[1:]
    with open(path) as file:
        lines = [line.rstrip("\n") for line in islice(file, int(rows))]
    labels = [float(line.split(" ", 1)[0]) for line in lines]
    model = AutoVW(
        max_live_model_num=5,
        search_space={"interactions": AutoVW.AUTOMATIC},
        random_seed=int(seed[0]) if seed else None,
    )
    predictions: list[float] = []
    champions: list[str] = []
    began = time.process_time()
    for line in lines:
        predictions.append(model.predict(line))
        model.learn(line)
        champion = model._trial_runner.champion_trial.trial_id
        if champion not in champions[-1:]:
            champions.append(champion)
    seconds = time.process_time() - began
    squares = [(p - y) ** 2 for p, y in zip(predictions, labels, strict=True)]
    result = {
        "ns": seconds / len(lines) * 1e9,
        "rows": len(lines),
        "loss": sum(squares) / len(lines),
        "promotions": len(champions) - 1,
        "champion": champions[-1],
        "versions": {name: version(name) for name in ("flaml", "vowpalwabbit", "scikit-learn")},
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
