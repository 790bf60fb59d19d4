import { Result } from "./result.js";
import type * as Schemas from "./schemas.js";
import { RelayError, retryAfterOf, sleep, type RequestOptions, type Transport } from "./transport.js";

/** What wait reports while a job runs. */
export interface WaitOptions extends RequestOptions {
  /** Is called with each status of the job: processed and total count the records of a bulk job. */
  onProgress?: ((status: Schemas.JobStatusResponse) => void) | undefined;
}

/** A job on the server. */
export class Job<JSON = unknown> {
  readonly #transport: Transport;
  readonly #options: RequestOptions;
  #status: Schemas.JobStatusResponse | undefined;

  constructor(
    transport: Transport,
    readonly id: string,
    status?: Schemas.JobStatusResponse,
    options: RequestOptions = {},
  ) {
    this.#transport = transport;
    this.#status = status;
    this.#options = { signal: options.signal, timeout: options.timeout };
  }

  /** Returns the current status. */
  async status(options?: RequestOptions): Promise<Schemas.JobStatusResponse> {
    const [status] = await this.#read(options);

    return status;
  }

  /** Waits until the job has ended, and returns its last status. A job that failed is a RelayError. */
  async wait(options: WaitOptions = {}): Promise<Schemas.JobStatusResponse> {
    for (;;) {
      const [status, pause] = await this.#read(options);
      options.onProgress?.(status);
      if (status.status === "completed") return status;
      if (status.status === "failed") throw failureOf(status);
      await sleep(pause, options.signal ?? this.#options.signal);
    }
  }

  /** Cancels the job. A bulk job still has the documents that were made before. */
  async cancel(options?: RequestOptions): Promise<Schemas.JobStatusResponse> {
    const path = this.#path();

    return this.#transport.json({ method: "DELETE", path, options: { ...this.#options, ...options } });
  }

  /** Waits for the job and returns its result. */
  async result(options: WaitOptions = {}): Promise<Result<JSON>> {
    let status = this.#status;
    if (status?.status === "completed") options.onProgress?.(status);
    else status = await this.wait(options);
    const path = `/v1/files/${encodeURIComponent(status.id)}`;

    return new Result(await this.#transport.send({ method: "GET", path, options: { ...this.#options, ...options } }));
  }

  async bytes(options?: WaitOptions): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.result(options)).bytes();
  }

  async text(options?: WaitOptions): Promise<string> {
    return (await this.result(options)).text();
  }

  async json(options?: WaitOptions): Promise<JSON> {
    return (await this.result(options)).json();
  }

  async stream(options?: WaitOptions): Promise<ReadableStream<Uint8Array>> {
    return (await this.result(options)).stream;
  }

  /** Waits for the job and writes its result. It needs Node, Deno or Bun. */
  async save(path: string | URL, options?: WaitOptions): Promise<Result<JSON>> {
    const result = await this.result(options);
    await result.save(path);

    return result;
  }

  async #read(options?: RequestOptions): Promise<[Schemas.JobStatusResponse, number]> {
    const message = { method: "GET", path: this.#path(), options: { ...this.#options, ...options } };
    const response = await this.#transport.send(message);
    this.#status = (await response.json()) as Schemas.JobStatusResponse;

    return [this.#status, retryAfterOf(response) || 1];
  }

  #path(): string {
    return `/v1/jobs/${encodeURIComponent(this.id)}`;
  }
}

function failureOf(status: Schemas.JobStatusResponse): RelayError {
  const { code, message } = status.error ?? { code: "internal_error", message: "The job failed." };

  return new RelayError(code, message, 200);
}
