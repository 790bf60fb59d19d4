/** The part of Node that the tests and the README use. */
declare module "node:assert/strict" {
  interface Assert {
    equal(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown): void;
    match(text: string, pattern: RegExp): void;
    rejects(made: PromiseLike<unknown>, expected: object, message?: string): Promise<void>;
  }
  const assert: Assert;
  export default assert;
}
declare module "node:fs/promises" {
  export function readFile(path: string): Promise<Uint8Array>;
}
declare const process: { env: Record<string, string | undefined> };
declare class Buffer extends Uint8Array<ArrayBuffer> {
  static alloc(size: number, fill: string): Buffer;
}
