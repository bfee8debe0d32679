/**
 * What happens in a simulated system: the number of clusters, and a list of steps of users,
 * administrators and faults. A scenario is drawn from a seed before it runs, so that steps can be
 * left out of it.
 */
import { SeededRandom } from "@kcp-ts/testkit";

export type TenantName = "alpha" | "beta";

export type WorkloadKind = "Deployment" | "StatefulSet" | "Job" | "DaemonSet" | "Pod" | "CronJob";

export type Step =
  | {
      readonly do: "create";
      readonly tenant: TenantName;
      readonly kind: WorkloadKind;
      readonly name: string;
      readonly replicas: number;
      readonly isStopBeforeStart?: boolean;
      readonly hasVolume?: boolean;
      /** The label that assigns it to a cluster by hand. */
      readonly pinnedTo?: string;
    }
  | {
      readonly do: "scale";
      readonly tenant: TenantName;
      readonly name: string;
      readonly replicas: number;
    }
  | {
      readonly do: "edit";
      readonly tenant: TenantName;
      readonly name: string;
      /** Pods of the new template never become ready. */
      readonly isBroken?: boolean;
    }
  /** An author sets or removes an annotation that paces moves. */
  | {
      readonly do: "annotate";
      readonly tenant: TenantName;
      readonly name: string;
      readonly annotation: PacingAnnotation;
      readonly value: string | null;
    }
  /** A user scales a per-cluster object, or deletes it. */
  | {
      readonly do: "edit-copy";
      readonly tenant: TenantName;
      readonly name: string;
      readonly cluster: string;
      readonly replicas: number | undefined;
    }
  /** Something in a cluster blocks the disruption of a per-cluster object, or ends that. */
  | {
      readonly do: "block";
      readonly tenant: TenantName;
      readonly name: string;
      readonly cluster: string;
      readonly isBlocked: boolean;
    }
  /** How many Pods the tenant may have in all clusters of its Location. */
  | { readonly do: "limit-location"; readonly tenant: TenantName; readonly pods: number }
  | { readonly do: "delete"; readonly tenant: TenantName; readonly name: string }
  | {
      readonly do: "place";
      readonly tenant: TenantName;
      readonly name: string;
      readonly weights: Readonly<Record<string, number>>;
    }
  | {
      readonly do: "cordon" | "uncordon" | "drain" | "delete-target" | "register" | "narrow";
      readonly tenant: TenantName;
      readonly cluster: string;
    }
  /** A drain of a system at rest, whose plan is compared with what happens. */
  | { readonly do: "planned-drain"; readonly tenant: TenantName; readonly cluster: string }
  | {
      readonly do: "crash-agent";
      readonly tenant: TenantName;
      readonly cluster: string;
      readonly downMs: number;
    }
  | {
      readonly do: "limit";
      readonly tenant: TenantName;
      readonly cluster: string;
      readonly pods: number | undefined;
    }
  /** At most this many Deployments in the namespace, those of single clusters included. */
  | { readonly do: "quota"; readonly tenant: TenantName; readonly deployments: number }
  | { readonly do: "cut"; readonly cluster: string; readonly forMs: number }
  | { readonly do: "lose-pods"; readonly cluster: string }
  | {
      readonly do: "network";
      readonly quality: "perfect" | "slow" | "lossy" | "stale" | "repeating";
    }
  /** The control plane stores nothing for a while. */
  | { readonly do: "disk-full"; readonly forMs: number }
  /** The wall clock of the control plane is set, forwards or back. */
  | { readonly do: "clock-jump"; readonly byMs: number }
  | { readonly do: "break-watches" }
  | {
      readonly do: "crash";
      readonly afterCommits: number;
      readonly isStored: boolean;
      readonly downMs: number;
    }
  /** Runs until every SyncTarget is Ready. */
  | { readonly do: "await-ready" }
  /** Runs until nothing changes. */
  | { readonly do: "settle" };

export type PacingAnnotation =
  | "workload.kcp.io/paused"
  | "workload.kcp.io/max-surge"
  | "workload.kcp.io/max-unavailable";

export interface ScenarioStep {
  readonly waitMs: number;
  readonly step: Step;
}

export interface Scenario {
  readonly seed: number;
  readonly clusters: number;
  /** Whether the second tenant has clusters, too. */
  readonly hasBeta: boolean;
  /** Whether the clusters are yet to be registered. */
  readonly isFresh: boolean;
  /** Whether agents in the clusters sync them (Pull mode), and not the control plane. */
  readonly hasAgents: boolean;
  /** Whether there are Pods and CronJobs, limits of Locations and blocked disruptions. */
  readonly hasMoreKinds: boolean;
  /** How long a Pod takes to end. */
  readonly stopDelayMs: number;
  /** How long nothing may be written when all has settled. */
  readonly stableMs: number;
  readonly steps: readonly ScenarioStep[];
}

