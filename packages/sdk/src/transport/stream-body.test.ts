import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { describe, it } from "node:test";
import { StreamBody } from "./stream-body.ts";

function setUp(textBytesMax: number) {
  const stream = Object.assign(new EventEmitter(), { pause() {}, resume() {} });
  let cancelled = 0;
  const body = new StreamBody({
    stream,
    isComplete: () => true,
    cancel: () => cancelled++,
    failure: (cause) => cause,
    textBytesMax,
  });
  const send = (...chunks: readonly string[]) => {
    for (const chunk of chunks) stream.emit("data", Buffer.from(chunk));
  };
  return { stream, body, send, cancelled: () => cancelled };
}

describe("a body that is read in full", () => {
  it("is concatenated from its chunks, also where a character is split", async () => {
    const { stream, body, send } = setUp(100);
    send("a");
    const text = body.text();
    const bytes = Buffer.from("é🙂");
    for (const byte of bytes) stream.emit("data", Buffer.from([byte]));
    send("z");
    stream.emit("end");
    assert.equal(await text, "aé🙂z");
  });

  it("may be as long as the limit", async () => {
    const { stream, body, send, cancelled } = setUp(6);
    const text = body.text();
    send("abc", "def");
    stream.emit("end");
    assert.equal(await text, "abcdef");
    assert.equal(cancelled(), 0);
  });

  it("is rejected and cancelled one byte beyond the limit", async () => {
    const { stream, body, send, cancelled } = setUp(6);
    const text = assert.rejects(body.text(), /longer than 6 bytes/);
    send("abc", "defg", "and more");
    stream.emit("end");
    await text;
    assert.equal(cancelled(), 1);
  });

  it("has no such limit when it is read in chunks", async () => {
    const { stream, body, send } = setUp(6);
    send("abc", "defg", "and more");
    stream.emit("end");
    let text = "";
    for await (const chunk of body) text += Buffer.from(chunk).toString();
    assert.equal(text, "abcdefgand more");
  });
});
