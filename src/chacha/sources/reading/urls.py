"""Addresses: object stores through Arrow's filesystems, http(s) through fsspec."""

from __future__ import annotations

import re
from importlib import import_module

import pyarrow as pa
from pyarrow import fs as pafs

from chacha.errors import MissingExtra, SourceError

__all__ = ["is_url", "open_url"]

_URL = re.compile(r"(https?|s3|gs|gcs|abfss?|hdfs|file)://", re.IGNORECASE)


def is_url(path: str) -> bool:
    """Return whether `path` is an address rather than the name of a file.

    >>> is_url("https://example.org/a.csv"), is_url("s3://bucket/a.csv"), is_url("a.csv")
    (True, True, False)
    """
    return _URL.match(path) is not None


def _web(streamed: bool) -> pafs.FileSystem:
    try:
        http = import_module("fsspec.implementations.http")
    except ImportError as error:
        raise MissingExtra.of("fsspec (for http addresses)", "http") from error
    # Without blocks the server need not support ranges, but then there is no seeking.
    web = http.HTTPFileSystem(**({"block_size": 0} if streamed else {}))
    return pafs.PyFileSystem(pafs.FSSpecHandler(web))


def open_url(url: str, streamed: bool = True) -> pa.NativeFile:
    """Open the file at an address, to be read from its start or at random.

    >>> open_url("file:///no/such/file")
    Traceback (most recent call last):
    chacha.errors.SourceError: file:///no/such/file: no such file there, or it cannot be reached
    """
    try:
        if url.lower().startswith("http"):
            store, path = _web(streamed), url
        else:
            store, path = pafs.FileSystem.from_uri(url)
        return store.open_input_stream(path) if streamed else store.open_input_file(path)
    except FileNotFoundError as error:
        raise SourceError(f"{url}: no such file there, or it cannot be reached") from error
    except MissingExtra:
        raise
    except Exception as error:  # every store has its own errors
        lines = str(error).strip().splitlines()
        raise SourceError(f"{url}: cannot be opened: {(lines or [repr(error)])[0]}") from error
