/**
 * Goal: whatever keeps an object out of its cluster is said on the object and in an Event, in words
 * that name it and the next step; is tried again; and is forgotten when it is over.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { startSyncer } from "@kcp-ts/multicluster";
import { type DynamicObject, defineResource } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { eventually, FakeClock } from "@kcp-ts/testkit";
import { events, type FaultResponse, FaultyServer, namespaces, widgets } from "./faulty-server.ts";
import { assigned, SyncerFixture } from "./syncer-fixture.ts";

interface Told {
  readonly reason?: string;
  readonly message?: string;
}

function told(object: DynamicObject | undefined, target = "east"): Told {
  const text = object?.metadata.annotations?.[`sync-error.workload.kcp.io/${target}`];
  return text === undefined ? {} : (JSON.parse(text) as Told);
}

async function eventsOf(fixture: SyncerFixture, name: string, namespace = "shop"): Promise<Told[]> {
  const { items } = await fixture.in("root").resource(events).list({ namespace });
  return items.filter(
    ({ involvedObject }) => (involvedObject as { name?: string }).name === name,
  ) as unknown as Told[];
}

/** On the object and in an Event, in the same words. */
async function isTold(
  fixture: SyncerFixture,
  name: string,
  reason: string,
  words: RegExp,
): Promise<void> {
  await eventually(async () => {
    const found = told(await fixture.original(name));
    assert.equal(found.reason, reason, found.message);
    const { message = "" } = found;
    assert.ok(message.startsWith(`Widget ${name} is not in sync with SyncTarget east: `), message);
    assert.match(message, words);
    const events = (await eventsOf(fixture, name)).filter((one) => one.reason === reason);
    assert.ok(events.some((one) => one.message === message));
  });
}

const refusals: readonly {
  readonly what: string;
  readonly fault: FaultResponse;
  readonly reason: string;
  readonly words: RegExp;
}[] = [
  {
    what: "a quota of the cluster that is used up",
    fault: {
      status: 403,
      message:
        'widgets.example.com "a" is forbidden: exceeded quota: small, requested: count/widgets.example.com=1, used: 5, limited: 5',
    },
    reason: "QuotaExceeded",
    words: /exceeded quota: small.*raise it there, ask for less, or assign the object to another/,
  },
  {
    what: "a webhook that says no",
    fault: {
      status: 403,
      message: 'admission webhook "policy.acme.io" denied the request: no red',
    },
    reason: "AdmissionRefused",
    words: /policy\.acme\.io.*no red.*change it so that it is allowed, or ask who runs the cluster/,
  },
  {
    what: "a field that must not change",
    fault: {
      status: 422,
      message: 'Widget.example.com "a" is invalid: spec.color: Invalid value: field is immutable',
    },
    reason: "ImmutableField",
    words: /spec\.color.*undo the change, or delete and create the object/,
  },
  {
    what: "a value that the cluster does not take",
    fault: {
      status: 422,
      message: 'Widget.example.com "a" is invalid: spec.color: Unsupported value: "red"',
    },
    reason: "Invalid",
    words: /spec\.color.*correct it, or assign it to a SyncTarget that accepts it/,
  },
  {
    what: "an object that is too large",
    fault: { status: 413, message: "Request entity too large: limit is 3145728" },
    reason: "TooLarge",
    words: /limit is 3145728.*make it smaller, or split it/,
  },
  {
    what: "a kind that the cluster no longer serves",
    fault: { status: 404 },
    reason: "KindMissing",
    words: /does not serve widgets.*install it in SyncTarget east, or take .* off the list/,
  },
];

