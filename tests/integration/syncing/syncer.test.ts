import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DynamicObject } from "@kcp-ts/sdk";
import { eventually } from "@kcp-ts/testkit";
import { namespaces, widgets } from "./faulty-server.ts";
import { assigned, finalizer, SyncerFixture } from "./syncer-fixture.ts";

const at = (name: string) => ({ name, namespace: "shop" });

function trouble(object: DynamicObject | undefined): { reason?: string; message?: string } {
  const text = object?.metadata.annotations?.["sync-error.workload.kcp.io/east"];
  return text === undefined ? {} : (JSON.parse(text) as { reason?: string; message?: string });
}

describe("an assigned object", () => {
  it("is held by a finalizer and copied to a namespace of its own", async (t) => {
    const pair = await SyncerFixture.start(t);
    const annotations = { note: "mine", "kcp.io/internal": "not for clusters" };
    await pair.widget("a", { annotations });
    const copy = await pair.copied("a");
    assert.deepEqual(copy["spec"], { color: "red", size: "medium" });
    assert.match(copy.metadata.namespace ?? "", /^kcp-[0-9a-z]{20}$/);
    assert.equal(copy.metadata.finalizers, undefined);
    assert.equal(copy.metadata.annotations?.["note"], "mine");
    assert.equal(copy.metadata.annotations?.["kcp.io/internal"], undefined);
    assert.deepEqual((await pair.original("a"))?.metadata.finalizers, [finalizer]);
    const name = copy.metadata.namespace ?? "";
    const namespace = await pair.down.client.resource(namespaces).get({ name });
    const locator = JSON.parse(namespace.metadata.annotations?.["kcp.io/namespace-locator"] ?? "");
    assert.deepEqual([locator.cluster, locator.namespace], ["root", "shop"]);
    assert.deepEqual(locator.syncTarget, { cluster: "root", name: "east", uid: "target-east" });
  });

  it("is assigned by every spelling of the label and by a state", async (t) => {
    const pair = await SyncerFixture.start(t);
    await pair.widget("a", { labels: { "workloads.kcp.dev/cluster": "east" } });
    await pair.widget("b", { labels: { "kcp.dev/cluster": "east" } });
    await pair.widget("c", { labels: { "state.workload.kcp.io/east": "Sync" } });
    await pair.widget("d", { labels: { "state.workload.kcp.io/east": "" } });
    await pair.widget("e", { labels: { "workload.kcp.io/cluster": "west" } });
    for (const name of ["a", "b", "c"]) await pair.copied(name);
    await pair.untilQuiet();
    assert.equal(await pair.copy("d"), undefined);
    assert.equal(await pair.copy("e"), undefined);
  });

  it("follows changes of its spec, also of fields that are taken away", async (t) => {
    const pair = await SyncerFixture.start(t);
    await pair
      .in("root")
      .resource(widgets)
      .create({ metadata: { ...at("a"), labels: assigned }, spec: { color: "red", tags: ["x"] } });
    await pair.copied("a");
    const operations = [
      { op: "replace", path: "/spec/color", value: "blue" },
      { op: "remove", path: "/spec/tags" },
    ] as const;
    await pair.in("root").resource(widgets).patch(at("a"), { type: "json", operations });
    await eventually(async () =>
      assert.deepEqual((await pair.copy("a"))?.["spec"], { color: "blue", size: "medium" }),
    );
  });

  it("gets the status that the cluster gives its copy", async (t) => {
    const pair = await SyncerFixture.start(t);
    await pair.widget("a");
    const { metadata } = await pair.copied("a");
    const patch = { type: "merge", patch: { status: { phase: "Ready" } } } as const;
    const place = { namespace: metadata.namespace, name: "a" };
    await pair.down.client.resource(widgets).patchStatus(place, patch);
    await eventually(async () =>
      assert.deepEqual((await pair.original("a"))?.["status"], { phase: "Ready" }),
    );
  });

  it("in two clusters has the status of each in an annotation, and none of its own", async (t) => {
    const pair = await SyncerFixture.start(t);
    const labels = { "state.workload.kcp.io/east": "Sync", "state.workload.kcp.io/west": "Sync" };
    await pair.widget("a", { labels });
    const { metadata } = await pair.copied("a");
    const patch = { type: "merge", patch: { status: { phase: "Ready" } } } as const;
    const place = { namespace: metadata.namespace, name: "a" };
    await pair.down.client.resource(widgets).patchStatus(place, patch);
    const annotation = "experimental.status.workload.kcp.io/east";
    await eventually(async () => {
      const original = await pair.original("a");
      assert.equal(original?.metadata.annotations?.[annotation], '{"phase":"Ready"}');
      assert.equal(original?.["status"], undefined);
    });
  });

  it("in two clusters reports a status that is too large for an annotation, and keeps no older one", async (t) => {
    const pair = await SyncerFixture.start(t);
    const labels = { "state.workload.kcp.io/east": "Sync", "state.workload.kcp.io/west": "Sync" };
    await pair.widget("a", { labels });
    const { metadata } = await pair.copied("a");
    const place = { namespace: metadata.namespace, name: "a" };
    const annotation = "experimental.status.workload.kcp.io/east";
    const say = async (phase: string) => {
      const patch = { type: "merge", patch: { status: { phase } } } as const;
      await pair.down.client.resource(widgets).patchStatus(place, patch);
    };
    await say("Ready");
    await eventually(async () => {
      const { annotations = {} } = (await pair.original("a"))?.metadata ?? {};
      assert.equal(annotations[annotation], '{"phase":"Ready"}');
    });
    await say("x".repeat(40_000));
    await eventually(async () => {
      const { annotations = {} } = (await pair.original("a"))?.metadata ?? {};
      assert.equal(annotations[annotation], undefined);
      assert.match(
        annotations["sync-error.workload.kcp.io/east"] ?? "",
        /TooLarge.*its status in the cluster has 400\d\d characters/,
      );
    });
  });

  it("is deleted upstream only when its copy is gone", async (t) => {
    const pair = await SyncerFixture.start(t);
    await pair.widget("a");
    const copy = await pair.copied("a");
    const place = { namespace: copy.metadata.namespace, name: "a" };
    const finalizers = ["example.com/hold"];
    await pair.down.client
      .resource(widgets)
      .patch(place, { type: "merge", patch: { metadata: { finalizers } } });
    await pair.in("root").resource(widgets).delete(at("a"));
    await eventually(async () =>
      assert.ok((await pair.copy("a"))?.metadata.deletionTimestamp !== undefined),
    );
    await pair.untilQuiet();
    assert.ok((await pair.original("a"))?.metadata.deletionTimestamp !== undefined);
    await pair.down.client
      .resource(widgets)
      .patch(place, { type: "merge", patch: { metadata: { finalizers: null } } });
    await eventually(async () => assert.equal(await pair.original("a"), undefined));
  });

  it("leaves when its label goes, and is free of the finalizer and the status then", async (t) => {
    const pair = await SyncerFixture.start(t);
    await pair.widget("a");
    const { metadata } = await pair.copied("a");
    const patch = { type: "merge", patch: { status: { phase: "Ready" } } } as const;
    const place = { namespace: metadata.namespace, name: "a" };
    await pair.down.client.resource(widgets).patchStatus(place, patch);
    await eventually(async () => assert.ok((await pair.original("a"))?.["status"] !== undefined));
    await pair
      .in("root")
      .resource(widgets)
      .patch(at("a"), { type: "merge", patch: { metadata: { labels: null } } });
    await pair.gone("a");
    await eventually(async () => {
      const original = await pair.original("a");
      assert.equal(original?.metadata.finalizers, undefined);
      assert.equal(original?.["status"], undefined);
    });
  });

  it("stays while soft finalizers need it, and leaves the target by annotation then", async (t) => {
    const pair = await SyncerFixture.start(t);
    const soft = "finalizers.workload.kcp.io/east";
    const leave = "deletion.internal.workload.kcp.io/east";
    const state = "state.workload.kcp.io/east";
    await pair.widget("a", { labels: { [state]: "Sync" }, annotations: { [soft]: "traffic" } });
    await pair.copied("a");
    const annotate = (annotations: Record<string, string | null>) =>
      pair
        .in("root")
        .resource(widgets)
        .patch(at("a"), { type: "merge", patch: { metadata: { annotations } } });
    await annotate({ [leave]: "2026-01-01T00:00:00Z" });
    await pair.untilQuiet();
    assert.ok((await pair.copy("a")) !== undefined);
    await annotate({ [soft]: null });
    await pair.gone("a");
    await eventually(async () => {
      const { metadata } = (await pair.original("a")) as DynamicObject;
      assert.equal(metadata.finalizers, undefined);
      assert.equal(metadata.labels?.[state], undefined);
      assert.equal(metadata.annotations?.[leave], undefined);
    });
  });
});

