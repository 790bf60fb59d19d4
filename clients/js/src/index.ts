/**
 * Client for relaypdf.
 *
 *     const relay = new Relay({ key: process.env.RELAYPDF_API_KEY });
 *     await relay.pdf.create({ html: "<h1>Invoice 42</h1>" }).save("invoice.pdf");
 */
import { API } from "./api.js";
import { Job } from "./job.js";
import { Transport, type Settings } from "./transport.js";

export type { Download, FileCall, FileOrJSONCall, JobCall, JSONCall } from "./call.js";
export type { Content } from "./file.js";
export { Job, type WaitOptions } from "./job.js";
export type { UploadOptions } from "./requests.js";
export type { Pages } from "./pages.js";
export { Result } from "./result.js";
export type * as Schemas from "./schemas.js";
export { RelayError, type CallOptions, type RequestOptions, type Settings } from "./transport.js";
export { SignatureError, webhooks, type Event, type SignedHeaders } from "./webhooks.js";

/** The client. Its members are the groups of the API's operations. */
export class Relay extends API {
  readonly #transport: Transport;

  constructor(settings: Settings = {}) {
    const transport = new Transport(settings);
    super(transport);
    this.#transport = transport;
  }

  /** Returns the job with an ID, such as one that another process started. */
  job(id: string): Job {
    return new Job(this.#transport, id);
  }
}
