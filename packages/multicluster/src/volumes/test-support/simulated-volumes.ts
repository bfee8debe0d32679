/**
 * A model of the environment of volume decisions: three clusters that react late, a coordinator
 * that drains and schedules, and a controller that may stop between any two of its writes. Some
 * claims are copied by a hook, which is slow and may respond to requests that no longer exist.
 * Invariants are checked after every step; writes to a volume are counted, so that a start with old
 * data is detected.
 */
import assert from "node:assert/strict";
import type { SeededRandom } from "@kcp-ts/testkit";
import type { ClaimState } from "../claim-machine.ts";
import {
  decideVolumes,
  type VolumeClaim,
  type VolumesDecision,
  type VolumeUser,
} from "../decide-volumes.ts";
import type { VolumeCopyRequest } from "../volume-copies.ts";

const clusters = ["a", "b", "c"] as const;
type Cluster = (typeof clusters)[number];

interface UpstreamClaim {
  readonly name: string;
  readonly isShared: boolean;
  mayDetach: boolean;
  dataCluster: string | undefined;
  assigned: Set<string>;
  openedIn: Set<string>;
  states: Map<string, ClaimState>;
  /** The volume that the claim is to have in a cluster: its name, and its handle. */
  migratedTo: Map<string, { readonly name: string; readonly handle: string }>;
  readonly isCopied: boolean;
  request: VolumeCopyRequest | undefined;
  /** The last result of the hook. */
  answer: { readonly id: string; readonly to: string; readonly handle: string } | undefined;
  version: number;
}

/**
 * How a workload is stopped: Deployments and CronJobs by a spec diff, Pods by deletion, Jobs not at
 * all.
 */
const stops = ["diff", "removal", "end"] as const;
type Stop = (typeof stops)[number];

interface UpstreamCopy {
  readonly workload: string;
  readonly stop: Stop;
  readonly cluster: Cluster;
  replicas: number;
  migrationSource: string | undefined;
  isVolumeGateOpen: boolean;
  isFenced: boolean;
  /**
   * The last report of the cluster: the running Pods, and whether it is about the current fence.
   */
  running: number;
  saidOf: "fence" | "freedom" | undefined;
  /** A copy is, or may be, in the cluster. */
  isDisruptionBlocked: boolean;
  hasEnded: boolean;
}

/** The real state of a cluster. */
class PhysicalCluster {
  readonly copies = new Map<string, { replicas: number; running: number; hasEnded?: boolean }>();
  readonly claims = new Map<string, string | undefined>();
  readonly attached = new Set<string>();
}

export class SimulatedVolumes {
  readonly history: string[] = [];
  readonly #random: SeededRandom;
  readonly #claims: UpstreamClaim[];
  readonly #workloads: readonly string[];
  readonly #stops = new Map<string, Stop>();
  readonly #ties = new Map<string, string | undefined>();
  readonly #parts: UpstreamCopy[] = [];
  readonly #physical = new Map(clusters.map((name) => [name, new PhysicalCluster()]));
  readonly #reported = new Map<string, { bound: Map<string, string>; attached: Set<string> }>();
  readonly #drained = new Set<string>();
  readonly #lost = new Set<string>();
  #handles = 0;
  /** By handle: the number of writes to the volume. By claim: the number of writes in total. */
  readonly #written = new Map<string, number>();
  readonly #newest = new Map<string, number>();
  /** Copies that the hook is about to report. */
  readonly #copying: { claim: UpstreamClaim; request: VolumeCopyRequest; handle: string }[] = [];

