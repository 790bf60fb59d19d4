// Drives the client against the server; run by the tests of package clients.
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { Relay, RelayError, Result, SignatureError, webhooks, type Schemas } from "relaypdf";

const { BASE_URL, KEY, SECRET = "", SIGNATURE = "", EVENT = "", VERSION = "" } = process.env;
const settings = { key: KEY, baseUrl: BASE_URL };
const relay = new Relay(settings);

// A file, through a failure of the server that is tried again.
const result = await relay.barcodes.create({ type: "qr", text: "hello", filename: "Größe" });
assert.equal(result.filename, "Größe.png");
assert.equal(result.contentType, "image/png");
assert.equal(result.chargedMicrodollars, 100);
assert.equal(result.warningCount, 0);
assert.match(result.id, /^file_/);
const reader = result.stream.getReader();
const first = await reader.read();
assert.deepEqual([...(first.value ?? []).slice(0, 4)], [0x89, 0x50, 0x4e, 0x47]);
await reader.cancel();

// A call is sent when it is asked for something, and in one form.
let sent = 0;
let agent: string | null = null;
const counting: typeof fetch = (...given) => {
  sent++;
  agent = new Headers(given[1]?.headers).get("user-agent");
  return fetch(...given);
};
const counted = new Relay({ ...settings, fetch: counting });
const call = counted.barcodes.create({ type: "qr", text: "once" });
assert.equal(sent, 0);
assert.equal((await call).replayed, false);
const saved = await call.save("code.png");
assert.equal(sent, 1);
assert.equal(agent, `relaypdf-js/${VERSION}`);
assert.equal((await readFile("code.png")).length, saved.sizeBytes);
await assert.rejects(call.url(), TypeError);

// When its result has been read, the same call with the same key gets it again.
const again = await call;
assert.equal(again.id, saved.id);
assert.equal(again.replayed, true);
assert.equal((await call.bytes()).length, saved.sizeBytes);
assert.equal(sent, 2);

// The same after a failure.
let broken = true;
const breaking: typeof fetch = async (url, init) => {
  const response = await fetch(url, init);
  if (broken) throw new TypeError("The network failed.");
  return response;
};
const unlucky = new Relay({ ...settings, retries: 0, fetch: breaking }).barcodes.create({ type: "qr", text: "twice" });
await assert.rejects(unlucky, /network failed/);
broken = false;
assert.equal((await unlucky).replayed, true);

// A file that cannot be written is what it was before, and nothing else is left.
const cut: typeof fetch = async () => {
  const parts = [new Uint8Array(10)];
  const body = new ReadableStream({
    pull(controller) {
      const part = parts.pop();
      if (part) controller.enqueue(part);
      else controller.error(new TypeError("The body ended early."));
    },
  });
  return new Response(body);
};
await mkdir("out");
await writeFile("out/old.png", "old", { mode: 0o600 });
await symlink("old.png", "out/link.png");
const cutting = new Relay({ ...settings, fetch: cut });
await assert.rejects(cutting.files.get("file_1").save("out/new.png"), /ended early/);
await assert.rejects(cutting.files.get("file_1").save("out/old.png"), /ended early/);
await assert.rejects(relay.barcodes.create({ type: "qr", text: "x" }).save("out"), { code: "EISDIR" });
await assert.rejects(relay.barcodes.create({ type: "qr", text: "x" }).save("none/a.png"), { code: "ENOENT" });
assert.equal(await readFile("out/old.png", "utf8"), "old");
assert.deepEqual((await readdir("out")).sort(), ["link.png", "old.png"]);

// A complete one replaces the target of a link, with its mode. A device stays a device.
const replaced = await relay.barcodes.create({ type: "qr", text: "x" }).save("out/link.png");
const old = await stat("out/old.png");
assert.equal(old.size, replaced.sizeBytes);
assert.equal(old.mode & 0o777, 0o600);
await relay.barcodes.create({ type: "qr", text: "x" }).save("/dev/null");
assert.equal((await stat("/dev/null")).isFile(), false);
const url = new URL("out/a b.png", `file://${process.cwd()}/`);
await relay.barcodes.create({ type: "qr", text: "x" }).save(url);
assert.deepEqual((await readdir("out")).sort(), ["a b.png", "link.png", "old.png"]);

