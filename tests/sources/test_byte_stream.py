"""Bytes of files without a size and of closed standard input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from chacha.sources.reading.byte_stream import open_bytes


def test_files_without_a_size_and_closed_stdin() -> None:
    if Path("/proc/self/status").exists():  # it says that it has no bytes
        assert open_bytes("/proc/self/status").peek_line().startswith(b"Name:")
    command = f"{sys.executable} -m chacha run - <&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert "standard input is closed" in done.stderr
    assert "Traceback" not in done.stderr
