"""As much of an S3 service as pyarrow's own client asks for: objects, listings, uploads in parts. Signatures are not checked.

An object appears when its upload is complete, as in the real one. `record` counts requests; `fail_writes` refuses uploads.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


@dataclass
class Bucket:
    """All objects, `bucket/key` → bytes, and what was asked."""

    objects: dict[str, bytes] = field(default_factory=dict)
    record: Counter[str] = field(default_factory=Counter)
    fail_writes: bool = False
    url: str = ""

    def __post_init__(self) -> None:
        self.uploads: dict[str, dict[int, bytes]] = {}


def _unchunk(data: bytes, encoding: str) -> bytes:
    """Undo the service's own chunks, in which a client sends checksums behind the data."""
    if "aws-chunked" not in encoding:
        return data
    whole = b""
    while data:
        head, _, data = data.partition(b"\r\n")
        size = int(head.split(b";")[0], 16)
        if not size:
            break
        whole, data = whole + data[:size], data[size + 2 :]
    return whole


class _Handler(BaseHTTPRequestHandler):
    bucket: Bucket
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_words: Any) -> None:
        pass

    @property
    def asked(self) -> tuple[str, dict[str, list[str]]]:
        parts = urlsplit(self.path)
        return unquote(parts.path).strip("/"), parse_qs(parts.query, keep_blank_values=True)

    def answer(self, code: int, body: bytes = b"", **headers: str) -> None:
        self.bucket.record[self.command] += 1
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), "ETag": '"x"', **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def xml(self, inside: str, code: int = 200) -> None:
        self.answer(code, f'<?xml version="1.0" encoding="UTF-8"?>{inside}'.encode(), Content_Type="application/xml")

    def body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            return _unchunk(b"".join(self._chunks()), self.headers.get("Content-Encoding", ""))
        return _unchunk(self.rfile.read(int(self.headers.get("Content-Length", 0))), self.headers.get("Content-Encoding", ""))

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass

    def do_HEAD(self) -> None:
        key, _ = self.asked
        found = self.bucket.objects.get(key)
        if "/" not in key:
            self.answer(200)
        elif found is None:
            self.answer(404)
        else:
            modified = "Sun, 15 Nov 2026 12:00:00 GMT"
            self.bucket.record["HEAD"] += 1
            self.send_response(200)
            self.send_header("Content-Length", str(len(found)))
            self.send_header("Last-Modified", modified)
            self.send_header("ETag", '"x"')
            self.end_headers()

    def do_GET(self) -> None:
        key, query = self.asked
        if "list-type" in query or "/" not in key:
            self.listing(key, query.get("prefix", [""])[0], query.get("delimiter", [""])[0])
        elif key not in self.bucket.objects:
            self.xml("<Error><Code>NoSuchKey</Code><Message>no</Message></Error>", 404)
        else:
            data = self.bucket.objects[key]
            if asked := self.headers.get("Range"):
                first, _, last = asked.removeprefix("bytes=").partition("-")
                piece = data[int(first) : int(last) + 1 if last else None]
                self.answer(206, piece, Content_Range=f"bytes {first}-{int(first) + len(piece) - 1}/{len(data)}")
            else:
                self.answer(200, data)

    def listing(self, bucket: str, prefix: str, delimiter: str) -> None:
        keys = sorted(name.removeprefix(f"{bucket}/") for name in self.bucket.objects if name.startswith(f"{bucket}/{prefix}"))
        folders = sorted({prefix + k[len(prefix) :].split("/")[0] + "/" for k in keys if delimiter and "/" in k[len(prefix) :]})
        files = [k for k in keys if not (delimiter and "/" in k[len(prefix) :])]
        day = "<LastModified>2026-11-15T12:00:00.000Z</LastModified><ETag>x</ETag><StorageClass>STANDARD</StorageClass>"
        shown = "".join(
            f"<Contents><Key>{escape(k)}</Key><Size>{len(self.bucket.objects[f'{bucket}/{k}'])}</Size>{day}</Contents>"
            for k in files
        )
        shown += "".join(f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in folders)
        count = f"<KeyCount>{len(files) + len(folders)}</KeyCount><IsTruncated>false</IsTruncated>"
        self.xml(f"<ListBucketResult><Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix>{count}{shown}</ListBucketResult>")

    def do_PUT(self) -> None:
        key, query = self.asked
        data = self.body()
        if self.bucket.fail_writes:
            self.xml("<Error><Code>AccessDenied</Code><Message>no room</Message></Error>", 403)
            return
        if "uploadId" in query:
            self.bucket.uploads[query["uploadId"][0]][int(query["partNumber"][0])] = data
        elif "/" in key:
            self.bucket.objects[key + ("/" if urlsplit(self.path).path.endswith("/") else "")] = data
        self.answer(200)

    def do_POST(self) -> None:
        key, query = self.asked
        data = self.body()
        if "delete" in query:
            for part in data.decode().split("<Key>")[1:]:
                self.bucket.objects.pop(f"{key}/{part.split('</Key>')[0]}", None)
            self.xml("<DeleteResult></DeleteResult>")
        elif "uploads" in query:
            number = str(len(self.bucket.uploads))
            self.bucket.uploads[number] = {}
            self.xml(f"<InitiateMultipartUploadResult><UploadId>{number}</UploadId></InitiateMultipartUploadResult>")
        else:
            pieces = self.bucket.uploads.pop(query["uploadId"][0])
            self.bucket.objects[key] = b"".join(pieces[number] for number in sorted(pieces))
            self.xml("<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")

    def do_DELETE(self) -> None:
        key, _ = self.asked
        self.bucket.objects.pop(key, None)
        self.bucket.objects.pop(key + "/", None)
        self.answer(204)


@contextmanager
def serving(bucket: Bucket) -> Iterator[Bucket]:
    """The service, for as long as the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"bucket": bucket}))
    server.daemon_threads = True
    bucket.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()
