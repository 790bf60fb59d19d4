"""The clients."""

from __future__ import annotations

from typing import Any

import httpx

from ._async import AsyncJSONJob, AsyncTransport
from ._async_groups import AsyncGroups
from ._groups import Groups
from ._request import Settings
from ._sync import JSONJob, Transport

DEFAULT_BASE_URL = "http://localhost:8787"

# Seconds. A pipeline may take 5 minutes.
DEFAULT_TIMEOUT = 360.0


class Relay(Groups):
    """The service, for one API key. It may be used by several threads.

    retries is the maximum number of retries of a request. timeout is the number of seconds without a byte after which
    one fails, None for no limit. With store=False, each paid call that does not set store sends "store": false, so the
    server keeps no copy of the input and the result. http_client sends the requests, with its proxies and certificates;
    close() does not close it.
    """

    def __init__(
        self,
        key: str = "",
        base_url: str = DEFAULT_BASE_URL,
        retries: int = 2,
        timeout: float | None = DEFAULT_TIMEOUT,
        store: bool = True,
        http_client: httpx.Client | None = None,
    ) -> None:
        self._transport = Transport(Settings(key, base_url, retries, timeout, store), http_client)
        super().__init__(self._transport)

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def job(self, id: str) -> JSONJob[Any]:
        """Returns a job that was started before, without a request."""
        return JSONJob(self._transport, {"id": id, "status": "processing"})


class AsyncRelay(AsyncGroups):
    """Relay for asyncio."""

    def __init__(
        self,
        key: str = "",
        base_url: str = DEFAULT_BASE_URL,
        retries: int = 2,
        timeout: float | None = DEFAULT_TIMEOUT,
        store: bool = True,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._transport = AsyncTransport(Settings(key, base_url, retries, timeout, store), http_client)
        super().__init__(self._transport)

    async def __aenter__(self) -> AsyncRelay:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    def job(self, id: str) -> AsyncJSONJob[Any]:
        """Returns a job that was started before, without a request."""
        return AsyncJSONJob(self._transport, {"id": id, "status": "processing"})
