import { jsonOf } from "./file.js";
import { Job, type WaitOptions } from "./job.js";
import { Result } from "./result.js";
import type * as Schemas from "./schemas.js";
import type { CallOptions, Message, Transport } from "./transport.js";

/** A request that is sent when it is awaited or asked for something. */
abstract class Pending<Value> implements PromiseLike<Value> {
  #request: Promise<Response> | undefined;
  #response: Response | undefined;

  /** The value of await. */
  protected abstract value(): Promise<Value>;

  then<A = Value, B = never>(
    done?: ((value: Value) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.value().then(done, failed);
  }

  catch<B = never>(failed?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Value | B> {
    return this.value().catch(failed);
  }

  finally(ended?: (() => void) | null): Promise<Value> {
    return this.value().finally(ended);
  }

  /** Sends the request. It is sent again only after a failure, or when its response has been read. */
  protected request(send: () => Promise<Response>): Promise<Response> {
    if (this.#response?.bodyUsed) this.#request = this.#response = undefined;

    return (this.#request ??= send().then(
      (response) => (this.#response = response),
      (error: unknown) => {
        this.#request = undefined;
        throw error;
      },
    ));
  }
}

/** A file that is requested when it is awaited or asked for something. */
export class Download extends Pending<Result> {
  readonly #transport: Transport;
  readonly #message: Message;

  constructor(transport: Transport, message: Message) {
    super();
    this.#transport = transport;
    this.#message = message;
  }

  /** Returns the file with its name, type and size. */
  async result(): Promise<Result> {
    return new Result(await this.request(() => this.#transport.send(this.#message)));
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.result()).bytes();
  }

  async text(): Promise<string> {
    return (await this.result()).text();
  }

  async stream(): Promise<ReadableStream<Uint8Array>> {
    return (await this.result()).stream;
  }

  /** Writes the file. It needs Node, Deno or Bun. */
  async save(path: string | URL): Promise<Result> {
    const result = await this.result();
    await result.save(path);

    return result;
  }

  protected value(): Promise<Result> {
    return this.result();
  }
}

type Form = "binary" | "url" | "async";

/** A paid call. It has one Idempotency-Key, so it is charged once, however often it is asked for its result. */
abstract class PaidCall<Value> extends Pending<Value> {
  protected readonly transport: Transport;
  protected readonly options: CallOptions;
  readonly #path: string;
  readonly #input: object;
  readonly #key: string;
  #form?: Form;

  constructor(transport: Transport, path: string, input: object, options: CallOptions = {}) {
    super();
    this.transport = transport;
    this.options = options;
    this.#path = path;
    this.#input = input;
    this.#key = options.idempotencyKey ?? crypto.randomUUID();
  }

  /** Sends the call. It is one call to the server, so it has one form. */
  protected async send(form: Form): Promise<Response> {
    if (this.#form !== undefined && this.#form !== form) {
      throw new TypeError(`This call was sent with the response ${this.#form}. Make another call for ${form}.`);
    }
    this.#form = form;

    return this.request(() => this.transport.send(this.#message(form)));
  }

  #message(form: Form): Message {
    const { maxCharge } = this.options;
    const headers: Record<string, string> = { "content-type": "application/json", "idempotency-key": this.#key };
    if (maxCharge !== undefined) headers["x-service-max-charge-microdollars"] = String(maxCharge);

    const input: Record<string, unknown> = { ...this.#input, response: form };
    if (!this.transport.stores) input["store"] ??= false;

    const unstored = input["store"] === false;

    return { method: "POST", path: this.#path, headers, body: jsonOf(input), unstored, options: this.options };
  }
}

/** A paid call that returns its result, or stores it, or starts a job. */
abstract class ResultCall<Value, JSON> extends PaidCall<Value> {
  /** Returns the result with its ID, filename and price. */
  async result(): Promise<Result<JSON>> {
    return new Result<JSON>(await this.send("binary"));
  }

  /** Stores the result and returns its public URL, which works for 24 hours by default. */
  async url(): Promise<Schemas.FileUrlResponse> {
    const response = await this.send("url");

    return (await response.clone().json()) as Schemas.FileUrlResponse;
  }

  /** Starts the call as a job. */
  async start(): Promise<Job<JSON>> {
    const response = await this.send("async");
    const status = (await response.clone().json()) as Schemas.JobStatusResponse;

    return new Job<JSON>(this.transport, status.id, status, this.options);
  }
}

/** A paid call whose result is a file. */
export class FileCall<JSON = unknown> extends ResultCall<Result<JSON>, JSON> {
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.result()).bytes();
  }

  async text(): Promise<string> {
    return (await this.result()).text();
  }

  async stream(): Promise<ReadableStream<Uint8Array>> {
    return (await this.result()).stream;
  }

  /** Writes the file. It needs Node, Deno or Bun. */
  async save(path: string | URL): Promise<Result<JSON>> {
    const result = await this.result();
    await result.save(path);

    return result;
  }

  protected value(): Promise<Result<JSON>> {
    return this.result();
  }
}

/** A paid call whose result is a file or JSON, depending on its input. */
export class FileOrJSONCall<JSON> extends FileCall<JSON> {
  async json(): Promise<JSON> {
    return (await this.result()).json();
  }
}

/** A paid call whose result is JSON. Awaiting it gives the value. */
export class JSONCall<JSON> extends ResultCall<JSON, JSON> {
  async json(): Promise<JSON> {
    const response = await this.send("binary");

    return (await response.clone().json()) as JSON;
  }

  protected value(): Promise<JSON> {
    return this.json();
  }
}

/** A paid call that always starts a job. Awaiting it gives the job. */
export class JobCall<JSON> extends PaidCall<Job> {
  /** Starts the job. */
  async start(): Promise<Job> {
    const response = await this.send("async");
    if (response.status !== 202) throw new TypeError("The call started no job. Get its response with json().");
    const status = (await response.clone().json()) as Schemas.JobStatusResponse;

    return new Job(this.transport, status.id, status, this.options);
  }

  /** Returns the response of a call that starts no job, such as that of quote: true. */
  async json(): Promise<JSON> {
    const response = await this.send("async");
    if (response.status === 202) throw new TypeError("The call started a job. Get it with start().");

    return (await response.clone().json()) as JSON;
  }

  /** Starts the job, waits for it and writes its result. It needs Node, Deno or Bun. */
  async save(path: string | URL, options?: WaitOptions): Promise<Result> {
    return (await this.start()).save(path, options);
  }

  protected value(): Promise<Job> {
    return this.start();
  }
}
