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
  interface Stats {
    mode: number;
    size: number;
    isFile(): boolean;
  }
  export function mkdir(path: string): Promise<void>;
  export function readdir(path: string): Promise<string[]>;
  export function readFile(path: string): Promise<Uint8Array>;
  export function readFile(path: string, encoding: "utf8"): Promise<string>;
  export function stat(path: string): Promise<Stats>;
  export function symlink(target: string, path: string): Promise<void>;
  export function writeFile(path: string, data: string, options: { mode: number }): Promise<void>;
}
declare const process: { env: Record<string, string | undefined>; cwd(): string };
declare class Buffer extends Uint8Array<ArrayBuffer> {
  static alloc(size: number, fill: string): Buffer;
}
