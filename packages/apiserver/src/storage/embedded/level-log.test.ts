import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crc32c, unmaskCrc32c } from "./crc32c.ts";
import { readLevelLog } from "./level-log.ts";

describe("crc32c", () => {
  // RFC 3720, appendix B.4
  it("gives the checksums of the RFC's examples", () => {
    const check = (bytes: Buffer) => crc32c(bytes, 0, bytes.length).toString(16);
    assert.equal(check(Buffer.alloc(32)), "8a9136aa");
    assert.equal(check(Buffer.alloc(32, 0xff)), "62a8ab43");
    assert.equal(check(Buffer.from(Array.from({ length: 32 }, (_, i) => i))), "46dd794e");
    assert.equal(check(Buffer.from("123456789")), "e3069283");
  });

  it("is correct for every length and offset", () => {
    const bytes = Buffer.from("abcdefghijklmnopqrstuvwxyz");
    for (let start = 0; start < 10; start++) {
      for (let end = start; end <= bytes.length; end++) {
        const copy = Buffer.from(bytes.subarray(start, end));
        assert.equal(crc32c(bytes, start, end), crc32c(copy, 0, copy.length));
      }
    }
  });
});

describe("the reader of LevelDB's log format", () => {
  it("reads complete records, records in parts, and skips the rest of a block", () => {
    const blockRest = (32 << 10) - 7 - 7;
    const file = Buffer.concat([
      record(1, Buffer.alloc(blockRest - 3, 1)),
      record(1, Buffer.alloc(0)),
      Buffer.alloc(3),
      record(2, Buffer.from("one ")),
      record(3, Buffer.from("two ")),
      record(4, Buffer.from("three")),
    ]);
    const { records, damagedAt } = readLevelLog(file, "records");
    assert.deepEqual(
      records.map((found) => found.length),
      [blockRest - 3, 0, "one two three".length],
    );
    assert.equal(String(records[2]), "one two three");
    assert.equal(damagedAt, undefined);
  });

  it("treats a wrong record at the end as a torn tail", () => {
    const torn = record(1, Buffer.from("torn"));
    torn[8] = (torn[8] as number) ^ 1;
    const file = Buffer.concat([record(1, Buffer.from("good")), torn]);
    assert.equal(readLevelLog(file, "nothing").damagedAt, undefined);
    assert.equal(readLevelLog(file.subarray(0, file.length - 3), "nothing").damagedAt, undefined);
    const ahead = Buffer.concat([file.subarray(0, file.length - 3), Buffer.alloc(100_000)]);
    assert.equal(readLevelLog(ahead, "nothing").damagedAt, undefined);
  });

  it("ends where zeros begin", () => {
    const file = Buffer.concat([record(1, Buffer.from("a")), Buffer.alloc(100_000)]);
    const { records, damagedAt } = readLevelLog(file, "records");
    assert.deepEqual([records.map(String), damagedAt], [["a"], undefined]);
  });

  it("treats zeros with a record after them as damage", () => {
    const block = 32 << 10;
    const [before, behind] = [record(1, Buffer.from("a")), record(1, Buffer.from("b"))];
    for (const at of [block - behind.length, block, 3 * block]) {
      const zeros = Buffer.alloc(at - before.length);
      const { damagedAt } = readLevelLog(Buffer.concat([before, zeros, behind]), "nothing");
      assert.equal(damagedAt, before.length, `a record at ${at}`);
    }
  });

  it("treats a wrong record with a record after it as damage, also when its length is wrong", () => {
    for (const at of [0, 4, 5, 6, 8]) {
      const wrong = record(1, Buffer.from("wrong"));
      wrong[at] = (wrong[at] as number) ^ 0x81;
      const file = Buffer.concat([record(1, Buffer.from("a")), wrong, record(1, Buffer.from("b"))]);
      assert.equal(readLevelLog(file, "nothing").damagedAt, 8, `byte ${at}`);
      const ahead = Buffer.concat([file, Buffer.alloc(100_000)]);
      assert.equal(readLevelLog(ahead, "nothing").damagedAt, 8, `byte ${at}, zeros behind`);
    }
  });

  it("does not mistake a record in a tenant's value for one of LevelDB's", () => {
    const forged = record(1, Buffer.from("forged"));
    const whole = record(1, Buffer.concat([Buffer.from("before"), forged, Buffer.from("after")]));
    const torn = whole.subarray(0, whole.length - 2);
    const file = Buffer.concat([record(1, Buffer.from("good")), torn]);
    assert.equal(readLevelLog(file, "nothing").damagedAt, undefined);
  });

  it("does not treat parts without their first part as a record after a wrong one", () => {
    const first = record(2, Buffer.alloc((32 << 10) - 7));
    first[100] = 1;
    const file = Buffer.concat([first, record(3, Buffer.from("b")), record(4, Buffer.from("c"))]);
    assert.equal(readLevelLog(file, "nothing").damagedAt, undefined);
    const next = Buffer.concat([file, record(1, Buffer.from("d"))]);
    assert.equal(readLevelLog(next, "nothing").damagedAt, 0);
  });
});

function record(type: number, payload: Buffer): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(7), payload]);
  bytes.writeUInt16LE(payload.length, 4);
  bytes[6] = type;
  const crc = crc32c(bytes, 6, bytes.length);
  const masked = ((((crc >>> 15) | (crc << 17)) >>> 0) + 0xa282ead8) >>> 0;
  assert.equal(unmaskCrc32c(masked), crc);
  bytes.writeUInt32LE(masked, 0);
  return bytes;
}
