/**
 * Goal: claims that a StatefulSet asks for by templates go where their numbers go, by what they
 * allow; each number finds its own data wherever it runs.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { syncTargets } from "@kcp-ts/multicluster";
import { eventually } from "./fixture.ts";
import {
  claims,
  exampleFromGuide,
  namespace,
  type StoredObject,
  VolumeFixture,
  volumes,
} from "./volume-fixture.ts";
import { kinds } from "./workload-fixture.ts";

const key = { namespace, name: "db" };

/** The example of the page, with these access modes. */
function database(
  accessModes: readonly string[],
  annotations = {},
  spec = {},
): Pick<StoredObject, "metadata" | "spec"> {
  const { metadata, spec: shown = {} } = exampleFromGuide("StatefulSet");
  const template = {
    metadata: { name: "data", annotations },
    spec: { accessModes, storageClassName: "shared", resources: { requests: { storage: "1Gi" } } },
  };
  const all = { ...shown, ...spec, volumeClaimTemplates: [template] };
  return { metadata: { ...metadata, namespace }, spec: all };
}

/**
 * By number: the cluster that it runs in, and the handle of the volume that its claim has there.
 */
async function numbers(fixture: VolumeFixture): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [name, { client }] of fixture.clusters) {
    const [pods, bound, known] = [
      (await client.resource(kinds.pods).list({})).items,
      (await client.resource(claims).list({})).items,
      (await client.resource(volumes).list({})).items,
    ];
    for (const { metadata } of pods) {
      const claim = bound.find((one) => one.metadata.name === `data-${metadata.name}`);
      const volume = known.find((one) => one.metadata.name === claim?.spec?.["volumeName"]);
      const source = volume?.spec?.["csi"] as { readonly volumeHandle: string } | undefined;
      found[metadata.name] = `${name} ${source?.volumeHandle ?? "none"}`;
    }
  }
  return found;
}

async function untilReady(fixture: VolumeFixture, wanted: number): Promise<Record<string, string>> {
  return await eventually(async () => {
    const { status, metadata } = await fixture.client.resource(kinds.statefulSets).get(key);
    assert.equal(status?.["readyReplicas"] ?? 0, wanted, JSON.stringify([status, metadata]));
    const found = await numbers(fixture);
    assert.equal(Object.keys(found).length, wanted, JSON.stringify(found));
    for (const place of Object.values(found)) assert.doesNotMatch(place, /none$/);
    return found;
  });
}

const handles = (found: Record<string, string>) =>
  Object.fromEntries(Object.entries(found).map(([name, place]) => [name, place.split(" ")[1]]));
const placesOf = (found: Record<string, string>) =>
  Object.fromEntries(Object.entries(found).map(([name, place]) => [name, place.split(" ")[0]]));

