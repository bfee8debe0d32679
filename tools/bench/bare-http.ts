/**
 * The ceiling of one Node process: an HTTP/2 server that does nothing but answer. A program of its own.
 *
 *     bare-http.js <certificate> <key> <folder>
 *
 * GET answers with the bytes of a file of the folder, read once; POST takes the body and answers 201 with the file `one`.
 */
import { readFileSync } from "node:fs";
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

const [certificatePath = "", keyPath = "", folder = ""] = process.argv.slice(2);
const files = new Map<string, Buffer>();

const server = createSecureServer({
  cert: readFileSync(certificatePath),
  key: readFileSync(keyPath),
  // As the server that is compared with it has them.
  requestCert: true,
  rejectUnauthorized: false,
  settings: { maxConcurrentStreams: 1000, initialWindowSize: 1 << 20 },
});
server.on("stream", (stream, headers) => {
  // Whoever leaves early is no concern of a ceiling.
  stream.on("error", () => undefined);
  if (headers[":method"] === "POST") takeBody(stream);
  else answer(stream, 200, fileOf(headers[":path"] ?? "/"));
});
server.listen(0, "127.0.0.1", () => {
  console.log(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.on("SIGTERM", () => process.exit(0));

function takeBody(stream: ServerHttp2Stream): void {
  const parts: Buffer[] = [];
  stream.on("data", (part: Buffer) => parts.push(part));
  stream.on("end", () => answer(stream, 201, fileOf("/one")));
}

function answer(stream: ServerHttp2Stream, status: number, body: Buffer): void {
  stream.respond({
    ":status": status,
    "content-type": "application/json",
    "content-length": body.length,
  });
  stream.end(body);
}

function fileOf(path: string): Buffer {
  let bytes = files.get(path);
  if (bytes === undefined) {
    bytes = readFileSync(join(folder, path.slice(1)));
    files.set(path, bytes);
  }
  return bytes;
}
