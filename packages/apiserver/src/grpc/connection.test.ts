/** Calls on one connection, against peers that violate the protocol in one way each. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { constants, type ServerHttp2Stream } from "node:http2";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { FaultProxy, freePorts } from "@kcp-ts/testkit";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { type Endpoint, parseEndpoint } from "./endpoint.ts";
import { encodeFrame } from "./frames.ts";
import { grpcCode } from "./grpc-error.ts";
import { respondRaw, respondWith, startPeer, startTcpPeer } from "./hostile-peer.ts";
import { MessageStream } from "./message-stream.ts";
import { callUnary } from "./unary.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("a gRPC call", () => {
  it("sends one message and returns the response", async () => {
    const received: Buffer[] = [];
    await check({
      answer: (stream) => {
        stream.on("data", (chunk: Buffer) => received.push(chunk));
        stream.on("end", () => respondWith(stream, bytes("pong")));
      },
      expect: async (call) => {
        assert.equal(new TextDecoder().decode(await call()), "pong");
        assert.deepEqual(Buffer.concat(received), encodeFrame(bytes("ping")));
      },
    });
  });

  it("fails with the peer's status, also when the status comes without a body", async () => {
    await check({
      answer: (stream) =>
        stream.respond(
          {
            ":status": 200,
            "content-type": "application/grpc",
            "grpc-status": "11",
            "grpc-message": "required%20revision %E2%9C%93",
          },
          { endStream: true },
        ),
      expect: (call) =>
        assert.rejects(call(), { code: 11, message: "required revision ✓", delivery: "answered" }),
    });
  });

  it("fails with the status of the trailers", async () => {
    await check({
      answer: (stream) =>
        respondRaw(stream, encodeFrame(bytes("half")), {
          "grpc-status": "14",
          "grpc-message": "bad %zz",
        }),
      expect: (call) =>
        assert.rejects(call(), { code: 14, message: "bad %zz", delivery: "answered" }),
    });
  });

  const malformed: Record<string, { answer: (stream: ServerHttp2Stream) => void; code: number }> = {
    "ends without a status": {
      answer: (stream) => respondRaw(stream, encodeFrame(bytes("x"))),
      code: grpcCode.unavailable,
    },
    "says OK without a message": {
      answer: (stream) => respondRaw(stream, new Uint8Array(), { "grpc-status": "0" }),
      code: grpcCode.internal,
    },
    "sends two messages": {
      answer: (stream) =>
        respondRaw(stream, Buffer.concat([encodeFrame(bytes("a")), encodeFrame(bytes("b"))]), {
          "grpc-status": "0",
        }),
      code: grpcCode.internal,
    },
    "ends inside a message": {
      answer: (stream) =>
        respondRaw(stream, encodeFrame(bytes("abcdef")).subarray(0, 8), { "grpc-status": "0" }),
      code: grpcCode.internal,
    },
    "announces a message over the limit": {
      answer: (stream) =>
        respondRaw(stream, Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1]), { "grpc-status": "0" }),
      code: grpcCode.resourceExhausted,
    },
    "sends garbage for a message": {
      answer: (stream) => respondRaw(stream, Buffer.alloc(64, 0xee), { "grpc-status": "0" }),
      code: grpcCode.internal,
    },
    "sends a status that is no number": {
      answer: (stream) => respondRaw(stream, new Uint8Array(), { "grpc-status": "fine" }),
      code: grpcCode.unknown,
    },
    "answers a page of HTML": {
      answer: (stream) => {
        stream.respond({ ":status": 502, "content-type": "text/html" });
        stream.end("<h1>Bad Gateway</h1>");
      },
      code: grpcCode.unavailable,
    },
    "resets the stream": {
      answer: (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
      code: grpcCode.unavailable,
    },
    "hangs up": { answer: (stream) => stream.session?.destroy(), code: grpcCode.unavailable },
  };
  for (const [name, { answer, code }] of Object.entries(malformed)) {
    it(`fails when the peer ${name}, and its outcome is not taken for known`, async () => {
      await check({
        answer,
        expect: async (call) => {
          const error = await failure(call());
          assert.equal(error.code, code);
          assert.equal(error.delivery, "unknown");
        },
      });
    });
  }

  it("a refused stream counts as not sent, and the connection accepts no more calls", async () => {
    let streams = 0;
    await check({
      answer: (stream) => {
        streams++;
        stream.close(constants.NGHTTP2_REFUSED_STREAM);
      },
      expect: async (call) => {
        await assert.rejects(call(), { code: 14, delivery: "not-sent" });
        await assert.rejects(call(), { code: 14, delivery: "not-sent" });
        assert.equal(streams, 1);
      },
    });
  });

  it("ends at its deadline and resets the stream", async () => {
    let closed: Promise<unknown> | undefined;
    await check({
      answer: (stream) => {
        closed = once(stream, "close");
      },
      expect: async (call) => {
        await assert.rejects(call({ timeoutMs: 50 }), { code: 4, delivery: "unknown" });
        await closed;
      },
    });
  });

  it("ends with the reason of its signal and resets the stream", async () => {
    const controller = new AbortController();
    let closed: Promise<unknown> | undefined;
    await check({
      answer: (stream) => {
        closed = once(stream, "close");
        controller.abort(new Error("the caller went away"));
      },
      expect: async (call) => {
        await assert.rejects(call({ signal: controller.signal }), /the caller went away/);
        await closed;
      },
    });
  });
});

describe("a gRPC connection", () => {
  it("accepts no calls after GOAWAY and lets open ones finish", async () => {
    const peer = await startPeer((stream) => {
      stream.session?.goaway(constants.NGHTTP2_NO_ERROR, stream.id ?? 0);
      stream.once("aborted", () => undefined);
      setImmediate(() => respondWith(stream, bytes("last")));
    });
    const connection = await Connection.open(peer.endpoint, options());
    try {
      const unusable = new Promise<void>((resolve) => connection.onUnusable(resolve));
      assert.equal(new TextDecoder().decode(await unary(connection)), "last");
      await unusable;
      await assert.rejects(unary(connection), { code: 14, delivery: "not-sent" });
    } finally {
      connection.destroy("test is over");
      await peer.dispose();
    }
  });

  it("fails to open when the peer sends garbage", async () => {
    const peer = await startTcpPeer((socket) =>
      socket.write("220 mail.example.com ESMTP\r\n".repeat(9)),
    );
    await opening(peer.endpoint, { code: 14, delivery: "not-sent" });
    await peer.dispose();
  });

  it("fails to open when the peer accepts the connection and sends nothing", async () => {
    const peer = await startTcpPeer(() => undefined);
    await opening(peer.endpoint, /no HTTP\/2 answer within 300 ms/, { connectTimeoutMs: 300 });
    await peer.dispose();
  });

  it("fails to open when the peer closes the connection at once", async () => {
    const peer = await startTcpPeer((socket) => socket.destroy());
    await opening(peer.endpoint, { code: 14, delivery: "not-sent" });
    await peer.dispose();
  });

  it("fails to open when no server listens", async () => {
    const [port] = await freePorts(1);
    await opening(parseEndpoint(`127.0.0.1:${port}`), /ECONNREFUSED/);
  });

  it("detects a half-open connection although the peer's socket is up", async () => {
    const peer = await startPeer(() => undefined);
    const { hostname, port } = peer.endpoint.url;
    const proxy = await FaultProxy.start({ host: hostname, port: Number(port) });
    const connection = await Connection.open(
      parseEndpoint(`127.0.0.1:${proxy.port}`),
      options({ keepaliveIntervalMs: 100, keepaliveTimeoutMs: 100 }),
    );
    proxy.setFaults({ blackhole: true });
    await assert.rejects(unary(connection, { timeoutMs: 30_000 }), /silent for \d+ ms/);
    assert.equal(connection.usable, false);
    await proxy.dispose();
    await peer.dispose();
  });

  it("stays up while an otherwise silent peer acknowledges pings", async () => {
    const peer = await startPeer(() => undefined);
    const connection = await Connection.open(
      peer.endpoint,
      options({ keepaliveIntervalMs: 20, keepaliveTimeoutMs: 1000 }),
    );
    await assert.rejects(unary(connection, { timeoutMs: 300 }), { code: 4 });
    assert.equal(connection.usable, true);
    connection.destroy("test is over");
    await peer.dispose();
  });

  it("applies backpressure to a peer that sends faster than the reader reads", async () => {
    const message = encodeFrame(new Uint8Array(64 << 10));
    let sent = 0;
    const peer = await startPeer((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      const pump = () => {
        while (!stream.destroyed && stream.write(message)) sent++;
        sent++;
      };
      stream.on("drain", pump);
      pump();
    });
    const connection = await Connection.open(peer.endpoint, options());
    const stream = new MessageStream(connection, "/x/Y", { metadata: {}, unreadBytesMax: 1 << 20 });
    await stream.next();
    for (let before = -1; before !== sent; ) {
      before = sent;
      await new Promise((resolve) => systemClock.schedule(200, () => resolve(undefined)));
    }
    // The capacity of the queue, the stream's window and the buffers of both sockets, not the bytes
    // that a peer can send in that time.
    assert.ok(sent * (64 << 10) < 64 << 20, `${sent} messages were sent`);
    for (let i = 0; i < 100; i++) assert.equal((await stream.next())?.length, 64 << 10);
    stream.cancel();
    await assert.rejects(stream.next(), { code: grpcCode.cancelled });
    connection.destroy("test is over");
    await peer.dispose();
  });
});

interface CallOverrides {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

function unary(connection: Connection, overrides: CallOverrides = {}): Promise<Uint8Array> {
  return callUnary(connection, "/test.Service/Method", bytes("ping"), {
    clock: systemClock,
    timeoutMs: 5000,
    signal: new AbortController().signal,
    metadata: {},
    ...overrides,
  });
}

async function check(scenario: {
  answer: (stream: ServerHttp2Stream) => void;
  expect: (call: (overrides?: CallOverrides) => Promise<Uint8Array>) => Promise<void>;
}): Promise<void> {
  const peer = await startPeer(scenario.answer);
  const connection = await Connection.open(peer.endpoint, options());
  try {
    await scenario.expect((overrides) => unary(connection, overrides));
  } finally {
    connection.destroy("test is over");
    await peer.dispose();
  }
}

async function opening(
  endpoint: Endpoint,
  expected: object | RegExp,
  overrides: Partial<ConnectionOptions> = {},
): Promise<void> {
  await assert.rejects(Connection.open(endpoint, options(overrides)), expected);
}

async function failure(promise: Promise<unknown>): Promise<{ code: number; delivery: string }> {
  return promise.then(
    () => assert.fail("the call succeeded"),
    (error: { code: number; delivery: string }) => error,
  );
}

function options(overrides: Partial<ConnectionOptions> = {}): ConnectionOptions {
  return {
    clock: systemClock,
    connectTimeoutMs: 3000,
    keepaliveIntervalMs: 10_000,
    keepaliveTimeoutMs: 5000,
    responseBytesMax: 1 << 20,
    ...overrides,
  };
}
