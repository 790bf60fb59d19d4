"""Drives the client against the service; run by the tests of package clients."""

import os
import re
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

from relaypdf import Relay, RelayError, SignatureError, verify

base_url, key = os.environ["BASE_URL"], os.environ["KEY"]
relay = Relay(key, base_url)


def refused(code, call, *args, **fields):
    try:
        call(*args, **fields)
    except RelayError as error:
        assert error.code == code, error
        return error
    raise AssertionError("not refused: " + code)


# A file, through a failure of the service that is tried again.
with relay.run("barcodes.create", {"type": "qr", "text": "hello", "filename": "Größe"}) as result:
    assert (result.filename, result.content_type, result.charged) == ("Größe.png", "image/png", 100), vars(result)
    assert result.id.startswith("file_")
    assert next(iter(result))[:4] == b"\x89PNG"

# The same key is charged once.
stored = relay.url("barcodes.create", {"type": "qr", "text": "x"}, idempotency_key="py", max_charge=100)
assert relay.url("barcodes.create", {"type": "qr", "text": "x"}, idempotency_key="py", max_charge=100)["id"] == stored["id"]
assert len(relay.download(stored["id"]).read()) == stored["sizeBytes"]

# A job.
done = relay.wait(relay.start("barcodes.create", {"type": "ean13", "text": "4006381333931"}))
assert done["status"] == "completed" and done["url"], done
assert relay.get("/v1/jobs", status="completed")["jobs"][0]["id"] == done["id"]

# Uploads are their owner's.
upload = relay.upload("größe.txt", b"mine")
assert upload["filename"] == "größe.txt", upload
assert relay.download(upload["id"]).read() == b"mine"
relay.delete(upload["id"])

# Refusals.
error = refused("invalid_request", relay.pdf)
assert error.status == 400 and error.request_id and "html" in error.message, error
refused("not_found", relay.download, upload["id"])
refused("unauthorized", Relay("", base_url).get, "/v1/account")



# Answers of what stands between.
class Between(BaseHTTPRequestHandler):
    def do_GET(self):
        length, body = self.path[1:].split("/", 1)
        self.send_response(502)
        self.send_header("Content-Length", length)
        self.send_header("Retry-After", "\u00b2")
        self.end_headers()
        self.wfile.write(urllib.parse.unquote(body).encode())

    def log_message(self, *args):
        pass


with HTTPServer(("127.0.0.1", 0), Between) as between:
    threading.Thread(target=between.serve_forever, daemon=True).start()
    for body in ["null", "[]", '"no"', '{"error":"no"}', '{"error":null}', "<html>", "{"]:
        for length in (len(body), len(body) + 1):
            far = Relay(key, f"http://127.0.0.1:{between.server_port}", retries=0)
            error = refused("internal_error", far.get, f"/{length}/{urllib.parse.quote(body)}")
            assert error.status == 502 and "502" in error.message, error
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
print("ok")
