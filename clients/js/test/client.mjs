// Drives the client against the service; run by the tests of package clients.
import assert from "node:assert/strict";

const { Relay, RelayError, webhooks } = await import(process.env.CLIENT);
const { BASE_URL: baseUrl, KEY: key, SECRET: secret, SIGNATURE: signature, EVENT: event } = process.env;
const relay = new Relay({ key, baseUrl });

// A file, through a failure of the service that is tried again.
const result = await relay.run("barcodes.create", { type: "qr", text: "hello", filename: "Größe" });
assert.equal(result.filename, "Größe.png");
assert.equal(result.contentType, "image/png");
assert.equal(result.charged, 100);
assert.match(result.id, /^file_/);
const reader = result.stream.getReader();
const first = await reader.read();
assert.deepEqual([...first.value.slice(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
await reader.cancel();

// The same key is charged once.
const options = { idempotencyKey: "once", maxCharge: 100 };
const stored = await relay.url("barcodes.create", { type: "qr", text: "x" }, options);
assert.equal((await relay.url("barcodes.create", { type: "qr", text: "x" }, options)).id, stored.id);
const again = await relay.files.download(stored.id);
assert.equal((await again.bytes()).length, stored.sizeBytes);

// A job.
const done = await relay.jobs.wait(await relay.start("barcodes.create", { type: "ean13", text: "4006381333931" }));
assert.equal(done.status, "completed");
assert.equal((await relay.jobs.list({ status: "completed" })).jobs[0].id, done.id);

// Uploads are their owner's.
const upload = await relay.files.upload("größe.txt", new TextEncoder().encode("mine"));
assert.equal(upload.filename, "größe.txt");
assert.equal(await (await relay.files.download(upload.id)).text(), "mine");
assert.equal((await relay.files.list({ limit: 1 })).files.length, 1);
await relay.files.delete(upload.id);

// Refusals.
await assert.rejects(relay.pdf({}), (error) => error instanceof RelayError && error.code === "invalid_request" && error.status === 400 && error.requestId !== "");
await assert.rejects(relay.files.download(upload.id), { code: "not_found" });
await assert.rejects(new Relay({ baseUrl }).account(), { code: "unauthorized" });
assert.equal((await relay.account()).wallet.balanceMillicents > 0, true);

// Answers of what stands between.
for (const body of ["null", "[]", '"no"', '{"error":"no"}', '{"error":null}', "<html>"]) {
  const between = new Relay({ baseUrl, retries: 0, fetch: async () => new Response(body, { status: 502 }) });
  await assert.rejects(between.account(), (error) => error instanceof RelayError && error.status === 502 && /502/.test(error.message), body);
}

// Deliveries.
assert.equal((await webhooks.verify(event, signature, secret)).type, "job.completed");
await assert.rejects(webhooks.verify(event + " ", signature, secret), /wrong/);
await assert.rejects(webhooks.verify(event, signature.replace(/t=\d+/, "t=1"), secret), /time/);
console.log("ok");
