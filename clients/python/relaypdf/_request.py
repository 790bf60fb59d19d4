"""What the clients for threads and for asyncio share: requests, retries, errors and headers."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import shutil
import urllib.parse
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any, BinaryIO, Union, cast

import httpx

if TYPE_CHECKING:
    from .types import ErrorDetail, JobStatusResponse

FileContent = Union[bytes, str, "os.PathLike[str]", BinaryIO]
"""The bytes of a file, its path, or a binary stream."""

Path = Union[str, "os.PathLike[str]"]

CHUNK = 64 << 10

# The longest Retry-After, in seconds, that is waited for.
_MAX_PAUSE = 60


def version() -> str:
    """Returns the version of the installed package, 0.0.0 if it is used without being installed."""
    try:
        return metadata.version("relaypdf")
    except metadata.PackageNotFoundError:
        return "0.0.0"


class RelayError(Exception):
    """A call that failed.

    status is the HTTP status, 0 if no response arrived. details name the fields and their valid values. retry_after is
    the number of seconds after which another attempt can succeed. from_server is False if relaypdf did not send the
    error: no response arrived, or a proxy sent it.
    """

    def __init__(
        self,
        code: str,
        message: str,
        status: int,
        details: list[ErrorDetail] | None = None,
        request_id: str = "",
        retry_after: int | None = None,
        from_server: bool = True,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.details = details or []
        self.request_id = request_id
        self.retry_after = retry_after
        self.from_server = from_server


@dataclass(frozen=True)
class FileInfo:
    """The metadata of a file. 1 USD is 1,000,000 microdollars."""

    id: str
    filename: str
    content_type: str
    size_bytes: int | None
    charged_microdollars: int
    warning_count: int
    replayed: bool
    request_id: str


def file_info(response: httpx.Response) -> FileInfo:
    headers = response.headers
    size = headers.get("x-service-size") or headers.get("content-length")
    return FileInfo(
        id=headers.get("x-service-id", ""),
        filename=_filename(headers.get("content-disposition", "")),
        content_type=headers.get("content-type", ""),
        size_bytes=int(size) if size else None,
        charged_microdollars=int(headers.get("x-service-charged-microdollars", "0")),
        warning_count=int(headers.get("x-service-warnings", "0")),
        replayed=headers.get("idempotent-replayed") == "true",
        request_id=headers.get("x-request-id", ""),
    )


def _filename(disposition: str) -> str:
    if match := re.search(r"filename\*=UTF-8''([^;]+)", disposition):
        return urllib.parse.unquote(match[1])
    match = re.search(r'filename="([^"]*)"', disposition)
    return match[1] if match else ""


@dataclass(frozen=True)
class Settings:
    """The settings of a client."""

    key: str
    base_url: str
    retries: int
    timeout: float | None
    store: bool

    def headers(self) -> dict[str, str]:
        headers = {"user-agent": f"relaypdf-python/{version()}"}
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        return headers


@dataclass
class Request:
    """One request, which can be sent again if it is safe. body returns its bytes, from the beginning."""

    method: str
    path: str
    query: dict[str, object] = field(default_factory=dict[str, object])
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: Callable[[], Any] | None = None
    timeout: float | None = None
    # A stream that cannot be read twice is sent once.
    repeatable: bool = True
    # Without a stored result, a repeat of a call that has run is refused.
    stored: bool = True

    def message(self, client: httpx.Client | httpx.AsyncClient, settings: Settings) -> httpx.Request:
        return client.build_request(
            self.method,
            settings.base_url.rstrip("/") + self.path,
            params=cast("Mapping[str, Any]", self.query),
            headers={**settings.headers(), **self.headers},
            content=self.body() if self.body else None,
            timeout=settings.timeout if self.timeout is None else self.timeout,
        )

    def pause(self, failure: RelayError, attempt: int) -> float | None:
        """Returns the seconds to wait before the request may be sent again, or None."""
        if not self.repeatable:
            return None
        pause = failure.retry_after if failure.retry_after is not None else min(2**attempt, 16)
        safe = self.method == "GET" or "idempotency-key" in self.headers and (self.stored or failure.from_server)
        # The server has not run what it limited: this may be sent again in any case.
        again = failure.status == 429 or safe and (failure.status == 0 or failure.status >= 500)
        return pause if again and pause <= _MAX_PAUSE else None


def path(pattern: str, *arguments: str | int) -> str:
    return pattern.format(*(urllib.parse.quote(str(argument), safe="") for argument in arguments))


def json_request(
    method: str,
    path: str,
    query: Mapping[str, object] | None = None,
    body: Mapping[str, object] | None = None,
    timeout: float | None = None,
    if_match: str | None = None,
) -> Request:
    query = {name: value for name, value in (query or {}).items() if value is not None}
    request = Request(method, path, query, timeout=timeout)
    if if_match is not None:
        request.headers["if-match"] = if_match
    if body is not None:
        set_json(request, body)
    return request


def set_json(request: Request, fields: Mapping[str, object]) -> None:
    # In Python, the names of fields that are keywords have a _ at their end.
    text = json.dumps({name.rstrip("_"): value for name, value in fields.items()}, default=_encode).encode()
    request.headers["content-type"] = "application/json"
    request.body = lambda: text


def _encode(value: object) -> str:
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} is not a JSON value")


class _Tagged(dict[str, Any]):
    """A result with the ETag of its response."""

    etag = ""


def json_result(response: httpx.Response) -> Any:
    result: Any = response.json()
    if not isinstance(result, dict) or "etag" not in response.headers:
        return cast(Any, result)

    tagged = _Tagged(cast("dict[str, Any]", result))
    tagged.etag = response.headers["etag"]
    return tagged


def etag(result: Mapping[str, object]) -> str:
    """Returns the ETag of a template, for the argument if_match of its next change."""
    if not isinstance(result, _Tagged):
        raise ValueError("The result has no ETag.")
    return result.etag


class PaidRequest:
    """A call of a paid operation, before its form is known: binary, url or async.

    Each attempt has the same idempotency key, so the server runs and charges the call once.
    """

    def __init__(
        self,
        path: str,
        fields: Mapping[str, object],
        idempotency_key: str | None,
        max_charge: int | None,
        timeout: float | None,
    ) -> None:
        self._path = path
        self._fields = fields
        self._timeout = timeout
        self._form = ""
        self._headers = {"idempotency-key": idempotency_key or str(uuid.uuid4())}
        if max_charge is not None:
            self._headers["x-service-max-charge-microdollars"] = str(max_charge)

    def request(self, form: str, settings: Settings) -> Request:
        if self._form not in ("", form):
            raise RuntimeError(f"The call was sent with response {self._form}. Make another call for {form}.")
        self._form = form

        fields: dict[str, object] = {**self._fields, "response": form}
        if not settings.store:
            fields.setdefault("store", False)
        stored = fields.get("store") is not False
        request = Request("POST", self._path, headers=dict(self._headers), timeout=self._timeout, stored=stored)
        set_json(request, fields)
        return request

    def refuse_quote(self) -> None:
        if self._fields.get("quote"):
            raise RuntimeError("A call with quote returns a price, and neither a job nor a URL. Use json().")


def upload_request(
    path: str, content: BinaryIO, filename: str | None, timeout: float | None, body: Callable[[], Any]
) -> Request:
    name = filename or os.path.basename(str(getattr(content, "name", ""))) or "file"
    headers = {"content-type": "application/octet-stream", "x-filename": urllib.parse.quote(name, safe="")}

    request = Request("POST", path, headers=headers, timeout=timeout, repeatable=content.seekable())
    start = content.tell() if request.repeatable else 0
    if request.repeatable:
        headers["content-length"] = str(content.seek(0, io.SEEK_END) - start)

    def from_start() -> Any:
        if request.repeatable:
            content.seek(start)
        return body()

    request.body = from_start
    return request


def open_content(file: FileContent) -> BinaryIO:
    if isinstance(file, bytes):
        return io.BytesIO(file)
    if isinstance(file, (str, os.PathLike)):
        return open(file, "rb")
    return file


def chunks(content: BinaryIO) -> Iterable[bytes]:
    while chunk := content.read(CHUNK):
        yield chunk


@contextlib.contextmanager
def replacement(path: Path) -> Generator[BinaryIO, None, None]:
    """Opens a temporary file that replaces the file of a path once it is written. A failure removes it."""
    exists = os.path.exists(path)
    if exists and not os.path.isfile(path):
        with open(path, "wb") as file:  # A device or a pipe is written, not replaced.
            yield file
        return

    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f".{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
        if exists:
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)
        raise


def refusal(response: httpx.Response, body: bytes) -> RelayError:
    """Returns the error of a response that is not a success."""
    try:
        error: Any = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        error = None  # A proxy can respond with anything.
    if not isinstance(error, dict):
        error = {}

    content = cast("dict[str, Any]", error)
    return RelayError(
        content.get("code", "internal_error"),
        content.get("message", f"The server returned status {response.status_code}."),
        response.status_code,
        content.get("details"),
        content.get("requestId", response.headers.get("x-request-id", "")),
        retry_after(response),
        from_server="code" in content,
    )


def unreachable(error: httpx.RequestError) -> RelayError:
    failure = RelayError("no_response", str(error) or type(error).__name__, 0, from_server=False)
    failure.__cause__ = error
    return failure


def retry_after(response: httpx.Response) -> int | None:
    text = response.headers.get("retry-after", "")
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None


def read_json(response: httpx.Response) -> Any:
    """Returns the result of a call that was asked for JSON."""
    if response.status_code == 202:
        raise RuntimeError(f"The server runs the call as the job {response.json()['id']}. Use start() and wait().")
    content_type = response.headers.get("content-type", "")
    if not content_type.startswith("application/json"):
        raise RuntimeError(f"The result is a file of the type {content_type}. Use save(), bytes() or stream().")
    return response.json()


def next_poll(response: httpx.Response) -> float:
    """Returns the seconds until a job should be asked for again."""
    return min(retry_after(response) or 1, _MAX_PAUSE)


def has_ended(job: JobStatusResponse) -> bool:
    """Reports whether a job has completed. A failed job raises its error."""
    if job["status"] == "failed":
        error = job.get("error", {"code": "internal_error", "message": "The job failed."})
        raise RelayError(error["code"], error["message"], 200)
    return job["status"] == "completed"
