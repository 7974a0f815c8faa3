"""The errors of chacha. Catch :class:`ChaChaError` to catch them all.

::

    ChaChaError
    ├── ConfigError     a setting is wrong (also a ValueError)
    ├── DataError       the data is wrong; the message names the place (also a ValueError)
    │   ├── SourceError     a source cannot be opened or read on
    │   └── BadExample      one example cannot be used
    ├── PoolError       a learner refused or failed (also a RuntimeError)
    ├── TicketError     a ticket is wrong, used or expired (also a LookupError)
    └── MissingExtra    an optional library is not installed (also an ImportError)

A message says which argument or place, which rule, what was got, and what to do.
"""

from __future__ import annotations

__all__ = [
    "BadExample",
    "ChaChaError",
    "ConfigError",
    "DataError",
    "MissingExtra",
    "PoolError",
    "SourceError",
    "TicketError",
]


class ChaChaError(Exception):
    """The root of all errors that chacha raises on purpose.

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

    >>> import chacha
    >>> issubclass(chacha.errors.BadExample, chacha.errors.DataError), issubclass(chacha.errors.DataError, ValueError)
    (True, True)
    """


class SourceError(DataError):
    """A source cannot be opened or read on.

    >>> import chacha
    >>> chacha.open_source("nowhere.vw")
    Traceback (most recent call last):
    chacha.errors.SourceError: nowhere.vw: no such file
    """


class BadExample(DataError):
    """One example cannot be used: no label, a value that is not finite, a malformed line.

    `reason` is the short form by which skipped rows are counted.

    >>> import chacha
    >>> chacha.data.parse_line("nan |a x:1")
    Traceback (most recent call last):
    chacha.errors.BadExample: the label is 'nan'; labels must be finite numbers
    """

    def __init__(self, message: str, reason: str = "malformed") -> None:
        super().__init__(message)
        self.reason = reason


class PoolError(ChaChaError, RuntimeError):
    """A learner refused a configuration or failed.

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
        """The error for a missing `library` that the extra `extra` brings."""
        remedy = f"pip install 'chacha-automl[{extra}]'{instead}"
        return cls(f"{library} is not installed; it comes with: {remedy}")
