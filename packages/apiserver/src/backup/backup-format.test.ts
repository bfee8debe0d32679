import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import type { Entry, Revision, Snapshot, StorageKey } from "../storage/index.ts";
import { payloadBytesMax } from "./backup-format.ts";
import { BackupFormatError, checkBackup, encodeBackup, readBackup } from "./index.ts";

const createdAtMs = Date.UTC(2026, 0, 2);

async function* each<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

async function encode(entries: readonly Entry[], revision = 1000): Promise<Buffer> {
  const snapshot: Snapshot = { revision: revision as Revision, entries: each(entries) };
  const chunks: Buffer[] = [];
  for await (const chunk of encodeBackup(snapshot, { createdAtMs })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function decode(
  chunks: Iterable<Uint8Array>,
): Promise<{ revision: number; entries: Entry[] }> {
  const { revision, entries } = await readBackup(each(chunks));
  const found: Entry[] = [];
  for await (const entry of entries) found.push(entry);
  return { revision, entries: found };
}

function entry(key: string, value: string): Entry {
  return {
    key: key as StorageKey,
    value: new Uint8Array(Buffer.from(value)),
    createdAt: 3 as Revision,
    modifiedAt: 7 as Revision,
  };
}

const three = [entry("/a", "1"), entry("/b", ""), entry("/c", '{"metadata":{}}')];

function refuses(bytes: Uint8Array, message: RegExp): Promise<void> {
  const matches = (error: unknown) =>
    error instanceof BackupFormatError && message.test(error.message);
  return Promise.all([
    assert.rejects(decode([bytes]), matches),
    assert.rejects(checkBackup(each([bytes])), matches),
  ]).then(() => undefined);
}

const anyEntries = fc
  .uniqueArray(
    fc.record(
      {
        key: fc.string({ unit: fc.constantFrom(..."/abcZ09.-:%~"), minLength: 1, maxLength: 40 }),
        value: fc.uint8Array({ maxLength: 300 }),
        createdAt: fc.integer({ min: 1, max: 2 ** 40 }),
        modifiedAt: fc.maxSafeNat(),
      },
      { noNullPrototype: true },
    ),
    { selector: ({ key }) => key, maxLength: 60 },
  )
  .map((entries) => entries.sort((a, b) => (a.key < b.key ? -1 : 1)) as unknown as Entry[]);

describe("the bytes of a backup", () => {
  it("contain every entry and the revision, however they are split into chunks", async () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 50 });
    await fc.assert(
      fc.asyncProperty(anyEntries, fc.maxSafeNat(), cuts, async (entries, revision, sizes) => {
        const bytes = await encode(entries, revision);
        const chunks: Uint8Array[] = [];
        let at = 0;
        for (const size of sizes) {
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        chunks.push(bytes.subarray(at));
        assert.deepEqual(await decode(chunks), { revision, entries });
      }),
      { numRuns: 200 },
    );
  });

  it("contain a head with their description", async () => {
    const bytes = await encode(three);
    assert.deepEqual(await checkBackup(each([bytes])), {
      revision: 1000,
      createdAt: "2026-01-02T00:00:00.000Z",
      entries: 3,
      bytes: bytes.length,
    });
  });

  it("are rejected when they are truncated anywhere", async () => {
    const bytes = await encode(three);
    for (let length = 0; length < bytes.length; length++) {
      await refuses(bytes.subarray(0, length), length < 8 ? /not a backup/ : /cut short/);
    }
  });

  it("are rejected when any byte is changed", async () => {
    const bytes = await encode(three);
    for (let at = 0; at < bytes.length; at++) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] as number) ^ 0x41;
      await refuses(damaged, /damaged|not a backup|version|cut short/);
    }
  });

  it("are rejected when an entry is missing, repeated or moved, even if each record is intact", async () => {
    const bytes = await encode(three);
    const [a, b, c] = await Promise.all(
      [0, 1, 2].map(async (index) => {
        const before = (await encode(three.slice(0, index))).length;
        return [before, (await encode(three.slice(0, index + 1))).length] as const;
      }),
    );
    assert.ok(a !== undefined && b !== undefined && c !== undefined);
    const endBytes = 5 + 40 + 4;
    const part = ([start, stop]: readonly [number, number]) =>
      bytes.subarray(start - endBytes, stop - endBytes);
    const head = bytes.subarray(0, a[0] - endBytes);
    const end = bytes.subarray(-endBytes);
    await refuses(Buffer.concat([head, part(a), part(c), end]), /2 entries instead of 3/);
    await refuses(Buffer.concat([head, part(a), part(c), part(b), end]), /out of order/);
    await refuses(Buffer.concat([head, part(a), part(a), part(b), end]), /out of order/);
  });

  it("are rejected when bytes follow the end", async () => {
    await refuses(Buffer.concat([await encode(three), Buffer.from("x")]), /follows/);
  });

  it("are rejected in another version, which the error names", async () => {
    const bytes = await encode(three);
    bytes.writeUInt32BE(2, 8);
    await refuses(bytes, /format version 2, this kcp reads version 1/);
  });

  it("are rejected when they are no backup", async () => {
    await refuses(Buffer.from("apiVersion: v1\nkind: ConfigMap\n"), /not a backup made by kcp/);
  });

  it("do not make a reader allocate the size that a damaged length states", async () => {
    const bytes = await encode([]);
    const head = bytes.subarray(0, bytes.length - 49);
    const length = (value: number) => {
      const prefix = Buffer.alloc(5);
      prefix.writeUInt32BE(value);
      prefix.writeUInt8(0x45, 4);
      return Buffer.concat([head, prefix]);
    };
    await refuses(length(payloadBytesMax + 1), /a record of 67108865 bytes/);
    await refuses(length(payloadBytesMax), /cut short/);
  });

  it("are rejected with a record of an unknown type", async () => {
    const bytes = await encode([]);
    const record = Buffer.from([0, 0, 0, 0, 0x51, 0, 0, 0, 0]);
    record.writeUInt32BE(crc32(record.subarray(4, 5)), 5);
    const head = bytes.subarray(0, bytes.length - 49);
    await refuses(Buffer.concat([head, record]), /unknown type 81/);
  });
});
