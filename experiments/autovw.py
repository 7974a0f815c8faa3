"""FLAML's AutoVW over VW text, in an environment of its own: what its predictions lost, as JSON.

    python autovw.py FILE.vw SEED

It needs the packages flaml and vowpalwabbit, and nothing of chacha. FLAML wants the VW of
before version 9, in which the class `Workspace` was called `pyvw.vw`; nothing else is changed.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.metadata import version

from flaml import AutoVW
from vowpalwabbit import pyvw


def main() -> None:
    """Predict and learn every line with five live models, products tuned."""
    warnings.filterwarnings("ignore")
    pyvw.vw = pyvw.Workspace
    with open(sys.argv[1]) as file:
        lines = [line.rstrip("\n") for line in file]
    space = {"interactions": AutoVW.AUTOMATIC}
    model = AutoVW(max_live_model_num=5, search_space=space, random_seed=int(sys.argv[2]))
    total, champions = 0.0, []
    began = time.process_time()
    for line in lines:
        total += (model.predict(line) - float(line.split(" ", 1)[0])) ** 2
        model.learn(line)
        champion = model._trial_runner.champion_trial.trial_id
        if champion not in champions[-1:]:
            champions.append(champion)
    told = {
        "loss": total / len(lines),
        "examples": len(lines),
        "promotions": len(champions) - 1,
        "champion": champions[-1],
        "cpu_seconds": time.process_time() - began,
        "versions": {name: version(name) for name in ("flaml", "vowpalwabbit", "scikit-learn")},
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
