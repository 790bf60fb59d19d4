/** A file to upload: its path (in Node, Deno and Bun), its bytes, or a stream of them. */
export type Content = string | URL | Uint8Array | Blob | ReadableStream<Uint8Array>;

interface FileSystem {
  readFile(path: string | URL): Promise<Uint8Array>;
  realpath(path: string | URL): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { force: boolean }): Promise<void>;
  stat(path: string | URL): Promise<{ mode: number; isFile(): boolean }>;
  writeFile(
    path: string | URL,
    data: ReadableStream<Uint8Array>,
    options?: { mode?: number; flag: string },
  ): Promise<void>;
}

interface URLModule {
  fileURLToPath(url: URL): string;
}

// Bundlers for browsers cannot resolve the module, so they must not see its name in the import.
const fileSystem = "node:fs/promises";
const urlModule = "node:url";

function loadFileSystem(): Promise<FileSystem> {
  return import(/* webpackIgnore: true */ /* @vite-ignore */ fileSystem) as Promise<FileSystem>;
}

/** Writes a file. If that fails, the file is what it was before. */
export async function writeFile(path: string | URL, data: ReadableStream<Uint8Array>): Promise<void> {
  const files = await loadFileSystem();
  const before = await files.stat(path).catch(() => undefined);
  // A device, such as /dev/stdout, must not be replaced.
  if (before && !before.isFile()) return files.writeFile(path, data);

  // The target of a symbolic link is replaced, not the link.
  const target = before ? await files.realpath(path) : await pathOf(path);
  const temporary = target.replace(/[^/\\:]*$/, `.${crypto.randomUUID()}.tmp`);
  try {
    await files.writeFile(temporary, data, { flag: "wx", ...(before && { mode: before.mode & 0o777 }) });
    await files.rename(temporary, target);
  } catch (error) {
    await files.rm(temporary, { force: true });
    throw error;
  }
}

async function pathOf(path: string | URL): Promise<string> {
  if (typeof path === "string") return path;
  const { fileURLToPath } = (await import(/* webpackIgnore: true */ /* @vite-ignore */ urlModule)) as URLModule;

  return fileURLToPath(path);
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
