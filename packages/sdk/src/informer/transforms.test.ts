import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock } from "@kcp-ts/testkit";
import { Client, defineResource, type KubernetesObject } from "../client/index.ts";
import { FakeApiServer } from "../fake-server/index.ts";
import { Informer } from "./informer.ts";
import { Interner } from "./interner.ts";
import { metadataOnly, withoutManagedFields } from "./transforms.ts";

interface Thing extends KubernetesObject {
  readonly size?: number;
}

const things = defineResource<Thing>({
  group: "example.io",
  version: "v1",
  resource: "things",
  kind: "Thing",
  namespaced: true,
});

const object = (i: number): KubernetesObject =>
  JSON.parse(
    JSON.stringify({
      apiVersion: "example.io/v1alpha1",
      kind: "SomethingLongish",
      metadata: {
        name: `n${i}`,
        namespace: "a-long-namespace-name",
        creationTimestamp: "2026-11-15T20:00:00Z",
        annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}", kept: "yes" },
        ownerReferences: [{ apiVersion: "v1", kind: "Owner", name: "o", uid: "u" }],
        managedFields: [{ manager: "kubectl", fieldsV1: { "f:spec": { "f:size": {} } } }],
      },
      spec: { size: i },
    }),
  ) as KubernetesObject;

describe("sharing parts", () => {
  it("changes no readable value, and keeps equal parts once", () => {
    const interner = new Interner();
    const shared = [1, 2, 3].map((i) => {
      const one = object(i);
      interner.intern(one);
      interner.internManagedFields(one.metadata.managedFields ?? []);
      return one;
    });
    assert.deepEqual(shared, [object(1), object(2), object(3)]);
    const [first, second] = shared;
    assert.equal(first?.metadata.ownerReferences, second?.metadata.ownerReferences);
    const fields = (one: KubernetesObject | undefined) =>
      one?.metadata.managedFields?.[0]?.fieldsV1;
    assert.ok(fields(first) !== undefined);
    assert.equal(fields(first), fields(second));
  });
});

describe("transforms", () => {
  it("remove managed fields and kubectl's last-applied annotation, and nothing else", () => {
    const { managedFields: _, ...metadata } = object(1).metadata;
    const expected = { ...object(1), metadata: { ...metadata, annotations: { kept: "yes" } } };
    assert.deepEqual(withoutManagedFields(object(1)), expected);
    const bare = { apiVersion: "v1", kind: "A", metadata: { name: "a" } };
    assert.equal(withoutManagedFields(bare), bare);
  });

  it("keep the metadata that controllers read", () => {
    const { metadata } = metadataOnly(object(1));
    assert.equal(metadata.name, "n1");
    assert.equal(metadata.ownerReferences?.[0]?.name, "o");
    assert.equal(metadata.deletionTimestamp, undefined);
    assert.deepEqual(Object.keys(metadata).includes("managedFields"), false);
  });

  for (const [name, watchList] of [
    ["streamed", true],
    ["in pages", false],
  ] as const) {
    it(`see all that they look at of objects that come ${name}, and who keeps some sees them whole`, async () => {
      const clock = new FakeClock();
      const server = new FakeApiServer({ clock, watchList });
      const client = new Client({ transport: server.transport(), clock });
      const key = (i: number) => ({
        resource: "example.io/v1/things",
        namespace: "a",
        name: `n${i}`,
      });
      const common = { client, resource: things, liveObjectsMax: 1 };
      const scope = { cluster: "root" as ClusterName };
      const all = new Informer({ ...common, scope, transform: metadataOnly });
      const everywhere = new Informer({
        ...common,
        scope: "all-clusters",
        transform: metadataOnly,
      });
      const filter = ({ size = 0 }: Thing) => size > 1;
      const some = new Informer({ ...common, scope, transform: metadataOnly, filter });
      const rich = {
        labels: { app: "a", quoted: '"é"' },
        finalizers: ["f"],
        ownerReferences: [
          { apiVersion: "v1", kind: "Owner", name: "o", uid: "u", controller: true },
        ],
        deletionTimestamp: "2026-11-15T20:00:00Z",
      };
      const put = (i: number) => server.put(key(i), { size: i, metadata: { ...rich, name: "" } });
      const stored = [1, 2, 3].map(put);
      const stop = new AbortController();
      const done = [all, everywhere, some].map((informer) => informer.run(stop.signal));
      await clock.advanceAndFlush(0);
      stored.push(put(4));
      await clock.advanceAndFlush(0);
      const expected = stored.map(
        (one) => JSON.parse(JSON.stringify(metadataOnly(one))) as unknown,
      );
      const known = (informer: typeof all) =>
        JSON.parse(JSON.stringify(informer.store.list())) as unknown;
      assert.deepEqual(known(all), expected);
      assert.deepEqual(known(everywhere), expected);
      assert.deepEqual(known(some), expected.slice(1));
      stop.abort();
      await Promise.all(done);
    });
  }
});
