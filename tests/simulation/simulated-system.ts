/**
 * A simulated system: a control plane, physical clusters, the network between them and one
 * simulated time, all in this process and all decided by a seed.
 */
import type { ServerLog } from "@kcp-ts/apiserver";
import type { Write } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { neverAborted } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, type Transport, TransportError } from "@kcp-ts/sdk";
import { type SimulatedCluster, startSimulatedCluster } from "@kcp-ts/simulator";
import { SeededRandom } from "@kcp-ts/testkit";
import { type AgentIdentity, AgentProcess, enrolAgent } from "./agent-process.ts";
import { alignProcessState } from "./align-process-state.ts";
import { ClusterObserver } from "./cluster-observer.ts";
import { ControlPlaneProcess } from "./control-plane-process.ts";
import type { BeforeCommit } from "./crashing-storage.ts";
import { globals, resetGlobals } from "./deterministic-globals.ts";
import { ProcessClock, SimulatedEventLoop } from "./event-loop.ts";
import { type PlantedDefect, tampered } from "./planted-defects.ts";
import { type LinkQuality, perfectQuality, SimulatedLink } from "./simulated-network.ts";
import { withThinOpenApi } from "./thin-openapi.ts";
import type { Trace } from "./trace.ts";

export interface SimulatedSystemOptions {
  readonly seed: number;
  readonly trace: Trace;
  readonly clusters: readonly string[];
  /** How long a Pod takes to end. */
  readonly stopDelayMs?: number | undefined;
  /** Whether CronJobs are synced, too. */
  readonly hasMoreKinds?: boolean | undefined;
  /** What the disk of the control plane has at the start, and when that is. */
  readonly image?: DiskImage | undefined;
  /** A defect that the program gets in this system. */
  readonly defect?: PlantedDefect | undefined;
}

export interface DiskImage {
  readonly writes: readonly Write[];
  readonly atMs: number;
}

export interface SystemCluster {
  readonly name: string;
  readonly cluster: SimulatedCluster;
  readonly observer: ClusterObserver;
}

export interface CrashPlan {
  readonly afterCommits: number;
  readonly isStored: boolean;
  readonly downMs: number;
}

/** What is synced; other kinds cost time at every registration. */
const syncedResources = [
  "deployments.apps",
  "statefulsets.apps",
  "daemonsets.apps",
  "jobs.batch",
  "pods",
  "replicasets.apps",
  "controllerrevisions.apps",
  "configmaps",
  "persistentvolumeclaims",
];

const uninstallMs = 30_000;

export class SimulatedSystem {
  readonly loop = new SimulatedEventLoop();
  readonly trace: Trace;
  readonly clusters = new Map<string, SystemCluster>();
  /** Called after every change in a cluster. */
  onClusterChange: () => void = () => {};
  /** Called for every write of the control plane to its disk. */
  onCommit: (write: Write) => void = () => {};
  /** Called for every request through the network. */
  onRequest: (link: string, method: string, path: string, status: number | string) => void =
    () => {};
  readonly writes: Write[] = [];
  requests = 0;
  crashes = 0;
  readonly #random: SeededRandom;
  readonly #disk = new MemoryStorage();
  readonly #links = new Set<SimulatedLink>();
  readonly #agents = new Map<string, AgentProcess>();
  readonly #cutUntilMs = new Map<string, number>();
  #clockErrorMs = 0;
  #diskFullUntilMs = 0;
  #quality: LinkQuality = perfectQuality;
  #process: ControlPlaneProcess | undefined;
  #waiting: (() => void)[] = [];
  #crashPlan: (CrashPlan & { left: number }) | undefined;

  readonly #defect: PlantedDefect | undefined;
  readonly #hasMoreKinds: boolean;

  private constructor({ seed, trace, defect, hasMoreKinds }: SimulatedSystemOptions) {
    this.#defect = defect;
    this.#hasMoreKinds = hasMoreKinds === true;
    this.#random = new SeededRandom(seed);
    this.trace = trace;
  }

  static async start(options: SimulatedSystemOptions): Promise<SimulatedSystem> {
    await alignProcessState();
    const system = new SimulatedSystem(options);
    resetGlobals({
      random: system.#random.fork(),
      schedule: (delayMs, callback) => system.loop.schedule(delayMs, callback),
    });
    const { image } = options;
    if (image !== undefined) await system.#load(image);
    for (const name of options.clusters) await system.#addCluster(name, options.stopDelayMs ?? 500);
    const starting = system.#startProcess();
    await system.loop.until(starting);
    return system;
  }

  get syncedResources(): readonly string[] {
    return this.#hasMoreKinds ? [...syncedResources, "cronjobs.batch"] : syncedResources;
  }

  get nowMs(): number {
    return this.loop.nowMs;
  }

  /** What a later system may start from. */
  get image(): DiskImage {
    return { writes: this.writes, atMs: this.nowMs };
  }

