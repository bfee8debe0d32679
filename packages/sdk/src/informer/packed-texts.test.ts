import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import { prefixesMax } from "./key-prefixes.ts";
import { PackedTexts } from "./packed-texts.ts";

describe("packed texts", () => {
  it("agree with a map, also when there are more namespaces than prefixes", () => {
    const random = new SeededRandom(11);
    const texts = new PackedTexts();
    const model = new Map<string, string>();
    const namespaces = prefixesMax * 2;
    for (let i = 0; i < 40_000; i++) {
      const name = `n${random.integer(2)}`;
      const key = `root|ns-${random.integer(namespaces)}/${name}`;
      if (random.chance(0.2)) assert.equal(texts.delete(key), model.delete(key));
      else if (random.chance(0.7)) {
        const text = JSON.stringify({ metadata: { name, resourceVersion: String(i * 1000) } });
        texts.set(key, text);
        model.set(key, text);
      }
      assert.equal(texts.get(key), model.get(key));
      assert.equal(texts.has(key), model.has(key));
    }
    assert.equal(texts.size, model.size);
    assert.deepEqual([...texts.entries()].sort(), [...model].sort());
    assert.deepEqual([...texts.keys()].sort(), [...model.keys()].sort());
  });

  it("distinguish keys with the same name, and keys without a namespace", () => {
    const texts = new PackedTexts();
    const keys = ["a|/x", "b|/x", "a|n/x", "a|x/", "x", ""];
    for (const key of keys) assert.equal(texts.get(key), undefined);
    for (const key of keys) texts.set(key, JSON.stringify({ key, name: "x" }));
    assert.deepEqual([...texts.keys()], keys);
    for (const key of keys) assert.equal(texts.get(key), JSON.stringify({ key, name: "x" }));
  });

  it("learn nothing from keys that are only looked up", () => {
    const texts = new PackedTexts();
    texts.set("root|a/x", '{"name":"x"}');
    for (let i = 0; i < prefixesMax; i++) assert.equal(texts.has(`root|none-${i}/x`), false);
    const before = texts.bytes;
    for (let i = 0; i < 20_000; i++) texts.set(`root|${"late".repeat(20)}/${i}`, "1");
    assert.ok(texts.bytes - before < 20_000 * 24, `${texts.bytes - before} bytes`);
  });

  it("take fifty bytes for an object's metadata", () => {
    const texts = new PackedTexts();
    const count = 50_000;
    for (let i = 0; i < count; i++) {
      const name = `web-${i}`;
      const namespace = `team-${i % 500}`;
      const uid = `0b9f6c1e-5d3a-4f0e-9c57-${String(i).padStart(12, "0")}`;
      const labels = { app: name, "app.kubernetes.io/managed-by": "helm" };
      const metadata = { name, namespace, uid, resourceVersion: String(1_000_000 + i), labels };
      texts.set(`root|${namespace}/${name}`, JSON.stringify({ metadata }));
    }
    assert.ok(texts.bytes / count < 70, `${texts.bytes / count} bytes for one`);
  });
});
