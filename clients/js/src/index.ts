/**
 * Client for relaypdf.
 *
 *     const relay = new Relay({ key: process.env.RELAYPDF_API_KEY });
 *     const file = await relay.pdf({ html: "<h1>Invoice 42</h1>", options: { format: "A4" } });
 *     await writeFile(file.filename, await file.bytes());
 *
 * It runs in Node 20 and later, Deno, Bun and browsers, and depends on nothing.
 */
import type { components } from "./schema.js";

export { webhooks, type Event } from "./webhooks.js";

/** The objects of the interface, by their names in its OpenAPI document. */
export type Schemas = components["schemas"];
export type Job = Schemas["JobStatusResponse"];
export type StoredFile = Schemas["FileUrlResponse"];

/** The operations that make files, by their names in the price list. */
export interface Operations {
  "pdf.create": Schemas["PdfCreateInput"];
  "pdf.merge": Schemas["PdfMergeInput"];
  "pdf.extract": Schemas["PdfExtractInput"];
  "pdf.protect": Schemas["PdfProtectInput"];
  "pdf.unlock": Schemas["PdfUnlockInput"];
  "pdf.bookmarks": Schemas["PdfBookmarksInput"];
  "pdf.rotate": Schemas["PdfRotateInput"];
  "pdf.delete-pages": Schemas["PdfDeletePagesInput"];
  "pdf.compress": Schemas["PdfCompressInput"];
  "pdf.info": Schemas["PdfInfoInput"];
  "pdf.raster": Schemas["PdfRasterInput"];
  "pdf.from-images": Schemas["PdfFromImagesInput"];
  "pdf.stamp": Schemas["PdfStampInput"];
  "pdf.text": Schemas["PdfTextInput"];
  "pdf.form.fields": Schemas["PdfFormFieldsInput"];
  "pdf.form.fill": Schemas["PdfFormFillInput"];
  "images.create": Schemas["ImagesCreateInput"];
  "barcodes.create": Schemas["BarcodesCreateInput"];
  "zip.create": Schemas["ZipCreateInput"];
  "convert.create": Schemas["ConvertCreateInput"];
  "templates.preview": Schemas["TemplatesPreviewInput"];
}

export interface Settings {
  /** API key. Downloads and prices need none. */
  key?: string | undefined;
  /** Address of the service. Default: http://localhost:8787. */
  baseUrl?: string;
  /** How often a request is sent again that may be. Default: 2. */
  retries?: number;
  /** In the place of the global fetch. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  /** Makes retries safe: the service runs and charges the call once. Default: a new one for each call. */
  idempotencyKey?: string;
  /** The most that the call may cost, in microdollars. */
  maxCharge?: number;
  signal?: AbortSignal;
}

/** A refusal by the service. */
export class RelayError extends Error {
  override name = "RelayError";
  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
    readonly details: Schemas["ErrorDetail"][] = [],
    readonly requestId?: string,
    /** Seconds after which it is worth trying again. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

/** A result on its way in: read it once, as a stream or whole. */
export class Result {
  constructor(private readonly response: Response) {}

  get id(): string { return this.response.headers.get("x-service-id") ?? ""; }
  get contentType(): string { return this.response.headers.get("content-type") ?? ""; }
  /** What the call cost, in microdollars. */
  get charged(): number { return Number(this.response.headers.get("x-service-charged-microdollars") ?? 0); }
  get filename(): string {
    const text = this.response.headers.get("content-disposition") ?? "";
    const name = /filename\*=UTF-8''([^;]+)/.exec(text)?.[1];
    return name ? decodeURIComponent(name) : (/filename="([^"]*)"/.exec(text)?.[1] ?? "");
  }
  get stream(): ReadableStream<Uint8Array> | null { return this.response.body; }
  async bytes(): Promise<Uint8Array> { return new Uint8Array(await this.response.arrayBuffer()); }
  text(): Promise<string> { return this.response.text(); }
  json<T = unknown>(): Promise<T> { return this.response.json() as Promise<T>; }
}

type Body = string | Uint8Array | Blob;
type Without<In> = Omit<In, "response">;

/** The longest Retry-After, in seconds, that is waited for. */
const patience = 60;

export class Relay {
  readonly jobs = new Jobs(this);
  readonly files = new Files(this);
  private readonly base: string;

  constructor(private readonly settings: Settings = {}) {
    this.base = (settings.baseUrl ?? "http://localhost:8787").replace(/\/+$/, "");
  }

  /** Makes a PDF of HTML, a page, Markdown or a template. */
  pdf(input: Without<Operations["pdf.create"]>, options?: CallOptions): Promise<Result> {
    return this.run("pdf.create", input, options);
  }

  /** Makes an image of HTML, a page or a template. */
  image(input: Without<Operations["images.create"]>, options?: CallOptions): Promise<Result> {
    return this.run("images.create", input, options);
  }

  /** Runs an operation and returns its result. */
  async run<Name extends keyof Operations>(name: Name, input: Without<Operations[Name]>, options?: CallOptions): Promise<Result> {
    return new Result(await this.call(name, { ...input, response: "binary" }, options));
  }

