"""Client for relaypdf, of nothing but the standard library.

    relay = Relay(key=os.environ["RELAYPDF_API_KEY"])
    with relay.pdf(html="<h1>Invoice 42</h1>", options={"format": "A4"}) as result:
        result.save("invoice.pdf")
"""

from __future__ import annotations

import http.client
import json
import re
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from typing import IO, Any, TypedDict, cast

from .webhooks import Event, SignatureError, verify

__all__ = ["Event", "Job", "Relay", "RelayError", "Result", "SignatureError", "StoredFile", "Upload", "verify"]


class JobError(TypedDict):
    code: str
    message: str


class Job(TypedDict, total=False):
    id: str
    status: str
    pollUrl: str
    url: str
    filename: str
    sizeBytes: int
    expiresAt: str
    error: JobError


class StoredFile(TypedDict):
    id: str
    status: str
    url: str
    filename: str
    sizeBytes: int
    expiresAt: str


class Upload(TypedDict):
    id: str
    filename: str
    sizeBytes: int
    contentType: str
    expiresAt: str


class RelayError(Exception):
    """A refusal by the service."""

    def __init__(
        self, code: str, message: str, status: int, details: list[dict[str, Any]] | None = None,
        request_id: str = "", retry_after: int | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status = code, message, status
        self.details = details or []
        self.request_id, self.retry_after = request_id, retry_after


class Result:
    """A result on its way in: read it once, whole or in parts, and close it."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        headers = response.headers
        self.id: str = headers.get("x-service-id", "")
        self.content_type: str = headers.get("content-type", "")
        self.charged = int(headers.get("x-service-charged-microdollars", "0"))
        self.filename = _filename(headers.get("content-disposition", ""))

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        while part := self._response.read(64 << 10):
            yield part

    def read(self) -> bytes:
        with self._response:
            return self._response.read()

    def json(self) -> Any:
        return json.loads(self.read())

    def save(self, path: str) -> None:
        with self._response, open(path, "wb") as file:
            shutil.copyfileobj(self._response, file)

    def close(self) -> None:
        self._response.close()


# The longest Retry-After, in seconds, that is waited for.
_PATIENCE = 60


class Relay:
    """The service, for one key. It may be used by several threads."""

    def __init__(self, key: str = "", base_url: str = "http://localhost:8787", retries: int = 2, timeout: float = 120) -> None:
        self.key, self.base_url, self.retries, self.timeout = key, base_url.rstrip("/"), retries, timeout

    def pdf(self, **fields: Any) -> Result:
        """Makes a PDF: html, url, markdown or templateId, and options."""
        return self.run("pdf.create", fields)

    def image(self, **fields: Any) -> Result:
        """Makes an image: html, url or templateId, and options."""
        return self.run("images.create", fields)

    def run(self, operation: str, fields: Mapping[str, Any], *, idempotency_key: str = "", max_charge: int | None = None) -> Result:
        """Runs an operation by its name in the price list, such as pdf.merge."""
        return Result(self._call(operation, {**fields, "response": "binary"}, idempotency_key, max_charge))

    def url(self, operation: str, fields: Mapping[str, Any], *, idempotency_key: str = "", max_charge: int | None = None) -> StoredFile:
        """Runs an operation and returns the public URL of its result, which works for 24 hours by default."""
        return cast(StoredFile, _read(self._call(operation, {**fields, "response": "url"}, idempotency_key, max_charge)))

    def start(self, operation: str, fields: Mapping[str, Any], *, idempotency_key: str = "", max_charge: int | None = None) -> Job:
        """Starts an operation as a job; see wait."""
        return cast(Job, _read(self._call(operation, {**fields, "response": "async"}, idempotency_key, max_charge)))

    def job(self, id: str) -> Job:
        return cast(Job, self.get("/v1/jobs/" + urllib.parse.quote(id, safe="")))

    def wait(self, job: str | Job, timeout: float = 600) -> Job:
        """Waits until a job has ended. One that failed is a RelayError."""
        id = job if isinstance(job, str) else job["id"]
        end = time.monotonic() + timeout
        while True:
            now = self.job(id)
            if now["status"] == "completed":
                return now
            if now["status"] == "failed":
                raise RelayError(now["error"]["code"], now["error"]["message"], 200)
            if time.monotonic() > end:
                raise TimeoutError(f"The job {id} has not ended.")
            time.sleep(1)

    def upload(self, filename: str, content: bytes) -> Upload:
        """Keeps a file for a day; operations take its id as fileId."""
        headers = {"content-type": "application/octet-stream", "x-filename": urllib.parse.quote(filename)}
        return cast(Upload, _read(self.send("POST", "/v1/files", content, headers)))

    def download(self, id: str) -> Result:
        return Result(self.send("GET", "/v1/files/" + urllib.parse.quote(id, safe="")))

    def delete(self, id: str) -> None:
        self.send("DELETE", "/v1/files/" + urllib.parse.quote(id, safe="")).close()

    def get(self, path: str, **query: str | int) -> Any:
        return _read(self.send("GET", path + ("?" + urllib.parse.urlencode(query) if query else "")))

    def _call(self, operation: str, fields: Mapping[str, Any], key: str, max_charge: int | None) -> http.client.HTTPResponse:
        headers = {"content-type": "application/json", "idempotency-key": key or str(uuid.uuid4())}
        if max_charge is not None:
            headers["x-service-max-charge-microdollars"] = str(max_charge)
        path = "/v1/" + operation.removesuffix(".create").replace(".", "/")
        return self.send("POST", path, json.dumps(fields).encode(), headers)

    def send(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> http.client.HTTPResponse:
        """Sends a request, again where that is safe, and returns an answer that is a success."""
        headers = dict(headers or {})
        safe = method == "GET" or "idempotency-key" in headers
        if self.key:
            headers["authorization"] = "Bearer " + self.key
        attempt = 0
        while True:
            pause, again = min(2**attempt, 16), safe
            try:
                request = urllib.request.Request(self.base_url + path, data=body, headers=headers, method=method)
                return cast(http.client.HTTPResponse, urllib.request.urlopen(request, timeout=self.timeout))
            except urllib.error.HTTPError as answer:
                failure: Exception = _failure(answer)
                if isinstance(failure, RelayError):
                    pause = failure.retry_after if failure.retry_after is not None else pause
                    # What was rate limited did not run: it may be sent again in any case.
                    again = pause <= _PATIENCE and (failure.status == 429 or safe and failure.status >= 500)
            except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
                failure = error
            if not again or attempt >= self.retries:
                raise failure
            attempt += 1
            time.sleep(pause)


def _read(response: IO[bytes]) -> Any:
    with response:
        return json.load(response)


def _failure(answer: urllib.error.HTTPError) -> RelayError:
    said: Any = None
    with answer:
        try:
            said = json.load(answer)["error"]
        except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
            pass  # What stands between may answer anything, and break off.
    if not isinstance(said, dict):
        said = {}
    after = answer.headers.get("retry-after", "")
    return RelayError(
        said.get("code", "internal_error"), said.get("message", f"The server answered {answer.code}."), answer.code,
        said.get("details"), said.get("requestId", answer.headers.get("x-request-id", "")), int(after) if re.fullmatch("[0-9]{1,9}", after) else None,
    )


def _filename(disposition: str) -> str:
    if match := re.search(r"filename\*=UTF-8''([^;]+)", disposition):
        return urllib.parse.unquote(match[1])
    match = re.search(r'filename="([^"]*)"', disposition)
    return match[1] if match else ""
