"""FLAML's AutoVW over VW text, in an environment of its own: what an example costs, as JSON.

    python flaml_peer.py FILE.vw ROWS

It needs the packages flaml and vowpalwabbit, and nothing of chacha. FLAML wants the VW of
before version 9, in which the class `Workspace` was called `pyvw.vw`.
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
    """Predict and learn every line with five live models, products tuned."""
    warnings.filterwarnings("ignore")
    pyvw.vw = pyvw.Workspace
    with open(sys.argv[1]) as file:
        lines = [line.rstrip("\n") for line in islice(file, int(sys.argv[2]))]
    model = AutoVW(max_live_model_num=5, search_space={"interactions": AutoVW.AUTOMATIC})
    began = time.process_time()
    for line in lines:
        model.predict(line)
        model.learn(line)
    seconds = time.process_time() - began
    versions = {name: version(name) for name in ("flaml", "vowpalwabbit", "scikit-learn")}
    print(json.dumps({"ns": seconds / len(lines) * 1e9, "rows": len(lines), **versions}))


if __name__ == "__main__":
    main()