  /** Runs an operation and returns the public URL of its result, which works for 24 hours by default. */
  async url<Name extends keyof Operations>(name: Name, input: Without<Operations[Name]>, options?: CallOptions): Promise<StoredFile> {
    return (await this.call(name, { ...input, response: "url" }, options)).json() as Promise<StoredFile>;
  }

  /** Starts an operation as a job; see jobs.wait. */
  async start<Name extends keyof Operations>(name: Name, input: Without<Operations[Name]>, options?: CallOptions): Promise<Job> {
    return (await this.call(name, { ...input, response: "async" }, options)).json() as Promise<Job>;
  }

  account(): Promise<Schemas["AccountSnapshot"]> { return this.get("/v1/account"); }
  prices(): Promise<Schemas["PriceList"]> { return this.get("/v1/billing/prices"); }
  usage(): Promise<Schemas["Usage"]> { return this.get("/v1/billing/usage"); }

  async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return (await this.send("GET", path, signal ? { signal } : {})).json() as Promise<T>;
  }

  private call(name: string, input: object, options: CallOptions = {}): Promise<Response> {
    const headers: Record<string, string> = {
      "content-type": "application/json",
      "idempotency-key": options.idempotencyKey ?? crypto.randomUUID(),
    };
    if (options.maxCharge !== undefined) headers["x-service-max-charge-microdollars"] = String(options.maxCharge);
    const path = "/v1/" + name.replace(/\.create$/, "").replaceAll(".", "/");
    return this.send("POST", path, { headers, body: JSON.stringify(input), ...(options.signal && { signal: options.signal }) });
  }

  /** Sends a request, again where that is safe, and returns an answer that is a success. */
  async send(method: string, path: string, init: { headers?: Record<string, string>; body?: Body; signal?: AbortSignal } = {}): Promise<Response> {
    const headers: Record<string, string> = { ...init.headers };
    if (this.settings.key) headers["authorization"] = `Bearer ${this.settings.key}`;
    const safe = method === "GET" || "idempotency-key" in headers;
    for (let attempt = 0; ; attempt++) {
      let failure: unknown;
      let pause = Math.min(2 ** attempt, 16);
      let again = safe;
      try {
        const response = await (this.settings.fetch ?? fetch)(this.base + path, { ...init, method, headers } as RequestInit);
        if (response.ok) return response;
        const error = await failureOf(response);
        pause = error.retryAfter ?? pause;
        // What was rate limited did not run: it may be sent again in any case.
        again = pause <= patience && (error.status === 429 || (safe && error.status >= 500));
        failure = error;
      } catch (error) {
        failure = error;
      }
      if (!again || attempt >= (this.settings.retries ?? 2) || init.signal?.aborted) throw failure;
      await sleep(pause, init.signal);
    }
  }
}

class Jobs {
  constructor(private readonly relay: Relay) {}

  get(id: string, signal?: AbortSignal): Promise<Job> { return this.relay.get(`/v1/jobs/${encodeURIComponent(id)}`, signal); }

  /** Waits until a job has ended. One that failed is a RelayError. */
  async wait(job: string | Job, signal?: AbortSignal): Promise<Job> {
    const id = typeof job === "string" ? job : (job.id ?? "");
    for (;;) {
      const now = await this.get(id, signal);
      if (now.status === "completed") return now;
      if (now.status === "failed") throw new RelayError(now.error?.code ?? "internal_error", now.error?.message ?? "The job failed.", 200);
      await sleep(1, signal);
    }
  }

  list(query: { limit?: number; cursor?: string; status?: string } = {}): Promise<Schemas["JobList"]> {
    return this.relay.get(`/v1/jobs${queryOf(query)}`);
  }
}

class Files {
  constructor(private readonly relay: Relay) {}

  /** Keeps a file for a day; operations take its id as fileId. */
  async upload(filename: string, content: Body): Promise<Schemas["Upload"]> {
    const headers = { "content-type": "application/octet-stream", "x-filename": encodeURIComponent(filename) };
    return (await this.relay.send("POST", "/v1/files", { headers, body: content })).json() as Promise<Schemas["Upload"]>;
  }

  async download(id: string): Promise<Result> {
    return new Result(await this.relay.send("GET", `/v1/files/${encodeURIComponent(id)}`));
  }

  async delete(id: string): Promise<void> {
    await this.relay.send("DELETE", `/v1/files/${encodeURIComponent(id)}`);
  }

  list(query: { limit?: number; cursor?: string } = {}): Promise<Schemas["FileList"]> {
    return this.relay.get(`/v1/files${queryOf(query)}`);
  }
}

function queryOf(query: Record<string, string | number | undefined>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined).map(([name, value]) => [name, String(value)]);
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

async function failureOf(response: Response): Promise<RelayError> {
  const seconds = Number(response.headers.get("retry-after") ?? NaN);
  const after = Number.isFinite(seconds) ? seconds : undefined;
  // What stands between may answer anything.
  const body = (await response.json().catch(() => null)) as Partial<Schemas["Error"]> | null;
  const said = body?.error;
  const requestId = said?.requestId ?? response.headers.get("x-request-id") ?? undefined;
  return new RelayError(said?.code ?? "internal_error", said?.message ?? `The server answered ${response.status}.`, response.status, said?.details ?? [], requestId, after);
}

function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => { clearTimeout(timer); reject(signal?.reason); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", stop); resolve(); }, seconds * 1000);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
  });
}