describe("a refusal of the cluster", () => {
  for (const { what, fault, reason, words } of refusals) {
    it(`is reported, retried, and cleared when it is over: ${what}`, async (t) => {
      const pair = await SyncerFixture.start(t);
      let tries = 0;
      let isRefusing = true;
      pair.down.injectFault(({ method, target }) => {
        if (!isRefusing || method !== "PATCH" || !target.includes("/widgets/")) return undefined;
        tries++;
        return fault;
      });
      await pair.widget("a");
      await pair.widget("b");
      await isTold(pair, "a", reason, words);
      await eventually(() => assert.ok(tries >= 6, `${tries} tries`));
      const events = await eventsOf(pair, "a");
      assert.equal(events.filter((one) => one.reason === reason).length, 1, "said once");
      assert.equal(await pair.copy("a"), undefined);
      isRefusing = false;
      await pair.copied("a");
      await pair.copied("b");
      await eventually(async () => {
        assert.deepEqual(told(await pair.original("a")), {});
        const after = await eventsOf(pair, "a");
        assert.ok(after.some((one) => one.reason === "Synced"));
      });
    });
  }

  it("in words that differ every time is not tried more often for that", async (t) => {
    const pair = await SyncerFixture.start(t);
    await pair.widget("first");
    await pair.copied("first");
    await pair.stopSyncer();
    const clock = new FakeClock();
    await pair.startSyncer({ clock });
    await eventually(async () => {
      await clock.advanceAndFlush(1000);
      const { pending, delayed, kinds } = pair.syncer.health;
      assert.ok([...kinds.values()].every(({ hasSynced }) => hasSynced));
      assert.deepEqual({ pending, delayed }, { pending: 0, delayed: 0 });
    });
    let tries = 0;
    pair.down.injectFault(({ method, target }) => {
      if (method !== "PATCH" || !target.includes("/widgets/a")) return undefined;
      // As connections have ports, and quotas have counts.
      const message = `failed calling webhook "a.b": read tcp 10.0.0.1:${40_000 + tries++}: reset`;
      return { status: 500, message };
    });
    pair.up.writesMax = pair.up.writes.length + 50;
    await pair.widget("a");
    // Time stands still: one try, and one because the finalizer or the annotation was news.
    await eventually(() => assert.equal(pair.syncer.health.delayed, 1));
    assert.equal(told(await pair.original("a")).reason, "AdmissionRefused");
    assert.ok(tries <= 2, `${tries} tries`);
  });

  it("for each verb that is missing names the verb", async (t) => {
    const pair = await SyncerFixture.start(t);
    let verb = "get";
    const methods: Record<string, string> = { get: "GET", patch: "PATCH", delete: "DELETE" };
    pair.down.injectFault(({ method, target }) =>
      method === methods[verb] && target.includes("/widgets/")
        ? {
            status: 403,
            message: `widgets.example.com "a" is forbidden: User "agent" cannot ${verb} resource "widgets" in API group "example.com"`,
          }
        : undefined,
    );
    await pair.widget("a");
    for (verb of ["get", "patch"]) {
      const words = new RegExp(`may not ${verb} widgets.*grant the verb "${verb}" on "widgets"`);
      await isTold(pair, "a", "Forbidden", words);
    }
    verb = "";
    await pair.copied("a");
    verb = "delete";
    await pair.in("root").resource(widgets).delete({ name: "a", namespace: "shop" });
    await isTold(pair, "a", "Forbidden", /may not delete widgets/);
    assert.ok((await pair.copy("a")) !== undefined, "nothing is lost");
    verb = "";
    await eventually(async () => assert.equal(await pair.original("a"), undefined));
  });
});

describe("a namespace in the cluster that has the name and was not made by a syncer", () => {
  it("is left unchanged, is reported, and is used when its labels are back", async (t) => {
    const pair = await SyncerFixture.start(t);
    await pair.widget("a");
    const name = (await pair.copied("a")).metadata.namespace ?? "";
    await pair.stopSyncer();
    const all = pair.down.client.resource(namespaces);
    await pair.down.client.resource(widgets).delete({ name: "a", namespace: name });
    const { labels = {}, annotations = {} } = (await all.get({ name })).metadata;
    const mark = (metadata: JsonObject) =>
      all.patch({ name }, { type: "merge", patch: { metadata } });
    await mark({ labels: null, annotations: null });
    await pair.startSyncer();
    const words = new RegExp(`namespace ${name}.*was not made by a syncer; delete or rename it`);
    await isTold(pair, "a", "NamespaceCollision", words);
    assert.equal(await pair.copy("a"), undefined);
    const { metadata } = await all.get({ name });
    assert.equal(metadata.annotations?.["kcp.io/namespace-locator"], undefined);
    await mark({ labels: { ...labels }, annotations: { ...annotations } });
    await pair.copied("a");
  });
});