const kinds: readonly [WorkloadKind, ...WorkloadKind[]] = [
  "Deployment",
  "Deployment",
  "Deployment",
  "StatefulSet",
  "Job",
  "DaemonSet",
];

export function clusterNames(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `c${at + 1}`);
}

/** The clusters that a tenant registers: both tenants use the first two. */
export function clustersOf(
  tenant: TenantName,
  { clusters, hasBeta }: Pick<Scenario, "clusters" | "hasBeta">,
): string[] {
  if (tenant === "alpha") return clusterNames(clusters);
  return hasBeta ? clusterNames(Math.min(2, clusters)) : [];
}

export function drawScenario(seed: number): Scenario {
  const random = new SeededRandom(seed);
  const clusters = random.pick([2, 2, 2, 2, 3, 3, 3, 4, 5, 8]);
  const size = { clusters, hasBeta: random.chance(0.3) };
  const family = random.next();
  const draft = new ScenarioDraft(random, size);
  // By their last digit, so that the other seeds keep their histories.
  const [hasAgents, hasAuthors] = [seed % 10 === 7, seed % 10 === 3 || seed % 10 === 8];
  const hasMoreKinds = seed % 10 === 2;
  const isFresh = family < 0.03;
  const isFull = !isFresh && family < 0.15;
  if (isFresh) draft.beginFresh();
  else if (isFull) draft.beginFull();
  else draft.begin();
  draft.continue();
  const ofMachine = new SeededRandom(seed ^ 0x6d61_6368);
  addMachineFault(draft.steps, ofMachine);
  if (hasAgents) draft.addAgentFaults(new SeededRandom(seed ^ 0x6167_656e));
  if (hasAuthors) draft.addAuthors(new SeededRandom(seed ^ 0x6175_7468));
  if (hasMoreKinds) draft.addMoreKinds(new SeededRandom(seed ^ 0x6d6f_7265));
  // Without latency, everything of a registration happens at once.
  if (isFresh && ofMachine.chance(0.7))
    draft.steps.unshift({ waitMs: 0, step: { do: "network", quality: "slow" } });
  return {
    seed,
    ...size,
    isFresh,
    hasAgents,
    hasMoreKinds,
    stopDelayMs: random.pick([500, 500, 500, 5000, 400_000]),
    stableMs: random.chance(0.02) ? 3_600_000 : 60_000,
    steps: draft.steps,
  };
}

/** In a quarter of the systems, the machine of the control plane or its network misbehaves. */
function addMachineFault(steps: ScenarioStep[], random: SeededRandom): void {
  const fault = random.next();
  const at = 1 + random.integer(steps.length);
  const waitMs = drawWait(random);
  const forMs = 1000 + random.integer(60_000);
  const byMs = random.integer(7_200_000) - 3_600_000;
  if (fault < 0.08) steps.splice(at, 0, { waitMs, step: { do: "disk-full", forMs } });
  else if (fault < 0.16) steps.splice(at, 0, { waitMs, step: { do: "clock-jump", byMs } });
  else if (fault < 0.25)
    steps.splice(at, 0, { waitMs, step: { do: "network", quality: "repeating" } });
}

interface WorkloadName {
  readonly tenant: TenantName;
  readonly name: string;
}

class ScenarioDraft {
  readonly steps: ScenarioStep[] = [];
  readonly #random: SeededRandom;
  readonly #size: Pick<Scenario, "clusters" | "hasBeta">;
  readonly #names: WorkloadName[] = [];

  constructor(random: SeededRandom, size: Pick<Scenario, "clusters" | "hasBeta">) {
    this.#random = random;
    this.#size = size;
  }

