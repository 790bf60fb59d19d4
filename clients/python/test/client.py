"""Drives the client against the service; run by the tests of package clients."""

import asyncio
import base64
import hashlib
import hmac
import io
import os
import re
import tempfile
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx

from relaypdf import AsyncRelay, Relay, RelayError, SignatureError, etag, verify

base_url, key = os.environ["BASE_URL"], os.environ["KEY"]
relay = Relay(key, base_url)
folder = Path(tempfile.mkdtemp())


def refused(code, call):
    try:
        call()
    except RelayError as error:
        assert error.code == code, error
        return error
    raise AssertionError("not refused: " + code)


# A file, through a failure of the service that is tried again.
info = relay.barcodes.create(type="qr", text="hello", filename="Größe").save(folder / "a.png")
assert (info.filename, info.content_type, info.charged_microdollars, info.warning_count) == ("Größe.png", "image/png", 100, 0), info
assert info.id.startswith("file_") and not info.replayed, info
content = (folder / "a.png").read_bytes()
assert content[:4] == b"\x89PNG" and info.size_bytes == len(content), info
assert relay.barcodes.create(type="qr", text="hello").bytes() == content
assert b"".join(relay.barcodes.create(type="qr", text="hello")) == content
with relay.barcodes.create(type="qr", text="hello").stream() as file:
    assert file.info.content_type == "image/png" and file.read() == content

# A call is sent in one form. The same key is charged once.
call = relay.barcodes.create(type="qr", text="x", idempotency_key="py", max_charge=100)
stored = call.url()
assert call.url()["id"] == stored["id"]
try:
    call.bytes()
    raise AssertionError("sent in another form")
except RuntimeError as error:
    assert "binary" in str(error)
assert len(relay.files.get(stored["id"]).bytes()) == stored["sizeBytes"]
refused("payment_required", relay.barcodes.create(type="qr", text="y", max_charge=1).bytes)

# A job, with its progress.
seen = []
job = relay.barcodes.create(type="ean13", text="4006381333931").start()
again = relay.job(job.id)
assert again.save(folder / "b.png").filename == again.state["filename"], "save waits for the end of the job"
assert job.wait(progress=seen.append) is job
assert seen[-1]["status"] == "completed" and seen[-1]["url"] == job.state["url"], seen
assert job.bytes()[:4] == b"\x89PNG" and job.save(folder / "b.png").filename == job.state["filename"]
assert relay.job(job.id).wait().state["filename"] == job.state["filename"]
failed = relay.pdf.info(fileId=stored["id"]).start()
assert refused("internal_error", lambda: failed.wait(timeout=30)).message  # There is no renderer.
refused("internal_error", relay.job(failed.id).bytes)
for quoted in (relay.pdf.bulk(quote=True).start, relay.templates.generate(quote=True).url):
    try:
        quoted()
        raise AssertionError("a quote started a job")
    except RuntimeError as error:
        assert "json()" in str(error)

# A change of another state is refused.
template = relay.templates.create(name="Letter", html="<p>1</p>")
first = etag(relay.templates.get(template["id"]))
second = relay.templates.update(template["id"], if_match=first, html="<p>2</p>")
refused("precondition_failed", lambda: relay.templates.update(template["id"], if_match=first, html="<p>3</p>"))
relay.templates.update(template["id"], if_match=etag(second), html="<p>3</p>")

# Pages of a list.
assert next(iter(relay.jobs.list(status="completed")))["id"] == job.id
listed = [entry["id"] for entry in relay.files.list(limit=1)]
assert len(listed) > 2 and len(set(listed)) == len(listed), listed
page = relay.files.list(limit=1).page()
assert [entry["id"] for entry in page["files"]] == listed[:1] and page["nextCursor"], page

# Nothing is stored with store=False, and what has an idempotency key is, else.
private = Relay(key, base_url, store=False)
for client, is_stored in ((private, False), (relay, True)):
    info = client.barcodes.create(type="qr", text="secret").save(folder / "c.png")
    assert any(entry["id"] == info.id for entry in relay.files.list()) == is_stored, info
