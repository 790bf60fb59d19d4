"""Verifies the deliveries to webhook endpoints."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from .types import Event


class SignatureError(Exception):
    """A delivery that the service did not sign, or not lately."""


def verify(body: bytes, signature: str, secret: str, tolerance: int = 300) -> Event:
    """Returns the event of a signed delivery.

    body is the body of the request, unchanged, signature its header Service-Signature, secret that of the endpoint, and
    tolerance the maximum age in seconds.
    """
    parts: dict[str, str] = {}
    for part in signature.split(","):
        name, _, value = part.strip().partition("=")
        parts[name] = value
    sent = parts.get("v1", "")
    at = parts.get("t", "")
    # int also accepts digits that are not ASCII.
    if not re.fullmatch("[0-9]{1,15}", at) or abs(time.time() - int(at)) > tolerance:
        raise SignatureError("The signature has no time, or one too far from now.")

    wanted = hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(wanted.encode(), sent.encode(errors="replace")):
        raise SignatureError("The signature is wrong.")
    return cast("Event", json.loads(body))
