import type { Event } from "./schemas.js";

export type { Event };

/** The headers of a request: those of fetch, or of Node's http. */
export type SignedHeaders = Headers | Record<string, string | string[] | undefined>;

/** No signature of a delivery is right. */
export class SignatureError extends Error {
  override name = "SignatureError";
}

/** The time and the signatures of one header, and the bytes that they sign. */
interface Claim {
  time: string;
  key: Uint8Array<ArrayBuffer>;
  signed: Uint8Array<ArrayBuffer>;
  signatures: Uint8Array<ArrayBuffer>[];
}

const encoder = new TextEncoder();

export const webhooks = {
  /**
   * Returns the event of a delivery that the server has signed, and throws a SignatureError for any other.
   * body is the unchanged body of the request, headers are its headers or its Service-Signature alone, secret is that
   * of the endpoint, and tolerance the maximum age in seconds. One valid signature, of Service-Signature or of
   * webhook-signature, is enough: while a secret is replaced, they have different ones.
   */
  async verify(
    body: string | Uint8Array,
    headers: SignedHeaders | string,
    secret: string,
    tolerance = 300,
  ): Promise<Event> {
    const bytes = typeof body === "string" ? encoder.encode(body) : new Uint8Array(body);
    const get = typeof headers === "string" ? only("service-signature", headers) : reader(headers);
    const claims = [serviceClaim(get, secret, bytes), standardClaim(get, secret, bytes)];

    let problem = claims.some(({ signatures }) => signatures.length > 0)
      ? "The signature is wrong. Compare the secret, and verify the body as it was received."
      : "The request has no signature.";
    for (const claim of claims) {
      if (!(await isSigned(claim))) continue;
      if (Math.abs(Date.now() / 1000 - Number(claim.time)) <= tolerance) {
        return JSON.parse(new TextDecoder().decode(bytes)) as Event;
      }
      problem = `The time of the signature differs from now by more than ${tolerance} s.`;
    }

    throw new SignatureError(problem);
  },
};

type Get = (name: string) => string;

function only(name: string, value: string): Get {
  return (asked) => (asked === name ? value : "");
}

function reader(headers: SignedHeaders): Get {
  if (headers instanceof Headers) return (name) => headers.get(name) ?? "";
  const values = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

  return (name) => [values.get(name) ?? []].flat()[0] ?? "";
}

/** Reads Service-Signature: "t=SECONDS,v1=HEX". Its key is the whole secret. */
function serviceClaim(get: Get, secret: string, body: Uint8Array<ArrayBuffer>): Claim {
  const parts = get("service-signature")
    .split(",")
    .map((part) => part.trim().split("="));
  const time = parts.find(([name]) => name === "t")?.[1] ?? "";
  const signatures = parts.filter(([name]) => name === "v1").map(([, value = ""]) => hex(value));

  return { time, key: encoder.encode(secret), signed: join(`${time}.`, body), signatures };
}

/** Reads webhook-signature of Standard Webhooks: "v1,BASE64" for each secret. Its key is what the secret encodes. */
function standardClaim(get: Get, secret: string, body: Uint8Array<ArrayBuffer>): Claim {
  const time = get("webhook-timestamp");
  const signatures = get("webhook-signature")
    .split(" ")
    .filter((part) => part.startsWith("v1,"))
    .map((part) => base64(part.slice("v1,".length)));

  const key = base64(secret.replace(/^whsec_/, ""));
  if (!secret.startsWith("whsec_") || key.length === 0) {
    throw new TypeError("The secret must be whsec_ and Base64, as it was shown when the endpoint was created.");
  }

  return { time, key, signed: join(`${get("webhook-id")}.${time}.`, body), signatures };
}

async function isSigned({ time, key, signed, signatures }: Claim): Promise<boolean> {
  if (!/^\d+$/.test(time)) return false;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["verify"]);
  const valid = await Promise.all(
    signatures.map((signature) => crypto.subtle.verify("HMAC", imported, signature, signed)),
  );

  return valid.includes(true);
}

function join(prefix: string, body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const start = encoder.encode(prefix);
  const bytes = new Uint8Array(start.length + body.length);
  bytes.set(start);
  bytes.set(body, start.length);

  return bytes;
}

function hex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/[0-9a-f]{2}/gi) ?? [], (pair) => parseInt(pair, 16));
}

/** Returns no bytes for a text that is not Base64. */
function base64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
