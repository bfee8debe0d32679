/**
 * Seeded fuzzing of header compression: random headers in every encoding, and the same bytes
 * corrupted at random, read by the decoder and by a literal implementation of RFC 7541. `KCP_SEED`
 * and `KCP_HISTORIES` choose others.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "../testing/index.ts";
import { decoderTableBytesMax, HeaderDecoder, HeaderEncoder } from "./hpack.ts";
import { ConnectionError, errorCode } from "./protocol.ts";
import { type Field, huffman, PlainDecoder, PlainTable } from "./test-support/plain-hpack.ts";

const seedFirst = Number(process.env["KCP_SEED"] ?? 1);
const histories = Number(process.env["KCP_HISTORIES"] ?? 30);
const seeds = Array.from({ length: histories }, (_, at) => seedFirst + at);

const names = [
  ":path",
  ":authority",
  "accept",
  "authorization",
  "user-agent",
  "x-a",
  "x-some-longer-name",
];

function randomField(random: SeededRandom): Field {
  const length = random.pick([0, 1, 5, 40, 40, 300, 5000]);
  const value = Array.from({ length }, () => String.fromCharCode(random.below(256))).join("");
  return [random.pick(names), random.pick([value, "GET", "same again"])];
}

function integer(value: number, prefix: number, bits: number): Buffer {
  const max = 2 ** prefix - 1;
  if (value < max) return Buffer.from([bits | value]);
  const bytes = [bits | max];
  let rest = value - max;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

function text(value: string, random: SeededRandom): Buffer {
  const bytes = random.below(2) === 0 ? undefined : huffman(value);
  if (bytes === undefined)
    return Buffer.concat([integer(value.length, 7, 0), Buffer.from(value, "latin1")]);
  return Buffer.concat([integer(bytes.length, 7, 0x80), bytes]);
}

/** One of the encodings that the field may have now, at random. */
function write(field: Field, table: PlainTable, random: SeededRandom): Buffer {
  const indexes = Array.from({ length: 61 + table.fields.length }, (_, at) => at + 1);
  const same = indexes.filter((index) => {
    const [name, value] = table.at(index);
    return name === field[0] && value === field[1];
  });
  if (same.length > 0 && random.below(3) > 0) return integer(random.pick(same), 7, 0x80);
  const named = indexes.filter((index) => table.at(index)[0] === field[0]);
  const [prefix, bits] = random.pick([
    [6, 0x40],
    [4, 0],
    [4, 0x10],
  ] as const);
  const index = named.length > 0 && random.below(3) > 0 ? random.pick(named) : 0;
  const name = index === 0 ? [text(field[0], random)] : [];
  const written = Buffer.concat([integer(index, prefix, bits), ...name, text(field[1], random)]);
  if (bits === 0x40) table.add(field);
  return written;
}

function randomBlock(table: PlainTable, random: SeededRandom): { block: Buffer; fields: Field[] } {
  const parts: Buffer[] = [];
  if (random.below(4) === 0) {
    table.bytesMax = random.pick([0, 100, 1000, 4096]);
    table.shrink();
    parts.push(integer(table.bytesMax, 5, 0x20));
  }
  const fields = Array.from({ length: random.below(8) }, () => randomField(random));
  for (const field of fields) parts.push(write(field, table, random));
  return { block: Buffer.concat(parts), fields };
}

function read(decoder: HeaderDecoder, block: Buffer): Field[] {
  const fields = decoder.decode(block, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY) ?? [];
  return fields.map(({ name, value }) => [name, value]);
}

function broken(block: Buffer, random: SeededRandom): Buffer {
  const bytes = [...block];
  for (let left = 1 + random.below(3); left > 0; left--) {
    const at = random.below(bytes.length + 1);
    const kind = random.below(4);
    if (kind === 0) bytes[at] = random.below(256);
    else if (kind === 1) bytes.splice(at, 1 + random.below(4));
    else if (kind === 2)
      bytes.splice(at, 0, random.pick([0, 0x20, 0x3f, 0x7f, 0x80, 0xff, random.below(256)]));
    else bytes.length = Math.min(at, bytes.length);
  }
  return Buffer.from(bytes.map((byte) => byte ?? 0));
}

describe("random header blocks", () => {
  it("headers in any encoding are decoded correctly, over many blocks of a connection", () => {
    for (const seed of seeds) {
      const random = new SeededRandom(seed);
      const table = new PlainTable();
      const [decoder, plain] = [new HeaderDecoder(), new PlainDecoder()];
      for (let blocks = 0; blocks < 20; blocks++) {
        const { block, fields } = randomBlock(table, random);
        assert.deepEqual(read(decoder, block), fields, `seed ${seed}`);
        assert.deepEqual(plain.decode(block), fields, `seed ${seed}: the other decoder`);
      }
    }
  });

  it("corrupted blocks are decoded as the RFC requires, or end the connection with COMPRESSION_ERROR", () => {
    let refused = 0;
    let accepted = 0;
    for (const seed of seeds) {
      const random = new SeededRandom(seed);
      const table = new PlainTable();
      const [decoder, plain] = [new HeaderDecoder(), new PlainDecoder()];
      for (let blocks = 0; blocks < 20; blocks++) {
        const { block } = randomBlock(table, random);
        const bytes = random.below(2) === 0 ? block : broken(block, random);
        let expected: Field[] | undefined;
        try {
          expected = plain.decode(bytes);
        } catch {
          // The block is malformed: the decoder must reject it, too.
        }
        try {
          assert.deepEqual(read(decoder, bytes), expected, `seed ${seed}`);
          accepted++;
        } catch (error) {
          if (!(error instanceof ConnectionError)) throw error;
          assert.equal(error.code, errorCode.compressionError, `seed ${seed}`);
          assert.equal(expected, undefined, `seed ${seed}: the RFC reads it`);
          refused++;
          break;
        }
        assert.ok(plain.table.bytes <= decoderTableBytesMax);
      }
    }
    assert.ok(refused > seeds.length / 4 && accepted > seeds.length, `${refused} and ${accepted}`);
  });

  it("the reference decoder reads what the encoder writes, for all table sizes that the client requests", () => {
    for (const seed of seeds) {
      const random = new SeededRandom(seed);
      const [encoder, plain] = [new HeaderEncoder(), new PlainDecoder()];
      for (let blocks = 0; blocks < 20; blocks++) {
        for (let left = random.below(3); left > 0; left--)
          encoder.resize(random.pick([0, 60, 1000, 4096, 65_536]));
        const headers = Object.fromEntries(
          Array.from({ length: random.below(8) }, () => randomField(random)).filter(
            ([name]) => !name.startsWith(":"),
          ),
        );
        const block = Buffer.from(encoder.encode(200, headers));
        assert.deepEqual(
          plain.decode(block),
          [[":status", "200"], ...Object.entries(headers)],
          `seed ${seed}`,
        );
      }
    }
  });
});
