/**
 * Goal: a workload that moves is reached all the time, also when the cluster that takes it over is
 * seen, and not seen, and seen again. Method: the splitter and the traffic controller on a clock
 * that stands still, with requests that take their time; the clusters and their syncers are played
 * by chance: Pods start late, statuses and endpoints come up late and in any order, and nothing
 * comes from a cluster that is not seen.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  deploymentCoordinator,
  syncerFieldManager,
  syncTargets,
  traffic,
} from "@kcp-ts/multicluster";
import { Client, timestamp } from "@kcp-ts/sdk";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
import { type FakeClock, flushEventLoop, SeededRandom } from "@kcp-ts/testkit";
import { deployments, eventually } from "./fixture.ts";
import { defineTrafficKinds } from "./traffic-clock-fixture.ts";
import {
  EndpointRecorder,
  endpointSlices,
  namespace,
  readyBySource,
  services,
  total,
} from "./traffic-fixture.ts";

const first = Number(process.env["KCP_SEED"] ?? 2);
const histories = Number(process.env["KCP_HISTORIES"] ?? 4);
const moves = 2;
const flappingSteps = 40;
const replicas = 3;
const names = ["east", "west"] as const;
type Name = (typeof names)[number];

/** Every request takes its time, as on a machine with other things to do. */
function slowed(client: Client, clock: Clock, random: SeededRandom): Client {
  const { transport, basePath } = client;
  const signal = new AbortController().signal;
  return new Client({
    clock,
    random,
    basePath,
    transport: {
      async send(request) {
        await sleep(clock, 200 * random.next(), request.signal ?? signal);
        return await transport.send(request);
      },
      close: () => transport.close(),
    },
  });
}

interface Cluster {
  isSeen: boolean;
  /** That run, and answer. */
  pods: number;
}

