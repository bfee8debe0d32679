import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { neverAborted } from "@kcp-ts/machinery/base";
import type { JsonValue } from "@kcp-ts/machinery/json";
import { describeStorage } from "../storage/contract/storage-contract.ts";
import type { StorageKey } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { EncryptedStorage } from "./encrypted-storage.ts";
import { parseEncryptionConfig } from "./encryption-config.ts";
import type { KeyService } from "./key-source.ts";

const secretOf = (fill: number) => Buffer.alloc(32, fill).toString("base64");
const aesgcm = (...names: readonly string[]) => ({
  aesgcm: { keys: names.map((name) => ({ name, secret: secretOf(name.charCodeAt(0)) })) },
});
const config = (resources: readonly string[], ...providers: readonly object[]) =>
  ({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [{ resources, providers }],
  }) as unknown as JsonValue;

const unreadable: string[] = [];
const open = (
  inner: MemoryStorage,
  resources: readonly string[],
  providers: readonly object[],
  services?: ReadonlyMap<string, KeyService>,
) =>
  EncryptedStorage.open(
    inner,
    parseEncryptionConfig(config(resources, ...providers), { named: services }),
    (key) => unreadable.push(key),
  );

const call = { signal: neverAborted };
const secretKey = "//secrets//team/default/db" as StorageKey;
const otherKey = "//secrets//other/default/db" as StorageKey;
const plainKey = "//configmaps//team/default/db" as StorageKey;
const text = (value: Uint8Array | undefined) => Buffer.from(value ?? []).toString();
const put = (storage: EncryptedStorage, key: StorageKey, value: string) =>
  storage.commit({ key, value: Buffer.from(value), expected: "absent" }, call);

describeStorage("encrypted memory", async () => {
  const storage = await open(new MemoryStorage(), ["*.*"], [aesgcm("a")]);
  return { storage, dispose: () => storage.close() };
});

