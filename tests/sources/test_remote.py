"""Data that lies elsewhere: http, an object store, OpenML; each with the real library."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import openml
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chacha import TableSpec, open_source
from chacha.errors import ConfigError, SourceError
from tests.support.sources import TEXT, good, lines

TABLE = pa.table({"x": [1.5, 2.5], "c": ["u", "v"], "y": [1.0, 2.0]})
ROWS = ["1.0 |c c=u |x x:1.5", "2.0 |c c=v |x x:2.5"]


class Store(BaseHTTPRequestHandler):
    """Files by path, whole or in ranges: enough of HTTP, and of S3 to read an object."""

    files: dict[str, bytes] = {}  # noqa: RUF012
    ranges = True

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def do_HEAD(self) -> None:
        self._send(body=False)

    def do_GET(self) -> None:
        self._send(body=True)

    def _send(self, body: bool) -> None:
        data = self.files.get(self.path.partition("?")[0])
        if data is None:
            self.send_error(404)
            return
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        part = data
        if found and self.ranges:
            start, end = int(found[1]), int(found[2] or len(data) - 1)
            part = data[start : end + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{start + len(part) - 1}/{len(data)}")
        else:
            self.send_response(200)
        if self.ranges:
            self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Sun, 15 Nov 2026 10:42:00 GMT")
        self.end_headers()
        if body:
            self.wfile.write(part)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    pq.write_table(TABLE, tmp_path / "t.parquet")
    Store.files = {
        "/data/s.vw": TEXT.encode(),
        "/data/s.vw.gz": gzip.compress(TEXT.encode()),
        "/data/t.csv": b"x,c,y\n1.5,u,1\n2.5,v,2\n",
        "/data/t.parquet": (tmp_path / "t.parquet").read_bytes(),
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("ranges", [True, False])
def test_http(store: str, monkeypatch: pytest.MonkeyPatch, ranges: bool) -> None:
    monkeypatch.setattr(Store, "ranges", ranges)
    for name in ("s.vw", "s.vw.gz"):
        assert [row.line for row in good(open_source(f"http://{store}/data/{name}"))] == lines()
    assert [row.line for row in good(open_source(f"http://{store}/data/t.csv?v=1"))] == ROWS
    if ranges:
        assert [row.line for row in good(open_source(f"http://{store}/data/t.parquet"))] == ROWS
    with pytest.raises(SourceError, match=r"nothing\.csv: no such file"):
        open_source(f"http://{store}/nothing.csv")
    with pytest.raises(SourceError, match=r"http://127\.0\.0\.1:9/a\.csv: no such file there, or"):
        open_source("http://127.0.0.1:9/a.csv")


def test_an_object_store(store: str) -> None:
    options = f"endpoint_override={store}&scheme=http&region=eu"
    for name in ("t.csv", "t.parquet"):
        source = open_source(f"s3://key:secret@data/{name}?{options}")
        assert [row.line for row in good(source)] == ROWS


def test_files_by_address(tmp_path: Path) -> None:
    path = tmp_path / "s.vw.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    assert [row.line for row in good(open_source(path.as_uri()))] == lines()
    with pytest.raises(SourceError, match="no such file"):
        open_source((tmp_path / "no.csv").as_uri())


def test_a_missing_library_is_named() -> None:
    code = (
        "import sys; sys.modules['fsspec.implementations.http'] = sys.modules['openml'] = None\n"
        "import chacha\n"
        "for name in ('http://example.org/a.csv', 'openml:564'):\n"
        "    try:\n        chacha.open_source(name)\n"
        "    except chacha.errors.MissingExtra as error:\n        print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'chacha-automl[http]'" in done.stdout
    assert "pip install 'chacha-automl[openml]'" in done.stdout


DESCRIPTION = """<oml:data_set_description xmlns:oml="http://openml.org/openml">
<oml:id>{id}</oml:id><oml:name>rides</oml:name><oml:version>1</oml:version>
<oml:description>rides</oml:description><oml:format>ARFF</oml:format>
<oml:url>https://www.openml.org/data/v1/download/1/rides.arff</oml:url><oml:file_id>1</oml:file_id>
{more}<oml:row_id_attribute>id</oml:row_id_attribute>
<oml:ignore_attribute>noise</oml:ignore_attribute>
<oml:md5_checksum>{md5}</oml:md5_checksum></oml:data_set_description>"""
ARFF = """@relation rides
@attribute id numeric
@attribute y numeric
@attribute x numeric
@attribute noise numeric
@attribute c {u,v}
@data
1,1,1.5,7,u
2,2,2.5,8,v
"""


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    """OpenML's own cache, in a folder of the test; its server is out of reach."""
    before = openml.config.server, openml.config.connection_n_retries
    openml.config.set_root_cache_directory(tmp_path)
    openml.config.server = "http://127.0.0.1:9/api/v1/xml"
    openml.config.connection_n_retries = 1
    yield Path(openml.config.get_cache_directory()) / "datasets"
    openml.config.server, openml.config.connection_n_retries = before


def write_to_cache(cache: Path, number: int, more: str) -> None:
    folder = cache / str(number)
    folder.mkdir(parents=True)
    (folder / "description.xml").write_text(DESCRIPTION.format(id=number, more=more, md5="0"))
    (folder / "dataset.arff").write_text(ARFF)


def test_openml_by_number_from_its_cache(cache: Path) -> None:
    write_to_cache(cache, 564, "<oml:default_target_attribute>y</oml:default_target_attribute>")
    source = open_source("openml:564")
    assert source.name == "openml:564"
    assert [row.line for row in good(source)] == ROWS
    assert [row.line for row in good(source)] == ROWS, "twice"
    other = open_source("openml:564", TableSpec(target="x", ignore=("c",)))
    assert good(other)[0].line == "1.5 |y y"


def test_openml_says_what_is_wrong(cache: Path) -> None:
    with pytest.raises(SourceError, match=r"openml:7: could not be fetched, and is not in the cac"):
        open_source("openml:7")
    write_to_cache(cache, 8, "")
    with pytest.raises(ConfigError, match="openml:8: has no single target; choose one"):
        open_source("openml:8")
    assert good(open_source("openml:8", TableSpec(target="y")))[0].line == ROWS[0]
    with pytest.raises(ConfigError, match="give the number of a data set"):
        open_source("openml:fried")