info = private.barcodes.create(type="qr", text="secret", store=True).save(folder / "c.png")
assert relay.files.get(info.id).bytes() == (folder / "c.png").read_bytes()

# Uploads are their owner's.
(folder / "größe.txt").write_bytes(b"mine")
for upload in (
    relay.files.upload(b"mine", filename="größe.txt"),
    relay.files.upload(folder / "größe.txt"),
    relay.files.upload(io.BytesIO(b"mine"), filename="größe.txt"),
):
    assert upload["filename"] == "größe.txt" and upload["sizeBytes"] == 4, upload
with os.popen("printf mine") as pipe:
    upload = relay.files.upload(pipe.buffer, filename="größe.txt")
assert relay.files.get(upload["id"]).bytes() == b"mine"
assert relay.files.delete(upload["id"]) == {"ok": True}

# A file as bytes is sent as Base64.
assert relay.zip.create(files=[{"filename": "a.txt", "file": b"mine"}]).bytes()[:2] == b"PK"

# A client of httpx, which stays open.
with httpx.Client(headers={"x-proxy": "1"}) as http_client:
    with Relay(key, base_url, http_client=http_client) as given:
        assert given.account.get(timeout=30)["wallet"]
    assert not http_client.is_closed

# A failed save leaves nothing, and what was there before.
saved = folder / "saved"
saved.mkdir()
(saved / "a.png").write_bytes(b"before")
(saved / "a.png").chmod(0o640)
refused("invalid_request", lambda: relay.barcodes.create(type="qr", text="x", scale=999).save(saved / "a.png"))
with relay.barcodes.create(type="qr", text="x").stream() as file:
    file.close()
    try:
        file.save(saved / "a.png")
        raise AssertionError("no error")
    except httpx.StreamError:
        pass
assert os.listdir(saved) == ["a.png"] and (saved / "a.png").read_bytes() == b"before"
(saved / "link.png").symlink_to("a.png")
relay.barcodes.create(type="qr", text="hello").save(saved / "link.png")
assert (saved / "link.png").is_symlink() and (saved / "a.png").read_bytes() == content
assert (saved / "a.png").stat().st_mode & 0o777 == 0o640 and len(os.listdir(saved)) == 2
relay.barcodes.create(type="qr", text="hello").save(os.devnull)
assert Path(os.devnull).is_char_device()

# Refusals.
error = refused("invalid_request", relay.pdf.create().bytes)
assert error.status == 400 and error.request_id and "html" in error.message, error
error = refused("invalid_request", relay.barcodes.create(type="qr", text="x", scale=999).bytes)
assert error.details[0]["field"] == "scale", error.details
refused("not_found", relay.files.get(upload["id"]).bytes)
refused("unauthorized", Relay("", base_url).account.get)
with Relay(key, "http://127.0.0.1:1", retries=0) as nowhere:
    assert refused("no_response", nowhere.account.get).status == 0


async def asynchronous():
    async with AsyncRelay(key, base_url) as relay:
        call = relay.barcodes.create(type="qr", text="hello")
        assert (await call.save(folder / "d.png")).size_bytes == len(content)
        assert (folder / "d.png").read_bytes() == content
        assert b"".join([chunk async for chunk in relay.barcodes.create(type="qr", text="hello")]) == content
        async with await relay.barcodes.create(type="qr", text="hello").stream() as file:
            assert await file.read() == content

        calls = [relay.barcodes.create(type="qr", text=str(i)).bytes() for i in range(5)]
        assert len(set(await asyncio.gather(*calls))) == 5

        seen = []
        job = await relay.barcodes.create(type="ean13", text="4006381333931").start()
        await job.wait(progress=seen.append)
        assert seen[-1]["status"] == "completed" and (await job.bytes())[:4] == b"\x89PNG"
        assert job.id in [entry["id"] async for entry in relay.jobs.list(limit=1)]

        for upload in (await relay.files.upload(folder / "größe.txt"), await relay.files.upload(b"mine")):
            assert await relay.files.get(upload["id"]).bytes() == b"mine"
        try:
            await relay.pdf.info(fileId=upload["id"], password=1)
            raise AssertionError("no error")
        except RelayError as error:
            assert error.code == "invalid_request" and error.details[0]["field"] == "password", error