describe("encrypted storage", () => {
  it("encrypts the chosen resources, and nothing else", async () => {
    const inner = new MemoryStorage();
    const storage = await open(inner, ["secrets"], [aesgcm("a")]);
    await put(storage, secretKey, "password");
    await put(storage, plainKey, "password");
    const stored = (await inner.get(secretKey, call))?.value;
    assert.ok(!text(stored).includes("password"));
    assert.equal(text((await inner.get(plainKey, call))?.value), "password");
    assert.equal(text((await storage.get(secretKey, call))?.value), "password");
    assert.equal(text(storage.peek?.(secretKey)?.value ?? Buffer.from("password")), "password");
  });

  it("equal values have different bytes, and a value that is copied to another key is not readable", async () => {
    const inner = new MemoryStorage();
    const storage = await open(inner, ["secrets"], [aesgcm("a")]);
    await put(storage, secretKey, "password");
    const value = (await inner.get(secretKey, call))?.value as Uint8Array;
    await inner.commit({ key: otherKey, value, expected: "absent" }, call);
    assert.notEqual(text((await storage.get(otherKey, call))?.value), "password");
    assert.equal(unreadable.at(-1), otherKey);
    await put(storage, "//secrets//team/default/db2" as StorageKey, "password");
    const second = await inner.get("//secrets//team/default/db2" as StorageKey, call);
    assert.notDeepEqual(
      Buffer.from(second?.value ?? []).subarray(-8),
      Buffer.from(value).subarray(-8),
    );
  });

  it("a rotation reads the old key, writes the new one, and rewrites what is left", async () => {
    const inner = new MemoryStorage();
    await put(await open(inner, ["secrets"], [aesgcm("a")]), secretKey, "old");
    const both = await open(inner, ["secrets"], [aesgcm("b", "a")]);
    assert.equal(text((await both.get(secretKey, call))?.value), "old");
    assert.equal(await both.rewriteStale(), 1);
    assert.equal(await both.rewriteStale(), 0);
    const alone = await open(inner, ["secrets"], [aesgcm("b")]);
    assert.equal(text((await alone.get(secretKey, call))?.value), "old");
  });

  it("is switched on for a store with plain values, and off again by identity", async () => {
    const inner = new MemoryStorage();
    const plain = await open(inner, ["secrets"], [{ identity: {} }]);
    await put(plain, secretKey, "password");
    const on = await open(inner, ["secrets"], [aesgcm("a"), { identity: {} }]);
    assert.equal(text((await on.get(secretKey, call))?.value), "password");
    assert.equal(await on.rewriteStale(), 1);
    assert.ok(!text((await inner.get(secretKey, call))?.value).includes("password"));
    const off = await open(inner, ["secrets"], [{ identity: {} }, aesgcm("a")]);
    assert.equal(await off.rewriteStale(), 1);
    assert.equal(text((await inner.get(secretKey, call))?.value), "password");
  });

  it("an unknown or wrong key reveals nothing and is reported; other values stay readable", async () => {
    const inner = new MemoryStorage();
    await put(await open(inner, ["secrets"], [aesgcm("a")]), secretKey, "password");
    const other = await open(inner, ["secrets"], [aesgcm("b")]);
    await put(other, otherKey, "mine");
    const { entries } = await other.list("//secrets//" as StorageKey, { ...call, entriesMax: 10 });
    assert.deepEqual(
      entries.map(({ value }) => text(value) === "mine"),
      [true, false],
    );
    assert.equal(unreadable.at(-1), secretKey);
    assert.equal(await other.rewriteStale(), 0);
  });

  it("a change feed has the decrypted value and the decrypted previous one", async () => {
    const storage = await open(new MemoryStorage(), ["secrets"], [aesgcm("a")]);
    const first = await put(storage, secretKey, "one");
    await storage.commit({ key: secretKey, value: Buffer.from("two"), expected: first }, call);
    const watch = storage.watch("//secrets/" as StorageKey, first, {
      ...call,
      bufferedChangesMax: 9,
    });
    for await (const change of watch) {
      if (change.kind !== "put") continue;
      assert.deepEqual([text(change.entry.value), text(change.previous?.value)], ["two", "one"]);
      break;
    }
  });

  it("a key service wraps one data key for each start, and never sees a value", async () => {
    const calls: string[] = [];
    const service: KeyService = {
      encrypt: async (plaintext) => {
        calls.push(`encrypt ${plaintext.length}`);
        return { ciphertext: Buffer.from(plaintext).reverse() };
      },
      decrypt: async (ciphertext) => {
        calls.push("decrypt");
        return Buffer.from(ciphertext).reverse();
      },
    };
    const services = new Map([["vault", service]]);
    const inner = new MemoryStorage();
    const kms = [{ kms: { apiVersion: "v2", name: "vault" } }];
    const storage = await open(inner, ["secrets"], kms, services);
    for (let i = 0; i < 5; i++)
      await put(storage, `//secrets//team/default/s${i}` as StorageKey, `value ${i}`);
    const again = await open(inner, ["secrets"], kms, services);
    const { entries } = await again.list("//secrets//" as StorageKey, { ...call, entriesMax: 10 });
    assert.deepEqual(
      entries.map(({ value }) => text(value)),
      [0, 1, 2, 3, 4].map((i) => `value ${i}`),
    );
    assert.deepEqual(calls, ["encrypt 32", "encrypt 32", "decrypt"]);
  });
});

describe("the encryption configuration", () => {
  for (const [title, document, message] of [
    ["another kind", { kind: "Nonsense" }, /expected kind EncryptionConfiguration/],
    [
      "a short key",
      config(["secrets"], { aesgcm: { keys: [{ name: "a", secret: "AAAA" }] } }),
      /3 bytes; expected 16, 24 or 32/,
    ],
    [
      "an unknown provider",
      config(["secrets"], { secretbox: { keys: [] } }),
      /secretbox is not supported; use aesgcm/,
    ],
    [
      "a KMS provider without a socket",
      config(["secrets"], { kms: { name: "x" } }),
      /kms\.endpoint: the plug-in's socket/,
    ],
    [
      "a KMS provider of version 1",
      config(["secrets"], { kms: { name: "x", apiVersion: "v1" } }),
      /v1; only v2 is supported/,
    ],
    ["no providers", config(["secrets"]), /providers is not a list with entries/],
  ] as const)
    it(`with ${title} is refused`, () => {
      assert.throws(() => parseEncryptionConfig(document as unknown as JsonValue), message);
    });
});
