/**
 * Clients that send requests and do not read: their memory is bounded in bytes and in time, and
 * other clients are served.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Stream, connect as connectHttp2, constants } from "node:http2";
import { after, afterEach, before, describe, it } from "node:test";
import type { ApiRequest } from "../request/api-request.ts";
import { ListeningServer } from "../testing/index.ts";
import type { ListenerLimits } from "./index.ts";

const configMaps = "/clusters/a/api/v1/namespaces/default/configmaps";
const large = "x".repeat(900_000);

function serve(limits: Partial<ListenerLimits>): () => ListeningServer {
  let server: ListeningServer;
  before(async () => {
    server = await ListeningServer.start({ limits });
    for (let i = 0; i < 8; i++)
      await server.test.requestOk("POST", configMaps, {
        body: { metadata: { name: `large-${i}` }, data: { x: large } },
      });
  });
  afterEach(async () => {
    assert.equal((await server.http2("/livez")).status, 200);
  });
  after(() => server.close());
  return () => server;
}

/** A connection whose client keeps its window closed. */
function unreading(server: ListeningServer) {
  const session = connectHttp2(`https://127.0.0.1:${server.port}`, {
    ca: server.ca,
    settings: { initialWindowSize: 0 },
  });
  session.on("error", () => {});
  const get = (path: string) => {
    const stream = session.request({ ":path": path, authorization: "Bearer token-of-admin" });
    stream.on("error", () => {});
    return stream;
  };
  return { session, get };
}

async function closed(stream: ClientHttp2Stream): Promise<number> {
  if (!stream.closed) await new Promise((resolve) => stream.once("close", resolve));
  return stream.rstCode;
}

describe("responses that their client does not read", () => {
  const current = serve({ stalledTimeoutMs: 600 });

  it("are ended over HTTP/2, single objects and lists, while a watch on the same connection goes on", async () => {
    const { session, get } = unreading(current());
    const stalled = [get(`${configMaps}/large-0`), get(configMaps)];
    const watch = get(`${configMaps}?watch=1`);
    for (const stream of stalled)
      assert.equal(await closed(stream), constants.NGHTTP2_CANCEL, "it was to be reset");
    assert.equal(watch.closed, false);
    session.destroy();
  });

  it("are ended over HTTP/1.1 with their connection, single objects and lists", async () => {
    for (const path of [`${configMaps}/large-0`, configMaps, `${configMaps}?limit=500`]) {
      const socket = await current().raw();
      socket.pause();
      const request = `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token-of-admin\r\n\r\n`;
      // More responses than the system's buffers hold; the last is a watch, which may be unread,
      // but must not protect the others.
      socket.write(
        `${request.repeat(12)}${request.replace(/ HTTP/, `${path.includes("?") ? "&" : "?"}watch=1 HTTP`)}`,
      );
      const ended = () => current().debug.some((line) => line.startsWith("connection ended"));
      while (!ended()) await new Promise((resolve) => setImmediate(resolve));
      current().debug.length = 0;
      socket.destroy();
    }
  });

  it("go on when the client reads them before the timeout", async () => {
    const { session, get } = unreading(current());
    const stream = get(`${configMaps}/large-0`);
    await once(stream, "response");
    let bytes = 0;
    stream.on("data", (part: Buffer) => {
      bytes += part.length;
    });
    // Node's client opens the window as it reads.
    session.settings({ initialWindowSize: 65_535 });
    await once(stream, "end");
    assert.ok(bytes > large.length);
    session.destroy();
  });
});

describe("unread responses of one connection", () => {
  const current = serve({ unreadBytesPerConnectionMax: 2 << 20 });

  it("hold back its further requests, which begin when the client reads", async () => {
    let begun = 0;
    const { server } = current().test;
    const { handle } = server;
    const counting = (request: ApiRequest) => {
      if (request.target.includes("large-")) begun++;
      return handle(request);
    };
    Object.assign(server, { handle: counting });
    const { session, get } = unreading(current());
    const streams = Array.from({ length: 50 }, (_, i) => get(`${configMaps}/large-${i % 8}`));
    await once(streams[0] as ClientHttp2Stream, "response");
    // The server has read all earlier frames when it acknowledges this ping.
    await new Promise((resolve) => session.ping(() => resolve(undefined)));
    assert.ok(begun <= 4, `${begun} were begun`);

    let answered = 0;
    const all = streams.map(async (stream) => {
      for await (const part of stream) answered += (part as Buffer).length;
    });
    session.settings({ initialWindowSize: 1 << 20 });
    await Promise.all(all);
    assert.ok(answered > 50 * large.length);
    assert.equal(begun, 50);
    session.destroy();
  });

  it("are released with requests that the client cancels", async () => {
    const { session, get } = unreading(current());
    const streams = Array.from({ length: 20 }, (_, i) => get(`${configMaps}/large-${i % 8}`));
    await once(streams[0] as ClientHttp2Stream, "response");
    for (const stream of streams.slice(0, 10)) stream.close(constants.NGHTTP2_CANCEL);
    await once(streams[10] as ClientHttp2Stream, "response");
    session.destroy();
  });
});

describe("unread responses of all connections", () => {
  const current = serve({ stalledTimeoutMs: 6000, unreadBytesMax: 3 << 20 });

  it("are ended sooner when there are too many of them, and clients that read are served", async () => {
    const connections = Array.from({ length: 8 }, () => unreading(current()));
    const streams = connections.map(({ get }) => get(`${configMaps}/large-0`));
    await Promise.all(streams.map((stream) => once(stream, "response")));
    const answer = await current().http2(`${configMaps}/large-1`);
    assert.equal(answer.status, 200);
    const codes = await Promise.all(streams.map(closed));
    assert.ok(codes.includes(constants.NGHTTP2_CANCEL));
    for (const { session } of connections) session.destroy();
  });
});
