/** Field selectors of watches: each reads every change, in the turn of the change. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { rootCluster } from "@kcp-ts/machinery/names";
import { builtIns, type ResourceDefinition, storageKeyOf } from "../registry/index.ts";
import { type Entry, toRevision } from "../storage/index.ts";
import { encodeObject } from "../stored-object/index.ts";
import { selectionOf } from "./selection.ts";

const plain = builtIns.find(({ resource }) => resource === "configmaps") as ResourceDefinition;

function definitionOf(read: (phase: string) => string): ResourceDefinition {
  const phase = ["status.phase", (object: object) => read((object as { phase: string }).phase)];
  return { ...plain, strategy: { ...plain.strategy, selectableFields: new Map([phase as never]) } };
}

function entryOf(definition: ResourceDefinition, phase: string): Entry {
  const address = { cluster: rootCluster, namespace: "default", name: "x" };
  const value = encodeObject({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "x", namespace: "default" },
    phase,
  });
  const at = toRevision(1);
  return { key: storageKeyOf(definition, address), value, createdAt: at, modifiedAt: at };
}

function selects(definition: ResourceDefinition, fieldSelector: string, entry: Entry): boolean {
  const { selection } = selectionOf(definition, { labelSelector: "", fieldSelector, name: "" });
  return selection?.matches(entry) === true;
}

describe("a field selector", () => {
  it("reads a field of one state of an object once, for all watches", () => {
    let reads = 0;
    const definition = definitionOf((phase) => {
      reads++;
      return phase;
    });
    const [running, failed] = [entryOf(definition, "Running"), entryOf(definition, "Failed")];
    for (let i = 0; i < 3; i++) {
      assert.equal(selects(definition, "status.phase=Running", running), true);
      assert.equal(selects(definition, "status.phase!=Running", running), false);
      assert.equal(selects(definition, "status.phase=Running", failed), false);
    }
    assert.equal(reads, 2);
  });

  it("does not keep long fields in memory", () => {
    let reads = 0;
    const long = "x".repeat(10_000);
    const definition = definitionOf((phase) => {
      reads++;
      return phase;
    });
    const entry = entryOf(definition, long);
    for (let i = 0; i < 3; i++)
      assert.equal(selects(definition, `status.phase=${long}`, entry), true);
    assert.equal(reads, 3);
  });
});
