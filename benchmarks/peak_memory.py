"""The peak memory of a process in megabytes: after importing chacha, or after a run over a file.

python benchmarks/peak_memory.py [FILE.vw]
"""

from __future__ import annotations

import sys

from chacha_methods import check_all_live, held
from timing import peak_megabytes

if __name__ == "__main__":
    if sys.argv[1:]:
        model = held(5)
        model.run(sys.argv[1])
        check_all_live(model)
    print(peak_megabytes())