  constructor(random: SeededRandom) {
    this.#random = random;
    this.#workloads = random.chance(0.3) ? ["web", "log"] : ["web"];
    for (const workload of this.#workloads) {
      const isOther = random.chance(0.5);
      this.#stops.set(workload, isOther ? (stops[random.integer(stops.length)] as Stop) : "diff");
    }
    const names = random.chance(0.4) ? ["data", "more"] : ["data"];
    this.#claims = names.map((name) => ({
      name,
      isShared: random.chance(0.4),
      mayDetach: random.chance(0.7),
      dataCluster: undefined,
      assigned: new Set(),
      openedIn: new Set(),
      states: new Map(),
      migratedTo: new Map(),
      isCopied: random.chance(0.4),
      request: undefined,
      answer: undefined,
      version: 0,
    }));
  }

  step(): void {
    const { chance } = { chance: (share: number) => this.#random.chance(share) };
    const cluster = clusters[this.#random.integer(clusters.length)] as Cluster;
    const pick = this.#random.integer(12);
    if (pick < 3) this.#control(chance(0.2));
    else if (pick < 5) this.#coordinate();
    else if (pick < 8) this.#sync(cluster);
    else if (pick < 10) this.#live(cluster);
    else if (pick === 10) this.#toggle(this.#drained, cluster, "drain");
    else if (chance(0.3)) this.#toggle(this.#lost, cluster, "loss");
    else if (chance(0.7)) this.#hook();
    else this.#changeMind();
    this.#check();
  }

  /** Without further failures, the state converges, and all permitted workloads run. */
  runUntilStable(): void {
    this.#lost.clear();
    this.#drained.clear();
    this.history.push("settle");
    for (let round = 0; round < 60; round++) {
      this.#control(false);
      this.#coordinate();
      this.#hook();
      for (const cluster of clusters) {
        this.#sync(cluster);
        this.#live(cluster);
        this.#check();
      }
    }
    for (const workload of this.#workloads) {
      const own = this.#parts.filter((copy) => copy.workload === workload);
      const running = own.reduce((sum, copy) => sum + copy.running, 0);
      assert.ok(
        running >= 1 || own.some(({ hasEnded }) => hasEnded),
        `${workload} does not run: ${JSON.stringify(this.#parts)}`,
      );
    }
  }

  /**
   * Makes requested copies, immediately or later, and may report them when they are no longer
   * requested.
   */
  #hook(): void {
    for (const claim of this.#claims) {
      const { request } = claim;
      const isBegun = this.#copying.some((one) => one.request.id === request?.id);
      if (request === undefined || isBegun || claim.answer?.id === request.id) continue;
      const source = this.#inside(request.from as Cluster).claims.get(claim.name);
      if (source === undefined) continue;
      const handle = `${claim.name}-${++this.#handles}`;
      this.#written.set(handle, this.#written.get(source) ?? 0);
      this.#copying.push({ claim, request, handle });
      this.history.push(`hook copies ${source} to ${handle} for ${request.to}`);
    }
    if (this.#random.chance(0.4)) return;
    const told = this.#copying.shift();
    if (told === undefined) return;
    const { claim, request, handle } = told;
    claim.answer = { id: request.id, to: request.to, handle };
    this.history.push(`hook tells of ${handle}`);
  }

  #toggle(set: Set<string>, cluster: string, what: string): void {
    if (set.delete(cluster)) this.history.push(`${what} of ${cluster} ends`);
    else {
      set.add(cluster);
      this.history.push(`${what} of ${cluster}`);
    }
  }

  #changeMind(): void {
    const claim = this.#claims[this.#random.integer(this.#claims.length)];
    if (claim === undefined) return;
    claim.mayDetach = !claim.mayDetach;
    this.history.push(`${claim.name} may detach: ${claim.mayDetach}`);
  }

  /**
   * The relevant part of the coordinator: one cluster for pinned workloads, two for others; make
   * before break.
   */
  #coordinate(): void {
    for (const workload of this.#workloads) {
      const stop = this.#stops.get(workload) as Stop;
      const own = this.#parts.filter((copy) => copy.workload === workload);
      if (own.some(({ hasEnded }) => hasEnded)) continue;
      const open = clusters.filter((one) => !this.#drained.has(one) && !this.#lost.has(one));
      const tie = this.#ties.get(workload);
      let wanted: readonly string[] = open.slice(0, 2);
      let takeover: string | undefined;
      if (tie !== undefined) {
        takeover =
          this.#drained.has(tie) && !this.#lost.has(tie)
            ? (own.find((copy) => copy.migrationSource === tie && open.includes(copy.cluster))
                ?.cluster ?? open.find((one) => one !== tie))
            : undefined;
        wanted = [takeover ?? tie];
      }
      const isBegun = stop === "end" && own.some(({ isVolumeGateOpen }) => isVolumeGateOpen);
      for (const cluster of wanted as Cluster[]) {
        if (isBegun && !own.some((copy) => copy.cluster === cluster)) continue;
        const migrationSource = cluster === takeover ? tie : undefined;
        const found = own.find((copy) => copy.cluster === cluster);
        if (found !== undefined) {
          found.migrationSource = migrationSource;
          found.replicas = 1;
        } else if (!this.#lost.has(cluster)) {
          this.#parts.push({
            workload,
            stop,
            cluster,
            replicas: 1,
            migrationSource,
            isVolumeGateOpen: false,
            isFenced: false,
            running: 0,
            saidOf: undefined,
            isDisruptionBlocked: false,
            hasEnded: false,
          });
        }
      }
      const isEnough = own.some((copy) => wanted.includes(copy.cluster) && copy.running > 0);
      for (const copy of own) {
        if (wanted.includes(copy.cluster)) continue;
        copy.migrationSource = undefined;
        // A started Job completes in its cluster; other Jobs start where their volumes are.
        if (stop === "end") {
          const isThere = copy.isVolumeGateOpen || copy.isDisruptionBlocked;
          if (!isThere && tie !== undefined) this.#parts.splice(this.#parts.indexOf(copy), 1);
          continue;
        }
        if (!isEnough || this.#lost.has(copy.cluster)) continue;
        // The finalizer holds the copy until the cluster reports its deletion.
        copy.replicas = 0;
        if (copy.running === 0 && !this.#inside(copy.cluster).copies.has(workload))
          this.#parts.splice(this.#parts.indexOf(copy), 1);
      }
    }
  }

  #control(dies: boolean): void {
    const visibilityOf = (name: string) =>
      this.#lost.has(name) ? ("Unreachable" as const) : ("Reachable" as const);
    const copies = new Map<VolumeUser, UpstreamCopy>();
    for (const copy of this.#parts) {
      if (copy.hasEnded) continue;
      const { workload, cluster, replicas, migrationSource, isFenced } = copy;
      const isStopped = isStoppedPart(copy);
      const isVolumeGateOpen = copy.isVolumeGateOpen && !(copy.stop === "removal" && isStopped);
      const seen = {
        endsByItself: copy.stop === "end",
        workload,
        cluster,
        replicas,
        migrationSource,
        isVolumeGateOpen,
        isFenced,
        isStopped,
        isDeleting: false,
      };
      copies.set(seen, copy);
    }
    const decision = decideVolumes({
      claims: this.#claims.map((claim) => this.#seen(claim)),
      users: [...copies.keys()],
      visibilityOf,
    });
    const writes = this.#writes(decision, copies);
    const most = dies ? this.#random.integer(writes.length + 1) : writes.length;
    this.history.push(`controller: ${summary(decision)}${dies ? `, dies after ${most}` : ""}`);
    for (const write of writes.slice(0, most)) write();
  }

  #writes(
    decision: VolumesDecision,
    copies: ReadonlyMap<VolumeUser, UpstreamCopy>,
  ): readonly (() => void)[] {
    const places = [...decision.claims.values()].flatMap((one) => [...one.clusters.values()]);
    const isRefused = places.some(({ state }) => state === "refused");
    const writes: (() => void)[] = [];
    for (const [seen, part] of copies) {
      const { isFenced } = decision.users.get(seen) ?? assert.fail();
      const isMoving = places.some(({ state }) => state === "fencing" || state === "detaching");
      if (isRefused && isMoving) assert.fail("a refused move stops something");
      if (isRefused && isFenced && !part.isFenced && part.cluster === decision.dataCluster)
        assert.fail(`${part.workload} is stopped in ${part.cluster} for a refused move`);
      if (isFenced && part.stop === "end") continue;
      if (isFenced) writes.push(() => (part.isFenced = true));
    }
    for (const claim of this.#claims) {
      const next = decision.claims.get(claim.name) ?? assert.fail();
      writes.push(() => {
        for (const [cluster, { from, name, isCopy }] of next.migrated) {
          const handle = isCopy ? name : this.#reported.get(from)?.bound.get(claim.name);
          assert.ok(handle !== undefined, `no volume of ${claim.name} in ${from}`);
          claim.migratedTo.set(cluster, { name, handle });
        }
        claim.request = next.request;
        claim.version++;
        claim.dataCluster = next.dataCluster;
        claim.assigned = new Set(next.assigned);
        claim.openedIn = new Set(next.openedIn);
        claim.states = new Map([...next.clusters].map(([name, { state }]) => [name, state]));
        const held = this.#heldOf(claim.name);
        for (const name of claim.migratedTo.keys())
          if (!claim.assigned.has(name) && !held.includes(name)) claim.migratedTo.delete(name);
      });
    }
    for (const workload of this.#workloads)
      writes.push(() => this.#ties.set(workload, decision.dataCluster));
    for (const [seen, part] of copies) {
      const { isFenced, isVolumeGateOpen } = decision.users.get(seen) ?? assert.fail();
      writes.push(() => {
        part.isVolumeGateOpen = isVolumeGateOpen;
        if (!isFenced) part.isFenced = false;
      });
    }
    return writes;
  }

  #seen(claim: UpstreamClaim): VolumeClaim {
    const boundIn = new Set<string>();
    const volumes = new Map<
      string,
      VolumeClaim["volumes"] extends ReadonlyMap<string, infer One> ? One : never
    >();
    for (const [cluster, { bound, attached }] of this.#reported) {
      const handle = bound.get(claim.name);
      if (handle === undefined) continue;
      boundIn.add(cluster);
      volumes.set(cluster, {
        name: handle,
        isRetained: true,
        isPortable: true,
        isAttached: attached.has(handle),
        storage: handle,
      });
    }
    const { name, isShared, dataCluster, mayDetach, states, assigned } = claim;
    const migratedTo = new Map([...claim.migratedTo].map(([cluster, one]) => [cluster, one.name]));
    const { request, answer } = claim;
    const known = { states: new Map(states), assigned: new Set(assigned), migratedTo };
    return {
      name,
      isShared,
      dataCluster,
      mayDetach,
      ...known,
      boundIn,
      volumes,
      uid: name,
      version: `${name} ${claim.version}`,
      copier: claim.isCopied ? { by: "hook", name: "copier" } : undefined,
      request,
      copied:
        request !== undefined && answer?.id === request.id && answer.to === request.to
          ? answer.handle
          : undefined,
      heldIn: new Set([...claim.openedIn, ...this.#heldOf(name)]),
    };
  }

  #heldOf(claim: string): readonly string[] {
    return clusters.filter((cluster) => this.#inside(cluster).claims.has(claim));
  }

  /** The syncer of a cluster: syncs the upstream state down, and the cluster's state up. */
  #sync(cluster: Cluster): void {
    if (this.#lost.has(cluster)) return;
    const inside = this.#inside(cluster);
    for (const part of this.#parts.filter((one) => one.cluster === cluster)) {
      const copy = inside.copies.get(part.workload);
      const isMade =
        part.isVolumeGateOpen && part.replicas > 0 && !(part.stop === "removal" && part.isFenced);
      if (copy === undefined && isMade)
        inside.copies.set(part.workload, {
          replicas: part.isFenced ? 0 : part.replicas,
          running: 0,
        });
      else if (copy !== undefined) copy.replicas = part.isFenced ? 0 : part.replicas;
      const now = inside.copies.get(part.workload);
      const isTakenAway = part.stop === "removal" && part.isFenced;
      if ((part.replicas === 0 || isTakenAway) && now?.running === 0)
        inside.copies.delete(part.workload);
      part.running = now?.running ?? 0;
      part.saidOf = now === undefined ? undefined : part.isFenced ? "fence" : "freedom";
      part.isDisruptionBlocked = inside.copies.has(part.workload);
      part.hasEnded = now?.hasEnded === true;
    }
    for (const claim of this.#claims) {
      const isHere = inside.claims.has(claim.name);
      if (!isHere && claim.assigned.has(cluster) && claim.openedIn.has(cluster))
        inside.claims.set(claim.name, claim.migratedTo.get(cluster)?.handle);
      if (isHere && !claim.assigned.has(cluster)) inside.claims.delete(claim.name);
    }
    const bound = new Map<string, string>();
    for (const [name, handle] of inside.claims) if (handle !== undefined) bound.set(name, handle);
    this.#reported.set(cluster, { bound, attached: new Set(inside.attached) });
  }

  /** The cluster itself: provisions, starts, stops, attaches, detaches, one action at a time. */
  #live(cluster: Cluster): void {
    const inside = this.#inside(cluster);
    for (const [name, handle] of inside.claims) {
      if (handle === undefined && this.#random.chance(0.7))
        inside.claims.set(name, `${name}-${++this.#handles}`);
    }
    const handles = [...inside.claims.values()];
    const isComplete = this.#claims.every(({ name }) => inside.claims.get(name) !== undefined);
    for (const [workload, copy] of inside.copies) {
      if (copy.hasEnded) continue;
      if (this.#stops.get(workload) === "end" && copy.running > 0 && this.#random.chance(0.1)) {
        copy.hasEnded = true;
        copy.running = 0;
      } else if (copy.running < copy.replicas && isComplete) {
        copy.running++;
        for (const handle of handles) inside.attached.add(handle as string);
        this.#write(inside);
      } else if (copy.running > copy.replicas) copy.running--;
    }
    const isIdle = [...inside.copies.values()].every(({ running }) => running === 0);
    if (isIdle && this.#random.chance(0.6)) inside.attached.clear();
  }

  /** A workload that starts finds all previous writes, and adds one. */
  #write({ claims }: PhysicalCluster): void {
    for (const { name, isShared } of this.#claims) {
      const handle = claims.get(name) ?? assert.fail();
      const newest = this.#newest.get(name) ?? 0;
      const found = this.#written.get(handle) ?? 0;
      assert.ok(isShared || found === newest, `${handle} has ${found} of ${newest} writes`);
      this.#written.set(handle, newest + 1);
      this.#newest.set(name, newest + 1);
    }
  }

  #inside(cluster: Cluster): PhysicalCluster {
    return this.#physical.get(cluster) as PhysicalCluster;
  }

  #check(): void {
    for (const [cluster, { copies }] of this.#physical) {
      for (const [workload, { replicas, hasEnded }] of copies) {
        const isLeftAlone = this.#stops.get(workload) !== "end" || hasEnded === true;
        assert.ok(
          isLeftAlone || replicas > 0,
          `${workload} is stopped in ${cluster} before its end`,
        );
      }
    }
    for (const { name, isShared, isCopied } of this.#claims) {
      const handles = new Set<string>();
      const attached: string[] = [];
      for (const [cluster, inside] of this.#physical) {
        const handle = inside.claims.get(name);
        if (handle !== undefined) handles.add(handle);
        if ([...inside.attached].some((one) => one.startsWith(`${name}-`))) attached.push(cluster);
      }
      assert.ok(isCopied || handles.size <= 1, `${name} has two volumes: ${[...handles].join()}`);
      const newest = this.#newest.get(name) ?? 0;
      const isKept = [...handles].some((one) => (this.#written.get(one) ?? 0) === newest);
      assert.ok(isKept || newest === 0, `no claim has the newest data of ${name}`);
      const hadOne = this.#handles > 0 && this.#provisioned.has(name);
      if (handles.size > 0) this.#provisioned.add(name);
      assert.ok(!hadOne || handles.size > 0, `${name} is lost`);
      assert.ok(isShared || attached.length <= 1, `${name} is attached in ${attached.join()}`);
    }
  }

  readonly #provisioned = new Set<string>();
}

function isStoppedPart(copy: UpstreamCopy): boolean {
  if (copy.stop === "end") return !copy.isVolumeGateOpen;
  if (copy.stop === "removal") return copy.isFenced && !copy.isDisruptionBlocked;
  return copy.isFenced && copy.saidOf === "fence" && copy.running === 0;
}

function summary({ claims, dataCluster }: VolumesDecision): string {
  const texts = [...claims].map(([name, { dataCluster: home, clusters: places }]) => {
    const states = [...places].map(([cluster, { state }]) => `${cluster} ${state}`);
    return `${name} in ${home ?? "-"} (${states.join(", ")})`;
  });
  return `${texts.join("; ")}, tie ${dataCluster ?? "-"}`;
}
