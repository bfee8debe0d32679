/**
 * One random history of Deployments that are split over physical clusters, with everything between:
 * the splitter, syncers, and clusters that run what they are told. Two tenants share the clusters.
 * At the end the counts of each whole are the sums of its parts, as many as asked for are ready,
 * and nobody writes any more.
 */
import assert from "node:assert/strict";
import { parseClusterName } from "@kcp-ts/machinery/names";
import {
  deploymentCoordinator,
  type SyncedResource,
  type Syncer,
  startSyncer,
  syncTargets,
} from "@kcp-ts/multicluster";
import { type DynamicObject, timestamp } from "@kcp-ts/sdk";
import { flushEventLoop, type SeededRandom } from "@kcp-ts/testkit";
import { advanceUntil } from "./advance-until.ts";
import { DeletionInvariant } from "./deletion-invariant.ts";
import { deployments, type FaultyServer, namespaces } from "./faulty-server.ts";
import { originOf } from "./object-queries.ts";
import type { SyncHistoryServers } from "./sync-history.ts";

interface SyncedLink {
  readonly tenant: string;
  /** Of the SyncTarget, and of the physical cluster. */
  readonly name: string;
  readonly uid: string;
  readonly server: FaultyServer;
  syncer: Syncer | undefined;
}

interface Counts {
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly readyReplicas?: number;
}

const kinds: readonly SyncedResource[] = [{ resource: deployments, hasStatus: true }];
const counted = ["replicas", "updatedReplicas", "readyReplicas"] as const;
/** Behind the last event: seconds first, then as long as an audit may take. */
const restSteps: readonly number[] = [...Array(20).fill(10_000), ...Array(10).fill(300_000)];
const web = { namespace: "shop", name: "web" };

export class CoordinatorHistory {
  readonly log: string[] = [];
  readonly #stage: SyncHistoryServers;
  readonly #random: SeededRandom;
  readonly #tenants: readonly [string, string];
  readonly #links: SyncedLink[] = [];
  readonly #law = new DeletionInvariant();
  readonly #violations: string[] = [];
  readonly #cut = new Set<string>();
  #splitter = { stop: new AbortController(), running: Promise.resolve() };

  constructor(syncHistoryServers: SyncHistoryServers, random: SeededRandom) {
    this.#stage = syncHistoryServers;
    this.#random = random;
    this.#tenants = [`s${random.seed}-a`, `s${random.seed}-b`];
  }

  async run(steps: number): Promise<void> {
    await this.#begin();
    for (let step = 0; step < steps; step++) {
      await this.#step();
      await this.#pass(this.#random.integer(20_000));
      await this.#checkTenants();
      assert.deepEqual(this.#violations, []);
    }
    await this.#rest();
  }

  async stop(): Promise<void> {
    this.#stage.up.heal();
    for (const side of this.#stage.down.values()) side.heal();
    this.#splitter.stop.abort();
    const stopping = [this.#splitter.running, ...this.#links.map(({ syncer }) => syncer?.stop())];
    await advanceUntil(this.#stage.clock, Promise.all(stopping));
  }

  async #begin(): Promise<void> {
    const { up, down } = this.#stage;
    up.onAnswer = (answered) => this.#law.recordAnswer(answered);
    for (const tenant of this.#tenants) {
      const client = up.client.inCluster(tenant);
      await client.resource(namespaces).create({ metadata: { name: "shop" } });
      for (const [name, server] of down) {
        const made = await client.resource(syncTargets).create({ metadata: { name }, spec: {} });
        this.#links.push({ tenant, name, uid: made.metadata.uid ?? "", server, syncer: undefined });
      }
      const spec = { replicas: this.#random.integer(12), template: { image: "web:0" } };
      await client.resource(deployments).create({ metadata: web, spec });
      this.log.push(`${tenant} asks for ${spec.replicas}`);
    }
    for (const [name, side] of down) {
      side.beforeWrite = (method, path) => this.#check(side, method, path);
      await this.#sayReady(name, true);
    }
    for (const link of this.#links) this.#startSyncer(link);
    this.#startSplitter();
  }

  #startSyncer(link: SyncedLink): void {
    const { up, clock } = this.#stage;
    const { tenant, name, uid, server } = link;
    const cluster = parseClusterName(tenant);
    assert.ok(cluster !== undefined);
    const upstream = up.clientOf(name).inCluster(tenant);
    link.syncer = startSyncer({
      upstream,
      scope: { cluster },
      downstream: server.clientOf(tenant),
      target: { name, cluster: tenant, uid },
      resources: kinds,
      clock,
      random: this.#random.fork(),
    });
  }

  #startSplitter(): void {
    const { up, clock } = this.#stage;
    const stop = new AbortController();
    const client = up.clientOf("splitter");
    const splitter = deploymentCoordinator({ client, clock, onError: () => {} });
    this.#splitter = { stop, running: splitter.run(stop.signal) };
  }

  /** In slices: clusters work all the time. */
  async #pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 2000) {
      await this.#stage.clock.advanceAndFlush(Math.min(left, 2000));
      await flushEventLoop(4);
      if (this.#random.chance(0.7)) await this.#run(0.8);
    }
  }

  async #step(): Promise<void> {
    const steps = [
      () => this.#edit({ replicas: this.#random.integer(12) }),
      () => this.#edit({ replicas: this.#random.integer(12) }),
      () => this.#edit({ template: { image: `web:${this.#random.integer(100)}` } }),
      () => this.#power(),
      () => this.#power(),
      () => this.#cordon(),
      () => this.#meddle(),
      () => this.#meddleDownstream(),
      () => this.#restart(),
      () => this.#loseEvents(),
    ] as const;
    await this.#random.pick(steps)();
  }

  async #try(what: string, write: Promise<unknown>): Promise<void> {
    try {
      await write;
      this.log.push(what);
    } catch (error) {
      this.log.push(`${what}: ${(error as Error).message}`);
    }
  }