  /**
   * Sends requests of a user. A control plane that crashes meanwhile is waited for, and the
   * requests are sent again, as a user does who got no response. Undefined when the control plane
   * refuses them.
   */
  async ask<Result>(
    tenant: string,
    body: (client: Client) => Promise<Result>,
  ): Promise<Result | undefined> {
    for (;;) {
      const process = await this.#running();
      const asked = body(process.clientFor(tenant)).then(
        (value) => ({ value }),
        (error: unknown) => {
          if (!isStatusError(error)) throw error;
          this.trace.note(this.nowMs, "user", "refused", error.message);
          return { value: undefined };
        },
      );
      const answer = await Promise.race([asked, process.ended]);
      if (answer !== undefined) return answer.value;
    }
  }

  /** The same, running the system until there is a response. */
  askNow<Result>(
    tenant: string,
    body: (client: Client) => Promise<Result>,
  ): Promise<Result | undefined> {
    return this.loop.until(this.ask(tenant, body));
  }

  hasTerminatingPods(): boolean {
    for (const { observer } of this.clusters.values())
      for (const { isTerminating } of observer.pods.values()) if (isTerminating) return true;
    return false;
  }

  /** Installs the agent of a SyncTarget in its cluster, unless it runs there. */
  async startAgent(tenant: string, cluster: string): Promise<void> {
    const at = { cluster: tenant, name: cluster };
    const identity = await this.ask(tenant, (client) => enrolAgent(this.loop, client, at));
    const key = `${tenant}/${cluster}`;
    if (identity === undefined) return;
    const running = this.#agents.get(key);
    if (running?.identity.target.uid === identity.target.uid) return;
    running?.end();
    this.#runAgent(key, identity);
  }

