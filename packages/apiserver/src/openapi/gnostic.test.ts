/**
 * The protobuf encoding has the content of the JSON encoding. It is read back with another
 * implementation of the wire format, and with gnostic's field numbers written down once more.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { runSync } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { builtIns } from "../registry/index.ts";
import { documentOf, type EncodingV2 } from "./document-v2.ts";
import { encodeDefinition } from "./gnostic.ts";

type Fields = Map<number, (Uint8Array | bigint | number)[]>;

function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields: Fields = new Map();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const value =
      type === WireType.LengthDelimited
        ? reader.bytes()
        : type === WireType.Bit64
          ? reader.double()
          : BigInt(reader.int64());
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

const text = (value: unknown) => Buffer.from(value as Uint8Array).toString("utf8");
const one = (fields: Fields, number: number) => fields.get(number)?.[0];
const message = (fields: Fields, number: number) => fieldsOf(one(fields, number) as Uint8Array);
const all = (fields: Fields, number: number) =>
  (fields.get(number) ?? []).map((each) => fieldsOf(each as Uint8Array));

/** NamedX{name = 1, value = 2}. */
function named(fields: Fields, number: number): Map<string, Fields> {
  return new Map(all(fields, number).map((each) => [text(one(each, 1)), message(each, 2)]));
}

/** Parsed extensions. */
function extensions(fields: Fields, number: number): Record<string, unknown> {
  const values = [...named(fields, number)];
  return Object.fromEntries(values.map(([name, any]) => [name, JSON.parse(text(one(any, 2)))]));
}

/** The parts of a Schema that the server's documents use. */
function schemaOf(fields: Fields): JsonObject {
  const texts = [
    ["$ref", 1],
    ["format", 2],
    ["description", 4],
  ] as const;
  const schema: Record<string, unknown> = {};
  for (const [name, number] of texts)
    if (fields.has(number)) schema[name] = text(one(fields, number));
  if (fields.has(19)) schema["required"] = fields.get(19)?.map(text);
  if (fields.has(21)) schema["additionalProperties"] = schemaOf(message(message(fields, 21), 1));
  if (fields.has(22)) schema["type"] = text(one(message(fields, 22), 1));
  if (fields.has(23)) schema["items"] = schemaOf(message(message(fields, 23), 1));
  if (fields.has(25)) {
    const properties = [...named(message(fields, 25), 1)];
    schema["properties"] = Object.fromEntries(
      properties.map(([name, each]) => [name, schemaOf(each)]),
    );
  }
  return { ...schema, ...extensions(fields, 31) } as JsonObject;
}

const kinds = builtIns.map((definition) => ({ definition, isOpaque: false }));
const documentBytes = (encoding: EncodingV2) => Buffer.concat(runSync(documentOf(kinds, encoding)));
const json = JSON.parse(documentBytes("json").toString("utf8")) as {
  definitions: Record<string, JsonObject>;
  paths: Record<string, Record<string, { parameters: { name: string }[] }>>;
};
const protobuf = fieldsOf(documentBytes("protobuf"));

describe("the protobuf encoding of OpenAPI v2", () => {
  it("has the same definitions as the JSON encoding, member for member", () => {
    const definitions = named(message(protobuf, 9), 1);
    assert.deepEqual([...definitions.keys()], Object.keys(json.definitions));
    for (const [name, schema] of definitions)
      assert.deepEqual(schemaOf(schema), json.definitions[name], name);
  });

  it("has the same paths, operations and parameters", () => {
    const paths = named(message(protobuf, 8), 2);
    assert.deepEqual([...paths.keys()], Object.keys(json.paths));
    const methods = [
      ["get", 2],
      ["put", 3],
      ["post", 4],
      ["delete", 5],
      ["patch", 8],
    ] as const;
    for (const [path, item] of paths) {
      for (const [method, number] of methods) {
        const expected = json.paths[path]?.[method];
        assert.equal(item.has(number), expected !== undefined, `${method} ${path}`);
        if (expected === undefined) continue;
        const operation = message(item, number);
        assert.deepEqual(
          all(operation, 8).map(parameterName),
          expected.parameters.map(({ name }) => name),
          `${method} ${path}`,
        );
      }
    }
  });

  it("shows kubectl which kinds support dry-run patches", () => {
    const item = named(message(protobuf, 8), 2).get(
      "/api/v1/namespaces/{namespace}/configmaps/{name}",
    ) as Fields;
    const patch = message(item, 8);
    assert.deepEqual(extensions(patch, 13), {
      "x-kubernetes-action": "patch",
      "x-kubernetes-group-version-kind": { group: "", kind: "ConfigMap", version: "v1" },
    });
    assert.ok(all(patch, 8).map(parameterName).includes("dryRun"));
  });

  it("has every kind of member that a custom kind's schema has", () => {
    const schema = fieldsOf(
      encodeDefinition("com.example.v1.Widget", {
        type: "object",
        default: { a: 1 },
        maximum: 1.5,
        exclusiveMaximum: true,
        maxLength: 300,
        minItems: 0,
        pattern: "^é$",
        enum: ["a", 1],
        additionalProperties: true,
        unknownToGnostic: "left out",
        "x-kubernetes-preserve-unknown-fields": true,
      }),
    );
    const fields = message(message(schema, 1), 2);
    assert.equal(text(one(message(fields, 5), 2)), '{"a":1}\n');
    assert.equal(one(fields, 7), 1.5);
    assert.equal(one(fields, 8), 1n);
    assert.equal(one(fields, 11), 300n);
    assert.equal(one(fields, 15), 0n);
    assert.equal(text(one(fields, 13)), "^é$");
    assert.deepEqual(
      all(fields, 20).map((each) => text(one(each, 2))),
      ['"a"\n', "1\n"],
    );
    assert.equal(one(message(fields, 21), 2), 1n);
    assert.deepEqual(extensions(fields, 31), { "x-kubernetes-preserve-unknown-fields": true });
    assert.deepEqual(
      [...fields.keys()].sort((a, b) => a - b),
      [5, 7, 8, 11, 13, 15, 20, 21, 22, 31],
    );
  });
});

/** ParametersItem{parameter = 1{body = 1 | nonBody = 2{query = 3 | path = 4}}}. */
function parameterName(item: Fields): string {
  const parameter = message(item, 1);
  if (parameter.has(1)) return text(one(message(parameter, 1), 2));
  const nonBody = message(parameter, 2);
  return text(one(message(nonBody, nonBody.has(3) ? 3 : 4), 4));
}
