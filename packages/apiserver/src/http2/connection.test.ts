/** The rules of RFC 9113, and the errors for their violations. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connectionWindowBytes, streamWindowBytes } from "./connection.ts";
import { headerFramesMax } from "./frame-reader.ts";
import { errorCode, flag, frameType } from "./protocol.ts";
import { BodyError } from "./server-stream.ts";
import {
  block,
  bodyOf,
  bytesOf,
  data,
  frame,
  get,
  getFields,
  goAwayFrames,
  headers,
  number,
  ok,
  Peer,
  postFields,
  resets,
  settings,
} from "./test-support/peer.ts";

const openPost = headers(1, postFields, { isEnd: false });

describe("connection errors", () => {
  const cases: [title: string, code: number, ...frames: Buffer[]][] = [
    ["a frame that is too large", errorCode.frameSizeError, frame({ type: 0, length: 16_385 })],
    ["data outside of a request", errorCode.protocolError, data(1, Buffer.from("x"))],
    ["data of the connection", errorCode.protocolError, data(0, Buffer.from("x"))],
    ["a continuation of nothing", errorCode.protocolError, frame({ type: 9, streamId: 1 })],
    ["a push", errorCode.protocolError, frame({ type: 5, streamId: 1 })],
    ["a request with an even number", errorCode.protocolError, get(2)],
    [
      "another frame inside a header block",
      errorCode.protocolError,
      frame({ type: 1, streamId: 1, payload: block(getFields) }),
      settings(),
    ],
    [
      "a reset of nothing",
      errorCode.protocolError,
      frame({ type: 3, streamId: 1, payload: number(8) }),
    ],
    ["a short reset", errorCode.frameSizeError, get(1), frame({ type: 3, streamId: 1 })],
    ["a short ping", errorCode.frameSizeError, frame({ type: 6, payload: [1] })],
    [
      "a ping of a stream",
      errorCode.protocolError,
      frame({ type: 6, streamId: 1, payload: Buffer.alloc(8) }),
    ],
    ["half a setting", errorCode.frameSizeError, frame({ type: 4, payload: [0, 4, 0] })],
    ["settings of a stream", errorCode.protocolError, frame({ type: 4, streamId: 1 })],
    ["a window beyond its limit", errorCode.flowControlError, settings([4, 0x8000_0000])],
    ["frames below their minimum", errorCode.protocolError, settings([5, 16_383])],
    ["a push setting of two", errorCode.protocolError, settings([2, 2])],
    [
      "a window that does not grow",
      errorCode.protocolError,
      frame({ type: 8, payload: number(0) }),
    ],
    [
      "a window that overflows",
      errorCode.flowControlError,
      frame({ type: 8, payload: number(0x7fff_ffff) }),
    ],
    [
      "a window of nothing",
      errorCode.protocolError,
      frame({ type: 8, streamId: 1, payload: number(1) }),
    ],
    [
      "more padding than frame",
      errorCode.protocolError,
      openPost,
      frame({ type: 0, flags: flag.padded, streamId: 1, payload: [9, 1] }),
    ],
    [
      "an unknown header number",
      errorCode.compressionError,
      frame({ type: 1, flags: 5, streamId: 1, payload: [0xff, 0x7f] }),
    ],
    [
      "a header block that is cut off",
      errorCode.compressionError,
      frame({ type: 1, flags: 5, streamId: 1, payload: [0x40, 5, 97] }),
    ],
    [
      "a header table beyond ours",
      errorCode.compressionError,
      frame({ type: 1, flags: 5, streamId: 1, payload: [0x3f, 0xe2, 0x1f] }),
    ],
    [
      "bad Huffman padding",
      errorCode.compressionError,
      frame({ type: 1, flags: 5, streamId: 1, payload: [0, 0x81, 0x00, 0] }),
    ],
  ];
  for (const [title, code, ...frames] of cases) {
    it(title, async () => {
      const peer = new Peer();
      peer.send(...frames);
      assert.equal(goAwayFrames(await peer.received()), code);
      assert.ok(peer.isEnded);
      assert.equal(peer.connection.openStreams, 0);
    });
  }

  it("a connection that does not begin with the HTTP/2 preface, or not with SETTINGS", async () => {
    for (const greeting of [get(1), frame({ type: 4, flags: flag.ack })]) {
      const peer = new Peer({ greeting });
      assert.equal(goAwayFrames(await peer.received()), errorCode.protocolError);
    }
  });

  it("more data than all windows together allow", async () => {
    const peer = new Peer();
    const piece = Buffer.alloc(16_384);
    for (let id = 1; id < 200 && !peer.isEnded; id += 2) {
      peer.send(headers(id, postFields, { isEnd: false }));
      for (let i = 0; i < 32 && !peer.isEnded; i++) peer.send(data(id, piece));
    }
    assert.equal(goAwayFrames(await peer.received()), errorCode.flowControlError);
    assert.equal(peer.streams.length, connectionWindowBytes / (32 * 16_384) + 1);
  });

  it("a header block without end, in bytes or in frames", async () => {
    for (const [size, count] of [
      [16_384, 9],
      [0, headerFramesMax],
    ] as const) {
      const peer = new Peer();
      peer.send(frame({ type: 1, streamId: 1 }));
      for (let i = 0; i < count; i++) {
        assert.equal(peer.isEnded, false);
        peer.send(frame({ type: 9, streamId: 1, payload: Buffer.alloc(size) }));
      }
      assert.equal(goAwayFrames(await peer.received()), errorCode.enhanceYourCalm);
    }
  });
});

describe("stream errors", () => {
  const cases: [title: string, code: number, ...frames: Buffer[]][] = [
    ["a name in upper case", 1, headers(1, [...getFields, ["X-Y", "z"]], { isEnd: true })],
    ["a value with a line end", 1, headers(1, [...getFields, ["x", "a\r\nb"]], { isEnd: true })],
    ["a value with a space before it", 1, headers(1, [...getFields, ["x", " a"]], { isEnd: true })],
    [
      "a header of HTTP/1.1",
      1,
      headers(1, [...getFields, ["connection", "close"]], { isEnd: true }),
    ],
    ["te of HTTP/1.1", 1, headers(1, [...getFields, ["te", "gzip"]], { isEnd: true })],
    ["no path", 1, headers(1, getFields.slice(0, 2), { isEnd: true })],
    ["an empty path", 1, headers(1, [...getFields.slice(0, 2), [":path", ""]], { isEnd: true })],
    ["two paths", 1, headers(1, [...getFields, [":path", "/y"]], { isEnd: true })],
    ["an unknown pseudo-header", 1, headers(1, [...getFields, [":x", "y"]], { isEnd: true })],
    ["a pseudo-header after a header", 1, headers(1, [["x", "y"], ...getFields], { isEnd: true })],
    [
      "a length that is no number",
      1,
      headers(1, [...postFields, ["content-length", "x"]], { isEnd: false }),
    ],
    [
      "two lengths",
      1,
      headers(1, [...postFields, ["content-length", "1"], ["content-length", "1"]], {
        isEnd: false,
      }),
    ],
    [
      "a length and no body",
      1,
      headers(1, [...postFields, ["content-length", "1"]], { isEnd: true }),
    ],
    [
      "a body longer than its length",
      1,
      headers(1, [...postFields, ["content-length", "1"]], { isEnd: false }),
      data(1, Buffer.from("xy")),
    ],
    [
      "a body shorter than its length",
      1,
      headers(1, [...postFields, ["content-length", "3"]], { isEnd: false }),
      data(1, Buffer.from("xy"), true),
    ],
    ["data after the end", errorCode.streamClosed, get(1), data(1, Buffer.from("x"))],
    ["headers after the end", errorCode.streamClosed, get(1), get(1)],
    ["a second head in the middle", 1, openPost, headers(1, [["x", "y"]], { isEnd: false })],
    ["pseudo-headers in a trailer", 1, openPost, headers(1, getFields, { isEnd: true })],
    ["a window that does not grow", 1, get(1), frame({ type: 8, streamId: 1, payload: number(0) })],
    [
      "a window that overflows",
      errorCode.flowControlError,
      get(1),
      frame({ type: 8, streamId: 1, payload: number(0x7fff_ffff) }),
    ],
    [
      "more headers than allowed",
      errorCode.enhanceYourCalm,
      headers(
        1,
        [...getFields, ...Array.from({ length: 254 }, (_, i): [string, string] => [`x${i}`, "y"])],
        { isEnd: true },
      ),
    ],
    ["larger headers than allowed", errorCode.enhanceYourCalm, ...large(65_536)],
  ];
  for (const [title, code, ...frames] of cases) {
    it(title, async () => {
      const peer = new Peer();
      peer.send(...frames);
      const received = await peer.received();
      assert.deepEqual(resets(received), [[1, code]]);
      assert.equal(peer.connection.openStreams, 0);
      // The connection stays open.
      peer.send(get(3));
      assert.equal(peer.streams.at(-1)?.id, 3);
    });
  }

  it("as many headers as allowed, of the size allowed, arrive", () => {
    const peer = new Peer();
    const many = Array.from({ length: 253 }, (_, i): [string, string] => [`x${i}`, "y"]);
    peer.send(headers(1, [...getFields, ...many], { isEnd: true }));
    assert.equal(Object.keys(peer.streams[0]?.head.headers ?? {}).length, 253);
    peer.send(...large(60_000, 3));
    assert.equal(peer.streams[1]?.head.headers["x"]?.length, 60_000);
  });

  it("more streams than allowed are refused, so that the client may retry", async () => {
    const peer = new Peer({ limits: { streamsPerConnectionMax: 2 } });
    peer.send(get(1), get(3), get(5));
    assert.deepEqual(resets(await peer.received()), [[5, errorCode.refusedStream]]);
    peer.streams[0]?.respond(204, {}, undefined);
    peer.send(get(7));
    assert.equal(peer.streams.at(-1)?.id, 7);
  });
});

describe("requests and responses", () => {
  it("headers keep every byte, and repeated headers are joined", () => {
    const peer = new Peer();
    const fields: [string, string][] = [
      [":authority", "host"],
      ["__proto__", "x"],
      ["accept", "a"],
      ["accept", "b"],
      ["cookie", "c=1"],
      ["cookie", "d=2"],
      ["x-bytes", "\xff\x80é"],
    ];
    peer.send(headers(1, [...getFields, ...fields], { isEnd: true }));
    const { headers: read } = peer.streams[0]?.head ?? {};
    assert.deepEqual(Object.entries(read ?? {}), [
      [":authority", "host"],
      ["__proto__", "x"],
      ["accept", "a, b"],
      ["cookie", "c=1; d=2"],
      ["x-bytes", "\xff\x80é"],
    ]);
  });

  it("frames may arrive byte by byte", async () => {
    const peer = new Peer({ onStream: ok("hello") });
    for (const byte of get(1)) peer.send(Buffer.from([byte]));
    assert.equal(bodyOf(await peer.received(), 1), "hello");
  });

  it("a body arrives whole, padded or not, with trailers or without", async () => {
    const read = async (...frames: Buffer[]) => {
      const peer = new Peer();
      peer.send(openPost);
      const done = new Promise<Uint8Array | BodyError>((resolve) =>
        peer.streams[0]?.readBody(100, resolve),
      );
      peer.send(...frames);
      return Buffer.from((await done) as Uint8Array).toString();
    };
    const padded = frame({ type: 0, flags: flag.padded, streamId: 1, payload: [2, 97, 98, 0, 0] });
    assert.equal(await read(padded, data(1, Buffer.from("c"), true)), "abc");
    assert.equal(
      await read(data(1, Buffer.from("x")), headers(1, [["t", "u"]], { isEnd: true })),
      "x",
    );
    assert.equal(await read(data(1, Buffer.alloc(0), true)), "");
  });

  it("a body beyond its limit is rejected, a body of exactly the limit is not", async () => {
    for (const [size, expected] of [
      [100, 100],
      [101, "too-large"],
    ] as const) {
      const peer = new Peer();
      peer.send(openPost, data(1, Buffer.alloc(50)));
      const done = new Promise<Uint8Array | BodyError>((resolve) =>
        peer.streams[0]?.readBody(100, resolve),
      );
      peer.send(data(1, Buffer.alloc(size - 50), true));
      const result = await done;
      assert.equal(result instanceof BodyError ? result.reason : result.length, expected);
    }
  });

  it("a client that disconnects in the middle of its body aborts the request", async () => {
    const peer = new Peer();
    peer.send(openPost);
    let closes = 0;
    peer.streams[0]?.onClose(() => closes++);
    const done = new Promise((resolve) => peer.streams[0]?.readBody(100, resolve));
    peer.send(frame({ type: 3, streamId: 1, payload: number(errorCode.cancel) }));
    assert.deepEqual([(await done) instanceof BodyError, closes], [true, 1]);
  });

  it("a response before the end of the body is followed by RST_STREAM with NO_ERROR", async () => {
    const peer = new Peer({ onStream: ok("no") });
    peer.send(openPost);
    const received = await peer.received();
    assert.equal(bodyOf(received, 1), "no");
    assert.deepEqual(resets(received), [[1, errorCode.noError]]);
    // Late frames do no harm.
    peer.send(data(1, Buffer.from("late")));
    assert.equal(peer.isEnded, false);
  });

  it("a client that expects 100-continue gets it", async () => {
    const peer = new Peer();
    peer.send(headers(1, [...postFields, ["expect", "100-continue"]], { isEnd: false }));
    assert.equal((await peer.received()).length, 0);
    peer.streams[0]?.readBody(10, () => {});
    const [interim] = await peer.received();
    assert.equal(interim?.type, frameType.headers);
    assert.equal((interim?.flags ?? 0) & flag.endStream, 0);
  });

  it("a PING is acknowledged", async () => {
    const peer = new Peer();
    peer.send(frame({ type: 6, payload: Buffer.from("12345678") }));
    const [pong] = await peer.received();
    assert.deepEqual([pong?.flags, pong?.payload.toString()], [flag.ack, "12345678"]);
  });
});

describe("flow control", () => {
  it("releases memory that it borrowed once no byte of it is queued, for frames of any size", async () => {
    const peer = new Peer();
    peer.send(get(1));
    const [stream] = peer.streams;
    assert.ok(stream !== undefined);
    stream.writeHead(200, {});
    await peer.received();
    const lent = Buffer.alloc(20_000);
    const texts: string[] = [];
    const bodies: string[] = [];
    for (const bytes of [1, 100, 4095, 4096, 16_384, 16_385, 20_000]) {
      const part = lent.subarray(0, bytes).fill(String(texts.length));
      texts.push(part.toString());
      peer.send(frame({ type: 8, payload: number(bytes) }));
      peer.send(frame({ type: 8, streamId: 1, payload: number(bytes) }));
      stream.write(part);
      await stream.drained();
      lent.fill("x");
      bodies.push(bodyOf(await peer.received(), 1));
    }
    assert.deepEqual(bodies, texts);
  });

  it("no response exceeds the stream's window or the connection's", async () => {
    const peer = new Peer({ onStream: ok("x".repeat(100_000)), greeting: settings([4, 1000]) });
    peer.send(get(1), get(3));
    const first = await peer.received();
    assert.deepEqual([bytesOf(first, 1), bytesOf(first, 3)], [1000, 1000]);
    peer.send(frame({ type: 8, streamId: 3, payload: number(90_000) }));
    // 65,535 for all streams, of which 2,000 are used.
    assert.equal(bytesOf(await peer.received(), 3), 63_535);
    peer.send(frame({ type: 8, payload: number(1_000_000) }));
    assert.equal(bytesOf(await peer.received(), 3), 91_000 - 1000 - 63_535);
    peer.send(settings([4, 200_000]));
    const rest = await peer.received();
    assert.deepEqual([bytesOf(rest, 1), bytesOf(rest, 3)], [99_000, 9000]);
    assert.equal(peer.connection.openStreams, 0);
  });

  it("large responses share the connection in turns", async () => {
    const peer = new Peer({ onStream: ok("x".repeat(30_000)) });
    peer.isBlocked = true;
    peer.send(frame({ type: 6, payload: Buffer.alloc(8) }));
    peer.send(get(1), get(3));
    peer.isBlocked = false;
    peer.connection.drained();
    const order = (await peer.received())
      .filter(({ type, payload }) => type === frameType.data && payload.length > 0)
      .map(({ streamId }) => streamId);
    assert.deepEqual(order, [1, 3, 1, 3]);
  });

  it("a writer is paused, and resumed when the window opens or the client cancels the stream", async () => {
    const peer = new Peer({ greeting: settings([4, 0]) });
    peer.send(get(1), get(3));
    const [first, second] = peer.streams;
    for (const stream of [first, second]) {
      stream?.writeHead(200, {});
      assert.equal(stream?.write(Buffer.alloc(10_000)), true);
      assert.equal(stream?.write(Buffer.alloc(10_000)), false);
    }
    const woken = Promise.all([first?.writable(), second?.writable()]);
    peer.send(frame({ type: 8, streamId: 1, payload: number(20_000) }));
    peer.send(frame({ type: 3, streamId: 3, payload: number(errorCode.cancel) }));
    await woken;
    assert.equal(second?.write(Buffer.from("into the void")), true);
  });

  it("a body that the handler reads reopens the windows, an unread body does not", async () => {
    const peer = new Peer();
    peer.send(openPost, headers(3, postFields, { isEnd: false }));
    peer.streams[0]?.readBody(streamWindowBytes * 2, () => {});
    const piece = Buffer.alloc(16_384);
    for (let i = 0; i < 32; i++) peer.send(data(1, piece), data(3, piece));
    const updates = (await peer.received()).filter(({ type }) => type === frameType.windowUpdate);
    assert.deepEqual([...new Set(updates.map(({ streamId }) => streamId))], [1]);
    const given = updates.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
    assert.equal(given, 32 * 16_384);
  });
});

/** A request with one header of this size, in as many frames as needed. */
function large(size: number, streamId = 1): Buffer[] {
  const bytes = block([...getFields, ["x", "y".repeat(size)]]);
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 16_384) {
    const payload = bytes.subarray(at, at + 16_384);
    const isLast = at + payload.length === bytes.length;
    const flags = (isLast ? flag.endHeaders : 0) | (at === 0 ? flag.endStream : 0);
    frames.push(frame({ type: at === 0 ? 1 : 9, flags, streamId, payload }));
  }
  return frames;
}