asyncio.run(asynchronous())


# Responses of what stands between.
class Between(BaseHTTPRequestHandler):
    def do_GET(self):
        _, length, body = self.path.split("/")[3].split(".", 2)
        self.send_response(502)
        self.send_header("Content-Length", length)
        self.send_header("Retry-After", "\u00b2")
        self.end_headers()
        self.wfile.write(urllib.parse.unquote(body).encode())

    def do_POST(self):
        """Fails as X-Behaviour says: without a response, with a refusal of the server, or with one of a proxy."""
        self.rfile.read(int(self.headers["Content-Length"]))
        keys.append(self.headers["Idempotency-Key"])
        behaviour = self.headers["X-Behaviour"]
        if behaviour == "lost":
            self.close_connection = True
            return
        body = b'{"error":{"code":"rate_limited","message":"later"}}' if behaviour == "limited" else b"<html>"
        self.send_response(429 if behaviour == "limited" else 503)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


keys = []


with HTTPServer(("127.0.0.1", 0), Between) as between:
    threading.Thread(target=between.serve_forever, daemon=True).start()
    far_url = f"http://127.0.0.1:{between.server_port}/"
    far = Relay(key, far_url, retries=0)
    for body in ["null", "[]", '"no"', '{"error":"no"}', '{"error":null}', "<html>", "{"]:
        for length in (len(body), len(body) + 1):
            error = refused("internal_error", far.files.get(f".{length}.{urllib.parse.quote(body, safe='')}").bytes)
            assert error.status == 502 and "502" in error.message and not error.from_server, error

    # A call is sent again with its key, but not one that may have run and has no stored result.
    for behaviour, code, store, attempts in (
        ("lost", "no_response", True, 2),
        ("lost", "no_response", False, 1),
        ("proxy", "internal_error", True, 2),
        ("proxy", "internal_error", False, 1),
        ("limited", "rate_limited", False, 2),
    ):
        client = httpx.Client(headers={"x-behaviour": behaviour})
        with client, Relay(key, far_url, retries=1, store=store, http_client=client) as losing:
            keys.clear()
            call = losing.barcodes.create(type="qr", text="x")
            refused(code, call.bytes)
            assert len(keys) == attempts, (behaviour, store, keys)
            refused(code, call.bytes)
            assert len(set(keys)) == 1, (behaviour, store, keys)
    between.shutdown()

# Deliveries.
event, signature, secret = os.environ["EVENT"].encode(), os.environ["SIGNATURE"], os.environ["SECRET"]
assert verify(event, signature, secret)["type"] == "job.completed"
others = [re.sub(r"t=\d+", "t=" + at, signature) for at in ("1", "\u00b2", "1" * 5000)] + ["", signature[:-1] + "\udc80"]
for body, signed in [(event + b" ", signature)] + [(event, signed) for signed in others]:
    try:
        verify(body, signed, secret)
    except SignatureError:
        continue
    raise AssertionError("accepted: " + ascii(signed))

# Headers of a delivery, after the secret was rotated: Service-Signature has the old secret.
at = str(int(time.time()))
standard = hmac.new(base64.b64decode(secret[6:]), f"evt_1.{at}.".encode() + event, hashlib.sha256).digest()
headers = {
    "Service-Signature": f"t={at},v1={'0' * 64}",
    "Webhook-Id": "evt_1",
    "Webhook-Timestamp": at,
    "Webhook-Signature": f"v1,{base64.b64encode(b'old').decode()} v1,{base64.b64encode(standard).decode()}",
}
assert verify(event, headers, secret)["id"] == "evt_1"
assert verify(event, {"SERVICE-SIGNATURE": signature}, secret)["id"] == "evt_1"
for changed in ({"Webhook-Id": "evt_2"}, {"Webhook-Timestamp": "1"}, {"Webhook-Signature": "v1,"}):
    try:
        verify(event, {**headers, **changed}, secret)
    except SignatureError:
        continue
    raise AssertionError(f"accepted: {changed}")
try:
    verify(event, headers, "whsec_?")
    raise AssertionError("accepted a secret that is none")
except ValueError:
    pass
print("ok")
