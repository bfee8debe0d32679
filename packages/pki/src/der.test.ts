import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DerError, readElements, readObjectIdentifier, readOnly } from "./der-reader.ts";
import { der, derTag } from "./der-writer.ts";

describe("DER", () => {
  it("parses any bytes as elements that fill them, or rejects them", () => {
    // Every text of up to five bytes over an alphabet of tags, lengths, and lengths of lengths.
    const alphabet = [0x00, 0x01, 0x02, 0x1f, 0x30, 0x80, 0x81, 0x84];
    const counts = { read: 0, refused: 0 };
    for (let size = 0; size <= 5; size++) {
      for (let number = 0; number < alphabet.length ** size; number++) {
        const bytes = Buffer.from(
          Array.from({ length: size }, (_, at) => alphabet[(number >> (3 * at)) & 7] ?? 0),
        );
        try {
          const elements = readElements(bytes);
          assert.deepEqual(Buffer.concat(elements.map((element) => element.bytes)), bytes);
          counts.read++;
        } catch (error) {
          assert.ok(error instanceof DerError, String(error));
          counts.refused++;
        }
      }
    }
    assert.ok(counts.read > 1000 && counts.refused > 1000, JSON.stringify(counts));
  });

  it("parses its own output, at every size of length", () => {
    for (const size of [0, 1, 127, 128, 255, 256, 65_535, 65_536]) {
      const content = Buffer.alloc(size, 7);
      const written = der.octetString(content);
      assert.deepEqual(readOnly(written, derTag.octetString).content, content);
      if (size > 0) {
        assert.throws(() => readOnly(written.subarray(0, -1), derTag.octetString), DerError);
      }
      const longer = Buffer.concat([written, Buffer.from([0])]);
      assert.throws(() => readOnly(longer, derTag.octetString), DerError);
    }
  });

  it("rejects lengths that are not in their shortest form, or indefinite", () => {
    for (const hex of [
      "048100",
      "04820001aa",
      "04817f",
      "0480aa0000",
      "04850000000001aa",
      "1f8101",
    ]) {
      assert.throws(() => readElements(Buffer.from(hex, "hex")), DerError, hex);
    }
  });

  it("parses its own object identifiers, and rejects truncated and endless ones", () => {
    const arcs = [0, 1, 127, 128, 16_383, 16_384, 2 ** 31 - 1, 2 ** 40];
    for (const head of ["0.0", "0.39", "1.3", "2.5", "2.39"]) {
      for (const dotted of [
        head,
        ...arcs.flatMap((arc) => [`${head}.${arc}`, `${head}.${arc}.7`]),
      ]) {
        const [element] = readElements(der.objectIdentifier(dotted));
        assert.equal(readObjectIdentifier(element), dotted);
      }
    }
    for (const hex of ["0600", "06022a86", "060a2affffffffffffffff7f"]) {
      const [element] = readElements(Buffer.from(hex, "hex"));
      assert.throws(() => readObjectIdentifier(element), DerError, hex);
    }
  });

  it("writes non-negative integers with as many bytes as they need", () => {
    const cases = [
      ["", "020100"],
      ["00", "020100"],
      ["7f", "02017f"],
      ["80", "02020080"],
      ["0000ff", "020200ff"],
      ["0100", "02020100"],
    ] as const;
    for (const [bytes, written] of cases) {
      assert.equal(der.unsigned(Buffer.from(bytes, "hex")).toString("hex"), written);
    }
  });

  it("writes times until 2049 with two digits of the year, and with four from 2050 on", () => {
    const written = (iso: string) => {
      const [element] = readElements(der.time(Date.parse(iso)));
      return [element?.tag, element?.content.toString("ascii")];
    };
    assert.deepEqual(written("2049-12-31T23:59:59.999Z"), [derTag.utcTime, "491231235959Z"]);
    assert.deepEqual(written("2050-01-01T00:00:00Z"), [derTag.generalizedTime, "20500101000000Z"]);
  });
});