describe("tenants", () => {
  it("with the same names have namespaces of their own and never see each other's objects", async (t) => {
    const pair = await SyncerFixture.start(t);
    for (const cluster of ["tenant-a", "tenant-b"]) {
      await pair
        .in(cluster)
        .resource(namespaces)
        .create({ metadata: { name: "shop" } });
    }
    await pair.widget("a", {}, "tenant-a", "red");
    await pair.widget("a", {}, "tenant-b", "blue");
    const [red, blue] = [await pair.copied("a", "tenant-a"), await pair.copied("a", "tenant-b")];
    assert.notEqual(red.metadata.namespace, blue.metadata.namespace);
    await pair.in("tenant-a").resource(widgets).delete(at("a"));
    await pair.gone("a", "tenant-a");
    assert.deepEqual((await pair.copy("a", "tenant-b"))?.["spec"], {
      color: "blue",
      size: "medium",
    });
  });

  it("that a SyncTarget does not serve cannot use it by knowing its name", async (t) => {
    const pair = await SyncerFixture.start(t, {
      syncer: { serves: (cluster) => cluster === "root" },
    });
    await pair
      .in("stranger")
      .resource(namespaces)
      .create({ metadata: { name: "shop" } });
    await pair.widget("a", {}, "stranger");
    await pair.widget("b");
    await pair.copied("b");
    await pair.untilQuiet();
    assert.equal(await pair.copy("a", "stranger"), undefined);
    assert.equal((await pair.original("a", "stranger"))?.metadata.finalizers, undefined);
  });
});

