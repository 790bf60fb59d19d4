"""Client for relaypdf.

    relay = Relay(key=os.environ["RELAYPDF_API_KEY"])
    relay.pdf.create(html="<h1>Invoice 42</h1>", options={"format": "A4"}).save("invoice.pdf")

The module relaypdf.types has the types of the inputs and results.
"""

from ._async import (
    AsyncDownload,
    AsyncEntries,
    AsyncFile,
    AsyncFileCall,
    AsyncFileOrJSONCall,
    AsyncJob,
    AsyncJobCall,
    AsyncJSONCall,
    AsyncJSONJob,
)
from ._request import FileContent, FileInfo, RelayError, etag, version
from ._sync import Download, Entries, File, FileCall, FileOrJSONCall, Job, JobCall, JSONCall, JSONJob
from .client import AsyncRelay, Relay
from .webhooks import SignatureError, verify

__version__ = version()
__all__ = [
    "AsyncDownload",
    "AsyncEntries",
    "AsyncFile",
    "AsyncFileCall",
    "AsyncFileOrJSONCall",
    "AsyncJSONCall",
    "AsyncJSONJob",
    "AsyncJob",
    "AsyncJobCall",
    "AsyncRelay",
    "Download",
    "Entries",
    "File",
    "FileCall",
    "FileContent",
    "FileInfo",
    "FileOrJSONCall",
    "JSONCall",
    "JSONJob",
    "Job",
    "JobCall",
    "Relay",
    "RelayError",
    "SignatureError",
    "etag",
    "verify",
]
