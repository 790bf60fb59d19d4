import type { Event } from "./schemas.js";

export type { Event };

export const webhooks = {
  /**
   * Returns the event of a delivery that the server has signed, and throws an error for any other.
   * body is the unchanged body of the request, signature its header Service-Signature, secret that of the endpoint,
   * and tolerance the maximum age in seconds.
   */
  async verify(body: string | Uint8Array, signature: string, secret: string, tolerance = 300): Promise<Event> {
    const text = typeof body === "string" ? body : new TextDecoder().decode(body);
    const parts = new Map(signature.split(",").map((part) => part.trim().split("=", 2) as [string, string]));
    const [time, sent] = [parts.get("t") ?? "", parts.get("v1") ?? ""];
    if (!/^\d+$/.test(time) || Math.abs(Date.now() / 1000 - Number(time)) > tolerance) {
      throw new Error("The signature has no time, or one too far from now.");
    }
    const encoder = new TextEncoder();
    const key = await crypto.subtle.importKey("raw", encoder.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    const bytes = Uint8Array.from(sent.match(/[0-9a-f]{2}/gi) ?? [], (pair) => parseInt(pair, 16));
    if (!(await crypto.subtle.verify("HMAC", key, bytes, encoder.encode(`${time}.${text}`)))) {
      throw new Error("The signature is wrong.");
    }
    return JSON.parse(text) as Event;
  },
};
