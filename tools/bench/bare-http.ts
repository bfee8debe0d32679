/**
 * The ceiling of one Node process: an HTTP/2 server that does nothing but answer. A program of its
 * own.
 *
 *     bare-http.js <certificate> <key> <folder> <requests|streams>
 *
 * Written against Node's request and response, as most servers are, or against its streams, which
 * is the least that Node can do. GET answers with the bytes of a file of the folder, read once;
 * POST takes the body and answers 201 with the file `one`.
 */
import { readFileSync } from "node:fs";
import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";

const [certificatePath = "", keyPath = "", folder = "", api] = process.argv.slice(2);
const jsonType = "application/json";
const files = new Map<string, Buffer>();

const server = createSecureServer({
  cert: readFileSync(certificatePath),
  key: readFileSync(keyPath),
  // As the server that is compared with it has them.
  requestCert: true,
  rejectUnauthorized: false,
  settings: { maxConcurrentStreams: 1000, initialWindowSize: 1 << 20 },
});
if (api === "streams") server.on("stream", onStream);
else server.on("request", onRequest);
server.listen(0, "127.0.0.1", () => {
  console.log(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.on("SIGTERM", () => process.exit(0));

function onRequest(request: Http2ServerRequest, response: Http2ServerResponse): void {
  const send = (status: number, body: Buffer) => {
    response.writeHead(status, { "content-type": jsonType, "content-length": body.length });
    response.end(body);
  };
  if (request.method === "POST") takeBody(request, () => send(201, fileOf("/one")));
  else send(200, fileOf(request.url));
}

function onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  // Whoever leaves early is no concern of a ceiling.
  stream.on("error", () => undefined);
  if (headers[":method"] === "POST") takeBody(stream, () => answer(stream, 201, fileOf("/one")));
  else answer(stream, 200, fileOf(headers[":path"] ?? "/"));
}

function takeBody(source: Readable, whenRead: () => void): void {
  const parts: Buffer[] = [];
  source.on("data", (part: Buffer) => parts.push(part));
  source.on("end", whenRead);
}

function answer(stream: ServerHttp2Stream, status: number, body: Buffer): void {
  stream.respond({ ":status": status, "content-type": jsonType, "content-length": body.length });
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
