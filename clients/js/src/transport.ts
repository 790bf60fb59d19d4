import type * as Schemas from "./schemas.js";
import { version } from "./version.js";

/** Settings of a client. */
export interface Settings {
  /** API key. Downloads and prices need none. */
  key?: string | undefined;
  /** URL of the server. Default: http://localhost:8787. */
  baseUrl?: string | undefined;
  /** Maximum number of retries. Default: 2. */
  retries?: number | undefined;
  /** Time until a response must begin, in milliseconds, for each attempt; 0 for no limit. Default: 290,000. */
  timeout?: number | undefined;
  /** If false, each paid call that does not set store sends store: false, and the server stores no copy. Default: true. */
  store?: boolean | undefined;
  /** Replaces the global fetch. */
  fetch?: typeof fetch | undefined;
}

/** Options of one request. */
export interface RequestOptions {
  /** Ends the request, the waiting between attempts, and the response. */
  signal?: AbortSignal | undefined;
  /** Replaces the timeout of the client. */
  timeout?: number | undefined;
  /** ETag of a template as you read it: the change fails if the template has changed since. */
  ifMatch?: string | undefined;
  /** Is called with the headers of the successful response, such as ETag and RateLimit. */
  onHeaders?: ((headers: Headers) => void) | undefined;
}

/** Options of one paid call. */
export interface CallOptions extends RequestOptions {
  /** Makes retries safe: the server runs and charges the call once. Default: a new key for each call. */
  idempotencyKey?: string | undefined;
  /** Maximum price of the call, in microdollars. */
  maxCharge?: number | undefined;
}

/** An error that the server returned. */
export class RelayError extends Error {
  override name = "RelayError";

  constructor(
    /** Machine-readable name, such as invalid_request. */
    readonly code: Schemas.ErrorContent["code"] | (string & {}),
    message: string,
    /** HTTP status. */
    readonly status: number,
    /** One entry for each field, header or limit that caused the error. */
    readonly details: Schemas.ErrorDetail[] = [],
    readonly requestId?: string,
    /** Seconds after which a repeat can succeed. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

/** A request. path begins with a slash; undefined members of query are not sent. */
export interface Message {
  method: string;
  path: string;
  query?: object | undefined;
  headers?: Record<string, string>;
  /** The body. A stream cannot be sent again. */
  body?: string | Uint8Array | Blob | ReadableStream<Uint8Array>;
  /** If true, the server does not store the result. The server refuses to send it again. */
  unstored?: boolean;
  options?: RequestOptions | undefined;
}

/** Node's fetch ends a request whose response does not begin within 300 s. */
const defaultTimeout = 290_000;

/** Browsers name themselves. */
const userAgent = globalThis.navigator?.userAgent?.startsWith("Mozilla/") ? undefined : `relaypdf-js/${version}`;

/** The longest Retry-After, in seconds, that a client waits for. */
const maxWait = 60;

/** Sends requests, and repeats those that may be repeated. */
export class Transport {
  readonly #base: string;
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#base = (settings.baseUrl ?? "http://localhost:8787").replace(/\/+$/, "");
    this.#settings = settings;
  }

  get stores(): boolean {
    return this.#settings.store ?? true;
  }

  /** Sends a request and returns its result in JSON. */
  async json<T>(message: Message): Promise<T> {
    const response = await this.send(message);

    return (await response.json()) as T;
  }

  /** Sends a request and returns the response of a success. */
  async send(message: Message): Promise<Response> {
    const headers = { ...message.headers };
    if (userAgent !== undefined) headers["user-agent"] = userAgent;
    if (this.#settings.key) headers["authorization"] = `Bearer ${this.#settings.key}`;
    if (message.options?.ifMatch !== undefined) headers["if-match"] = message.options.ifMatch;
    const safe = message.method === "GET" || "idempotency-key" in headers;
    const repeatable = !(message.body instanceof ReadableStream);
    const signal = message.options?.signal;

    for (let attempt = 0; ; attempt++) {
      let failure: unknown;
      let pause = Math.min(2 ** attempt, 16);
      // The server may have run the call and charged it. It has the result for a repeat only if it stores results.
      let again = safe && !message.unstored;
      try {
        const response = await this.#sendOnce(message, headers);
        if (response.ok) {
          message.options?.onHeaders?.(response.headers);

          return response;
        }

        const [error, fromServer] = await errorOf(response);
        pause = error.retryAfter ?? pause;
        // A call that was rate limited did not run, and one whose error is the server's own was not charged. An error
        // of a proxy in front of the server says nothing about the call.
        const failed = error.status >= 500 && (again || (safe && fromServer));
        again = pause <= maxWait && (error.status === 429 || failed);
        failure = error;
      } catch (error) {
        failure = error;
      }

      if (!again || !repeatable || attempt >= (this.#settings.retries ?? 2) || signal?.aborted) throw failure;
      await sleep(pause, signal);
    }
  }

  async #sendOnce(message: Message, headers: Record<string, string>): Promise<Response> {
    const { method, path, query, body, options } = message;
    const timeout = options?.timeout ?? this.#settings.timeout ?? defaultTimeout;
    const late = new AbortController();
    const text = `The response did not begin within ${timeout} ms.`;
    const timer = timeout > 0 ? setTimeout(() => late.abort(new DOMException(text, "TimeoutError")), timeout) : undefined;

    const init: RequestInit & { duplex?: "half" } = { method, headers };
    init.signal = options?.signal ? AbortSignal.any([options.signal, late.signal]) : late.signal;
    if (body !== undefined) init.body = body as BodyInit;
    if (body instanceof ReadableStream) init.duplex = "half";
    try {
      return await (this.#settings.fetch ?? fetch)(this.#base + path + queryOf(query), init);
    } finally {
      clearTimeout(timer);
    }
  }
}

function queryOf(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  if (given.length === 0) return "";

  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** Returns the error of a response, and whether the server made it, and not a proxy in front of the server. */
async function errorOf(response: Response): Promise<[RelayError, boolean]> {
  // A proxy in front of the server may return anything.
  const body = (await response.json().catch(() => null)) as Partial<Schemas.Error> | null;
  const error = body?.error;
  const code = error?.code ?? "internal_error";
  const message = error?.message ?? `The server returned the status ${response.status}.`;
  const requestId = error?.requestId ?? response.headers.get("x-request-id") ?? undefined;

  const details = error?.details ?? [];

  return [
    new RelayError(code, message, response.status, details, requestId, retryAfterOf(response)),
    error?.code !== undefined,
  ];
}

/** Returns the seconds of the header Retry-After, if the response has it. */
export function retryAfterOf(response: Response): number | undefined {
  const seconds = Number(response.headers.get("retry-after") ?? NaN);

  return Number.isFinite(seconds) ? seconds : undefined;
}

/** Waits, at most maxWait seconds. */
export function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, Math.min(seconds, maxWait) * 1000);

    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
  });
}
