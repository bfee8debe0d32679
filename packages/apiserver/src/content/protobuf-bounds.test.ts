/**
 * Protobuf that expresses many values in few bytes is counted while it is decoded, and rejected at
 * the limit: no value beyond the limit is created.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { runSync } from "@kcp-ts/machinery/base";
import { bounds } from "@kcp-ts/machinery/bounds";
import { configMap } from "@kcp-ts/machinery/shape";
import { encodeProto, envelope, type Proto, TestServer, varint } from "../testing/index.ts";
import { decodeBodyResumable } from "./decode-body.ts";

const contentType = "application/vnd.kubernetes.protobuf";
const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";
const head = Buffer.from("k8s\0", "latin1");
const many = 1_000_000;

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

function post(body: Uint8Array) {
  return server.request("POST", configmaps, { headers: { "content-type": contentType }, body });
}

/** Empty fields of that number only, two or three bytes each. */
function empties(number: number, count: number): Buffer {
  const one = Buffer.concat([varint((number << 3) | 2), Buffer.of(0)]);
  return Buffer.alloc(one.length * count, one);
}

function raw(message: Uint8Array): Buffer {
  return Buffer.concat([head, encodeProto([[2, message]])]);
}

const metadata = (fields: Uint8Array): Buffer => encodeProto([[1, fields]]);
const named = encodeProto([[1, "n"]]);
const fieldsV1 = (json: string): Proto => [[7, [[1, json]]]];

describe("protobuf with very many", () => {
  const tooMany: Readonly<Record<string, Buffer>> = {
    "items of a list": raw(metadata(empties(14, many))),
    "entries of a map": raw(empties(2, many)),
    "messages of managers": raw(metadata(empties(17, many / 2))),
    "scalars that are written over": raw(metadata(empties(1, many))),
    "fields that nobody knows": raw(empties(99, many / 2)),
    "fields of the envelope that nobody knows": Buffer.concat([head, empties(9, many)]),
    "fields of the type in the envelope": Buffer.concat([
      head,
      encodeProto([[1, empties(1, many)]]),
    ]),
    "messages one in the other and beside": raw(
      metadata(
        encodeProto([
          [17, empties(7, many / 2)],
          [17, empties(7, many / 2)],
        ]),
      ),
    ),
    "values of JSON": raw(
      metadata(encodeProto([[17, fieldsV1(`{"a":[${Array(300_000).fill(0).join()}]}`)]])),
    ),
    "JSON texts that have many values together": raw(
      metadata(
        encodeProto(
          Array.from(
            { length: 10 },
            () => [17, fieldsV1(`[${Array(20_000).fill(0).join()}]`)] as const,
          ),
        ),
      ),
    ),
  };
  for (const [title, body] of Object.entries(tooMany))
    it(`${title} is a 413`, async () => {
      assert.ok(body.length < bounds.requestBody.bytesMax, "it is short enough");
      const answer = await post(body);
      assert.equal(answer.status, 413, answer.text.slice(0, 200));
      assert.match(answer.object.message ?? "", /limit is 100000 values|limit is 20000 members/);
    });

  it("entries in one map is rejected at the limit of members of one object", async () => {
    const entry = (i: number) =>
      [
        2,
        [
          [1, `k${i}`],
          [2, "v"],
        ],
      ] as const;
    const data = (count: number) => Array.from({ length: count }, (_, i) => entry(i));
    const body = (count: number) =>
      envelope("v1", "ConfigMap", [[1, named], ...data(count)] as Proto);
    assert.equal(
      (await post(body(20_001))).object.message,
      "Request entity too large: limit is 20000 members of one object",
    );
    assert.equal((await post(body(20_000))).status, 201);
  });

  it("fields is not decoded to its end: bytes beyond the limit are never read", () => {
    // If it were read, the last field would be found to be truncated.
    const bytes = Buffer.concat([empties(99, 200_000), Buffer.of(0x0a, 0xff)]);
    const expected = { kind: "ConfigMap", apiVersion: "v1", shape: configMap };
    assert.throws(
      () => runSync(decodeBodyResumable({ bytes: raw(bytes), contentType }, expected)),
      { code: 413 },
    );
  });
});

describe("invalid protobuf", () => {
  const wrong: Readonly<Record<string, Buffer>> = {
    "a length beyond the end": raw(Buffer.concat([varint((1 << 3) | 2), varint(2 ** 31)])),
    "a length beyond all numbers": raw(Buffer.of(0x0a, ...Array(9).fill(0xff), 0x7f)),
    "a group": raw(Buffer.of((1 << 3) | 3, (1 << 3) | 4)),
    "a varint without end": raw(Buffer.alloc(20, 0xff)),
    "an envelope in an envelope": Buffer.concat([head, encodeProto([[2, raw(empties(1, 3))]])]),
  };
  for (const [title, body] of Object.entries(wrong))
    it(`as ${title} is a 400`, async () => {
      assert.equal((await post(body)).status, 400);
    });
});
