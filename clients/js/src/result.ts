import { bytesOf, writeFile } from "./file.js";

/** A result as it arrives. Read it once, with one of bytes, text, json, stream and save. */
export class Result<JSON = unknown> {
  constructor(readonly response: Response) {}

  /** ID of the result. */
  get id(): string {
    return this.#header("x-service-id");
  }

  get filename(): string {
    const text = this.#header("content-disposition");
    const name = /filename\*=UTF-8''([^;]+)/.exec(text)?.[1];

    return name ? decodeURIComponent(name) : (/filename="([^"]*)"/.exec(text)?.[1] ?? "");
  }

  get contentType(): string {
    return this.#header("content-type");
  }

  /** Size in bytes. */
  get sizeBytes(): number {
    return Number(this.#header("x-service-size") || this.#header("content-length"));
  }

  /** Price of the call, in microdollars. */
  get chargedMicrodollars(): number {
    return Number(this.#header("x-service-charged-microdollars"));
  }

  /** Number of warnings about the source and the result. url() and start() return their texts. */
  get warningCount(): number {
    return Number(this.#header("x-service-warnings"));
  }

  /** If true, this is the result of an earlier call with the same idempotency key. */
  get replayed(): boolean {
    return this.#header("idempotent-replayed") === "true";
  }

  get stream(): ReadableStream<Uint8Array> {
    return this.response.body ?? new Blob([]).stream();
  }

  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return bytesOf(this.response);
  }

  text(): Promise<string> {
    return this.response.text();
  }

  json(): Promise<JSON> {
    return this.response.json() as Promise<JSON>;
  }

  /** Writes the result to a file, and leaves none if that fails. It needs Node, Deno or Bun. */
  save(path: string | URL): Promise<void> {
    return writeFile(path, this.stream);
  }

  #header(name: string): string {
    return this.response.headers.get(name) ?? "";
  }
}