const clusterRoles = defineResource<DynamicObject>(kinds.clusterRoles);

describe("two control planes that claim one cluster", () => {
  it("have namespaces of their own, and of objects without one the first has the name", async (t) => {
    const kinds = [
      { resource: widgets, hasStatus: true },
      { resource: clusterRoles, hasStatus: false },
    ];
    const pair = await SyncerFixture.start(t, { syncer: { resources: kinds } });
    const other = await FaultyServer.start(systemClock);
    const syncer = startSyncer({
      upstream: other.syncerClient,
      scope: "all-clusters",
      serves: () => true,
      downstream: pair.down.syncerClient,
      target: { name: "east", cluster: "root", uid: "of another control plane" },
      resources: kinds,
    });
    t.after(async () => {
      await syncer.stop();
      await other.close();
    });
    const there = other.client.inCluster("root");
    await there.resource(namespaces).create({ metadata: { name: "shop" } });
    await pair.widget("a");
    const spec = { color: "theirs" };
    const metadata = { name: "a", namespace: "shop", labels: assigned };
    await there.resource(widgets).create({ metadata, spec });
    await eventually(async () => {
      const { items } = await pair.down.client.resource(widgets).list();
      const colors = items.map((one) => (one["spec"] as { color: string }).color);
      assert.deepEqual(colors.sort(), ["red", "theirs"]);
      assert.equal(new Set(items.map((one) => one.metadata.namespace)).size, 2);
    });
    const role = { metadata: { name: "reader", labels: assigned }, rules: [] };
    await pair.in("root").resource(clusterRoles).create(role);
    const mine = await eventually(() =>
      pair.down.client.resource(clusterRoles).get({ name: "reader" }),
    );
    await there.resource(clusterRoles).create(role);
    await eventually(async () => {
      const found = await there.resource(clusterRoles).get({ name: "reader" });
      const { reason, message = "" } = told(found);
      assert.equal(reason, "AlreadyExists");
      assert.match(
        message,
        /ClusterRole reader.*belongs to another object or control plane; delete/,
      );
    });
    await there.resource(clusterRoles).delete({ name: "reader" });
    await eventually(async () =>
      assert.equal(await there.resource(clusterRoles).find({ name: "reader" }), undefined),
    );
    const left = await pair.down.client.resource(clusterRoles).get({ name: "reader" });
    assert.equal(left.metadata.uid, mine.metadata.uid);
  });
});

describe("a cluster whose clock is hours off", () => {
  it("is synced and reports like any other", async (t) => {
    for (const byMs of [-5 * 3_600_000, 26 * 3_600_000]) {
      const clock = {
        now: () => systemClock.now() + byMs,
        monotonic: () => systemClock.monotonic(),
        schedule: systemClock.schedule.bind(systemClock),
      };
      const pair = await SyncerFixture.start(t, { downClock: clock });
      await pair.widget("a");
      const { metadata } = await pair.copied("a");
      const patch = { type: "merge", patch: { status: { phase: "Ready" } } } as const;
      const place = { namespace: metadata.namespace, name: "a" };
      await pair.down.client.resource(widgets).patchStatus(place, patch);
      await eventually(async () =>
        assert.deepEqual((await pair.original("a"))?.["status"], { phase: "Ready" }),
      );
      await pair.in("root").resource(widgets).delete({ name: "a", namespace: "shop" });
      await pair.gone("a");
      await eventually(async () => assert.equal(await pair.original("a"), undefined));
    }
  });
});
