/**
 * Protobuf of the built-in kinds, in small vectors of our own: the shapes that a table of fields
 * alone does not get right.
 *
 * The tables as a whole were checked against upstream's golden vectors.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  certificateSigningRequest,
  decodeMessage,
  decodeShape,
  event,
  job,
  jsonSchemaProps,
  lease,
  type MessageShape,
  messageDepthMax,
  patchRulesOf,
  resourceQuota,
  validatingAdmissionPolicy,
  validatingAdmissionPolicyBinding,
  validatingWebhookConfiguration,
} from "./index.ts";

/** A field of wire type 2; lengths below 128 only. */
function field(number: number, ...content: (Uint8Array | string)[]): Uint8Array {
  const parts = content.map((part) =>
    typeof part === "string" ? new TextEncoder().encode(part) : part,
  );
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  assert.ok(number < 16 && length < 128);
  return Uint8Array.from([number * 8 + 2, length, ...parts.flatMap((part) => [...part])]);
}

function varint(number: number, value: number): Uint8Array {
  return Uint8Array.from([number * 8, value]);
}

const vectors: readonly [what: string, shape: MessageShape, bytes: Uint8Array, json: object][] = [
  [
    "a rule's parts are nested twice in protobuf and flat in JSON",
    validatingAdmissionPolicy,
    field(
      2,
      field(
        2,
        field(3, field(1, "name"), field(2, field(1, "CREATE"), field(2, field(3, "pods")))),
      ),
    ),
    {
      spec: {
        matchConstraints: {
          resourceRules: [{ resourceNames: ["name"], operations: ["CREATE"], resources: ["pods"] }],
        },
      },
    },
  ],
  [
    "a webhook's rule is nested once",
    validatingWebhookConfiguration,
    field(
      2,
      field(1, "a.b.c"),
      field(3, field(1, "*"), field(2, field(1, "g"), field(4, "Cluster"))),
    ),
    {
      webhooks: [
        { name: "a.b.c", rules: [{ operations: ["*"], apiGroups: ["g"], scope: "Cluster" }] },
      ],
    },
  ],
  [
    "a map of lists has a message per list",
    certificateSigningRequest,
    field(2, field(6, field(1, "key"), field(2, field(1, "a"), field(1, "b")))),
    { spec: { extra: { key: ["a", "b"] } } },
  ],
  [
    "a time that is not set is absent, and an unset object is empty",
    event,
    Uint8Array.from([...field(5), ...field(6), ...field(7, varint(1, 60)), ...field(10)]),
    { source: {}, lastTimestamp: "1970-01-01T00:01:00Z" },
  ],
  [
    "a micro time keeps six digits",
    lease,
    field(2, field(4, varint(1, 1), Uint8Array.from([0x10, 0xc0, 0x84, 0x3d]))),
    { spec: { renewTime: "1970-01-01T00:00:01.001000Z" } },
  ],
  [
    "a map of quantities",
    resourceQuota,
    field(2, field(1, field(1, "pods"), field(2, field(1, "1k")))),
    { spec: { hard: { pods: "1k" } } },
  ],
];

describe("protobuf of built-in kinds", () => {
  for (const [what, shape, bytes, json] of vectors) {
    it(what, () => {
      assert.deepEqual(decodeMessage(shape, bytes), json);
      assert.deepEqual(decodeShape(shape, json as never).unknownFields, []);
    });
  }
});

describe("protobuf of kinds that contain themselves", () => {
  /** A schema in `not` of a schema, and so on. */
  function nested(depth: number): Uint8Array {
    let bytes: Uint8Array = new Uint8Array();
    for (let i = 0; i < depth; i++) {
      // Field 28 of wire type 2, and a length in as many bytes as it needs.
      const header = [0xe2, 0x01];
      for (let length = bytes.length; ; length = length >>> 7) {
        header.push(length > 127 ? (length & 127) | 128 : length);
        if (length <= 127) break;
      }
      bytes = Uint8Array.from([...header, ...bytes]);
    }
    return bytes;
  }

  it("are read to the depth that is allowed, and no deeper", () => {
    assert.ok(decodeMessage(jsonSchemaProps, nested(messageDepthMax)));
    assert.throws(
      () => decodeMessage(jsonSchemaProps, nested(messageDepthMax + 1)),
      /nested deeper than 512 levels/,
    );
    assert.throws(() => decodeMessage(jsonSchemaProps, nested(5000)), /nested deeper than 512/);
  });
});

describe("patch rules of built-in kinds", () => {
  it("a patch merges the lists for which upstream has a patch strategy, whatever apply does", () => {
    const spec = patchRulesOf(validatingAdmissionPolicyBinding).field("spec")?.schema;
    assert.equal(spec?.field("validationActions"), undefined);
    const status = patchRulesOf(certificateSigningRequest).field("status")?.schema;
    assert.equal(status?.field("conditions")?.strategy, undefined);
    const jobStatus = patchRulesOf(job).field("status")?.schema;
    const conditions = jobStatus?.field("conditions");
    assert.deepEqual([conditions?.strategy, conditions?.mergeKey], ["merge", "type"]);
    const webhooks = patchRulesOf(validatingWebhookConfiguration).field("webhooks");
    assert.deepEqual([webhooks?.strategy, webhooks?.mergeKey], ["merge", "name"]);
  });
});
