import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type BufferReusingBody, isBufferReusing } from "../request/api-request.ts";
import type { Entry, Revision, StorageKey } from "../storage/index.ts";
import { encodeObject } from "../stored-object/index.ts";
import { itemList } from "./item-list.ts";

const opening = Buffer.from('{"kind":"ConfigMapList","items":[');

function entryOf(name: string, bytes: number, revision: number): Entry {
  const value = encodeObject({
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name },
    data: { key: "x".repeat(bytes) },
  });
  const at = revision as Revision;
  return {
    key: `/core/configmaps//a/default/${name}` as StorageKey,
    value,
    createdAt: at,
    modifiedAt: at,
  };
}

async function* batched(entries: readonly Entry[], size: number): AsyncGenerator<readonly Entry[]> {
  for (let at = 0; at < entries.length; at += size) yield entries.slice(at, at + size);
}

async function read(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Buffer[] = [];
  // Copied, because the stream reuses its buffer.
  for await (const part of body) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString();
}

describe("a list of complete objects", () => {
  it("has the same bytes as one chunk, streamed, and with a reused buffer, in one batch and in many", async () => {
    const sizes = fc.array(fc.oneof(fc.nat(200), fc.integer({ min: 30_000, max: 150_000 })), {
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(sizes, fc.integer({ min: 1, max: 5 }), async (lengths, batch) => {
        const entries = lengths.map((bytes, i) => entryOf(`n${i}`, bytes, i + 1));
        const { body } = itemList(opening, entries, false);
        const streamed = itemList(opening, batched(entries, batch), false).body;
        const again = itemList(opening, batched(entries, batch), false).body as BufferReusingBody;
        assert.ok(isBufferReusing(again));
        const text =
          body instanceof Uint8Array
            ? Buffer.from(body).toString()
            : await read(body as AsyncIterable<Uint8Array>);
        assert.equal(await read(streamed as AsyncIterable<Uint8Array>), text);
        assert.equal(await read(again.reusingBuffer()), text);
        const { items } = JSON.parse(text) as { items: { metadata: Record<string, string> }[] };
        assert.deepEqual(
          items.map(({ metadata }) => [metadata["name"], metadata["resourceVersion"]]),
          lengths.map((_, i) => [`n${i}`, String(i + 1)]),
        );
      }),
      { numRuns: 30 },
    );
  });

  it("reuses one buffer for consumers that permit it, and allocates a buffer per chunk for others", async () => {
    const entries = Array.from({ length: 400 }, (_, i) => entryOf(`n${i}`, 1000, 1));
    const { body } = itemList(opening, entries, false);
    assert.ok(!(body instanceof Uint8Array) && body !== undefined && isBufferReusing(body));
    const memoryOf = async (stream: AsyncIterable<Uint8Array>) => {
      const seen = new Set<ArrayBufferLike>();
      for await (const part of stream) if (part.length > 1000) seen.add(part.buffer);
      return seen.size;
    };
    assert.equal(await memoryOf(body.reusingBuffer()), 1);
    assert.ok((await memoryOf(body)) > 1);
  });
});
