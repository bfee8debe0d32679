/**
 * Goal: the bytes of a terminal are decoded for any split into chunks, and the escape key is
 * distinguished from the beginning of another key.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KeyReader } from "./keys.ts";

const kinds = (reader: KeyReader, ...texts: string[]) =>
  texts
    .flatMap((text) => reader.push(text))
    .map((key) => (key.kind === "text" ? key.text : key.kind));

describe("keys of a terminal", () => {
  it("are distinguished when they arrive in one chunk", () => {
    const text =
      "j\u001b[A\u001b[B\u001bOC\u001b[D\r\u007f\u001b[5~\u001b[6~\u001b[H\u001bOF\u0003é";
    assert.deepEqual(kinds(new KeyReader(), text), [
      ...["j", "up", "down", "right", "left", "enter", "backspace"],
      ...["page-up", "page-down", "home", "end", "interrupt", "é"],
    ]);
  });

  it("are the same when a sequence arrives byte by byte", () => {
    const reader = new KeyReader();
    assert.deepEqual(kinds(reader, ..."\u001b[6~\u001bOA"), ["page-down", "up"]);
    assert.equal(reader.isWaiting, false);
  });

  it("wait after an escape, which is a key when no bytes follow", () => {
    const reader = new KeyReader();
    assert.deepEqual(reader.push("\u001b"), []);
    assert.equal(reader.isWaiting, true);
    assert.deepEqual(reader.rest(), [{ kind: "escape" }]);
    assert.equal(reader.isWaiting, false);
    assert.deepEqual(reader.rest(), []);
  });

  it("are ignored when they are unknown, without swallowing the keys that follow", () => {
    assert.deepEqual(kinds(new KeyReader(), "\u001b[1;5Pa\u0007\u001b[200~b"), ["a", "b"]);
  });

  it("are not waited for without end", () => {
    const reader = new KeyReader();
    const keys = reader.push(`\u001b[${"1".repeat(40)}`);
    assert.equal(reader.isWaiting, false);
    assert.equal(keys[0]?.kind, "escape");
  });
});