  /** The process of an agent ends, and its Deployment starts another one. */
  crashAgent(tenant: string, cluster: string, downMs: number): void {
    const key = `${tenant}/${cluster}`;
    const agent = this.#agents.get(key);
    if (agent === undefined) return;
    agent.end();
    this.trace.note(this.nowMs, "agent", "crashes", key);
    this.loop.schedule(downMs, () => {
      if (this.#agents.get(key) === agent) this.#runAgent(key, agent.identity);
    });
  }

  #runAgent(key: string, identity: AgentIdentity): void {
    const { name } = identity.target;
    const { cluster } = this.clusters.get(name) as SystemCluster;
    const toPlane = this.#link(name);
    const toCluster = this.#link(`${name} inside`);
    const agent = new AgentProcess({
      loop: this.loop,
      random: this.#random.fork(),
      identity,
      resources: this.syncedResources,
      upstream: toPlane.wrap(this.#transportToPlane(identity)),
      downstream: toCluster.wrap(withThinOpenApi(cluster.transport, cluster.generation)),
      links: [toPlane, toCluster],
      onError: (error, controller) =>
        this.trace.log(this.nowMs, `agent of ${key}: ${controller}`, error),
    });
    this.#agents.set(key, agent);
  }

  /** An agent whose SyncTarget is gone is uninstalled. */
  #uninstallAgent({ key, value }: Write): void {
    const [, , resource, , tenant, , name] = key.split("/");
    if (value !== "delete" || resource !== "synctargets") return;
    const agent = this.#agents.get(`${tenant}/${name}`);
    this.loop.schedule(uninstallMs, () => {
      agent?.end();
      if (this.#agents.get(`${tenant}/${name}`) === agent) this.#agents.delete(`${tenant}/${name}`);
    });
  }

  planCrash(plan: CrashPlan): void {
    this.#crashPlan = { ...plan, left: plan.afterCommits };
  }

  cancelCrash(): void {
    this.#crashPlan = undefined;
  }

  /** The wall clock of the control plane jumps, forwards or back. */
  jumpClock(byMs: number): void {
    this.#clockErrorMs += byMs;
  }

  fillDisk(forMs: number): void {
    this.#diskFullUntilMs = this.nowMs + forMs;
  }

  get isDiskFull(): boolean {
    return this.nowMs < this.#diskFullUntilMs;
  }

  setQuality(quality: LinkQuality): void {
    this.#quality = quality;
    for (const link of this.#links) link.quality = quality;
  }

  breakWatches(): void {
    for (const link of this.#links) link.breakStreams();
  }

  cut(cluster: string, forMs: number): void {
    const untilMs = this.nowMs + forMs;
    this.#cutUntilMs.set(cluster, Math.max(untilMs, this.#cutUntilMs.get(cluster) ?? 0));
    for (const link of this.#links) if (link.name === cluster) link.cut();
    this.loop.schedule(forMs, () => this.#mend(cluster));
  }

  isCut(cluster: string): boolean {
    return (this.#cutUntilMs.get(cluster) ?? 0) > this.nowMs;
  }

  /** Ends every fault that lasts. */
  heal(): void {
    this.cancelCrash();
    this.#diskFullUntilMs = 0;
    this.setQuality(perfectQuality);
    this.#cutUntilMs.clear();
    for (const link of this.#links) link.mend();
  }

  /** Nothing of this system runs on. */
  async end(): Promise<void> {
    this.#process?.end();
    for (const agent of this.#agents.values()) agent.end();
    for (const { clock } of this.#clusterClocks) clock.end();
    await this.loop.run(0);
  }

  readonly #clusterClocks: { readonly clock: ProcessClock }[] = [];

  #mend(cluster: string): void {
    if (this.isCut(cluster)) return;
    for (const link of this.#links) if (link.name === cluster) link.mend();
  }

  async #load({ writes, atMs }: DiskImage): Promise<void> {
    const signal = neverAborted;
    for (const write of writes) await this.#disk.commit(write, { signal });
    globals.nowMs = atMs;
  }

  async #addCluster(name: string, stopDelayMs: number): Promise<void> {
    const clock = new ProcessClock(this.loop);
    this.#clusterClocks.push({ clock });
    const cluster = await this.loop.until(
      startSimulatedCluster({
        name,
        nodes: 1,
        clock,
        random: this.#random.fork(),
        metrics: false,
        kubelet: { stopDelayMs },
        log: this.#log(name),
      }),
    );
    const observer = new ClusterObserver(cluster, () => this.onClusterChange());
    observer.start(this.#hasMoreKinds);
    this.clusters.set(name, { name, cluster, observer });
  }

  #running(): Promise<ControlPlaneProcess> {
    if (this.#process !== undefined) return Promise.resolve(this.#process);
    return new Promise((resolve) => {
      this.#waiting.push(() => resolve(this.#running()));
    });
  }

  async #startProcess(): Promise<void> {
    const process = await ControlPlaneProcess.start({
      loop: this.loop,
      disk: this.#disk,
      random: this.#random.fork(),
      log: this.#log("plane"),
      syncedResources: this.syncedResources,
      transportTo: (server, owner) => this.#transportTo(server, owner),
      wrapLoopback: (transport) => tampered(transport, this.#defect?.loopback),
      link: (name) => this.#link(name),
      clockErrorMs: () => this.#clockErrorMs,
      beforeCommit: () => this.#fateOfCommit(),
      onCommit: (write) => {
        this.writes.push(write);
        this.trace.note(this.nowMs, "commit", write.key, write.value);
        this.#uninstallAgent(write);
        this.onCommit(write);
      },
      onCrash: () => this.#crashed(),
    });
    this.#process = process;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }

  #fateOfCommit(): ReturnType<BeforeCommit> {
    if (this.isDiskFull) return "full";
    const plan = this.#crashPlan;
    if (plan === undefined || plan.left-- > 0) return "commit";
    return plan.isStored ? "crash-after" : "crash-before";
  }

  #crashed(): void {
    const downMs = this.#crashPlan?.downMs ?? 0;
    this.#crashPlan = undefined;
    this.#process = undefined;
    this.crashes++;
    this.trace.note(this.nowMs, "plane", "crashes", "");
    for (const link of this.#links) link.breakStreams();
    this.#startLater(downMs);
  }

  /** As a supervisor does: a process that does not start is started again. */
  #startLater(delayMs: number): void {
    this.loop.schedule(delayMs, () => {
      this.trace.note(this.nowMs, "plane", "starts", "");
      this.#startProcess().catch((error: unknown) => {
        this.trace.note(this.nowMs, "plane", "does not start", String(error));
        this.#startLater(5000);
      });
    });
  }

  #transportTo(server: string, owner: ControlPlaneProcess) {
    const named = new URL(server).hostname.split(".", 1)[0] as string;
    const name = this.#defect?.route?.(named, [...this.clusters.keys()]) ?? named;
    const target = this.clusters.get(name);
    if (target === undefined) throw new Error(`no cluster is at ${server}`);
    const { transport, generation } = target.cluster;
    const thin = withThinOpenApi(transport, generation);
    return owner.owns(this.#link(name)).wrap(thin);
  }

  /** The control plane as other processes reach it: whichever process it is at the moment. */
  #transportToPlane({ token }: AgentIdentity): Transport {
    return {
      send: async (request) => {
        const process = this.#process;
        if (process === undefined) throw new TransportError("connect", "connection refused");
        const sent = process.transportWith(token).send(request);
        const response = await Promise.race([sent, process.ended]);
        if (response !== undefined) return response;
        throw new TransportError("connection-lost", "the connection broke");
      },
      close: async () => {},
    };
  }

  #link(name: string): SimulatedLink {
    const link = new SimulatedLink({
      name,
      loop: this.loop,
      random: this.#random.fork(),
      onSent: ({ method, path, status }) => {
        this.requests++;
        this.trace.note(this.nowMs, name, `${method} ${path}`, String(status));
        this.onRequest(name, method, path, status);
      },
      onEnd: () => this.#links.delete(link),
    });
    link.quality = this.#quality;
    if (this.isCut(name)) link.cut();
    this.#links.add(link);
    return link;
  }

  #log(name: string): ServerLog {
    const at = (level: string) => (fields: object, message: string) => {
      const { err, ...rest } = fields as { err?: unknown };
      this.trace.log(this.nowMs, `${name} ${level} ${message} ${JSON.stringify(rest)}`, err);
    };
    const levels = { debug: () => {}, info: () => {}, warn: at("warn"), error: at("error") };
    return { ...levels, isDebugEnabled: false };
  }
}