describe("a syncer", () => {
  it("writes nothing when it or a server on either side restarts and nothing has changed", async (t) => {
    const pair = await SyncerFixture.start(t);
    const down = pair.down.client.resource(widgets);
    for (let n = 0; n < 20; n++) await pair.widget(`w${n}`);
    for (let n = 0; n < 20; n++) {
      const { metadata } = await pair.copied(`w${n}`);
      const place = { namespace: metadata.namespace, name: metadata.name };
      await down.patchStatus(place, { type: "merge", patch: { status: { phase: "Ready" } } });
    }
    await eventually(async () =>
      assert.deepEqual((await pair.original("w19"))?.["status"], { phase: "Ready" }),
    );
    await pair.untilQuiet();
    const before = { up: pair.up.writes.length, down: pair.down.writes.length };
    const restarts = {
      syncer: async () => {
        await pair.stopSyncer();
        await pair.startSyncer();
      },
      "control plane": () => pair.up.restart(),
      cluster: () => pair.down.restart(),
    };
    for (const [what, restart] of Object.entries(restarts)) {
      await restart();
      await eventually(() => {
        const kinds = [...pair.syncer.health.kinds.values()];
        assert.ok(kinds.every(({ isWatching }) => isWatching));
      });
      await pair.untilQuiet();
      const after = { up: pair.up.writes.length, down: pair.down.writes.length };
      assert.deepEqual(after, before, `after a restart of the ${what}`);
    }
    await pair.widget("w20");
    await pair.copied("w20");
  });

  it("deletes nothing when its upstream lists nothing, fails, or is not there", async (t) => {
    const pair = await SyncerFixture.start(t);
    await pair.widget("a");
    await pair.copied("a");
    for (const fault of ["empty", "cut", { status: 404 }, { status: 500 }] as const) {
      await pair.stopSyncer();
      pair.up.injectFault(() => fault);
      await pair.startSyncer();
      await pair.untilQuiet();
      assert.ok((await pair.copy("a")) !== undefined, JSON.stringify(fault));
      pair.up.heal();
    }
    assert.ok(pair.down.writes.every((write) => !write.startsWith("DELETE")));
  });

  it("deletes nothing when the control plane has lost its SyncTarget with everything else", async (t) => {
    const pair = await SyncerFixture.start(t);
    await pair.widget("a");
    await pair.copied("a");
    await pair.stopSyncer();
    // The data is gone behind the syncer's back, finalizers and all.
    await pair
      .in("root")
      .resource(widgets)
      .patch(at("a"), { type: "merge", patch: { metadata: { finalizers: null } } });
    await pair.in("root").resource(widgets).delete(at("a"));
    const syncTargetClient = pair.up.syncerClient.inCluster("root");
    const syncer = await pair.startSyncer({ syncTargetClient });
    await eventually(() =>
      assert.match(syncer.health.refused ?? "", /no SyncTarget east any more/),
    );
    assert.ok((await pair.copy("a")) !== undefined);
    assert.ok(pair.down.writes.every((write) => !write.startsWith("DELETE")));
  });

  it("puts right what is changed in the cluster, and recreates what is deleted there", async (t) => {
    const pair = await SyncerFixture.start(t);
    await pair.widget("a");
    const { metadata } = await pair.copied("a");
    const place = { namespace: metadata.namespace, name: "a" };
    const resource = pair.down.client.resource(widgets);
    await resource.patch(place, { type: "merge", patch: { spec: { color: "green" } } });
    await eventually(async () =>
      assert.deepEqual((await pair.copy("a"))?.["spec"], { color: "red", size: "medium" }),
    );
    await resource.delete(place);
    await eventually(async () => {
      const uid = (await pair.copy("a"))?.metadata.uid;
      assert.ok(uid !== undefined && uid !== metadata.uid);
    });
  });

  it("leaves alone what the cluster adds", async (t) => {
    const pair = await SyncerFixture.start(t);
    await pair.widget("a");
    const { metadata } = await pair.copied("a");
    const place = { namespace: metadata.namespace, name: "a" };
    const patch = { spec: { injected: "sidecar" } };
    await pair.down.client.resource(widgets).patch(place, { type: "merge", patch });
    await pair.untilQuiet();
    const before = pair.writes;
    await pair
      .in("root")
      .resource(widgets)
      .patch(at("a"), { type: "merge", patch: { spec: { color: "blue" } } });
    await eventually(async () =>
      assert.deepEqual((await pair.copy("a"))?.["spec"], {
        color: "blue",
        size: "medium",
        injected: "sidecar",
      }),
    );
    await pair.untilQuiet();
    assert.ok(pair.writes - before <= 2, `${pair.writes - before} writes for one change`);
  });

  it("does not fight without end with something that keeps changing a field back", async (t) => {
    const pair = await SyncerFixture.start(t);
    await pair.widget("a");
    const { metadata } = await pair.copied("a");
    const place = { namespace: metadata.namespace, name: "a" };
    const before = pair.down.writes.length;
    for (let n = 0; n < 20; n++) {
      const patch = { spec: { color: `green-${n}` } };
      await pair.down.client.resource(widgets).patch(place, { type: "merge", patch });
      await pair.untilQuiet();
    }
    assert.ok(pair.down.writes.length - before <= 4, "corrections get rarer");
  });
});

