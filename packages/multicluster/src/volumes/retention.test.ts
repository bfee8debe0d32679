import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deleteWhenScaledAnnotation } from "../api/index.ts";
import { type ClaimUserKind, claimUserKinds, type StoredObject, statefulSets } from "./objects.ts";
import { type OrdinalSet, ordinalSetOf } from "./ordinal-users.ts";
import { volumeUserOf } from "./read-facts.ts";
import { retentionOf } from "./retention.ts";

const kind = claimUserKinds.find(({ resource }) => resource === statefulSets) as ClaimUserKind;

function set(replicas: number, policy: object, running = replicas): OrdinalSet {
  const template = { metadata: { name: "data" }, spec: {} };
  const object = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db", namespace: "demo", uid: "set" },
    spec: {
      replicas,
      volumeClaimTemplates: [template],
      persistentVolumeClaimRetentionPolicy: policy,
    },
  } as unknown as StoredObject;
  const part = {
    ...object,
    metadata: {
      name: "db--east",
      namespace: "demo",
      generation: 2,
      labels: { "workloads.kcp.io/cluster": "east", "kcp.io/owned-by": "db" },
    },
    status: { observedGeneration: 2, replicas: running },
  } as unknown as StoredObject;
  const facts = volumeUserOf(part, kind, "db");
  assert.ok(facts !== undefined);
  const found = ordinalSetOf(
    { object, kind, parts: [{ object: part, kind, facts }] },
    () => "east",
  );
  return found ?? assert.fail();
}

function claim(number: number, more: Partial<StoredObject["metadata"]> = {}): StoredObject {
  const metadata = { name: `data-db-${number}`, namespace: "demo", uid: `c${number}`, ...more };
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata };
}

const marked = { annotations: { [deleteWhenScaledAnnotation]: "set" } };
const names = (objects: readonly StoredObject[]) => objects.map(({ metadata }) => metadata.name);
const scaled = { whenScaled: "Delete" };

describe("what a set says of the claims of its numbers", () => {
  it("marks those in use, and takes the mark back with the policy", () => {
    const found = retentionOf(set(2, { whenScaled: "Delete", whenDeleted: "Delete" }), [
      claim(0),
      claim(5),
    ]);
    assert.deepEqual(names(found.marked), ["data-db-0"]);
    const [one] = found.marked;
    assert.equal(one?.metadata.annotations?.[deleteWhenScaledAnnotation], "set");
    assert.deepEqual(one?.metadata.ownerReferences, [
      { apiVersion: "apps/v1", kind: "StatefulSet", name: "db", uid: "set" },
    ]);
    // As it is, nothing is written; without the policy, both go.
    assert.deepEqual(
      retentionOf(set(2, { whenScaled: "Delete", whenDeleted: "Delete" }), [one ?? claim(0)])
        .marked,
      [],
    );
    const [kept] = retentionOf(set(2, {}), [one ?? claim(0)]).marked;
    assert.deepEqual([kept?.metadata.annotations, kept?.metadata.ownerReferences], [{}, []]);
  });

  it("deletes those that are scaled away and were marked, and no others", () => {
    const claims = [
      claim(0, marked),
      claim(2, marked),
      claim(3),
      claim(4, { annotations: { [deleteWhenScaledAnnotation]: "another" } }),
    ];
    assert.deepEqual(names(retentionOf(set(2, scaled), claims).deleted), ["data-db-2"]);
    assert.deepEqual(retentionOf(set(2, {}), claims).deleted, []);
    const other = {
      ...claim(2, marked),
      metadata: { ...claim(2, marked).metadata, name: "logs-db-2" },
    };
    assert.deepEqual(retentionOf(set(2, scaled), [other]).deleted, []);
  });

  it("waits until nothing of it can be using them", () => {
    assert.deepEqual(retentionOf(set(2, scaled, 3), [claim(2, marked)]).deleted, []);
  });
});
