"""The calls of the client for threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import httpx

from ._request import (
    CHUNK,
    FileContent,
    FileInfo,
    PaidRequest,
    Path,
    Request,
    Settings,
    chunks,
    file_info,
    has_ended,
    json_request,
    json_result,
    next_poll,
    open_content,
    path,
    read_json,
    refusal,
    replacement,
    unreachable,
    upload_request,
)

if TYPE_CHECKING:
    from .types import FileUrlResponse, JobStatusResponse

T = TypeVar("T")
PageT = TypeVar("PageT")
EntryT = TypeVar("EntryT")
JobT = TypeVar("JobT", bound="Job")

Bytes = bytes  # In the classes with a method bytes.


class Transport:
    """Sends requests, and again what failed and may be sent again. It may be used by several threads."""

    def __init__(self, settings: Settings, client: httpx.Client | None) -> None:
        self.settings = settings
        self._http = client or httpx.Client()
        self._owned = client is None

    def close(self) -> None:
        if self._owned:
            self._http.close()

    def send(self, request: Request, stream: bool = False) -> httpx.Response:
        """Returns a response that is a success, with its body unless it is a stream, which the caller closes."""
        attempt = 0
        while True:
            try:
                message = request.message(self._http, self.settings)
                # Stored files can be in a bucket, at another host: httpx does not send it the key.
                response = self._http.send(message, stream=True, follow_redirects=True)
                if response.is_success:
                    if not stream:
                        response.read()
                    return response
                failure = refusal(response, self._body(response))
            except httpx.RequestError as error:
                failure = unreachable(error)

            pause = request.pause(failure, attempt)
            if pause is None or attempt >= self.settings.retries:
                raise failure
            time.sleep(pause)
            attempt += 1

    def _body(self, response: httpx.Response) -> bytes:
        try:
            return response.read()
        except httpx.RequestError:
            return b""  # The status is known.
        finally:
            response.close()

    def json(
        self,
        method: str,
        path: str,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        if_match: str | None = None,
    ) -> Any:
        return json_result(self.send(json_request(method, path, query, body, timeout, if_match)))

    def upload(self, path: str, file: FileContent, filename: str | None, timeout: float | None) -> Any:
        content = open_content(file)
        try:
            request = upload_request(path, content, filename, timeout, lambda: chunks(content))
            return json_result(self.send(request))
        finally:
            if content is not file:
                content.close()


class File:
    """A file that is being received: iterate over its bytes, read() or save() it, once. Close it, or use with."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.info: FileInfo = file_info(response)

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._response.iter_bytes(CHUNK)
        except httpx.RequestError as error:
            raise unreachable(error) from error

    def read(self) -> bytes:
        return b"".join(self)

    def save(self, path: Path) -> FileInfo:
        with replacement(path) as file:
            for chunk in self:
                file.write(chunk)
        return self.info

    def close(self) -> None:
        self._response.close()


class Download:
    """A file of the server. Its request is sent when one of the methods is called."""

    def __init__(self, transport: Transport, path: str, timeout: float | None = None) -> None:
        self._transport = transport
        self._path = path
        self._timeout = timeout

    def _request(self) -> Request:
        return Request("GET", self._path, timeout=self._timeout)

    def _send(self, stream: bool = False) -> httpx.Response:
        return self._transport.send(self._request(), stream)

    def stream(self) -> File:
        """Returns the file while it is being received, with its metadata in info."""
        return File(self._send(stream=True))

    def bytes(self) -> Bytes:
        """Returns the file."""
        return self._send().content

    def save(self, path: Path) -> FileInfo:
        """Writes the file to a path, and returns its metadata."""
        with self.stream() as file:
            return file.save(path)

    def __iter__(self) -> Iterator[Bytes]:
        with self.stream() as file:
            yield from file


