"""What a wheel must do where it was installed: load, know its version, learn, on every kernel."""

from __future__ import annotations

from importlib.metadata import version

import chacha
from chacha import _native

LINES = [f"{i % 3} |a x{i % 5} y:{i % 7} |b z{i % 4}" for i in range(300)]


def run(kernel: str) -> list[float]:
    """The predictions of a small model in the native pool."""
    model = chacha.ChaCha.paper(pool=chacha.NativePool(kernel))
    predictions = []
    for line in LINES:
        predictions.append(model.predict_one(line))
        model.learn_one(line)
    return predictions


def main() -> None:
    """Compare versions and kernels."""
    versions = {chacha.__version__, _native.__version__, version("chacha-automl")}
    assert len(versions) == 1, versions
    plain = run("plain")
    assert any(plain)
    for kernel in _native.kernels():
        assert run(kernel) == plain, kernel
    print(f"chacha {chacha.__version__} with the kernels {', '.join(_native.kernels())}: fine")


if __name__ == "__main__":
    main()
