"""The peak memory of a process in megabytes: of importing chacha and pyarrow, or of a run as well.

python benchmarks/footprint.py [FILE.vw]
"""

from __future__ import annotations

import sys

from ours import all_live, held
from timing import peak_megabytes

if __name__ == "__main__":
    if sys.argv[1:]:
        model = held(5)
        model.run(sys.argv[1])
        all_live(model)
    print(peak_megabytes())
