"""The errors that chacha raises. Catch :class:`ChaChaError` to catch them all.

::

    ChaChaError
    ├── ConfigError     a setting is wrong (also a ValueError)
    ├── DataError       the data is wrong; the message names the place (also a ValueError)
    │   ├── SourceError     a source cannot be opened or read further
    │   └── BadExample      one example cannot be used
    ├── PoolError       a learner refused or failed, or a model file is wrong (also a RuntimeError)
    ├── TicketError     a ticket is wrong, used or expired (also a LookupError)
    └── MissingExtra    an optional library is not installed (also an ImportError)

A message names the argument or the place, the rule, the value it got, and the remedy.
"""

from __future__ import annotations

from typing import NoReturn

__all__ = [
    "BadExample",
    "ChaChaError",
    "ConfigError",
    "DataError",
    "MissingExtra",
    "PoolError",
    "SourceError",
    "TicketError",
    "fail",
]


class ChaChaError(Exception):
    """The base class of all errors that chacha raises deliberately.

    >>> import chacha
    >>> try:
    ...     chacha.ChaCha.paper(budget=0)
    ... except chacha.ChaChaError as error:
    ...     print(error)
    budget must be a whole number of at least 1 (live models, the champion included), got 0
    """


class ConfigError(ChaChaError, ValueError):
    """A setting is wrong.

    >>> import chacha
    >>> chacha.Uniform(2, 1)
    Traceback (most recent call last):
    chacha.errors.ConfigError: Uniform needs finite low < high, got low=2.0, high=1.0
    """


class DataError(ChaChaError, ValueError):
    """The data is wrong; the message names the place.

    >>> issubclass(BadExample, DataError), issubclass(DataError, ValueError)
    (True, True)
    """


class SourceError(DataError):
    """A source cannot be opened or read further.

    >>> import chacha
    >>> chacha.open_source("nowhere.vw")
    Traceback (most recent call last):
    chacha.errors.SourceError: nowhere.vw: no such file
    """


class BadExample(DataError):
    """One example cannot be used: it lacks a label, has a value that is not finite, is malformed.

    `reason` is a short form of the message; skipped rows are counted by it.

    >>> import chacha
    >>> chacha.data.parse_line("nan |a x:1")
    Traceback (most recent call last):
    chacha.errors.BadExample: the label is 'nan'; labels must be finite numbers
    """

    def __init__(self, message: str, reason: str = "malformed") -> None:
        super().__init__(message)
        self.reason = reason


class PoolError(ChaChaError, RuntimeError):
    """A learner refused a configuration or failed, or a model file is wrong.

    >>> import chacha
    >>> chacha.ReferencePool().start(chacha.Config(values={"power_t": 0.1}))
    Traceback (most recent call last):
    chacha.errors.PoolError: the reference learner has no option 'power_t'; it knows: \
bit_precision, learning_rate, loss_function, noconstant
    """


class TicketError(ChaChaError, LookupError):
    """A ticket is wrong, already used, or expired.

    >>> import chacha
    >>> chacha.ChaCha.paper(pool=chacha.ReferencePool()).tell(7, 1.0)
    Traceback (most recent call last):
    chacha.errors.TicketError: ticket 7 was never issued by this model
    """


class MissingExtra(ChaChaError, ImportError):
    """An optional library is not installed; the message names the extra.

    >>> print(MissingExtra.of("vowpalwabbit", "vw"))
    vowpalwabbit is not installed; it comes with: pip install 'chacha-automl[vw]'
    """

    @classmethod
    def of(cls, library: str, extra: str, instead: str = "") -> MissingExtra:
        """Return the error for a missing `library` that the extra `extra` installs."""
        remedy = f"pip install 'chacha-automl[{extra}]'{instead}"
        return cls(f"{library} is not installed; it comes with: {remedy}")


def fail(file: str, message: str, cause: Exception | None = None) -> NoReturn:
    """Raise a :class:`PoolError` about a model file or a file beside it.

    >>> fail("model.vw", "it ends too early")
    Traceback (most recent call last):
    chacha.errors.PoolError: model.vw: it ends too early
    """
    raise PoolError(f"{file}: {message}") from cause
