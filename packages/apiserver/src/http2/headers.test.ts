/** Header blocks against the examples of RFC 7541, and round trips with random headers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  HeaderDecoder,
  HeaderEncoder,
  type HeaderField,
  rememberedLiteralBytesMax,
} from "./hpack.ts";

const decoded = (decoder: HeaderDecoder, bytes: Buffer): [string, string][] => {
  const fields = decoder.decode(bytes, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY) ?? [];
  return fields.map(({ name, value }) => [name, value]);
};

describe("the examples of RFC 7541, appendix C", () => {
  const requests: [string, string][][] = [
    [
      [":method", "GET"],
      [":scheme", "http"],
      [":path", "/"],
      [":authority", "www.example.com"],
    ],
    [
      [":method", "GET"],
      [":scheme", "http"],
      [":path", "/"],
      [":authority", "www.example.com"],
      ["cache-control", "no-cache"],
    ],
    [
      [":method", "GET"],
      [":scheme", "https"],
      [":path", "/index.html"],
      [":authority", "www.example.com"],
      ["custom-key", "custom-value"],
    ],
  ];
  const vectors: Record<string, string[]> = {
    "requests as text (C.3)": [
      "828684410f7777772e6578616d706c652e636f6d",
      "828684be58086e6f2d6361636865",
      "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
    ],
    "requests in Huffman's code (C.4)": [
      "828684418cf1e3c2e5f23a6ba0ab90f4ff",
      "828684be5886a8eb10649cbf",
      "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
    ],
  };
  for (const [title, blocks] of Object.entries(vectors)) {
    it(title, () => {
      const decoder = new HeaderDecoder();
      for (const [at, hex] of blocks.entries())
        assert.deepEqual(decoded(decoder, Buffer.from(hex, "hex")), requests[at]);
    });
  }

  it("literals without indexing (C.2)", () => {
    const decoder = new HeaderDecoder();
    const read = (hex: string) => decoded(decoder, Buffer.from(hex, "hex"));
    assert.deepEqual(read("040c2f73616d706c652f70617468"), [[":path", "/sample/path"]]);
    assert.deepEqual(read("100870617373776f726406736563726574"), [["password", "secret"]]);
  });
});

describe("a repeated never-indexed literal", () => {
  const token = "t".repeat(200);
  const literal = (index: number, value: string) =>
    Buffer.concat([neverKept(index), lengthOf(value.length), Buffer.from(value, "latin1")]);
  const fieldsOf = (decoder: HeaderDecoder, ...blocks: Buffer[]): readonly HeaderField[] =>
    decoder.decode(Buffer.concat(blocks), Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY) ?? [];

  it("is the same object, so that its text is decoded, validated and hashed once", () => {
    const decoder = new HeaderDecoder();
    const [first] = fieldsOf(decoder, literal(authorization, token));
    const [again] = fieldsOf(decoder, literal(authorization, token));
    assert.equal(again, first);
    assert.equal(first?.value, token);
  });

  it("is another object when one byte, its length or its name differs", () => {
    const decoder = new HeaderDecoder();
    for (const [index, value] of [
      [authorization, token],
      [authorization, `${token.slice(1)}u`],
      [authorization, `u${token.slice(1)}`],
      [authorization, token.slice(1)],
      [authorization, `${token}t`],
      [cookie, `${token}t`],
      [authorization, ""],
    ] as const) {
      const [field] = fieldsOf(decoder, literal(index, value));
      assert.equal(field?.name, index === cookie ? "cookie" : "authorization");
      assert.equal(field?.value, value);
    }
  });

  it("is not mistaken for the same bytes in another encoding", () => {
    // The bytes 0x1f 0x1f … are not the Huffman code of "\x1f\x1f…".
    const bytes = Buffer.alloc(40, 0x1f);
    const asText = Buffer.concat([neverKept(authorization), Buffer.from([40]), bytes]);
    const asHuffman = Buffer.concat([neverKept(authorization), Buffer.from([0x80 | 40]), bytes]);
    const decoder = new HeaderDecoder();
    const [text] = fieldsOf(decoder, asText);
    assert.equal(text?.value, "\x1f".repeat(40));
    const [huffman] = fieldsOf(decoder, asHuffman);
    assert.equal(huffman?.value.startsWith("a"), true);
    assert.equal(fieldsOf(decoder, asText)[0]?.value, "\x1f".repeat(40));
  });

  it("is not mistaken for one whose name had the same index in another state of the table", () => {
    const decoder = new HeaderDecoder();
    const firstOfTable = 62;
    const named = (name: string) =>
      Buffer.concat([Buffer.from([0x40, name.length]), Buffer.from(name), Buffer.from([1, 0x31])]);
    fieldsOf(decoder, named("x-first"));
    assert.equal(fieldsOf(decoder, literal(firstOfTable, token))[0]?.name, "x-first");
    fieldsOf(decoder, named("x-second"));
    assert.equal(fieldsOf(decoder, literal(firstOfTable, token))[0]?.name, "x-second");
  });

  it("keeps a copy, not its receive buffer", () => {
    const decoder = new HeaderDecoder();
    const block = literal(authorization, token);
    fieldsOf(decoder, block);
    block.fill(0x75, 5);
    assert.equal(fieldsOf(decoder, block)[0]?.value.endsWith("uuu"), true);
    assert.equal(fieldsOf(decoder, literal(authorization, token))[0]?.value, token);
  });

  it("is not cached beyond a size, or for another connection", () => {
    const decoder = new HeaderDecoder();
    const long = "l".repeat(rememberedLiteralBytesMax + 1);
    const [first] = fieldsOf(decoder, literal(authorization, long));
    const [again] = fieldsOf(decoder, literal(authorization, long));
    assert.notEqual(again, first);
    assert.equal(again?.value, long);
    const [other] = fieldsOf(new HeaderDecoder(), literal(authorization, token));
    assert.notEqual(fieldsOf(decoder, literal(authorization, token))[0], other);
  });
});

/** The index in the static table. */
const authorization = 23;
const cookie = 32;

