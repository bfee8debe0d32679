/** Slow, malformed or too many connections are closed, and other clients are served. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { constants } from "node:http2";
import { connect } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import { ListeningServer, readToEnd, untilWatches } from "../testing/index.ts";
import type { ListenerLimits } from "./index.ts";

/**
 * Timeouts that are short enough for a test, and long enough for TLS handshakes on a busy machine.
 */
const impatient = {
  handshakeTimeoutMs: 1500,
  requestTimeoutMs: 200,
  checkIntervalMs: 20,
  idleTimeoutMs: 1000,
};

/** The server for the tests of one group; after each test it still responds. */
function serve(limits: Partial<ListenerLimits>): () => ListeningServer {
  let server: ListeningServer;
  before(async () => {
    server = await ListeningServer.start({ limits });
  });
  afterEach(async () => {
    assert.equal((await server.http1("/livez")).status, 200);
    assert.equal((await server.http2("/livez")).status, 200);
  });
  after(() => server.close());
  return () => server;
}

describe("slow clients", () => {
  const current = serve(impatient);

  it("a client that never begins its TLS handshake is disconnected", async () => {
    const socket = connect(current().port, "127.0.0.1");
    await once(socket, "close");
  });

  it("a client that sends nothing after its TLS handshake is disconnected", async () => {
    assert.match(await readToEnd(await current().raw()), /^(HTTP\/1.1 408 |$)/);
  });

  it("a client that never ends its headers is disconnected", async () => {
    const socket = await current().raw();
    const reading = readToEnd(socket);
    socket.write("GET /version HTTP/1.1\r\nhost: x\r\n");
    assert.match(await reading, /^(HTTP\/1.1 408 |$)/);
  });

  it("a client that never ends its body over HTTP/1.1 is disconnected", async () => {
    const socket = await current().raw();
    const reading = readToEnd(socket);
    socket.write(
      "POST /clusters/a/api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token-of-admin\r\ncontent-length: 100\r\n\r\n{",
    );
    assert.match(await reading, /^(HTTP\/1.1 408 |$)/);
  });

  it("a client that never sends a byte over HTTP/2 is disconnected", async () => {
    const silent = await current().raw("h2");
    silent.resume();
    await once(silent, "close");
  });

  it("a client that idles over HTTP/2 is disconnected, a client that watches is not", async () => {
    const idle = current().session();
    const done = idle.request({ ":path": "/livez" });
    done.resume();
    await once(done, "close");
    const watching = current().session();
    const stream = watching.request({
      ":path": "/clusters/a/api/v1/configmaps?watch=1",
      authorization: "Bearer token-of-admin",
    });
    await once(stream, "response");
    await once(idle, "close");
    // The watch has been idle as long, and still gets events.
    const heard = once(stream, "data");
    await current().test.requestOk("POST", "/clusters/a/api/v1/namespaces/default/configmaps", {
      body: { metadata: { name: "idle" } },
    });
    assert.match(String((await heard)[0]), /"name":"idle"/);
    watching.destroy();
  });
});

describe("malformed input", () => {
  const current = serve({});

  it("a connection with bytes that are not TLS is closed", async () => {
    const socket = connect(current().port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(socket, "close");
  });

  it("a connection with bytes that are not HTTP/2 after ALPN chose HTTP/2 is closed", async () => {
    for (const bytes of [
      "garbage garbage garbage garbage",
      "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
      `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${"\xff".repeat(100)}`,
    ]) {
      const socket = await current().raw("h2");
      socket.resume();
      socket.write(bytes, "latin1");
      await once(socket, "close");
    }
  });

  it("an oversized frame, or data on a stream that is not open, is answered with GOAWAY", async () => {
    for (const bytes of [
      frame({ type: 0, stream: 1, length: 0xffffff }),
      frame({ type: 0, stream: 1, payload: Buffer.alloc(5) }),
      frame({ type: 9, stream: 1 }),
    ]) {
      const socket = await current().raw("h2");
      socket.write(Buffer.concat([preface, bytes]));
      let received = Buffer.alloc(0);
      while (errorOfGoAway(received) === undefined) {
        const [part] = await once(socket, "data");
        received = Buffer.concat([received, part as Buffer]);
      }
      assert.ok([1, 5, 6].includes(errorOfGoAway(received) ?? 0), received.toString("hex"));
      socket.destroy();
    }
  });

  it("too many headers are rejected over HTTP/2", async () => {
    const session = current().session();
    const headers: Record<string, string> = { ":path": "/version" };
    for (let i = 0; i < 1000; i++) headers[`x-${i}`] = "y";
    const stream = session.request(headers);
    stream.on("error", () => {});
    await new Promise((resolve) => stream.once("close", resolve));
    assert.equal(stream.rstCode, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.destroy();
  });
});

describe("floods", () => {
  const current = serve({});

  it("a flood of streams that are reset at once ends with the connection, and costs no memory", async () => {
    const socket = await current().raw("h2");
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.resume();
    socket.write(preface);
    // GET / over https, by the static table of HPACK; the stream is reset in the next frame.
    const get = Buffer.from([0x82, 0x87, 0x84]);
    const code = Buffer.from([0, 0, 0, 8]);
    let stream = 1;
    while (!socket.destroyed && stream < 40_000) {
      const frames: Buffer[] = [];
      for (let i = 0; i < 100; i++, stream += 2) {
        frames.push(frame({ type: 1, flags: 5, stream, payload: get }));
        frames.push(frame({ type: 3, stream, payload: code }));
      }
      socket.write(Buffer.concat(frames));
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(socket.destroyed, `${stream} streams were taken`);
    await closed;
  });

  it("a flood of watches that are cancelled at once leaves nothing behind", async () => {
    for (let round = 0; round < 5; round++) {
      const session = current().session();
      const streams = Array.from({ length: 100 }, () =>
        session.request({
          ":path": "/clusters/a/api/v1/configmaps?watch=1",
          authorization: "Bearer token-of-admin",
        }),
      );
      for (const stream of streams) stream.on("error", () => {});
      if (round % 2 === 0) await once(streams[0] as (typeof streams)[0], "response");
      session.destroy();
    }
    await untilWatches(current().test, 0);
  });

  it("the server survives a flood of connections that are dropped in every state", async () => {
    const half = async (bytes: string) => {
      const socket = await current().raw();
      socket.write(bytes);
      await new Promise((resolve) => setImmediate(resolve));
      socket.destroy();
    };
    const request = "GET /clusters/a/api/v1/configmaps HTTP/1.1\r\nhost: x\r\n\r\n";
    await Promise.all(
      Array.from({ length: 60 }, (_, i) => half(request.slice(0, i % request.length))),
    );
    for (let i = 0; i < 30; i++)
      connect(current().port, "127.0.0.1")
        .on("error", () => {})
        .destroy();
  });
});

interface Frame {
  readonly type: number;
  readonly stream: number;
  readonly flags?: number;
  readonly payload?: Buffer;
  /** The announced length, when it is wrong. */
  readonly length?: number;
}

function frame({ type, stream, flags = 0, payload = Buffer.alloc(0), length }: Frame): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(length ?? payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** The error code of the first GOAWAY frame in the received bytes. */
function errorOfGoAway(received: Buffer): number | undefined {
  for (let at = 0; at + 9 <= received.length; at += 9 + received.readUIntBE(at, 3)) {
    if (received[at + 3] === 7 && at + 17 <= received.length) return received.readUInt32BE(at + 13);
  }
  return undefined;
}

/** The preface of every HTTP/2 connection, and empty settings. */
const preface = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  frame({ type: 4, stream: 0 }),
]);
