/** The sharing of documents, and the description of custom kinds. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Resumable } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { builtIns, type ResourceDefinition } from "../registry/index.ts";
import { documentOf } from "./document-v2.ts";
import { documentV3 } from "./document-v3.ts";
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
      const schema = { description: "Ours.", type: "object", properties };
      return dialect === "v2" ? schema : { ...schema, nullable: true };
    },
  };
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
    assert.equal(await documentV2(list), await documentV2(list));
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
    const definitions = [custom("Widget", { spec: { type: "object" } })];
    const document = (await v3(definitions)).get("apis/stable.example.com/v1");
    const { components, paths } = JSON.parse(document?.bytes.toString() ?? "") as {
      components: { schemas: Record<string, Record<string, unknown>> };
      paths: Record<string, unknown>;
    };
    const widget = components.schemas["com.example.stable.v1.Widget"];
    assert.equal(widget?.["nullable"], true);
    assert.deepEqual(Object.keys(widget?.["properties"] as object), [
      "apiVersion",
      "kind",
      "spec",
      "metadata",
    ]);
    assert.deepEqual(widget?.["x-kubernetes-group-version-kind"], [
      { group: "stable.example.com", kind: "Widget", version: "v1" },
    ]);
    assert.ok(Object.hasOwn(components.schemas, "com.example.stable.v1.WidgetList"));
    assert.ok(Object.hasOwn(paths, "/apis/stable.example.com/v1/namespaces/{namespace}/widgets"));
    const { json } = await documentV2(definitions);
    const { definitions: v2 } = JSON.parse(json.toString()) as {
      definitions: Record<string, Record<string, unknown>>;
    };
    assert.equal(v2["com.example.stable.v1.Widget"]?.["nullable"], undefined);
  });

  it("survive properties with the names of Object's own", async () => {
    const properties = JSON.parse(
      '{"__proto__":{"type":"string"},"constructor":{"type":"string"}}',
    );
    const definitions = [custom("Odd", properties as JsonObject)];
    const bytes = (await v3(definitions)).get("apis/stable.example.com/v1")?.bytes.toString() ?? "";
    assert.match(bytes, /"__proto__":\{"type":"string"\}/);
    const { protobuf } = await documentV2(definitions);
    assert.ok(protobuf.includes("__proto__"));
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
      Array.from({ length: count }, (_, i) => custom(`Kind${i}`, { spec: { type: "object" } }));
    const rests = (
      count: number,
      make: (of: readonly ResourceDefinition[]) => Resumable<unknown>,
    ) => [...make(kinds(count))].length;
    for (const make of [documentOf, documentV3])
      assert.ok(rests(11, make) - rests(1, make) >= 10 * 3, make.name);
  });
});
