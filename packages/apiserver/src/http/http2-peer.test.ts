/**
 * The server's HTTP/2 against Node's client (nghttp2): every size of body, every size of window.
 */
import assert from "node:assert/strict";
import { type ClientHttp2Session, connect } from "node:http2";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { ListeningServer } from "../testing/index.ts";

let server: ListeningServer;
before(async () => {
  // Echoes the body, its headers' names and values, in parts of the requested size.
  server = await ListeningServer.start({
    wrap: async (request) => {
      const body = Buffer.from(await request.readBody(8 << 20));
      const part = Number(request.headers["x-part"]);
      const headers = { "x-sent": String(request.headers["x-sent"]), "x-audit": "1" };
      const parts = async function* () {
        for (let at = 0; at < body.length; at += part) yield body.subarray(at, at + part);
      };
      return { status: 200, headers, body: part === 0 ? body : parts(), isWatch: true };
    },
  });
});
after(() => server.close());

describe("HTTP/2 with another implementation", () => {
  it("returns every body complete, many at a time", async () => {
    const exchange = fc.record({
      size: fc.oneof(fc.nat(3), fc.nat(70_000), fc.constantFrom(16_384, 65_535, 1 << 20, 3 << 20)),
      part: fc.constantFrom(0, 1000, 16_384, 100_000),
      header: fc.string({
        unit: fc.integer({ min: 33, max: 126 }).map((code) => String.fromCharCode(code)),
        minLength: 1,
        maxLength: 200,
      }),
    });
    const run = fc.record({
      initialWindowSize: fc.constantFrom(1, 1000, 65_535, 1 << 20),
      headerTableSize: fc.constantFrom(0, 100, 4096, 65_536),
      exchanges: fc.array(exchange, { minLength: 1, maxLength: 8 }),
    });
    await fc.assert(
      fc.asyncProperty(run, async ({ initialWindowSize, headerTableSize, exchanges }) => {
        const session = connect(`https://127.0.0.1:${server.port}`, {
          ca: server.ca,
          settings: { initialWindowSize, headerTableSize },
        });
        // A window of one byte causes a frame per byte.
        const sizeMax = initialWindowSize === 1 ? 300 : initialWindowSize * 1000;
        try {
          await Promise.all(
            exchanges.map(async ({ size, part, header }, at) => {
              const body = Buffer.alloc(Math.min(size, sizeMax), String(at));
              const answer = await post(session, body, {
                "x-part": String(part),
                "x-sent": header,
              });
              assert.equal(answer.headers["x-sent"], header);
              assert.ok(answer.body.equals(body), `${answer.body.length} of ${body.length} bytes`);
            }),
          );
        } finally {
          session.destroy();
        }
      }),
      { numRuns: 25 },
    );
  });
});

async function post(
  session: ClientHttp2Session,
  body: Buffer,
  headers: Readonly<Record<string, string>>,
): Promise<{ headers: Readonly<Record<string, unknown>>; body: Buffer }> {
  const stream = session.request({ ":method": "POST", ":path": "/", ...headers });
  const answered = new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
    stream.once("response", resolve);
    stream.once("error", reject);
  });
  stream.end(body);
  const received = await answered;
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return { headers: received, body: Buffer.concat(parts) };
}