class History {
  readonly client: Client;
  readonly clock: FakeClock;
  readonly #random: SeededRandom;
  readonly #clusters: Readonly<Record<Name, Cluster>> = {
    east: { isSeen: true, pods: 0 },
    west: { isSeen: true, pods: 0 },
  };
  readonly told: string[] = [];

  private constructor(client: Client, clock: FakeClock, random: SeededRandom) {
    this.client = client;
    this.clock = clock;
    this.#random = random;
  }

  static async begin(t: TestContext, seed: number): Promise<History> {
    const plane = await startTestControlPlane({ clock: "fake", controlLoops: false });
    const { client, clock } = plane;
    const random = new SeededRandom(seed);
    await defineTrafficKinds(client);
    const stop = new AbortController();
    const all = slowed(plane.clientFor("*"), clock, random);
    // As short as can be: a cluster that reports is trusted at once.
    const shared = { client: all, clock, onError() {}, unreachableAfterMs: 3_600_000 };
    const running = [deploymentCoordinator({ ...shared, recoveryMs: 0 }), traffic(shared)].map(
      (one) => one.run(stop.signal),
    );
    t.after(async () => {
      stop.abort();
      await clock.advanceAndFlush(60_000);
      await Promise.all(running);
      await plane.close();
    });
    return new History(client, clock, random);
  }

  async join(): Promise<void> {
    for (const name of names) {
      await this.client.resource(syncTargets).create({ metadata: { name }, spec: {} });
      await this.#say(name);
    }
    const labels = { app: "web" };
    const template = { metadata: { labels }, spec: { containers: [] } };
    const spec = { replicas, selector: { matchLabels: labels }, template };
    await eventually(() =>
      this.client.resource(deployments).create({ metadata: { name: "web", namespace }, spec }),
    );
    const ports = [{ name: "http", port: 80 }];
    await eventually(() =>
      this.client
        .resource(services)
        .create({ metadata: { name: "web", namespace }, spec: { selector: labels, ports } }),
    );
  }

  /** As long as the workload is elsewhere, `to` is seen and not seen. */
  async move(to: Name, isLaw: () => void): Promise<void> {
    const from = to === "east" ? "west" : "east";
    this.#tell(`move to ${to}`);
    await this.#patchSpec(to, { drain: null });
    await this.#patchSpec(from, { drain: {} });
    for (let step = 0; step < 400; step++) {
      const isFlapping = step < flappingSteps;
      const isToChange = isFlapping ? this.#chance(0.15) : !this.#clusters[to].isSeen;
      if (isToChange) await this.#flap(to);
      await this.pass();
      isLaw();
      if (!isFlapping && (await this.#isAllIn(to))) return;
    }
    assert.fail(`the move to ${to} does not end`);
  }

  async restIn(name: Name): Promise<void> {
    await this.#patchSpec(name === "east" ? "west" : "east", { drain: {} });
    for (let step = 0; step < 200; step++) {
      await this.pass();
      if (await this.#isAllIn(name)) return;
    }
    assert.fail(`it does not come to rest in ${name}`);
  }

  /** Half a second or so, in which each cluster may do something and may say something. */
  async pass(): Promise<void> {
    for (const name of names) {
      const cluster = this.#clusters[name];
      if (!cluster.isSeen) continue;
      if (this.#chance(0.4)) await this.#run(name, cluster);
      if (this.#chance(0.4)) await this.#sayStatus(name, cluster);
      if (this.#chance(0.25)) await this.#sayEndpoints(name, cluster);
    }
    await this.clock.advanceAndFlush(300 + 400 * this.#random.next());
    await flushEventLoop(4);
  }

  async #run(name: Name, cluster: Cluster): Promise<void> {
    const copy = await this.#copy(name);
    const isDeleted = copy?.metadata.deletionTimestamp !== undefined;
    cluster.pods = isDeleted ? 0 : (copy?.spec?.replicas ?? 0);
    if (!isDeleted) return;
    // As the syncer does it when nothing of the copy is left in the cluster.
    const patch = { metadata: { finalizers: null } };
    await this.client
      .resource(deployments)
      .patch({ namespace, name: `web--${name}` }, { type: "merge", patch });
  }

  async #sayStatus(name: Name, { pods }: Cluster): Promise<void> {
    const copy = await this.#copy(name);
    if (copy === undefined) return;
    const { generation = 0 } = copy.metadata;
    // What it has not seen yet, it does not say it has seen.
    const observedGeneration = copy.spec?.replicas === pods ? generation : generation - 1;
    const counts = { replicas: pods, readyReplicas: pods, availableReplicas: pods };
    const status = { observedGeneration, updatedReplicas: pods, ...counts };
    await this.client
      .resource(deployments)
      .patchStatus({ namespace, name: `web--${name}` }, { type: "merge", patch: { status } });
  }

  async #sayEndpoints(name: Name, { pods }: Cluster): Promise<void> {
    const resource = this.client.resource(endpointSlices);
    const at = { namespace, name: `web-1--${name}` };
    const found = await resource.find(at);
    const isPlaced = (await this.client.resource(services).get({ namespace, name: "web" })).metadata
      .labels?.[`state.workload.kcp.io/${name}`];
    if (isPlaced === undefined) {
      if (found !== undefined && pods === 0) await resource.delete(at);
      return;
    }
    const endpoints = Array.from({ length: pods }, (_, index) => ({
      addresses: [`10.0.${names.indexOf(name)}.${index}`],
      conditions: { ready: true },
    }));
    const labels = {
      "kubernetes.io/service-name": "web",
      [`state.workload.kcp.io/${name}`]: "Upsync",
    };
    const slice = {
      metadata: { ...at, labels },
      addressType: "IPv4",
      endpoints,
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    };
    if (found === undefined)
      await resource.create(slice as never, { fieldManager: syncerFieldManager });
    else await resource.patch(at, { type: "merge", patch: { endpoints } });
  }

  async #flap(name: Name): Promise<void> {
    const cluster = this.#clusters[name];
    cluster.isSeen = !cluster.isSeen;
    this.#tell(`${name} is ${cluster.isSeen ? "" : "not "}seen`);
    await this.#say(name);
  }

  async #say(name: Name): Promise<void> {
    const said = {
      reason: "ForTest",
      message: "",
      lastTransitionTime: timestamp(this.clock.now()),
    };
    const status = this.#clusters[name].isSeen ? "True" : "False";
    const conditions = [{ type: "Ready", status, ...said }];
    const syncedResources = ["deployments.apps", "services"];
    const patch = { status: { conditions, syncedResources } };
    await this.client.resource(syncTargets).patchStatus({ name }, { type: "merge", patch });
  }

  async #patchSpec(name: Name, spec: JsonObject): Promise<void> {
    await this.client.resource(syncTargets).patch({ name }, { type: "merge", patch: { spec } });
  }

  async #copy(name: Name) {
    return await this.client.resource(deployments).find({ namespace, name: `web--${name}` });
  }

  async #isAllIn(name: Name): Promise<boolean> {
    const other = name === "east" ? "west" : "east";
    const { [name]: here, [other]: there } = this.#clusters;
    if (here.pods !== replicas || there.pods !== 0) return false;
    const published = await readyBySource(this.client);
    return published[name] === replicas && total(published) === replicas;
  }

  /** Of the endpoints that are published, how many answer. */
  answering(published: Record<string, number>): number {
    return names.reduce(
      (sum, name) => sum + Math.min(published[name] ?? 0, this.#clusters[name].pods),
      0,
    );
  }

  #chance(of: number): boolean {
    return this.#random.next() < of;
  }

  #tell(what: string): void {
    this.told.push(`${Math.round(this.clock.monotonic() / 100) / 10} s: ${what}`);
  }
}

describe("a workload that moves to a cluster that is seen and not seen", () => {
  for (let seed = first; seed < first + histories; seed++)
    it(`is reached all the time (seed ${seed})`, async (t) => {
      const history = await History.begin(t, seed);
      await history.join();
      await history.restIn("east");
      const record = await EndpointRecorder.start(t, history.client);
      let judged = 0;
      const isLaw = () => {
        for (const published of record.states.slice(judged)) {
          const counts = JSON.stringify(published);
          assert.ok(total(published) >= replicas, `${counts}\n${history.told.join("\n")}`);
        }
        judged = record.states.length;
        const now = record.states.at(-1) ?? {};
        const said = `of ${JSON.stringify(now)} ${history.answering(now)} answer`;
        assert.ok(history.answering(now) >= replicas, `${said}\n${history.told.join("\n")}`);
      };
      for (let move = 0; move < moves; move++)
        await history.move(move % 2 === 0 ? "west" : "east", isLaw);
      await record.stop();
    });
});
