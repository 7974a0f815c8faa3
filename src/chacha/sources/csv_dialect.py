"""How a CSV file is written: delimiter, quote, header, decimal point, encoding."""

from __future__ import annotations

from dataclasses import dataclass

from chacha.errors import ConfigError

__all__ = ["CsvDialect"]


@dataclass(frozen=True)
class CsvDialect:
    """How a CSV file is written; what is None is detected from its first lines.

    Parameters
    ----------
    delimiter
        One character between cells; `,`, `;`, tab and `|` are detected.
    quote
        One character around cells that hold delimiters or line breaks; "" for none.
    header
        Whether line 1 names the columns; by default, unless it holds numbers only.
    decimal
        `.` or `,`. A comma is detected where it is not the delimiter.
    encoding
        Any that Python has; UTF-8 by default.

    Examples
    --------
    >>> CsvDialect(delimiter=";", decimal=",").quote
    '"'
    """

    delimiter: str | None = None
    quote: str = '"'
    header: bool | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in "\r\n\0"):
            raise ConfigError(f"the delimiter must be one character, got {self.delimiter!r}")
        if len(self.quote) > 1 or not self.quote.isascii() or self.quote in ("\r", "\n"):
            raise ConfigError(f"the quote must be one character or none, got {self.quote!r}")
        if self.decimal not in (None, ".", ","):
            raise ConfigError(f"the decimal point must be '.' or ',', got {self.decimal!r}")
        if self.delimiter is not None and self.delimiter in (self.decimal, self.quote):
            raise ConfigError(
                f"{self.delimiter!r} cannot be the delimiter and also decimal or quote"
            )
        if self.delimiter is not None and not self.delimiter.isascii():
            raise ConfigError(f"the delimiter must be an ASCII character, got {self.delimiter!r}")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, UnicodeError) as error:
                raise ConfigError(f"there is no encoding {self.encoding!r}") from error
