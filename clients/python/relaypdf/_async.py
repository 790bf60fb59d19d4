"""The calls of the client for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar, cast

import httpx

from ._request import (
    CHUNK,
    FileContent,
    FileInfo,
    PaidRequest,
    Path,
    Request,
    Settings,
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
JobT = TypeVar("JobT", bound="AsyncJob")

Bytes = bytes  # In the classes with a method bytes.


class AsyncTransport:
    """Sends requests, and again what failed and may be sent again."""

    def __init__(self, settings: Settings, client: httpx.AsyncClient | None) -> None:
        self.settings = settings
        self._http = client or httpx.AsyncClient()
        self._owned = client is None

    async def close(self) -> None:
        if self._owned:
            await self._http.aclose()

    async def send(self, request: Request, stream: bool = False) -> httpx.Response:
        """Returns a response that is a success, with its body unless it is a stream, which the caller closes."""
        attempt = 0
        while True:
            try:
                message = request.message(self._http, self.settings)
                # Stored files can be in a bucket, at another host: httpx does not send it the key.
                response = await self._http.send(message, stream=True, follow_redirects=True)
                if response.is_success:
                    if not stream:
                        await response.aread()
                    return response
                failure = refusal(response, await self._body(response))
            except httpx.RequestError as error:
                failure = unreachable(error)

            pause = request.pause(failure, attempt)
            if pause is None or attempt >= self.settings.retries:
                raise failure
            await asyncio.sleep(pause)
            attempt += 1

    async def _body(self, response: httpx.Response) -> bytes:
        try:
            return await response.aread()
        except httpx.RequestError:
            return b""  # The status is known.
        finally:
            await response.aclose()

    async def json(
        self,
        method: str,
        path: str,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, object] | None = None,
        timeout: float | None = None,
        if_match: str | None = None,
    ) -> Any:
        return json_result(await self.send(json_request(method, path, query, body, timeout, if_match)))

    async def upload(self, path: str, file: FileContent, filename: str | None, timeout: float | None) -> Any:
        content = open_content(file)
        try:
            request = upload_request(path, content, filename, timeout, lambda: _chunks(content))
            return json_result(await self.send(request))
        finally:
            if content is not file:
                content.close()


async def _chunks(content: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(content.read, CHUNK):
        yield chunk


class AsyncFile:
    """A file that is being received: iterate over its bytes, read() or save() it, once. Close it, or use async with."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.info: FileInfo = file_info(response)

    async def __aenter__(self) -> AsyncFile:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.aiter_bytes(CHUNK):
                yield chunk
        except httpx.RequestError as error:
            raise unreachable(error) from error

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self])

    async def save(self, path: Path) -> FileInfo:
        with replacement(path) as file:
            async for chunk in self:
                await asyncio.to_thread(file.write, chunk)
        return self.info

    async def close(self) -> None:
        await self._response.aclose()


class AsyncDownload:
    """A file of the server. Its request is sent when one of the methods is awaited."""

    def __init__(self, transport: AsyncTransport, path: str, timeout: float | None = None) -> None:
        self._transport = transport
        self._path = path
        self._timeout = timeout

    def _request(self) -> Request:
        return Request("GET", self._path, timeout=self._timeout)

    async def _send(self, stream: bool = False) -> httpx.Response:
        return await self._transport.send(self._request(), stream)

    async def stream(self) -> AsyncFile:
        """Returns the file while it is being received, with its metadata in info."""
        return AsyncFile(await self._send(stream=True))

    async def bytes(self) -> Bytes:
        """Returns the file."""
        return (await self._send()).content

    async def save(self, path: Path) -> FileInfo:
        """Writes the file to a path, and returns its metadata."""
        async with await self.stream() as file:
            return await file.save(path)

    async def __aiter__(self) -> AsyncIterator[Bytes]:
        async with await self.stream() as file:
            async for chunk in file:
                yield chunk


