"""Calls every operation with its documented example, with both clients; run by the tests of package clients."""

import asyncio
import inspect
import json
import os
import sys

import relaypdf

GROUPS = (
    "account barcodes billing connections convert email files fonts images jobs pdf pipelines signing_identities "
    "templates webhooks zip"
).split()


def method(client, operation):
    for group in GROUPS:
        if operation.startswith(group + "_"):
            return getattr(getattr(client, group), operation.removeprefix(group + "_"))
    return getattr(client.service, operation.removesuffix("_get"))


async def done(value):
    return await value if inspect.isawaitable(value) else value


async def result(call, expected):
    """Returns the media type and the value of a call's result."""
    if expected["status"] == 202:
        job = await done(call.start())
        return "application/json", job.state
    if hasattr(call, "page"):
        return "application/json", await done(call.page())
    if hasattr(call, "stream"):
        file = await done(call.stream())
        media_type, content = file.info.content_type.split(";")[0], await done(file.read())
        if not hasattr(call, "json") or media_type != "application/json":
            return media_type, content
    if hasattr(call, "json"):
        return "application/json", await done(call.json())
    return "application/json", await done(call)


async def every(client, calls):
    ids = {}
    for call in calls:
        operation = call["operation"]
        arguments = [ids[a[1:]] if str(a).startswith("$") else a for a in call["arguments"] or []]
        if call.get("upload"):
            arguments = [call["upload"].encode()]
        fields = call.get("body") or {}
        fields.pop("response", None)
        try:
            media_type, value = await result(method(client, operation)(*arguments, **fields), call)
        except Exception as error:
            raise AssertionError(f"{operation}: {error!r}") from error
        assert value and media_type in call["types"] + ["application/octet-stream"], (operation, media_type, call["types"])
        ids[operation] = value.get("id", "") if isinstance(value, dict) else ""
    return len(calls)


def read_calls():
    with open(sys.argv[1]) as file:
        return json.load(file)


base_url, key = os.environ["BASE_URL"], os.environ["KEY"]
with relaypdf.Relay(key, base_url) as relay:
    count = asyncio.run(every(relay, read_calls()))


async def asynchronous():
    # A delivery is replayed once.
    calls = [call for call in read_calls() if call["operation"] != "webhooks_deliveries_replay"]
    async with relaypdf.AsyncRelay(key, base_url) as relay:
        await every(relay, calls)


asyncio.run(asynchronous())
print(count)
