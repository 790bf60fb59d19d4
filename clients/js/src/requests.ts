import { jsonOf, readFile, type Content } from "./file.js";
import { Pages } from "./pages.js";
import type { Message, RequestOptions, Transport } from "./transport.js";

/** Options of an upload. */
export interface UploadOptions extends RequestOptions {
  /** Name of the file. Default: that of the path, or of the File. */
  filename?: string | undefined;
}

/** A group of operations of the API. */
export class Namespace {
  protected readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }
}

/** Sends a request with a JSON body, or without a body, and returns its result in JSON. */
export function sendJSON<T>(
  transport: Transport,
  method: string,
  path: string,
  input?: object,
  options?: RequestOptions,
): Promise<T> {
  const message: Message = { method, path, options };
  if (input !== undefined) {
    message.headers = { "content-type": "application/json" };
    message.body = jsonOf(input);
  }

  return transport.json<T>(message);
}

/** Sends a request with a query, and returns its result in JSON. */
export function getJSON<T>(transport: Transport, path: string, query: object, options?: RequestOptions): Promise<T> {
  return transport.json<T>({ method: "GET", path, query, options });
}

export function listPages<Page, Entry>(
  transport: Transport,
  path: string,
  query: object,
  entries: (page: Page) => Entry[],
  options?: RequestOptions,
): Pages<Page, Entry> {
  const load = (cursor?: string) => getJSON<Page>(transport, path, cursor ? { ...query, cursor } : query, options);

  return new Pages(load, entries);
}

export async function upload<T>(
  transport: Transport,
  path: string,
  content: Content,
  options: UploadOptions = {},
): Promise<T> {
  const isPath = typeof content === "string" || content instanceof URL;
  const body = isPath ? await readFile(content) : content;
  const filename = options.filename ?? nameOf(content);

  const headers: Record<string, string> = { "content-type": "application/octet-stream" };
  if (filename !== undefined) headers["x-filename"] = encodeURIComponent(filename);

  return transport.json<T>({ method: "POST", path, headers, body, options });
}

function nameOf(content: Content): string | undefined {
  if (typeof content === "string") return content.split(/[\\/]/).pop();
  if (content instanceof URL) return decodeURIComponent(content.pathname.split("/").pop() ?? "");

  return "name" in content && typeof content.name === "string" ? content.name : undefined;
}
