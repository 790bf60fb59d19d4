"""Verifies the deliveries to webhook endpoints."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, Union, cast

if TYPE_CHECKING:
    from .types import Event


class Headers(Protocol):
    """The headers of a request, as http.server, Django, Flask and Starlette have them. A dictionary is one too."""

    def items(self) -> Iterable[tuple[str, str]]: ...


class SignatureError(Exception):
    """A delivery that the service did not sign, or not lately."""


def verify(body: bytes, headers: Union[Headers, str], secret: str, tolerance: int = 300) -> Event:
    """Returns the event of a signed delivery.

    body is the body of the request, unchanged, headers all its headers, or only the value of Service-Signature. secret
    is that of the endpoint, tolerance the maximum age in seconds. One valid signature is enough, in Service-Signature
    or webhook-signature: while a secret is being rotated, only the latter has a signature of the new secret.
    """
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        raise ValueError("The secret must be whsec_ and Base64, as it was returned with the endpoint.") from None
    named = {"service-signature": headers} if isinstance(headers, str) else _lower(headers)

    parts: dict[str, str] = {}
    for part in named.get("service-signature", "").split(","):
        name, _, value = part.strip().partition("=")
        parts[name] = value
    at = parts.get("t", "")
    valid = _matches(_mac(secret.encode(), f"{at}.", body).hex(), [parts.get("v1", "")])
    if not (valid and _is_near(at, tolerance)):
        at = named.get("webhook-timestamp", "")
        wanted = base64.b64encode(_mac(key, f"{named.get('webhook-id', '')}.{at}.", body)).decode()
        signatures = named.get("webhook-signature", "").split()
        valid = _matches("v1," + wanted, signatures) and _is_near(at, tolerance)

    if not valid:
        raise SignatureError("No signature matches the body and the secret, or its time is too far from now.")
    return cast("Event", json.loads(body))


def _lower(headers: Headers) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _mac(key: bytes, prefix: str, body: bytes) -> bytes:
    return hmac.new(key, prefix.encode(errors="replace") + body, hashlib.sha256).digest()


def _matches(wanted: str, signatures: list[str]) -> bool:
    return any([hmac.compare_digest(wanted.encode(), sent.encode(errors="replace")) for sent in signatures])


def _is_near(at: str, tolerance: int) -> bool:
    # int also accepts digits that are not ASCII.
    return bool(re.fullmatch("[0-9]{1,15}", at)) and abs(time.time() - int(at)) <= tolerance