// The same key is charged once.
const options = { idempotencyKey: "once", maxCharge: 100 };
const stored = await relay.barcodes.create({ type: "qr", text: "x" }, options).url();
assert.equal((await relay.barcodes.create({ type: "qr", text: "x" }, options).url()).id, stored.id);
assert.equal((await relay.files.get(stored.id).bytes()).length, stored.sizeBytes);
await assert.rejects(relay.barcodes.create({ type: "qr", text: "x" }, { maxCharge: 1 }), { code: "payment_required" });

// Jobs.
const job = await relay.barcodes.create({ type: "ean13", text: "4006381333931" }).start();
const seen: Schemas.JobStatusResponse[] = [];
const done = await job.wait({ onProgress: (status) => seen.push(status) });
assert.equal(done.status, "completed");
assert.equal(seen.at(-1)?.id, job.id);
seen.length = 0;
assert.equal((await job.bytes({ onProgress: (status) => seen.push(status) })).length, done.sizeBytes);
assert.equal(seen.at(-1)?.status, "completed");
assert.equal((await relay.job(job.id).result()).filename, done.filename);
assert.equal((await relay.jobs.list({ status: "completed" })).jobs[0]?.id, job.id);

// A job that fails has its code.
const failing: typeof fetch = async () =>
  Response.json({ id: "file_1", status: "failed", error: { code: "render_failed", message: "The page is gone." } });
const failed = new Relay({ ...settings, fetch: failing }).job("file_1").wait();
await assert.rejects(failed, (error: unknown) => error instanceof RelayError && error.code === "render_failed");

// A quote starts no job.
const quoting: typeof fetch = async () => Response.json({ records: 1, amountMicrodollars: 5000 });
const bulkInput: Schemas.PdfBulkInput = { templateId: "letter", records: [{ name: "Ada" }], quote: true };
const quoted = new Relay({ ...settings, fetch: quoting }).pdf.bulk(bulkInput);
await assert.rejects(quoted, /started no job/);
assert.equal((await quoted.json()).records, 1);

// Uploads of bytes, streams, blobs and paths.
const upload = await relay.files.upload(new TextEncoder().encode("mine"), { filename: "größe.txt" });
assert.equal(upload.filename, "größe.txt");
assert.equal(await relay.files.get(upload.id).text(), "mine");
const streamed = await relay.files.upload(new Blob(["a stream"]).stream(), { filename: "stream.txt" });
assert.equal(streamed.sizeBytes, 8);
const blob = await relay.files.upload(new File(["a blob"], "blob.txt"));
assert.equal(blob.filename, "blob.txt");
const path = await relay.files.upload("code.png");
assert.equal(path.filename, "code.png");
assert.equal(path.sizeBytes, saved.sizeBytes);

// Pages: all entries, in the order of one large page.
const ids = async () => (await relay.files.list({ limit: 100 })).files.map((file) => file.id);
const iterated: string[] = [];
for await (const file of relay.files.list({ limit: 2 })) iterated.push(file.id);
assert.deepEqual(iterated, await ids());
assert.equal((await relay.files.list({ limit: 2 })).files.length, 2);
for (const file of [upload, streamed, blob, path]) await relay.files.delete(file.id);

// Bytes in inputs are Base64 on their way, those of a Buffer too.
const zip = await relay.zip.create({
  files: [
    { file: new TextEncoder().encode("one"), filename: "a.txt" },
    { file: Buffer.alloc(100_000, "two"), filename: "b.txt" },
    { file: "dGhyZWU=", filename: "c.txt" },
  ],
});
const names = new TextDecoder("latin1").decode(await zip.bytes());
for (const name of ["a.txt", "b.txt", "c.txt"]) assert.equal(names.includes(name), true, name);
const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251);
const echoed = await relay.zip.create({ files: [{ file: bytes, filename: "d.bin" }] }).bytes();
assert.equal(echoed.length > 200, true);