class Job(Download):
    """A call that the server runs in the background. state is its latest status.

    The methods that return the result wait for the end of the job.
    """

    def __init__(self, transport: Transport, state: JobStatusResponse) -> None:
        super().__init__(transport, path("/v1/files/{}", state["id"]))
        self.id: str = state["id"]
        self.state: JobStatusResponse = state

    def _send(self, stream: bool = False) -> httpx.Response:
        if not has_ended(self.state):
            self.wait()
        return super()._send(stream)

    def refresh(self) -> JobStatusResponse:
        """Gets the status of the job."""
        self._poll()
        return self.state

    def _poll(self) -> float:
        response = self._transport.send(Request("GET", path("/v1/jobs/{}", self.id)))
        self.state = cast("JobStatusResponse", response.json())
        return next_poll(response)

    def wait(
        self: JobT, progress: Callable[[JobStatusResponse], object] | None = None, timeout: float | None = None
    ) -> JobT:
        """Waits until the job has completed, and returns it.

        progress is called with each status. A failed job raises its RelayError, and a job that runs for longer than
        timeout seconds a TimeoutError.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            pause = self._poll()
            if progress:
                progress(self.state)
            if has_ended(self.state):
                return self
            if end is not None and time.monotonic() + pause > end:
                raise TimeoutError(f"The job {self.id} has not ended.")
            time.sleep(pause)

    def cancel(self) -> JobStatusResponse:
        """Cancels the job. A bulk job keeps the documents that it has made, and is charged for them."""
        self.state = cast("JobStatusResponse", self._transport.json("DELETE", path("/v1/jobs/{}", self.id)))
        return self.state


class JSONJob(Job, Generic[T]):
    """A job whose result is JSON."""

    def json(self) -> T:
        """Waits for the end of the job, and returns its result."""
        return cast(T, self._send().json())


class PaidCall:
    """A call of an operation. It is sent when one of the methods is called."""

    def __init__(self, transport: Transport, paid: PaidRequest) -> None:
        self._transport = transport
        self._paid = paid

    def _json(self, form: str) -> Any:
        self._paid.refuse_quote()
        return self._transport.send(self._paid.request(form, self._transport.settings)).json()


class ResultCall(PaidCall):
    """A call that returns its result, or stores it, or starts a job."""

    def url(self) -> FileUrlResponse:
        """Runs the call and returns the public URL of its result, which works for 24 hours by default."""
        return cast("FileUrlResponse", self._json("url"))

    def start(self) -> Job:
        """Starts the call as a job."""
        return Job(self._transport, self._json("async"))


class FileCall(ResultCall, Download):
    """A call whose result is a file."""

    def _request(self) -> Request:
        return self._paid.request("binary", self._transport.settings)


class JSONCall(ResultCall, Generic[T]):
    """A call whose result is JSON."""

    def json(self) -> T:
        """Runs the call and returns its result."""
        request = self._paid.request("binary", self._transport.settings)
        return cast(T, read_json(self._transport.send(request)))

    def start(self) -> JSONJob[T]:
        """Starts the call as a job."""
        return JSONJob(self._transport, self._json("async"))


class FileOrJSONCall(JSONCall[T], FileCall):
    """A call whose result is a file or JSON, as its input says."""


class JobCall(PaidCall, Generic[T]):
    """A call that is always a job."""

    def start(self) -> JSONJob[Any]:
        """Starts the job."""
        return JSONJob(self._transport, self._json("async"))

    def save(self, path: Path, progress: Callable[[JobStatusResponse], object] | None = None) -> FileInfo:
        """Starts the job, waits for its end, and writes its result to a path."""
        job = self.start()
        job.wait(progress)
        return job.save(path)

    def json(self) -> T:
        """Returns the response of a call that starts no job, such as one with quote."""
        request = self._paid.request("async", self._transport.settings)
        return cast(T, read_json(self._transport.send(request)))


class Entries(Generic[PageT, EntryT]):
    """The entries of a list: iterate over all of them, or get one page."""

    def __init__(
        self, transport: Transport, path: str, query: Mapping[str, object], name: str, timeout: float | None
    ) -> None:
        self._transport = transport
        self._path = path
        self._query = query
        self._name = name
        self._timeout = timeout

    def page(self) -> PageT:
        """Returns one page, which begins at the cursor if the call has one."""
        return cast(PageT, self._transport.json("GET", self._path, self._query, timeout=self._timeout))

    def __iter__(self) -> Iterator[EntryT]:
        query = dict(self._query)
        while True:
            page = self._transport.json("GET", self._path, query, timeout=self._timeout)
            yield from page[self._name]
            query["cursor"] = page.get("nextCursor")
            if query["cursor"] is None:
                return