  async #edit(spec: { replicas: number } | { template: { image: string } }): Promise<void> {
    const tenant = this.#random.pick(this.#tenants);
    const resource = this.#stage.up.client.inCluster(tenant).resource(deployments);
    const patch = { type: "merge", patch: { spec } } as const;
    await this.#try(`${tenant} edits ${JSON.stringify(spec)}`, resource.patch(web, patch));
  }

  /** A cluster is lost, or comes back; who watches it says so on its SyncTargets. */
  async #power(): Promise<void> {
    const [name, side] = this.#someCluster();
    const isBack = this.#cut.delete(name);
    this.log.push(`${name} ${isBack ? "is back" : "is lost"}`);
    if (isBack) side.heal();
    else {
      this.#cut.add(name);
      side.injectFault(() => "cut");
    }
    if (isBack || this.#random.chance(0.8)) await this.#sayReady(name, isBack);
  }

  async #sayReady(name: string, isReady: boolean): Promise<void> {
    const lastTransitionTime = timestamp(this.#stage.clock.now());
    const condition = { type: "Ready", status: isReady ? "True" : "False", reason: "ForTest" };
    const conditions = [{ ...condition, message: "", lastTransitionTime }];
    for (const tenant of this.#tenants) {
      const resource = this.#stage.up.client.inCluster(tenant).resource(syncTargets);
      await resource.patchStatus({ name }, { type: "merge", patch: { status: { conditions } } });
    }
  }

  async #cordon(): Promise<void> {
    const [name] = this.#someCluster();
    const tenant = this.#random.pick(this.#tenants);
    const unschedulable = this.#random.chance(0.5);
    const resource = this.#stage.up.client.inCluster(tenant).resource(syncTargets);
    const patch = { type: "merge", patch: { spec: { unschedulable } } } as const;
    const what = `${tenant} ${unschedulable ? "cordons" : "opens"} ${name}`;
    await this.#try(what, resource.patch({ name }, patch));
  }

  async #meddle(): Promise<void> {
    const tenant = this.#random.pick(this.#tenants);
    const [name] = this.#someCluster();
    const at = { namespace: "shop", name: `web--${name}` };
    const resource = this.#stage.up.client.inCluster(tenant).resource(deployments);
    const replicas = this.#random.integer(9);
    const isDeleted = this.#random.chance(0.5);
    const write = isDeleted
      ? resource.delete(at)
      : resource.patch(at, { type: "merge", patch: { spec: { replicas } } });
    await this.#try(`${tenant} meddles with ${at.name}: ${isDeleted ? "gone" : replicas}`, write);
  }

  async #meddleDownstream(): Promise<void> {
    const [name, side] = this.#someCluster();
    const { items } = await side.client.resource(deployments).list();
    const one = items[this.#random.integer(items.length)];
    if (one === undefined) return;
    const at = { namespace: one.metadata.namespace ?? "", name: one.metadata.name };
    const what = `somebody deletes ${at.namespace}/${at.name} in ${name}`;
    await this.#try(what, side.client.resource(deployments).delete(at));
  }

  async #restart(): Promise<void> {
    const link = this.#links[this.#random.integer(this.#links.length)];
    const which = this.#random.integer(4);
    if (which === 0) {
      this.log.push("the splitter restarts");
      this.#splitter.stop.abort();
      await advanceUntil(this.#stage.clock, this.#splitter.running);
      this.#startSplitter();
    } else if (which === 1) {
      this.log.push("the control plane restarts");
      await advanceUntil(this.#stage.clock, this.#stage.up.restart());
    } else if (link !== undefined) {
      this.log.push(`the syncer of ${link.tenant} to ${link.name} restarts`);
      await advanceUntil(this.#stage.clock, link.syncer?.stop());
      this.#startSyncer(link);
    }
  }

  async #loseEvents(): Promise<void> {
    const [name, side] = this.#someCluster();
    if (this.#cut.has(name)) return;
    const lost = this.#random.fork();
    this.log.push(`the watches of ${name} lose events`);
    side.injectFault(() => ({ lose: () => lost.chance(0.3) }));
  }

  #someCluster(): [string, FaultyServer] {
    const all = [...this.#stage.down] as [[string, FaultyServer], ...[string, FaultyServer][]];
    return this.#random.pick(all);
  }

  /** What clusters do: run what they are told, all of it or not yet. */
  async #run(share: number): Promise<void> {
    for (const side of this.#stage.down.values()) {
      const resource = side.client.resource(deployments);
      for (const { metadata, ...rest } of (await resource.list()).items) {
        if (!this.#random.chance(share)) continue;
        const { replicas = 0 } = rest["spec"] as { replicas?: number };
        const readyReplicas = share === 1 ? replicas : this.#random.integer(replicas + 1);
        const { generation: observedGeneration = 0, namespace, name } = metadata;
        const status = { observedGeneration, replicas, updatedReplicas: replicas, readyReplicas };
        const known = rest["status"] as Record<string, number> | undefined;
        const isSame = Object.entries(status).every(([field, value]) => known?.[field] === value);
        if (isSame) continue;
        const patch = { status: { ...status, availableReplicas: readyReplicas } };
        await resource.patchStatus({ namespace, name }, { type: "merge", patch });
      }
    }
  }

  async #check(faultyServer: FaultyServer, method: string, path: string): Promise<void> {
    const match = /\/namespaces\/([^/]+)\/deployments\/([^/?]+)/.exec(path);
    if (method !== "DELETE" || match === null) return;
    const [, namespace = "", name = ""] = match;
    const copy = await faultyServer.client.resource(deployments).find({ namespace, name });
    if (copy === undefined) return;
    const link = this.#links.find(({ uid }) => uid === originOf(copy)["target"]);
    const breach = this.#law.violationOf(link?.name ?? "", "deployments", copy);
    if (breach !== undefined) this.#violations.push(breach);
  }

  async #checkTenants(): Promise<void> {
    for (const [name, side] of this.#stage.down) {
      const homes = new Map<string, string>();
      for (const copy of (await side.client.resource(deployments).list()).items) {
        const { cluster = "" } = originOf(copy);
        const { namespace = "" } = copy.metadata;
        assert.equal(homes.get(namespace) ?? cluster, cluster, `${namespace} in ${name}`);
        homes.set(namespace, cluster);
      }
    }
  }

  async #rest(): Promise<void> {
    this.log.push("nothing happens any more");
    this.#cut.clear();
    for (const [name, side] of this.#stage.down) {
      side.heal();
      await this.#sayReady(name, true);
      for (const tenant of this.#tenants) {
        const resource = this.#stage.up.client.inCluster(tenant).resource(syncTargets);
        const patch = { spec: { unschedulable: false } };
        await resource.patch({ name }, { type: "merge", patch });
      }
    }
    let found: string[] = [];
    for (const ms of restSteps) {
      await this.#stage.clock.advanceAndFlush(ms);
      await flushEventLoop(4);
      await this.#run(1);
      found = await this.#differences();
      if (found.length === 0) break;
    }
    assert.deepEqual(found, [], "it does not come to rest");
    const before = await this.#versions();
    await this.#stage.clock.advanceAndFlush(900_000);
    assert.deepEqual(await this.#versions(), before, "writes although nothing happens");
    assert.deepEqual(await this.#differences(), []);
    assert.deepEqual(this.#violations, []);
  }

  async #differences(): Promise<string[]> {
    const found: string[] = [];
    for (const tenant of this.#tenants) {
      const { items } = await this.#stage.up.client.inCluster(tenant).resource(deployments).list();
      const workload = items.find(({ metadata }) => metadata.name === web.name);
      const parts = items.filter(({ metadata }) => metadata.name !== web.name);
      assert.ok(workload !== undefined, `${tenant} has lost its Deployment`);
      const asked = (workload["spec"] as { replicas: number }).replicas;
      const given = sum(parts.map(({ spec }) => (spec as { replicas: number }).replicas));
      if (given !== asked) found.push(`${tenant}: ${given} of ${asked} are given to clusters`);
      const countsOf = (one: DynamicObject) => (one["status"] ?? {}) as Counts;
      for (const field of counted) {
        const parted = sum(parts.map((part) => countsOf(part)[field] ?? 0));
        const told = countsOf(workload)[field] ?? 0;
        if (told !== parted || told !== asked)
          found.push(`${tenant}: ${field} ${told}, the parts have ${parted}, asked ${asked}`);
      }
    }
    return found;
  }

  async #versions(): Promise<string[]> {
    const { items } = await this.#stage.up.client.inCluster("*").resource(deployments).list();
    const all = [...items];
    for (const side of this.#stage.down.values()) {
      all.push(...(await side.client.resource(deployments).list()).items);
    }
    return all.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
