/** Goal: objects of a large definition are converted without holding up other requests. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runYielding, yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type ClusterName, parseClusterName } from "@kcp-ts/machinery/names";
import { readCustomResourceDefinition } from "@kcp-ts/machinery/schema";
import { type ResourceDefinition, toServed } from "../registry/index.ts";
import { objectKey, type Revision } from "../storage/index.ts";
import { decodeObject, encodeObject } from "../stored-object/index.ts";
import { CustomVersionCodec } from "./custom-version-codec.ts";
import { internDefinition } from "./shared-definition.ts";
import { cronTabs } from "./test-support/definitions.ts";

const owner = parseClusterName("a") as ClusterName;
const fields = 5_000;

function largeVersion() {
  const properties = Object.fromEntries(
    Array.from({ length: fields }, (_, i) => [`f${i}`, { type: "string", default: "x" }]),
  );
  const spec = { type: "object", properties, default: {} };
  const object = cronTabs({ schema: { type: "object", properties: { spec } } });
  const json = object as unknown as JsonObject;
  const { definition } = readCustomResourceDefinition(json);
  const version = internDefinition(json, definition, false).version("v1");
  assert.ok(version !== undefined);
  return version;
}

function storedBefore(since: number) {
  const key = objectKey({
    group: "stable.example.com",
    resource: "crontabs",
    identity: "",
    cluster: owner,
    namespace: "default",
    name: "x",
  });
  const object = { apiVersion: "stable.example.com/v1", kind: "CronTab", metadata: { name: "x" } };
  const modifiedAt = (since - 1) as Revision;
  return { key, value: encodeObject(object), createdAt: modifiedAt, modifiedAt };
}

describe("objects that were stored before a large definition changed", () => {
  it("are converted in turns, and yield to the event loop between them", async () => {
    const version = largeVersion();
    const conversion = { convert: () => assert.fail("versions without a webhook") };
    const codec = new CustomVersionCodec({ version, since: 9 as Revision, conversion, owner });
    // The share of a turn is used up: whatever can yield does.
    const busy = runYielding(spinning());
    await yieldToEventLoop();
    const served = toServed({ codec } as unknown as ResourceDefinition, storedBefore(9));
    assert.ok(served instanceof Promise, "the schema is compiled in one turn");
    const { spec } = decodeObject(await served) as unknown as { spec: object };
    assert.equal(Object.keys(spec).length, fields);
    await busy;
  });
});

function* spinning(): Generator<void, void> {
  for (let i = 0; i < 1_000_000; i++) yield;
}
