/** The sharing of documents, and the description of custom kinds. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Resumable } from "@kcp-ts/machinery/base";
import { workBounds } from "@kcp-ts/machinery/bounds";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { publishText } from "@kcp-ts/machinery/schema";
import { builtIns, type ResourceDefinition } from "../registry/index.ts";
import { documentOf } from "./document-v2.ts";
import { documentV3 } from "./document-v3.ts";
import type { DocumentedKind } from "./documented-kinds.ts";
import { type Document, documentsV3, documentV2 } from "./documents.ts";

function custom(kind: string, properties: JsonObject): ResourceDefinition {
  return {
    ...(builtIns[0] as ResourceDefinition),
    group: "stable.example.com",
    version: "v1",
    resource: `${kind.toLowerCase()}s`,
    kind,
    listKind: `${kind}List`,
    itemsCarryKind: true,
    *openApi(dialect) {
      yield;
      const published = {
        group: "stable.example.com",
        version: "v1",
        kind,
        listKind: `${kind}List`,
        plural: `${kind.toLowerCase()}s`,
        selectableFields: [],
      };
      const schema = { description: "Ours.", type: "object", properties };
      return yield* publishText(schema, published, dialect);
    },
  };
}

function textOf(document: Document | undefined): string {
  return Buffer.concat(document?.parts ?? []).toString();
}

async function v3(definitions: readonly ResourceDefinition[]): Promise<Map<string, Document>> {
  return new Map(await documentsV3(definitions));
}

describe("OpenAPI documents", () => {
  it("are created once per list, also for concurrent requests", async () => {
    const list = [...builtIns];
    const [a, b] = await Promise.all([documentsV3(list), documentsV3(list)]);
    assert.equal(a, b);
    assert.equal(await documentsV3(list), a);
    for (const encoding of ["json", "protobuf"] as const)
      assert.equal(await documentV2(list, encoding), await documentV2(list, encoding));
  });

  it("of a group and version are shared by lists with the same kinds in it", async () => {
    const plain = await v3([...builtIns]);
    const extended = await v3([...builtIns, custom("Widget", {})]);
    assert.equal(extended.get("api/v1"), plain.get("api/v1"));
    assert.equal(plain.has("apis/stable.example.com/v1"), false);
    assert.equal(extended.has("apis/stable.example.com/v1"), true);
    const fewer = await v3(builtIns.filter(({ resource }) => resource !== "secrets"));
    assert.notEqual(fewer.get("api/v1")?.hash, plain.get("api/v1")?.hash);
  });

  it("describe a custom kind by its own schema, under the reversed group", async () => {
    const tag = { type: "string", nullable: true };
    const definitions = [custom("Widget", { spec: { type: "object" }, tag })];
    const document = (await v3(definitions)).get("apis/stable.example.com/v1");
    const { components, paths } = JSON.parse(textOf(document)) as {
      components: { schemas: Record<string, Record<string, unknown>> };
      paths: Record<string, unknown>;
    };
    const widget = components.schemas["com.example.stable.v1.Widget"];
    assert.deepEqual(Object.keys(widget?.["properties"] as object), [
      "spec",
      "tag",
      "apiVersion",
      "kind",
      "metadata",
    ]);
    assert.deepEqual(widget?.["x-kubernetes-group-version-kind"], [
      { group: "stable.example.com", kind: "Widget", version: "v1" },
    ]);
    assert.ok(Object.hasOwn(components.schemas, "com.example.stable.v1.WidgetList"));
    assert.ok(Object.hasOwn(paths, "/apis/stable.example.com/v1/namespaces/{namespace}/widgets"));
    const { definitions: v2 } = JSON.parse(textOf(await documentV2(definitions, "json"))) as {
      definitions: Record<string, Record<string, unknown>>;
    };
    const tags = [widget, v2["com.example.stable.v1.Widget"]].map(
      (schema) => (schema?.["properties"] as Record<string, unknown> | undefined)?.["tag"],
    );
    assert.deepEqual(tags, [tag, {}]);
  });

  it("survive properties with the names of Object's own", async () => {
    const properties = JSON.parse(
      '{"__proto__":{"type":"string"},"constructor":{"type":"string"}}',
    );
    const definitions = [custom("Odd", properties as JsonObject)];
    const text = textOf((await v3(definitions)).get("apis/stable.example.com/v1"));
    assert.match(text, /"__proto__":\{"type":"string"\}/);
    const protobuf = await documentV2(definitions, "protobuf");
    assert.ok(textOf(protobuf).includes("__proto__"));
  });

  it("whose creation failed are created again on the next request", async () => {
    let calls = 0;
    const broken: ResourceDefinition = {
      ...custom("Broken", {}),
      openApi: () => {
        calls++;
        throw new Error("no schema today");
      },
    };
    const list = [broken];
    await assert.rejects(async () => documentsV3(list), /no schema today/);
    await assert.rejects(async () => documentsV3(list), /no schema today/);
    assert.equal(calls, 2);
  });

  it("yield to the event loop between the kinds, and where a kind's schema does", () => {
    const kinds = (count: number) =>
      Array.from({ length: count }, (_, i) => ({
        definition: custom(`Kind${i}`, { spec: { type: "object" } }),
        isOpaque: false,
      }));
    const rests = (count: number, make: (of: readonly DocumentedKind[]) => Resumable<unknown>) =>
      [...make(kinds(count))].length;
    for (const make of [
      (of: readonly DocumentedKind[]) => documentOf(of, "json"),
      (of: readonly DocumentedKind[]) => documentOf(of, "protobuf"),
      documentV3,
    ])
      assert.ok(rests(11, make) - rests(1, make) >= 10 * 3, String(make));
  });

  it("omit the schemas of custom kinds beyond the limit of a cluster", async () => {
    const third = Math.ceil(workBounds.openApi.unitsMax / 3);
    const large = (kind: string) =>
      custom(kind, { text: { type: "string", description: "d".repeat(third) } });
    const small = custom("Small", { own: { type: "string" } });
    const definitions = [...builtIns, ...["One", "Two", "Three", "Four"].map(large), small];
    const described = (schemas: Record<string, { properties?: Record<string, unknown> }>) =>
      ["One", "Two", "Three", "Four", "Small"].filter(
        (kind) => schemas[`com.example.stable.v1.${kind}`]?.properties !== undefined,
      );
    const document = (await v3(definitions)).get("apis/stable.example.com/v1");
    const { schemas } = JSON.parse(textOf(document)).components;
    assert.deepEqual(described(schemas), ["One", "Two", "Small"], "a small kind fits in later");
    assert.deepEqual(schemas["com.example.stable.v1.Four"], {
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      "x-kubernetes-group-version-kind": [
        { group: "stable.example.com", kind: "Four", version: "v1" },
      ],
    });
    const v2 = textOf(await documentV2(definitions, "json"));
    assert.deepEqual(described(JSON.parse(v2).definitions), ["One", "Two", "Small"]);
    assert.ok(v2.length < 1.5 * workBounds.openApi.unitsMax);
    const protobuf = textOf(await documentV2(definitions, "protobuf"));
    assert.ok(protobuf.includes("com.example.stable.v1.Four") && protobuf.length < v2.length);
  });

  it("omit custom kinds beyond the limit of a cluster, and no built-in kind", async () => {
    const { unitsMax } = workBounds.openApiKinds;
    const count = unitsMax + 2;
    const definitions = [
      ...Array.from({ length: count }, (_, i) => custom(`Kind${i}`, { spec: { type: "object" } })),
      ...builtIns,
    ];
    const { paths } = JSON.parse(textOf(await documentV2(definitions, "json")));
    const path = (i: number) => `/apis/stable.example.com/v1/namespaces/{namespace}/kind${i}s`;
    assert.ok(Object.hasOwn(paths, path(unitsMax - 1)));
    assert.ok(!Object.hasOwn(paths, path(unitsMax)));
    assert.ok(Object.hasOwn(paths, "/api/v1/namespaces/{namespace}/secrets"));
    const document = (await v3(definitions)).get("apis/stable.example.com/v1");
    assert.deepEqual(
      Object.keys(JSON.parse(textOf(document)).paths).filter((each) => each.endsWith("s")).length,
      2 * unitsMax,
    );
  });

  it("have several parts when they are large, of which none is a copy of another", async () => {
    const definitions = Array.from({ length: 100 }, (_, i) => custom(`Kind${i}`, {}));
    const { parts } = await documentV2(definitions, "json");
    assert.ok(parts.length > 1);
    assert.ok(parts.every(({ length }) => length <= 512 << 10));
  });
});
