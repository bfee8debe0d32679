/**
 * One random history of syncers between a control plane and its clusters, on a clock that stands
 * still: edits on both sides, lost connections, lost answers, lists that lie, watches that lose
 * events, flaps, restarts of syncers and servers, SyncTargets that are made anew, clocks that
 * differ, kinds that come and go. The model is the servers themselves, looked at behind the
 * syncers' backs.
 */
import assert from "node:assert/strict";
import {
  cacheVerifyPeriodMs,
  ResourceSet,
  type SyncedResource,
  type Syncer,
  startSyncer,
} from "@kcp-ts/multicluster";
import type { StringMap } from "@kcp-ts/sdk";
import { type FakeClock, flushEventLoop, type SeededRandom } from "@kcp-ts/testkit";
import { advanceUntil } from "./advance-until.ts";
import { copiesIn, differences } from "./compare-clusters.ts";
import { DeletionInvariant } from "./deletion-invariant.ts";
import { configMaps, type FaultyServer, namespaces, widgets } from "./faulty-server.ts";
import { ForeignObjects } from "./foreign-objects.ts";
import { namespacedNameOf } from "./object-queries.ts";
import { randomFault } from "./random-fault.ts";

export interface SyncHistoryServers {
  readonly clock: FakeClock;
  readonly up: FaultyServer;
  /** By the names of their SyncTargets. */
  readonly down: ReadonlyMap<string, FaultyServer>;
}

const names = ["a", "b", "c"] as const;
const colors = ["red", "green", "blue"] as const;
const kinds: readonly SyncedResource[] = [
  { resource: widgets, hasStatus: true },
  { resource: configMaps, hasStatus: false },
];

interface RunningSyncer {
  readonly name: string;
  uid: string;
  readonly server: FaultyServer;
  readonly resources: ResourceSet;
  syncer: Syncer | undefined;
}

export class SyncHistory {
  /** The events so far, which a failure prints. */
  readonly log: string[] = [];
  readonly #stage: SyncHistoryServers;
  readonly #random: SeededRandom;
  readonly #clusters: readonly [string, string];
  readonly #targets: readonly [RunningSyncer, ...RunningSyncer[]];
  readonly #violations: string[] = [];
  readonly #law = new DeletionInvariant();
  readonly #strangers = new ForeignObjects();

