import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { encodeFrame, FrameReader } from "./frames.ts";

describe("gRPC frames", () => {
  it("are read from any split of the byte stream", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 50 }),
        (messages, cuts) => {
          const reader = new FrameReader(300);
          const read: Uint8Array[] = [];
          let bytes = Buffer.concat(messages.map(encodeFrame));
          for (let i = 0; bytes.length > 0; i++) {
            const length = cuts[i % cuts.length] as number;
            read.push(...reader.push(bytes.subarray(0, length)));
            bytes = bytes.subarray(length);
          }
          assert.deepEqual(
            read.map((message) => [...message]),
            messages.map((message) => [...message]),
          );
          assert.ok(reader.atBoundary);
        },
      ),
    );
  });

  it("are read up to the limit, and rejected one byte beyond it before the bytes arrive", () => {
    const limit = 1000;
    const [message] = new FrameReader(limit).push(encodeFrame(new Uint8Array(limit)));
    assert.equal(message?.length, limit);
    const header = encodeFrame(new Uint8Array(limit + 1)).subarray(0, 5);
    assert.throws(() => new FrameReader(limit).push(header), { name: "GrpcError", code: 8 });
  });

  it("are rejected when they are compressed", () => {
    const frame = encodeFrame(new Uint8Array([1, 2, 3]));
    frame[0] = 1;
    assert.throws(() => new FrameReader(100).push(frame), { name: "GrpcError", code: 13 });
  });

  it("have no boundary within a partly read message", () => {
    const reader = new FrameReader(100);
    reader.push(encodeFrame(new Uint8Array(10)).subarray(0, 8));
    assert.equal(reader.atBoundary, false);
  });
});
