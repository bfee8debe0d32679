import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deleteWhenScaledAnnotation } from "../api/index.ts";
import { type ClaimUserKind, claimUserKinds, type StoredObject, statefulSets } from "./objects.ts";
import { type OrdinalSet, ordinalSetOf } from "./ordinal-users.ts";
import { volumeUserOf } from "./read-claims.ts";
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
  const copy = {
    ...object,
    metadata: {
      name: "db--east",
      namespace: "demo",
      generation: 2,
      labels: { "workload.kcp.io/cluster": "east", "workload.kcp.io/owned-by": "db" },
    },
    status: { observedGeneration: 2, replicas: running },
  } as unknown as StoredObject;
  const user = volumeUserOf(copy, kind, "db", undefined);
  assert.ok(user !== undefined);
  const found = ordinalSetOf(
    { object, kind, copies: [{ object: copy, kind, user }] },
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

describe("retention policy of a StatefulSet", () => {
  it("claims of ordinals in use are marked, and unmarked when the policy changes back", () => {
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
    // An up-to-date claim is not written; without the policy, both marks are removed.
    assert.deepEqual(
      retentionOf(set(2, { whenScaled: "Delete", whenDeleted: "Delete" }), [one ?? claim(0)])
        .marked,
      [],
    );
    const [kept] = retentionOf(set(2, {}), [one ?? claim(0)]).marked;
    assert.deepEqual([kept?.metadata.annotations, kept?.metadata.ownerReferences], [{}, []]);
  });

  it("marked claims of ordinals that are scaled down are deleted, and no others", () => {
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

  it("claims are deleted only when no Pod of the set can use them", () => {
    assert.deepEqual(retentionOf(set(2, scaled, 3), [claim(2, marked)]).deleted, []);
  });
});
