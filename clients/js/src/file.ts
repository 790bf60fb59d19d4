/** A file to upload: its path (in Node, Deno and Bun), its bytes, or a stream of them. */
export type Content = string | URL | Uint8Array | Blob | ReadableStream<Uint8Array>;

interface FileSystem {
  readFile(path: string | URL): Promise<Uint8Array>;
  writeFile(path: string | URL, data: ReadableStream<Uint8Array>): Promise<void>;
}

// Bundlers for browsers cannot resolve the module, so they must not see its name in the import.
const fileSystem = "node:fs/promises";

function loadFileSystem(): Promise<FileSystem> {
  return import(/* webpackIgnore: true */ /* @vite-ignore */ fileSystem) as Promise<FileSystem>;
}

export async function writeFile(path: string | URL, data: ReadableStream<Uint8Array>): Promise<void> {
  const files = await loadFileSystem();
  await files.writeFile(path, data);
}

export async function readFile(path: string | URL): Promise<Uint8Array> {
  const files = await loadFileSystem();

  return files.readFile(path);
}

export async function bytesOf(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await response.arrayBuffer());
}

/** Returns JSON with bytes as Base64. */
export function jsonOf(input: object): string {
  return JSON.stringify(input, function (this: Record<string, unknown>, name, value) {
    // The value of a Buffer is that of its toJSON.
    const given = this[name];

    return given instanceof Uint8Array ? base64(given) : value;
  });
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let start = 0; start < bytes.length; start += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  }

  return btoa(text);
}