describe("claims of the numbers of a StatefulSet", () => {
  it("stay where they are unless they may go, and then each goes with its number", async (t) => {
    const stage = await VolumeFixture.start(t, ["statefulsets.apps", "pods"]);
    await eventually(() =>
      stage.client.resource(kinds.statefulSets).create(database(["ReadWriteOnce"])),
    );
    const first = await untilReady(stage, 3);
    assert.deepEqual(placesOf(first), { "db-0": "east", "db-1": "east", "db-2": "west" });
    const { items: made } = await stage.client.resource(claims).list({ namespace });
    assert.deepEqual(made.map(({ metadata }) => metadata.name).sort(), [
      "data-db-0",
      "data-db-1",
      "data-db-2",
    ]);

    // Refused, with what to do; nothing has stopped.
    await stage.empty("east");
    const refused = await eventually(async () => {
      const { metadata } = await stage.client
        .resource(claims)
        .get({ namespace, name: "data-db-1" });
      const said = JSON.parse(metadata.annotations?.["workload.kcp.io/volumes"] ?? "{}");
      assert.equal(said["west"]?.reason, "IncompatibleAccessMode", JSON.stringify(said));
      return said["west"].message as string;
    });
    assert.match(refused, /claim data-db-1 .* workload\.kcp\.io\/volume-migration=detach/);
    assert.deepEqual(await numbers(stage), first);

    const annotations = { "workload.kcp.io/volume-migration": "detach" };
    for (const { metadata } of made) {
      const patch = { metadata: { annotations } };
      const at = { namespace, name: metadata.name };
      await stage.client.resource(claims).patch(at, { type: "merge", patch });
    }
    const moved = await eventually(async () => {
      const found = await untilReady(stage, 3);
      const west = { "db-0": "west", "db-1": "west", "db-2": "west" };
      assert.deepEqual(placesOf(found), west, JSON.stringify(found));
      return found;
    });
    assert.deepEqual(handles(moved), handles(first));
    assert.deepEqual(stage.attachedTwice, []);
    await eventually(async () => assert.deepEqual((await stage.handles())["east"], []));

    // More of them, and fewer: numbers have their claims before they start, and find them again.
    const scale = (replicas: number) => {
      const patch = { spec: { replicas } };
      return stage.client.resource(kinds.statefulSets).patch(key, { type: "merge", patch });
    };
    await scale(5);
    const grown = await untilReady(stage, 5);
    await scale(3);
    await untilReady(stage, 3);
    await scale(5);
    assert.deepEqual(handles(await untilReady(stage, 5)), handles(grown));
  });

  it("that can be shared are bound where their numbers go before these stop", async (t) => {
    const stage = await VolumeFixture.start(t, ["statefulsets.apps", "pods"]);
    await eventually(() =>
      stage.client.resource(kinds.statefulSets).create(database(["ReadWriteMany"])),
    );
    const first = await untilReady(stage, 3);
    await stage.empty("east");
    const moved = await eventually(async () => {
      const found = await untilReady(stage, 3);
      assert.deepEqual(new Set(Object.values(placesOf(found))), new Set(["west"]));
      return found;
    });
    assert.deepEqual(handles(moved), handles(first));
  });

  it("go with the set when it says so, and stay otherwise", async (t) => {
    const stage = await VolumeFixture.start(t, ["statefulsets.apps", "pods"]);
    const policy = {
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Retain" },
    };
    const set = database(["ReadWriteOnce"], {}, policy);
    await eventually(() => stage.client.resource(kinds.statefulSets).create(set));
    await untilReady(stage, 3);
    await stage.client.resource(kinds.statefulSets).delete(key);
    await eventually(async () => {
      const { items } = await stage.client.resource(claims).list({ namespace });
      assert.deepEqual(items, []);
      assert.deepEqual(await stage.handles(), { east: [], west: [] });
    });
    await stage.client.resource(kinds.statefulSets).create(database(["ReadWriteOnce"]));
    const first = await untilReady(stage, 3);
    await stage.client.resource(kinds.statefulSets).delete(key);
    await eventually(async () => assert.deepEqual(await numbers(stage), {}));
    await stage.client.resource(kinds.statefulSets).create(database(["ReadWriteOnce"]));
    assert.deepEqual(handles(await untilReady(stage, 3)), handles(first));
  });

  it("are deleted with their numbers when it says so, and those of before stay", async (t) => {
    const stage = await VolumeFixture.start(t, ["statefulsets.apps", "pods"]);
    const sets = stage.client.resource(kinds.statefulSets);
    const names = async () =>
      (await stage.client.resource(claims).list({ namespace })).items
        .map(({ metadata }) => metadata.name)
        .sort();
    const change = (spec: JsonObject) => sets.patch(key, { type: "merge", patch: { spec } });
    await eventually(() => sets.create(database(["ReadWriteOnce"])));
    await untilReady(stage, 3);
    await change({ replicas: 2 });
    await untilReady(stage, 2);
    await change({ persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete" } });
    await eventually(async () => {
      const at = { namespace, name: "data-db-1" };
      const { annotations } = (await stage.client.resource(claims).get(at)).metadata;
      assert.ok(annotations?.["workload.kcp.io/delete-when-scaled"] !== undefined);
    });
    await change({ replicas: 1 });
    await untilReady(stage, 1);
    await eventually(async () => {
      assert.deepEqual(await names(), ["data-db-0", "data-db-2"]);
      const left = Object.values(await stage.handles()).flat();
      assert.equal(left.length, 2, left.join());
    });

    // A number that leaves a cluster is not scaled away: what it has goes along.
    const annotations = { "workload.kcp.io/volume-migration": "detach" };
    const patch = { metadata: { annotations } };
    await stage.client
      .resource(claims)
      .patch({ namespace, name: "data-db-0" }, { type: "merge", patch });
    const before = await untilReady(stage, 1);
    await stage.empty("east");
    const after = await eventually(async () => {
      const found = await untilReady(stage, 1);
      assert.deepEqual(placesOf(found), { "db-0": "west" });
      return found;
    });
    assert.deepEqual(handles(after), handles(before));
  });

  it("are made by clusters that do not sync claims, as before", async (t) => {
    const stage = await VolumeFixture.start(t, ["statefulsets.apps", "pods"]);
    for (const name of stage.clusters.keys()) {
      const resources = ["deployments.apps", "statefulsets.apps", "pods"];
      const patch = { spec: { resources } };
      await stage.client.resource(syncTargets).patch({ name }, { type: "merge", patch });
      await eventually(async () => {
        const { status } = await stage.client.resource(syncTargets).get({ name });
        assert.ok(!status?.syncedResources?.includes("persistentvolumeclaims"));
      });
    }
    await eventually(() =>
      stage.client.resource(kinds.statefulSets).create(database(["ReadWriteOnce"])),
    );
    await untilReady(stage, 3);
    // The control plane creates none: it does not even serve the kind.
    await assert.rejects(stage.client.resource(claims).list({ namespace }), { reason: "NotFound" });
  });
});