/** The first byte or two of a never-indexed literal with that name index. */
function neverKept(index: number): Buffer {
  return Buffer.from([0x1f, index - 15]);
}

/** The length prefix of a string without Huffman code. */
function lengthOf(length: number): Buffer {
  if (length < 127) return Buffer.from([length]);
  const bytes = [127];
  let left = length - 127;
  for (; left >= 128; left >>= 7) bytes.push(0x80 | (left & 0x7f));
  return Buffer.from([...bytes, left]);
}

describe("the decoder reads what the encoder writes", () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,30}$/);
  const value = fc.oneof(
    fc.constantFrom("application/json", "no-cache, private", "1"),
    fc.string({
      unit: fc.integer({ min: 33, max: 255 }).map((code) => String.fromCharCode(code)),
      maxLength: 300,
    }),
  );
  const headers = fc.dictionary(name, fc.oneof(value, fc.array(value, { maxLength: 3 })), {
    maxKeys: 20,
    noNullPrototype: false,
  });
  const step = fc.record({
    status: fc.integer({ min: 100, max: 599 }),
    headers,
    resize: fc.option(fc.integer({ min: 0, max: 5000 })),
  });

  it("over many blocks, with tables that shrink and grow", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const encoder = new HeaderEncoder();
        const decoder = new HeaderDecoder();
        for (const { status, headers: sent, resize } of steps) {
          if (resize !== null) encoder.resize(resize);
          const expected: [string, string][] = [[":status", String(status)]];
          for (const [key, each] of Object.entries(sent))
            for (const one of [each].flat()) expected.push([key, one]);
          assert.deepEqual(decoded(decoder, encoder.encode(status, sent)), expected);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("with repeated headers that are sent once, and by index after that", () => {
    const encoder = new HeaderEncoder();
    const common = { "content-type": "application/json", "cache-control": "no-cache, private" };
    const first = encoder.encode(200, { ...common, "audit-id": "a" }).length;
    const second = encoder.encode(200, { ...common, "audit-id": "b" }).length;
    assert.ok(first > 40 && second < 20, `${first}, then ${second}`);
  });
});