  begin(): void {
    this.#add(this.#create(), 0);
    for (let more = this.#random.integer(3); more > 0; more--)
      this.#add(this.#create(), this.#random.integer(500));
    if (this.#random.chance(0.6)) this.#add({ do: "settle" });
  }

  /** The clusters are registered now, and used when they are Ready. */
  beginFresh(): void {
    for (const tenant of ["alpha", "beta"] as const)
      for (const cluster of clustersOf(tenant, this.#size))
        this.#add({ do: "register", tenant, cluster }, this.#random.integer(100));
    this.#add({ do: "await-ready" }, 0);
    this.#add(this.#create(), 0);
  }

  /** Clusters with limits that are nearly reached, and a control plane that starts anew. */
  beginFull(): void {
    for (const cluster of clustersOf("alpha", this.#size))
      this.#add({ do: "limit", tenant: "alpha", cluster, pods: 2 + this.#random.integer(5) }, 0);
    for (let count = 2 + this.#random.integer(3); count > 0; count--)
      this.#add(this.#create("alpha"), 0);
    this.#add({ do: "settle" });
    this.#add({ do: "network", quality: this.#random.pick(["slow", "stale"]) }, 0);
    this.#add(this.#create("alpha"), this.#random.integer(1000));
    this.#add(this.#crash(), 0);
  }

  continue(): void {
    for (let count = 2 + this.#random.integer(6); count > 0; count--) {
      const workload = this.#random.pick(this.#names as [WorkloadName, ...WorkloadName[]]);
      const tenant = this.#tenant(0.3);
      const cluster = this.#cluster(tenant);
      const drawn = this.#draw({ tenant, cluster, workload });
      if (drawn.do === "drain" && this.#random.chance(0.5)) {
        this.#add({ ...drawn, do: "planned-drain" });
        continue;
      }
      this.#add(drawn);
      if (this.#random.chance(0.3)) this.#add({ do: "settle" });
    }
  }

  /** Agents crash, and clusters lose the control plane for longer than the leases of agents. */
  addAgentFaults(random: SeededRandom): void {
    for (let count = 1 + random.integer(3); count > 0; count--) {
      const tenant = this.#size.hasBeta && random.chance(0.3) ? "beta" : "alpha";
      const names = clustersOf(tenant, this.#size) as [string, ...string[]];
      const cluster = random.pick(names);
      const crash = { do: "crash-agent", tenant, cluster, downMs: random.integer(60_000) } as const;
      const cut = { do: "cut", cluster, forMs: 30_000 + random.integer(300_000) } as const;
      this.#insert(random, random.chance(0.6) ? crash : cut);
    }
  }

  /** Authors pause and pace moves and write templates that fail; users edit per-cluster objects. */
  addAuthors(random: SeededRandom): void {
    for (let count = 2 + random.integer(5); count > 0; count--) {
      const { tenant, name } = random.pick(this.#names as [WorkloadName, ...WorkloadName[]]);
      const clusters = clustersOf(tenant, this.#size) as [string, ...string[]];
      const cluster = random.pick(clusters);
      const replicas = random.chance(0.5) ? random.integer(9) : undefined;
      const paused = random.chance(0.7) ? "true" : null;
      const surge = random.pick(["0", "1", "25%"]);
      const draws: readonly Step[] = [
        { do: "annotate", tenant, name, annotation: "workload.kcp.io/paused", value: paused },
        { do: "annotate", tenant, name, annotation: "workload.kcp.io/max-surge", value: surge },
        { do: "edit", tenant, name, isBroken: true },
        { do: "edit", tenant, name },
        { do: "edit-copy", tenant, name, cluster, replicas },
      ];
      this.#insert(random, random.pick(draws as [Step, ...Step[]]));
    }
  }

  /** Pods and CronJobs, a limit over all clusters from the start, and blocked disruptions. */
  addMoreKinds(random: SeededRandom): void {
    const tenant = "alpha";
    const pods = () => 2 + random.integer(14);
    const isLimited = random.chance(0.6);
    for (const kind of ["Pod", "CronJob"] as const) {
      if (random.chance(0.3)) continue;
      const name = kind.toLowerCase();
      const isStopBeforeStart = kind === "CronJob" && random.chance(0.5);
      this.#insert(random, { do: "create", tenant, kind, name, replicas: 1, isStopBeforeStart });
    }
    for (let count = 2 + random.integer(5); count > 0; count--) {
      const { tenant: of, name } = random.pick(this.#names as [WorkloadName, ...WorkloadName[]]);
      const cluster = random.pick(clustersOf(of, this.#size) as [string, ...string[]]);
      const annotation = "workload.kcp.io/max-unavailable";
      const value = random.pick(["1", "30%"]);
      const draws: readonly Step[] = [
        { do: "annotate", tenant: of, name, annotation, value },
        { do: "drain", tenant: of, cluster },
        ...(isLimited ? [{ do: "limit-location", tenant, pods: pods() } as const] : []),
      ];
      this.#insert(random, random.pick(draws as [Step, ...Step[]]));
    }
    if (random.chance(0.7)) this.#addBlockedDrain(random);
    if (isLimited) this.#begin({ do: "limit-location", tenant, pods: pods() });
  }

  /** A cluster is drained while the disruption of one of its Deployments is blocked. */
  #addBlockedDrain(random: SeededRandom): void {
    const [first, ...others] = this.steps.flatMap(({ step }, at) =>
      step.do === "create" && step.kind === "Deployment" ? [{ ...step, at }] : [],
    );
    if (first === undefined) return;
    const { tenant, name, at } = random.pick([first, ...others]);
    const cluster = random.pick(clustersOf(tenant, this.#size) as [string, ...string[]]);
    const block = { do: "block", tenant, name, cluster } as const;
    this.steps.splice(
      at + 1,
      0,
      { waitMs: 5000 + random.integer(15_000), step: { ...block, isBlocked: true } },
      { waitMs: random.integer(2000), step: { do: "drain", tenant, cluster } },
    );
    this.#insert(random, { ...block, isBlocked: false });
  }

  /** Before the first workload is created. */
  #begin(step: Step): void {
    const first = this.steps.findIndex((one) => one.step.do === "create");
    this.steps.splice(first, 0, { waitMs: 0, step });
  }

  /** After the first workload is created. */
  #insert(random: SeededRandom, step: Step): void {
    const first = this.steps.findIndex((one) => one.step.do === "create") + 1;
    const at = first + random.integer(this.steps.length - first + 1);
    this.steps.splice(at, 0, { waitMs: drawWait(random), step });
  }

  #add(step: Step, waitMs = drawWait(this.#random)): void {
    this.steps.push({ waitMs, step });
  }

  #tenant(shareOfBeta: number): TenantName {
    return this.#size.hasBeta && this.#random.chance(shareOfBeta) ? "beta" : "alpha";
  }

  #cluster(tenant: TenantName): string {
    return this.#random.pick(clustersOf(tenant, this.#size) as [string, ...string[]]);
  }

  #create(tenant = this.#tenant(0.4)): Step {
    const random = this.#random;
    const name = `w${this.#names.length + 1}`;
    const kind = random.pick(kinds);
    this.#names.push({ tenant, name });
    const more = {
      ...(kind === "Deployment" && random.chance(0.25) ? { isStopBeforeStart: true } : {}),
      ...(kind === "StatefulSet" && random.chance(0.5) ? { hasVolume: true } : {}),
      ...(kind === "Deployment" && random.chance(0.08) ? { pinnedTo: this.#cluster(tenant) } : {}),
    };
    const replicas = more.isStopBeforeStart || kind === "DaemonSet" ? 1 : 1 + random.integer(6);
    return { do: "create", tenant, kind, name, replicas, ...more };
  }

  #crash(): Step {
    const random = this.#random;
    return {
      do: "crash",
      afterCommits: random.integer(30),
      isStored: random.chance(0.5),
      downMs: random.integer(10_000),
    };
  }

  #draw(of: {
    readonly tenant: TenantName;
    readonly cluster: string;
    readonly workload: WorkloadName;
  }): Step {
    const random = this.#random;
    const { tenant, cluster, workload } = of;
    const target = { tenant, cluster };
    const draws: readonly [number, () => Step][] = [
      [10, () => this.#create()],
      [12, () => ({ do: "scale", ...workload, replicas: 1 + random.integer(8) })],
      [6, () => ({ do: "edit", ...workload })],
      [5, () => ({ do: "delete", ...workload })],
      [4, () => ({ do: "place", ...workload, weights: { [cluster]: random.integer(4) } })],
      [4, () => ({ do: "cordon", ...target })],
      [5, () => ({ do: "uncordon", ...target })],
      [12, () => ({ do: "drain", ...target })],
      [6, () => ({ do: "delete-target", ...target })],
      [6, () => ({ do: "register", ...target })],
      [2, () => ({ do: "narrow", ...target })],
      [8, () => ({ do: "limit", ...target, pods: this.#limit() })],
      [3, () => ({ do: "quota", tenant, deployments: 1 + random.integer(4) })],
      [8, () => ({ do: "cut", cluster, forMs: 1000 + random.integer(150_000) })],
      [4, () => ({ do: "lose-pods", cluster })],
      [6, () => ({ do: "network", quality: random.pick(["perfect", "slow", "lossy", "stale"]) })],
      [3, () => ({ do: "break-watches" })],
      [12, () => this.#crash()],
    ];
    const total = draws.reduce((sum, [weight]) => sum + weight, 0);
    let at = random.integer(total);
    for (const [weight, draw] of draws) {
      if (at < weight) return draw();
      at -= weight;
    }
    throw new Error("the weights do not add up");
  }

  #limit(): number | undefined {
    return this.#random.chance(0.8) ? this.#random.integer(8) : undefined;
  }
}

function drawWait(random: SeededRandom): number {
  return random.chance(0.5) ? random.integer(2000) : random.integer(30_000);
}

export function describeStep({ waitMs, step }: ScenarioStep): string {
  const { do: what, ...rest } = step;
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `+${waitMs} ms ${what} ${fields.join(" ")}`;
}