  constructor(syncHistoryServers: SyncHistoryServers, random: SeededRandom) {
    this.#stage = syncHistoryServers;
    this.#random = random;
    const { seed } = random;
    this.#clusters = [`s${seed}-a`, `s${seed}-b`];
    this.#targets = [...syncHistoryServers.down].map(([name, side]) => ({
      name,
      uid: `${name}-${seed}`,
      server: side,
      resources: new ResourceSet(kinds),
      syncer: undefined,
    })) as unknown as readonly [RunningSyncer, ...RunningSyncer[]];
  }

  async run(steps: number): Promise<void> {
    const { up } = this.#stage;
    for (const cluster of this.#clusters) {
      const resource = up.client.inCluster(cluster).resource(namespaces);
      await resource.create({ metadata: { name: "shop" } });
    }
    up.onAnswer = (answered) => this.#law.recordAnswer(answered);
    for (const target of this.#targets) {
      target.server.beforeWrite = (method, path) => this.#check(target, method, path);
      this.#start(target);
    }
    for (let step = 0; step < steps; step++) {
      await this.#step();
      if (this.#random.chance(0.7)) await this.#pass(this.#random.integer(3000));
      await this.#checkForeign();
      assert.deepEqual(this.#violations, []);
    }
    await this.#recover();
    await this.#converge();
    await this.#checkQuiet();
    await this.#end();
  }

  async stop(): Promise<void> {
    for (const { server } of this.#targets) server.heal();
    this.#stage.up.heal();
    const stopping = this.#targets.map(({ syncer }) => syncer?.stop());
    await advanceUntil(this.#stage.clock, Promise.all(stopping));
  }

  #start(target: RunningSyncer): void {
    const { up, clock } = this.#stage;
    const [home] = this.#clusters;
    target.syncer = startSyncer({
      upstream: up.clientOf(target.name),
      scope: "all-clusters",
      serves: (cluster) => this.#clusters.includes(cluster),
      downstream: target.server.syncerClient,
      target: { name: target.name, cluster: home, uid: target.uid },
      resources: target.resources,
      workers: 1 + this.#random.integer(4),
      clock,
      random: this.#random.fork(),
    });
  }

  async #pass(ms: number): Promise<void> {
    await this.#stage.clock.advanceAndFlush(ms);
    await flushEventLoop(4);
  }

  async #step(): Promise<void> {
    const steps = [
      () => this.#create(),
      () => this.#create(),
      () => this.#edit(),
      () => this.#edit(),
      () => this.#assign(),
      () => this.#assign(),
      () => this.#delete(),
      () => this.#forceDelete(),
      () => this.#editDownstream(),
      () => this.#statusDownstream(),
      () => this.#statusDownstream(),
      () => this.#deleteDownstream(),
      () => this.#fault(),
      () => this.#heal(),
      () => this.#heal(),
      () => this.#flap(),
      () => this.#restart(),
      () => this.#restartServer(),
      () => this.#joinAnew(),
      () => this.#changeKinds(),
    ] as const;
    await this.#random.pick(steps)();
  }

  #place() {
    const cluster = this.#random.pick(this.#clusters);
    const resource = this.#random.chance(0.7) ? widgets : configMaps;
    const name = this.#random.pick(names);
    const client = this.#stage.up.client.inCluster(cluster).resource(resource);
    return { cluster, resource, at: { namespace: "shop", name }, client };
  }

  #labels(): StringMap {
    const [first] = this.#targets;
    const target = this.#targets[this.#random.integer(this.#targets.length)] ?? first;
    switch (this.#random.integer(5)) {
      case 0:
        return {};
      case 1:
        return Object.fromEntries(
          this.#targets.map(({ name }) => [`state.workload.kcp.io/${name}`, "Sync"]),
        );
      case 2:
        return { [`state.workload.kcp.io/${target.name}`]: "Sync" };
      default:
        return { "workload.kcp.io/cluster": target.name };
    }
  }

  #content(resource: { readonly kind: string }) {
    const color = this.#random.pick(colors);
    return resource.kind === "Widget" ? { spec: { color } } : { data: { color } };
  }

  async #try(what: string, write: Promise<unknown>): Promise<void> {
    try {
      await write;
      this.log.push(what);
    } catch (error) {
      this.log.push(`${what}: ${(error as Error).message}`);
    }
  }

  async #create(): Promise<void> {
    const { cluster, resource, at, client } = this.#place();
    const labels = this.#labels();
    const object = { metadata: { ...at, labels }, ...this.#content(resource) };
    const what = `create ${resource.kind} ${cluster}/${at.name} ${JSON.stringify(labels)}`;
    await this.#try(what, client.create(object));
  }

  async #edit(): Promise<void> {
    const { cluster, resource, at, client } = this.#place();
    const patch = this.#content(resource);
    const what = `edit ${resource.kind} ${cluster}/${at.name} ${JSON.stringify(patch)}`;
    await this.#try(what, client.patch(at, { type: "merge", patch }));
  }

  async #assign(): Promise<void> {
    const { cluster, resource, at, client } = this.#place();
    const labels = this.#labels();
    const operations = [{ op: "add", path: "/metadata/labels", value: labels }] as const;
    const what = `label ${resource.kind} ${cluster}/${at.name} ${JSON.stringify(labels)}`;
    await this.#try(what, client.patch(at, { type: "json", operations }));
  }

  async #delete(): Promise<void> {
    const { cluster, resource, at, client } = this.#place();
    await this.#try(`delete ${resource.kind} ${cluster}/${at.name}`, client.delete(at));
  }

  /**
   * What impatient people do: the finalizers are taken off by hand. Often something of the same
   * name follows.
   */
  async #forceDelete(): Promise<void> {
    const { cluster, resource, at, client } = this.#place();
    const what = `force delete ${resource.kind} ${cluster}/${at.name}`;
    const patch = { metadata: { finalizers: null } };
    await this.#try(what, client.delete(at));
    await this.#try(what, client.patch(at, { type: "merge", patch }));
    if (this.#random.chance(0.5)) return;
    const labels = this.#labels();
    const object = { metadata: { ...at, labels }, ...this.#content(resource) };
    await this.#try(`recreate ${JSON.stringify(labels)}`, client.create(object));
  }

  async #somethingDownstream() {
    const target = this.#random.pick(this.#targets);
    const resource = this.#random.chance(0.7) ? widgets : configMaps;
    const client = target.server.client.resource(resource);
    const found = await copiesIn(target, resource);
    const one = found[this.#random.integer(found.length)];
    return (
      one && { target, resource, client, at: namespacedNameOf(one), uid: one.metadata.uid ?? "" }
    );
  }

  async #editDownstream(): Promise<void> {
    const one = await this.#somethingDownstream();
    if (one === undefined) return;
    const patch = this.#content(one.resource);
    const what = `edit in ${one.target.name} ${one.resource.kind} ${one.at.namespace}/${one.at.name} ${JSON.stringify(patch)}`;
    await this.#try(what, one.client.patch(one.at, { type: "merge", patch }));
  }

  async #statusDownstream(): Promise<void> {
    const one = await this.#somethingDownstream();
    if (one === undefined || one.resource.kind !== "Widget") return;
    const patch = { status: { phase: this.#random.pick(["Pending", "Ready", "Failed"]) } };
    const what = `status in ${one.target.name} ${one.at.namespace}/${one.at.name} ${patch.status.phase}`;
    await this.#try(what, one.client.patchStatus(one.at, { type: "merge", patch }));
  }

  async #deleteDownstream(): Promise<void> {
    const one = await this.#somethingDownstream();
    if (one === undefined) return;
    const what = `delete in ${one.target.name} ${one.resource.kind} ${one.at.namespace}/${one.at.name}`;
    // Only what was looked at: a stranger may stand there by now, which is not ours to delete
    // either.
    await this.#try(what, one.client.delete(one.at, { preconditions: { uid: one.uid } }));
  }

  async #fault(): Promise<void> {
    const isUpstream = this.#random.chance(0.4);
    const target = this.#random.pick(this.#targets);
    const side = isUpstream ? this.#stage.up : target.server;
    const { fault, name } = randomFault(this.#random);
    this.log.push(`fault ${isUpstream ? "upstream" : target.name} ${name}`);
    side.injectFault(fault);
  }

  async #heal(): Promise<void> {
    this.log.push("heal");
    this.#stage.up.heal();
    for (const { server } of this.#targets) server.heal();
  }

  /** Short losses of the way, one behind the other. */
  async #flap(): Promise<void> {
    const target = this.#random.pick(this.#targets);
    const side = this.#random.chance(0.3) ? this.#stage.up : target.server;
    const times = 1 + this.#random.integer(4);
    this.log.push(`flap ${side === target.server ? target.name : "upstream"} ${times} times`);
    for (let time = 0; time < times; time++) {
      side.injectFault(() => "cut");
      await this.#pass(this.#random.integer(1500));
      side.heal();
      await this.#pass(this.#random.integer(1500));
    }
  }

  async #restart(): Promise<void> {
    const target = this.#random.pick(this.#targets);
    this.log.push(`restart the syncer of ${target.name}`);
    await this.#stopSyncer(target);
    this.#start(target);
  }

  async #stopSyncer(target: RunningSyncer): Promise<void> {
    const stopping = target.syncer?.stop();
    await this.#pass(this.#random.integer(2000));
    await advanceUntil(this.#stage.clock, stopping);
  }

  async #restartServer(): Promise<void> {
    const target = this.#random.pick(this.#targets);
    const isUpstream = this.#random.chance(0.5);
    this.log.push(`restart the server of ${isUpstream ? "the control plane" : target.name}`);
    await advanceUntil(this.#stage.clock, (isUpstream ? this.#stage.up : target.server).restart());
  }

  /**
   * The SyncTarget is deleted while nobody can drain it, and made anew under its name: what the
   * earlier one left behind is not the new one's.
   */
  async #joinAnew(): Promise<void> {
    if (!this.#random.chance(0.3)) return;
    const target = this.#random.pick(this.#targets);
    await this.#stopSyncer(target);
    target.uid = `${target.uid}+`;
    this.log.push(`${target.name} joins anew as ${target.uid}`);
    this.#start(target);
  }

  /** Also what is known of a kind changes: whether its status has an endpoint. */
  async #changeKinds(): Promise<void> {
    const target = this.#random.pick(this.#targets);
    const chosen = kinds
      .filter(() => this.#random.chance(0.6))
      .map((kind) => (this.#random.chance(0.2) ? { ...kind, hasStatus: !kind.hasStatus } : kind));
    const names = chosen.map(
      ({ resource, hasStatus }) => resource.kind + (hasStatus ? "+status" : ""),
    );
    this.log.push(`kinds ${target.name} ${names.join()}`);
    target.resources.set(chosen);
  }

  async #check(target: RunningSyncer, method: string, path: string): Promise<void> {
    if (method !== "DELETE") return;
    const match = /\/namespaces\/([^/]+)\/(widgets|configmaps)\/([^/?]+)/.exec(path);
    if (match === null) return;
    const [, namespace = "", plural = "", name = ""] = match;
    const resource = plural === "widgets" ? widgets : configMaps;
    const copy = await target.server.client.resource(resource).find({ namespace, name });
    if (copy === undefined) return;
    const breach = this.#law.violationOf(target.name, plural, copy);
    if (breach !== undefined) this.#violations.push(breach);
    else if (this.#random.chance(0.2)) {
      this.log.push(`replaced in ${target.name} ${namespace}/${name}`);
      await this.#strangers.replace(target.server, resource, { namespace, name });
    }
  }

  async #checkForeign(): Promise<void> {
    this.#violations.push(...(await this.#strangers.check()));
  }

  async #recover(): Promise<void> {
    this.log.push("recover");
    await this.#heal();
    for (const { resources } of this.#targets) resources.set(kinds);
  }

  /**
   * Nobody is restarted for it: what was missed while lists lied and watches lost events is found
   * by the audits, within their period.
   */
  async #converge(): Promise<void> {
    let found: string[] = [];
    for (const ms of [
      ...Array(20).fill(1000),
      ...Array(10).fill(30_000),
      ...Array(12).fill(300_000),
    ]) {
      await this.#pass(ms);
      await this.#checkForeign();
      found = await this.#differences();
      if (found.length === 0) return;
    }
    assert.deepEqual(found, [], "it does not converge");
  }

  async #checkQuiet(): Promise<void> {
    // The longest wait is five minutes: what was due to be looked at again has its turn; then there
    // is silence.
    await this.#pass(320_000);
    const before = this.#writes();
    // An audit and all its consequences included.
    await this.#pass(1.5 * cacheVerifyPeriodMs + 60_000);
    assert.deepEqual(this.#writes().slice(before.length), [], "writes although nothing happens");
    assert.deepEqual(await this.#differences(), []);
    assert.deepEqual(this.#violations, []);
  }

  #writes(): string[] {
    return [this.#stage.up, ...this.#targets.map(({ server }) => server)].flatMap(
      ({ writes }) => writes,
    );
  }

  /** Everything goes, and nothing is left in the clusters or held upstream. */
  async #end(): Promise<void> {
    for (const cluster of this.#clusters) {
      for (const { resource } of kinds) {
        const client = this.#stage.up.client
          .inCluster(cluster)
          .resource(resource as typeof widgets);
        for (const { metadata } of (await client.list()).items) {
          await client.delete({ namespace: metadata.namespace, name: metadata.name });
        }
      }
    }
    await this.#converge();
    for (const target of this.#targets) {
      for (const { resource } of kinds) {
        assert.deepEqual(await copiesIn(target, resource as typeof widgets), []);
      }
    }
  }

  #differences(): Promise<string[]> {
    const { up } = this.#stage;
    return differences({ up, clusters: this.#clusters, kinds, members: this.#targets });
  }
}
