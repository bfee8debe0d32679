/** For tests of the syncer: an upstream server, a cluster, and a syncer between them. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Clock, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import type { Shape } from "@kcp-ts/machinery/shape";
import {
  type Policies,
  ResourceSet,
  type SyncedResource,
  type Syncer,
  type SyncerOptions,
  startSyncer,
  type TargetIdentity,
} from "@kcp-ts/multicluster";
import type { Client, DynamicObject, ObjectMeta } from "@kcp-ts/sdk";
import { eventually } from "@kcp-ts/testkit";
import { configMaps, FaultyServer, namespaces, widgets } from "./faulty-server.ts";

export const assigned = { "workload.kcp.io/cluster": "east" };
export const target: TargetIdentity = { name: "east", cluster: "root", uid: "target-east" };
export const finalizer = "workload.kcp.io/syncer-east";

export const bothKinds: readonly SyncedResource[] = [
  { resource: widgets, hasStatus: true },
  { resource: configMaps, hasStatus: false },
];

export interface SyncerFixtureOptions {
  readonly policies?: Policies;
  readonly syncer?: Partial<SyncerOptions>;
  readonly downClock?: Clock;
  /** What the cluster's Widgets may have as status; the control plane's have a phase and a note. */
  readonly downStatus?: Shape;
}

export class SyncerFixture {
  readonly up: FaultyServer;
  readonly down: FaultyServer;
  readonly resources = new ResourceSet(bothKinds);
  readonly errors: unknown[] = [];
  readonly #options: SyncerFixtureOptions;
  #syncer: Syncer | undefined;

  private constructor(up: FaultyServer, down: FaultyServer, options: SyncerFixtureOptions) {
    this.up = up;
    this.down = down;
    this.#options = options;
  }

  static async start(t: TestContext, options: SyncerFixtureOptions = {}): Promise<SyncerFixture> {
    const up = await FaultyServer.start(systemClock);
    const { downClock = systemClock, downStatus } = options;
    const down = await FaultyServer.start(downClock, systemRandom, downStatus);
    const pair = new SyncerFixture(up, down, options);
    t.after(async () => {
      await pair.stopSyncer();
      await up.close();
      await down.close();
    });
    await pair
      .in("root")
      .resource(namespaces)
      .create({ metadata: { name: "shop" } });
    await pair.startSyncer();
    return pair;
  }

  async startSyncer(extra: Partial<SyncerOptions> = {}): Promise<Syncer> {
    this.#syncer = startSyncer({
      upstream: this.up.syncerClient,
      scope: "all-clusters",
      serves: () => true,
      downstream: this.down.syncerClient,
      target,
      resources: this.resources,
      policies: this.#options.policies,
      onError: (error) => this.errors.push(error),
      ...this.#options.syncer,
      ...extra,
    });
    return this.#syncer;
  }

  get syncer(): Syncer {
    assert.ok(this.#syncer !== undefined);
    return this.#syncer;
  }

  async stopSyncer(): Promise<void> {
    await this.#syncer?.stop();
    this.#syncer = undefined;
  }

  in(cluster: string): Client {
    return this.up.client.inCluster(cluster);
  }

  widget(name: string, extra: Partial<ObjectMeta> = {}, cluster = "root", color = "red") {
    const metadata = { name, namespace: "shop", labels: assigned, ...extra };
    return this.in(cluster).resource(widgets).create({ metadata, spec: { color } });
  }

  original(name: string, cluster = "root"): Promise<DynamicObject | undefined> {
    return this.in(cluster).resource(widgets).find({ name, namespace: "shop" });
  }

  /** The copy in the cluster, wherever it is. */
  async copy(name: string, cluster = "root"): Promise<DynamicObject | undefined> {
    const { items } = await this.down.client.resource(widgets).list();
    return items.find(({ metadata }) => {
      const origin = metadata.annotations?.["workload.kcp.io/origin"];
      if (origin === undefined) return false;
      const { cluster: from, name: called } = JSON.parse(origin) as Record<string, string>;
      return from === cluster && called === name;
    });
  }

  async copied(name: string, cluster = "root"): Promise<DynamicObject> {
    return eventually(async () => {
      const found = await this.copy(name, cluster);
      assert.ok(found !== undefined, `${cluster}/${name} is in the cluster`);
      return found;
    });
  }

  async gone(name: string, cluster = "root"): Promise<void> {
    await eventually(async () => assert.equal(await this.copy(name, cluster), undefined));
  }

  /** Resolves when the syncer has nothing to do and the writes have ended. */
  async untilQuiet(): Promise<void> {
    await eventually(async () => {
      const before = this.writes;
      await new Promise((resolve) => {
        systemClock.schedule(40, () => resolve(undefined));
      });
      assert.equal(this.syncer.health.pending, 0);
      assert.equal(this.writes, before);
    });
  }

  get writes(): number {
    return this.up.writes.length + this.down.writes.length;
  }
}