// The server stores the results of calls with an Idempotency-Key, and none with store: false.
const kept = await relay.barcodes.create({ type: "qr", text: "kept" });
const before = await ids();
assert.equal(before.includes(kept.id), true);
const quiet = new Relay({ ...settings, store: false });
const unstored = await quiet.barcodes.create({ type: "qr", text: "quiet" }, { idempotencyKey: "quiet" });
assert.equal((await unstored.bytes()).length > 0, true);
assert.deepEqual(await ids(), before);
await assert.rejects(relay.files.get(unstored.id), { code: "not_found" });
await assert.rejects(quiet.barcodes.create({ type: "qr", text: "quiet" }, { idempotencyKey: "quiet" }), RelayError);
await assert.rejects(quiet.barcodes.create({ type: "qr", text: "quiet" }).url(), { code: "invalid_request" });
assert.match((await quiet.barcodes.create({ type: "qr", text: "kept", store: true }).url()).id, /^file_/);

// Errors.
const refused = (error: unknown) =>
  error instanceof RelayError && error.code === "invalid_request" && error.status === 400 && error.requestId !== "";
await assert.rejects(relay.pdf.create({}), refused);
await assert.rejects(relay.files.get(upload.id), { code: "not_found" });
await assert.rejects(new Relay({ baseUrl: BASE_URL }).account.get(), { code: "unauthorized" });
assert.equal((await relay.account.get()).wallet.balanceMillicents > 0, true);

// Repeats: a call and its repeats have one Idempotency-Key, and Retry-After is heeded.
const keys: (string | null)[] = [];
const busy: typeof fetch = async (url, init) => {
  keys.push(new Headers(init?.headers).get("idempotency-key"));
  if (keys.length < 3) return new Response("busy", { status: 503, headers: { "retry-after": "0" } });
  return fetch(url, init);
};
await new Relay({ ...settings, fetch: busy }).barcodes.create({ type: "qr", text: "busy" });
assert.equal(keys.length, 3);
assert.equal(new Set(keys).size, 1);
keys.length = 0;
await assert.rejects(new Relay({ ...settings, fetch: busy, retries: 1 }).account.get(), { status: 503 });
const late: typeof fetch = async () => new Response("busy", { status: 503, headers: { "retry-after": "61" } });
await assert.rejects(new Relay({ ...settings, fetch: late }).account.get(), { retryAfter: 61 });

// The result of a call with store: false cannot be sent again, so the call is repeated only if it was not charged.
const relayError = { error: { code: "convert_unavailable", message: "Busy.", requestId: "req_1" } };
const unsent: [number, () => Response][] = [
  [1, () => new Response("lost", { status: 502 })],
  [1, () => { throw new TypeError("The network failed."); }],
  [3, () => Response.json(relayError, { status: 503, headers: { "retry-after": "0" } })],
  [3, () => new Response("slowly", { status: 429, headers: { "retry-after": "0" } })],
];
for (const [want, answer] of unsent) {
  let attempts = 0;
  const answering: typeof fetch = async () => {
    attempts++;
    return answer();
  };
  const once = new Relay({ ...settings, store: false, fetch: answering });
  await assert.rejects(once.barcodes.create({ type: "qr", text: "once" }), Error);
  assert.equal(attempts, want);
}

// A stream is sent once.
keys.length = 0;
const stream = new Blob(["a stream"]).stream();
await assert.rejects(new Relay({ ...settings, fetch: busy }).files.upload(stream), { status: 503 });
assert.equal(keys.length, 1);