class AsyncJob(AsyncDownload):
    """A call that the server runs in the background. state is its latest status.

    The methods that return the result wait for the end of the job.
    """

    def __init__(self, transport: AsyncTransport, state: JobStatusResponse) -> None:
        super().__init__(transport, path("/v1/files/{}", state["id"]))
        self.id: str = state["id"]
        self.state: JobStatusResponse = state

    async def _send(self, stream: bool = False) -> httpx.Response:
        if not has_ended(self.state):
            await self.wait()
        return await super()._send(stream)

    async def refresh(self) -> JobStatusResponse:
        """Gets the status of the job."""
        await self._poll()
        return self.state

    async def _poll(self) -> float:
        response = await self._transport.send(Request("GET", path("/v1/jobs/{}", self.id)))
        self.state = cast("JobStatusResponse", response.json())
        return next_poll(response)

    async def wait(
        self: JobT, progress: Callable[[JobStatusResponse], object] | None = None, timeout: float | None = None
    ) -> JobT:
        """Waits until the job has completed, and returns it.

        progress is called with each status. A failed job raises its RelayError, and a job that runs for longer than
        timeout seconds a TimeoutError.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            pause = await self._poll()
            if progress:
                progress(self.state)
            if has_ended(self.state):
                return self
            if end is not None and time.monotonic() + pause > end:
                raise TimeoutError(f"The job {self.id} has not ended.")
            await asyncio.sleep(pause)

    async def cancel(self) -> JobStatusResponse:
        """Cancels the job. A bulk job keeps the documents that it has made, and is charged for them."""
        self.state = cast("JobStatusResponse", await self._transport.json("DELETE", path("/v1/jobs/{}", self.id)))
        return self.state


class AsyncJSONJob(AsyncJob, Generic[T]):
    """A job whose result is JSON."""

    async def json(self) -> T:
        """Waits for the end of the job, and returns its result."""
        return cast(T, (await self._send()).json())


class AsyncPaidCall:
    """A call of an operation. It is sent when one of the methods is awaited."""

    def __init__(self, transport: AsyncTransport, paid: PaidRequest) -> None:
        self._transport = transport
        self._paid = paid

    async def _json(self, form: str) -> Any:
        self._paid.refuse_quote()
        return (await self._transport.send(self._paid.request(form, self._transport.settings))).json()


class AsyncResultCall(AsyncPaidCall):
    """A call that returns its result, or stores it, or starts a job."""

    async def url(self) -> FileUrlResponse:
        """Runs the call and returns the public URL of its result, which works for 24 hours by default."""
        return cast("FileUrlResponse", await self._json("url"))

    async def start(self) -> AsyncJob:
        """Starts the call as a job."""
        return AsyncJob(self._transport, await self._json("async"))


class AsyncFileCall(AsyncResultCall, AsyncDownload):
    """A call whose result is a file."""

    def _request(self) -> Request:
        return self._paid.request("binary", self._transport.settings)


class AsyncJSONCall(AsyncResultCall, Generic[T]):
    """A call whose result is JSON. To await it is to await json()."""

    async def json(self) -> T:
        """Runs the call and returns its result."""
        request = self._paid.request("binary", self._transport.settings)
        return cast(T, read_json(await self._transport.send(request)))

    def __await__(self) -> Generator[Any, None, T]:
        return self.json().__await__()

    async def start(self) -> AsyncJSONJob[T]:
        """Starts the call as a job."""
        return AsyncJSONJob(self._transport, await self._json("async"))


class AsyncFileOrJSONCall(AsyncJSONCall[T], AsyncFileCall):
    """A call whose result is a file or JSON, as its input says."""


class AsyncJobCall(AsyncPaidCall, Generic[T]):
    """A call that is always a job."""

    async def start(self) -> AsyncJSONJob[Any]:
        """Starts the job."""
        return AsyncJSONJob(self._transport, await self._json("async"))

    async def save(self, path: Path, progress: Callable[[JobStatusResponse], object] | None = None) -> FileInfo:
        """Starts the job, waits for its end, and writes its result to a path."""
        job = await self.start()
        await job.wait(progress)
        return await job.save(path)

    async def json(self) -> T:
        """Returns the response of a call that starts no job, such as one with quote."""
        request = self._paid.request("async", self._transport.settings)
        return cast(T, read_json(await self._transport.send(request)))


class AsyncEntries(Generic[PageT, EntryT]):
    """The entries of a list: iterate over all of them, or get one page."""

    def __init__(
        self, transport: AsyncTransport, path: str, query: Mapping[str, object], name: str, timeout: float | None
    ) -> None:
        self._transport = transport
        self._path = path
        self._query = query
        self._name = name
        self._timeout = timeout

    async def page(self) -> PageT:
        """Returns one page, which begins at the cursor if the call has one."""
        return cast(PageT, await self._transport.json("GET", self._path, self._query, timeout=self._timeout))

    async def __aiter__(self) -> AsyncIterator[EntryT]:
        query = dict(self._query)
        while True:
            page = await self._transport.json("GET", self._path, query, timeout=self._timeout)
            for entry in page[self._name]:
                yield entry
            query["cursor"] = page.get("nextCursor")
            if query["cursor"] is None:
                return