describe("policies", () => {
  it("leave a conflicting field to its manager in the cluster, or upsync its value", async (t) => {
    for (const resolution of ["KeepDownstream", "Upsync"] as const) {
      const conflictingFields = [{ path: "spec.size", resolution }];
      const pair = await SyncerFixture.start(t, {
        policies: { "widgets.example.com": { conflictingFields } },
      });
      await pair.widget("a");
      const { metadata } = await pair.copied("a");
      const place = { namespace: metadata.namespace, name: "a" };
      await pair.down.client
        .resource(widgets)
        .patch(
          place,
          { type: "merge", patch: { spec: { size: "large" } } },
          { fieldManager: "hpa" },
        );
      await pair.untilQuiet();
      assert.deepEqual((await pair.copy("a"))?.["spec"], { color: "red", size: "large" });
      const size = resolution === "Upsync" ? "large" : "medium";
      assert.deepEqual((await pair.original("a"))?.["spec"], { color: "red", size });
      await pair
        .in("root")
        .resource(widgets)
        .patch(at("a"), { type: "merge", patch: { spec: { color: "blue" } } });
      await eventually(async () =>
        assert.deepEqual((await pair.copy("a"))?.["spec"], { color: "blue", size: "large" }),
      );
    }
  });

  it("propagate a deletion in the cluster where it is asked for", async (t) => {
    const policies = { "widgets.example.com": { onDownstreamDeletion: "Propagate" } } as const;
    const pair = await SyncerFixture.start(t, { policies });
    await pair.widget("a");
    const { metadata } = await pair.copied("a");
    await pair.down.client.resource(widgets).delete({ namespace: metadata.namespace, name: "a" });
    await eventually(async () => assert.equal(await pair.original("a"), undefined));
  });

  it("send the status down where upstream owns it", async (t) => {
    const policies = { "widgets.example.com": { statusDirection: "Down" } } as const;
    const pair = await SyncerFixture.start(t, { policies });
    await pair.widget("a");
    await pair.copied("a");
    const patch = { type: "merge", patch: { status: { phase: "Bound" } } } as const;
    await pair.in("root").resource(widgets).patchStatus(at("a"), patch);
    await eventually(async () =>
      assert.deepEqual((await pair.copy("a"))?.["status"], { phase: "Bound" }),
    );
  });

  it("copy up what is born in namespaces of ours, and nothing of other namespaces", async (t) => {
    const policies = { "widgets.example.com": { direction: "Up" } } as const;
    const pair = await SyncerFixture.start(t, { policies });
    const { configMaps } = await import("./faulty-server.ts");
    await pair
      .in("root")
      .resource(configMaps)
      .create({ metadata: { name: "c", namespace: "shop", labels: assigned } });
    const namespace = await eventually(async () => {
      const { items } = await pair.down.client.resource(namespaces).list();
      const found = items.find(({ metadata }) => metadata.name.startsWith("kcp-"));
      assert.ok(found !== undefined);
      return found.metadata.name;
    });
    const down = pair.down.client.resource(widgets);
    await pair.down.client.resource(namespaces).create({ metadata: { name: "private" } });
    await down.create({ metadata: { name: "other", namespace: "private" }, spec: {} });
    await down.create({ metadata: { name: "born", namespace }, spec: { color: "pink" } });
    const patch = { type: "merge", patch: { status: { phase: "Running" } } } as const;
    await down.patchStatus({ namespace, name: "born" }, patch);
    await eventually(async () => {
      const copy = await pair.original("born");
      assert.deepEqual(copy?.["spec"], { color: "pink", size: "medium" });
      assert.deepEqual(copy?.["status"], { phase: "Running" });
      assert.equal(copy?.metadata.labels?.["state.workload.kcp.io/east"], "Upsync");
    });
    await pair.untilQuiet();
    assert.equal((await pair.in("*").resource(widgets).list()).items.length, 1);
    await down.delete({ namespace, name: "born" });
    await eventually(async () => assert.equal(await pair.original("born"), undefined));
  });
});