// A request ends with its signal, and after its timeout.
const silent: typeof fetch = (_, init) =>
  new Promise((_resolve, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
const waiting = new Relay({ ...settings, retries: 0, fetch: silent });
await assert.rejects(waiting.account.get({ timeout: 10 }), /within 10 ms/);
// The timer of AbortSignal.timeout does not keep Node running.
const controller = new AbortController();
setTimeout(() => controller.abort(new Error("enough")), 10);
await assert.rejects(waiting.account.get({ signal: controller.signal }), /enough/);

// Responses of a proxy in front of the server.
for (const body of ["null", "[]", '"no"', '{"error":"no"}', '{"error":null}', "<html>"]) {
  const proxy = new Relay({ ...settings, retries: 0, fetch: async () => new Response(body, { status: 502 }) });
  const of502 = (error: unknown) => error instanceof RelayError && error.status === 502 && /502/.test(error.message);
  await assert.rejects(proxy.account.get(), of502, body);
}

// The ETag of a template guards its change.
let etag = "";
const onHeaders = (headers: Headers) => void (etag = headers.get("etag") ?? "");
const template = await relay.templates.create({ name: "Guarded", html: "<p>" });
await relay.templates.get(template.id, { onHeaders });
await relay.templates.update(template.id, { html: "<p>a" }, { ifMatch: etag });
const outdated = relay.templates.update(template.id, { html: "<p>b" }, { ifMatch: etag });
await assert.rejects(outdated, { code: "precondition_failed" });

// Deliveries.
const event = await webhooks.verify(EVENT, SIGNATURE, SECRET);
assert.equal(event.type === "job.completed" && event.data.status, "completed");
await webhooks.verify(new TextEncoder().encode(EVENT), { "Service-Signature": SIGNATURE }, SECRET);
await assert.rejects(webhooks.verify(EVENT + " ", SIGNATURE, SECRET), SignatureError);
await assert.rejects(webhooks.verify("\ufeff" + EVENT, SIGNATURE, SECRET), /wrong/);
await assert.rejects(webhooks.verify(EVENT, SIGNATURE.replace(/t=\d+/, "t=1"), SECRET), /wrong/);
await assert.rejects(webhooks.verify(EVENT, SIGNATURE, SECRET, -1), /time/);
await assert.rejects(webhooks.verify(EVENT, {}, SECRET), /no signature/);
await assert.rejects(webhooks.verify(EVENT, SIGNATURE, "secret"), TypeError);

// While a secret is replaced, Service-Signature has the old one, and webhook-signature both.
const { NEW_SECRET = "", WEBHOOK_ID = "", WEBHOOK_TIME = "", WEBHOOK_SIGNATURE = "" } = process.env;
const rolled = {
  "service-signature": SIGNATURE,
  "webhook-id": WEBHOOK_ID,
  "webhook-timestamp": WEBHOOK_TIME,
  "webhook-signature": WEBHOOK_SIGNATURE,
};
for (const secret of [SECRET, NEW_SECRET]) {
  assert.equal((await webhooks.verify(EVENT, new Headers(rolled), secret)).id, event.id);
  assert.equal((await webhooks.verify(EVENT, { ...rolled, "service-signature": undefined }, secret)).id, event.id);
}
await assert.rejects(webhooks.verify(EVENT + " ", rolled, NEW_SECRET), /wrong/);
await assert.rejects(webhooks.verify(EVENT, { ...rolled, "webhook-id": "evt_2" }, NEW_SECRET), /wrong/);
await assert.rejects(webhooks.verify(EVENT, { ...rolled, "webhook-signature": "v1,?" }, NEW_SECRET), /wrong/);

// Types: this compiles, and does not run.
export async function types(): Promise<void> {
  // @ts-expect-error A misspelt field.
  await relay.pdf.create({ htlm: "<p>" });
  // @ts-expect-error A misspelt option.
  await relay.pdf.create({ html: "<p>", options: { formt: "A4" } });
  // @ts-expect-error A value that is not in the list.
  await relay.pdf.create({ html: "<p>", options: { waitUntil: "soon" } });
  // @ts-expect-error The form of the response follows from the method.
  await relay.pdf.create({ html: "<p>", response: "url" });
  // @ts-expect-error A required field is missing.
  await relay.barcodes.create({ type: "qr" });
  // @ts-expect-error The operation has no JSON.
  relay.pdf.create({ html: "<p>" }).json();

  interface Letter {
    name: string;
  }
  const data: Letter = { name: "Ada" };
  const filename = undefined as string | undefined;
  const file: Result = await relay.pdf.create({ templateId: "letter", templateData: data, filename });
  const pages: number = (await relay.pdf.info({ fileId: file.id })).pageCount;
  const bulk = await relay.pdf.bulk({ templateId: "letter", records: [{ name: "Ada" }] });
  const quote = await relay.pdf.bulk({ templateId: "letter", fileId: bulk.id, quote: true }).json();
  const price: number = quote.amountMicrodollars;
  const kind: Schemas.Event["type"] = "wallet.topup";
  void [pages, price, kind];
}

console.log("ok");
