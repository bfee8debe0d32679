import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseJson } from "@kcp-ts/machinery/json";
import fc from "fast-check";
import { ListReader } from "./list-stream.ts";
import type { KubernetesObject } from "./object.ts";

function* chunked(text: string, bytes: number): Generator<Uint8Array> {
  const all = new TextEncoder().encode(text);
  for (let at = 0; at < all.length; at += bytes) yield all.subarray(at, at + bytes);
}

async function read(text: string, bytes: number) {
  const reader = new ListReader<KubernetesObject>();
  const batches: KubernetesObject[][] = [];
  for (const chunk of chunked(text, bytes)) batches.push(...reader.take(chunk));
  const { items, metadata } = await reader.end();
  const sizes = batches.map(({ length }) => length);
  return { items: [...batches.flat(), ...items] as unknown[], sizes, metadata };
}

describe("a streamed list", () => {
  it("equals the list that is parsed in full, for any chunks and any content", async () => {
    const item = fc.dictionary(fc.string({ maxLength: 5, unit: "binary" }), fc.jsonValue(), {
      maxKeys: 4,
    });
    const property = fc.asyncProperty(
      fc.array(item, { maxLength: 6 }),
      fc.jsonValue(),
      fc.integer({ min: 1, max: 40 }),
      fc.boolean(),
      async (items, extra, bytes, itemsFirst) => {
        const own = items.map((one) => ({ ...one, kind: "Thing", apiVersion: "v1" }));
        const metadata = { resourceVersion: "7", extra };
        const list = itemsFirst
          ? { items: own, kind: "items", metadata }
          : { metadata, extra: { items: [extra] }, kind: "ThingList", items: own };
        for (const text of [JSON.stringify(list), JSON.stringify(list, undefined, 2)]) {
          const whole = parseJson(text).value as unknown as Awaited<ReturnType<typeof read>>;
          const { items: read1, metadata: said } = await read(text, bytes);
          assert.deepEqual(
            { items: read1, metadata: said },
            { items: whole.items, metadata: whole.metadata },
          );
        }
      },
    );
    await fc.assert(property, { numRuns: 300 });
  });

  it("sets the kind of items that come without one, from any position of the list's own kind", async () => {
    const expected = { metadata: { name: "a" }, kind: "Pod", apiVersion: "v1" };
    const items = '"items":[{"metadata":{"name":"a"}}]';
    const kind = '"kind":"PodList","apiVersion":"v1"';
    for (const text of [`{${items},${kind}}`, `{${kind},${items}}`])
      assert.deepEqual((await read(text, 7)).items, [expected]);
  });

  it("returns items in small batches, also from a single chunk", async () => {
    const items = Array.from({ length: 10 }, (_, i) => ({
      kind: "Pod",
      metadata: { name: `p${i}` },
    }));
    const text = JSON.stringify({ kind: "PodList", metadata: {}, items });
    const { sizes, items: all } = await read(text, text.length);
    assert.deepEqual(all, items);
    assert.ok(Math.max(...sizes) <= 4, sizes.join());
  });

  it("fails when it is truncated", async () => {
    const text = JSON.stringify({ kind: "PodList", items: [{ kind: "Pod" }, { kind: "Pod" }] });
    await assert.rejects(read(text.slice(0, -1), 9));
    await assert.rejects(read(text.slice(0, -8), 9));
  });
});