describe("objects that cannot be synced", () => {
  it("is not taken over when it exists already, says so, and goes when that is gone", async (t) => {
    const pair = await SyncerFixture.start(t);
    await pair.widget("a");
    const { metadata } = await pair.copied("a");
    const namespace = metadata.namespace ?? "";
    const down = pair.down.client.resource(widgets);
    await down.create({ metadata: { name: "b", namespace }, spec: { color: "theirs" } });
    await pair.widget("b");
    await eventually(async () =>
      assert.equal(trouble(await pair.original("b")).reason, "AlreadyExists"),
    );
    assert.match(trouble(await pair.original("b")).message ?? "", /delete it there, or name/);
    await pair.in("root").resource(widgets).delete(at("b"));
    await eventually(async () => assert.equal(await pair.original("b"), undefined));
    assert.deepEqual((await down.get({ name: "b", namespace }))["spec"], {
      color: "theirs",
      size: "medium",
    });
  });

  it("whose namespace exists and belongs to another owner are reported", async (t) => {
    const pair = await SyncerFixture.start(t);
    await pair.widget("a");
    const { metadata } = await pair.copied("a");
    await pair.stopSyncer();
    const name = metadata.namespace ?? "";
    const locator = JSON.stringify({
      syncTarget: { cluster: "root", name: "east", uid: "of another control plane" },
      cluster: "root",
      namespace: "shop",
    });
    await pair.down.client
      .resource(namespaces)
      .patch(
        { name },
        {
          type: "merge",
          patch: { metadata: { annotations: { "kcp.io/namespace-locator": locator } } },
        },
      );
    await pair.startSyncer();
    await pair.widget("b");
    await eventually(async () => {
      const { reason, message = "" } = trouble(await pair.original("b"));
      assert.equal(reason, "NamespaceCollision");
      assert.match(message, /another control plane/);
    });
  });

  it("of one kind does not hold up another", async (t) => {
    const pair = await SyncerFixture.start(t);
    const { configMaps } = await import("./faulty-server.ts");
    pair.down.injectFault(({ target }) =>
      target.includes("widgets") ? { status: 404 } : undefined,
    );
    await pair.widget("a");
    await pair
      .in("root")
      .resource(configMaps)
      .create({
        metadata: { name: "c", namespace: "shop", labels: assigned },
        data: { key: "value" },
      });
    await eventually(async () => {
      const { items } = await pair.down.client.resource(configMaps).list();
      assert.equal(items.filter(({ metadata }) => metadata.name === "c").length, 1);
    });
    assert.equal(await pair.copy("a"), undefined);
    pair.down.heal();
    await pair.copied("a");
  });
});
