/**
 * Goal: messages arrive complete and in order for any split of the bytes, and a violation of the
 * protocol ends the connection.
 */
import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { describe, it } from "node:test";
import { array, asyncProperty, assert as check, integer, uint8Array } from "fast-check";
import { encodeFrame, FrameReader, opcode, WebSocketError } from "./frames.ts";
import { acceptKey, clientHandshake, serverHandshake } from "./handshake.ts";
import { WebSocketConnection } from "./web-socket.ts";

/** Two ends of a wire that cuts what is written into pieces of these lengths, in turn. */
function wire(pieces: readonly number[]): [Duplex, Duplex] {
  let at = 0;
  const end = (other: () => Duplex): Duplex =>
    new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        for (let from = 0; from < chunk.length; ) {
          const length = pieces[at++ % pieces.length] as number;
          other().push(Buffer.from(chunk.subarray(from, from + length)));
          from += length;
        }
        done();
      },
      final(done) {
        other().push(null);
        done();
      },
    });
  const one: Duplex = end(() => two);
  const two: Duplex = end(() => one);
  return [one, two];
}

function talk(
  pieces: readonly number[],
  messages: readonly Uint8Array[],
  from: "client" | "server",
) {
  const [one, two] = wire(pieces);
  return new Promise<Buffer[]>((resolve, reject) => {
    const heard: Buffer[] = [];
    const listener = new WebSocketConnection({
      stream: two,
      role: from === "client" ? "server" : "client",
      messageBytesMax: 1 << 20,
      onMessage: (message) => heard.push(Buffer.from(message)),
      onClose: (error) => (error === undefined ? resolve(heard) : reject(error)),
    });
    const speaker = new WebSocketConnection({
      stream: one,
      role: from,
      messageBytesMax: 1 << 20,
      onMessage: () => {},
      onClose: () => {},
    });
    for (const message of messages) speaker.send(message.subarray(0, 3), message.subarray(3));
    assert.equal(listener.isOpen, true);
    speaker.close();
  });
}

describe("WebSocket", () => {
  for (const from of ["client", "server"] as const) {
    it(`brings what a ${from} sends, whole and in order`, async () => {
      await check(
        asyncProperty(
          array(integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 5 }),
          array(uint8Array({ maxLength: 2000 }), { maxLength: 8 }),
          async (pieces, messages) => {
            const heard = await talk(pieces, messages, from);
            assert.deepEqual(
              heard,
              messages.map((one) => Buffer.from(one)),
            );
          },
        ),
        { numRuns: 60 },
      );
    });
  }

  it("carries messages of all three forms of length", async () => {
    const messages = [125, 126, 65_535, 65_536].map((length) => Buffer.alloc(length, length));
    assert.deepEqual(await talk([4096], messages, "client"), messages);
  });

  it("masks frames of clients, and accepts no unmasked ones from them", () => {
    const payload = Buffer.from("attack at dawn");
    const masked = encodeFrame(opcode.binary, [payload], Buffer.from([1, 2, 3, 4]));
    assert.equal(masked.includes(payload), false);
    const reader = new FrameReader({ expectsMask: true, payloadBytesMax: 100 });
    reader.push(encodeFrame(opcode.binary, [payload], undefined));
    assert.throws(() => reader.next(), WebSocketError);
  });

  it("accepts a message at the limit and none beyond it", () => {
    const reader = new FrameReader({ expectsMask: false, payloadBytesMax: 100 });
    reader.push(encodeFrame(opcode.binary, [Buffer.alloc(100)], undefined));
    assert.equal(reader.next()?.payload.length, 100);
    reader.push(encodeFrame(opcode.binary, [Buffer.alloc(101)], undefined));
    assert.throws(() => reader.next(), { code: 1009 });
  });

  it("rejects reserved bits, long control frames and unknown frames", async () => {
    for (const bytes of [
      [0xc2, 0x00],
      [0x89, 0x7e, 0x00, 0xff],
      [0x83, 0x00],
    ]) {
      const [one, two] = wire([1]);
      const ended = new Promise<Error | undefined>((resolve) => {
        new WebSocketConnection({
          stream: two,
          role: "client",
          messageBytesMax: 100,
          onMessage: () => assert.fail("there is no message"),
          onClose: resolve,
        });
      });
      one.write(Buffer.from(bytes));
      one.resume();
      assert.equal((await ended)?.name, "WebSocketError");
    }
  });

  it("shakes hands as the standard's own example does", () => {
    assert.equal(acceptKey("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    const { headers, accept } = clientHandshake(["b", "a"]);
    const answer = serverHandshake(headers, ["a", "b"]);
    assert.equal(answer?.protocol, "b");
    assert.equal(answer?.headers["sec-websocket-accept"], accept);
    assert.equal(serverHandshake(headers, ["c"]), undefined);
    assert.equal(serverHandshake({ ...headers, upgrade: "h2c" }, ["a"]), undefined);
    assert.equal(serverHandshake({ ...headers, "sec-websocket-key": "short" }, ["a"]), undefined);
  });
});
