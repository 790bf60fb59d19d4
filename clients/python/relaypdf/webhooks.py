"""Verifies what the service sends to webhook endpoints."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from typing import Any, TypedDict, cast


class Event(TypedDict):
    """What an endpoint is sent. Its id is the same in every attempt."""

    id: str
    type: str
    createdAt: str
    data: dict[str, Any]


class SignatureError(Exception):
    """The service did not send this, or not lately."""


def verify(body: bytes, signature: str, secret: str, tolerance: int = 300) -> Event:
    """Returns the event of a delivery that is signed.

    body is the request's as it came, signature its header Service-Signature,
    secret the endpoint's, tolerance the age in seconds that is accepted.
    """
    parts = dict(part.strip().partition("=")[::2] for part in signature.split(","))
    sent, at = parts.get("v1", ""), parts.get("t", "")
    # What is no digit of ASCII is none of int, which takes no endless ones either.
    if not re.fullmatch("[0-9]{1,15}", at) or abs(time.time() - int(at)) > tolerance:
        raise SignatureError("The signature has no time, or one too far from now.")
    wanted = hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(wanted.encode(), sent.encode(errors="replace")):
        raise SignatureError("The signature is wrong.")
    return cast(Event, json.loads(body))
