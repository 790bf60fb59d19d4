package views

// signatureSample checks a delivery with nothing but Node.js.
const signatureSample = `import { createHmac, timingSafeEqual } from "node:crypto";

export function verify(secret, header, body, now = Date.now() / 1000) {
  const { t, v1 } = Object.fromEntries(header.split(",").map((part) => part.split("=")));
  const wanted = createHmac("sha256", secret).update(t + "." + body).digest();
  const given = Buffer.from(v1 ?? "", "hex");
  return Math.abs(now - t) <= 300 && given.length === wanted.length && timingSafeEqual(given, wanted);
}`
