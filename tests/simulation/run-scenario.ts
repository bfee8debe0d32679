/** Plays a scenario in a system, and checks the laws: at every moment, and when it has settled. */
import { locations, placements, syncTargets } from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import { pods, resourceQuotas } from "@kcp-ts/sdk/kinds";
import {
  baseImage,
  createNamespaces,
  namespace,
  syncTargetOf,
  tenants,
  untilReady,
} from "./base-image.ts";
import { converge } from "./converge.ts";
import { BrokenLaw, StepLaws } from "./laws.ts";
import { editedAtAnnotation, manifestOf, resourceOfKind } from "./manifests.ts";
import { Model, type WantedWorkload, workloadKey } from "./model.ts";
import { PauseLaw } from "./pause-law.ts";
import { checkDrain, expectDrain } from "./plans.ts";
import type { PlantedDefect } from "./planted-defects.ts";
import { ReplicaHistory } from "./replica-history.ts";
import { checkRestLaws, checkStable } from "./rest-laws.ts";
import { clusterNames, clustersOf, type Scenario, type Step, type TenantName } from "./scenario.ts";
import { type LinkQuality, perfectQuality } from "./simulated-network.ts";
import { SimulatedSystem } from "./simulated-system.ts";
import type { Trace } from "./trace.ts";

const qualities: Readonly<Record<string, LinkQuality>> = {
  perfect: perfectQuality,
  slow: { ...perfectQuality, latencyMs: 100, eventLatencyMs: 200 },
  lossy: {
    ...perfectQuality,
    latencyMs: 20,
    eventLatencyMs: 50,
    lossBefore: 0.05,
    lossAfter: 0.05,
    twice: 0.05,
  },
  repeating: { ...perfectQuality, latencyMs: 10, eventLatencyMs: 50, twice: 0.2, eventTwice: 0.5 },
  stale: { ...perfectQuality, latencyMs: 10, eventLatencyMs: 3000 },
};

/** A system that writes nothing for this long is at rest between two steps. */
const pauseMs = 15_000;
/** Longer than every grace period of the program. */
const graceMsMax = 75_000;

export interface ScenarioResult {
  readonly broken: BrokenLaw | undefined;
  readonly digest: string;
  readonly simulatedMs: number;
  readonly requests: number;
  readonly commits: number;
}

export async function runScenario(
  scenario: Scenario,
  trace: Trace,
  defect?: PlantedDefect,
): Promise<ScenarioResult> {
  const { seed, stopDelayMs, isFresh, hasMoreKinds } = scenario;
  const image = isFresh ? undefined : await baseImage(scenario);
  const clusters = clusterNames(scenario.clusters);
  const how = { stopDelayMs, defect, hasMoreKinds };
  const system = await SimulatedSystem.start({ seed, trace, clusters, image, ...how });
  if (isFresh) await createNamespaces(system);
  const run = new ScenarioRun(system, scenario);
  let broken: BrokenLaw | undefined;
  try {
    await run.play();
  } catch (error) {
    if (!(error instanceof BrokenLaw)) throw error;
    broken = error;
  } finally {
    await system.end();
  }
  return {
    broken,
    digest: trace.digest,
    simulatedMs: system.nowMs - (image?.atMs ?? 0),
    requests: system.requests,
    commits: system.writes.length,
  };
}

class ScenarioRun {
  readonly #system: SimulatedSystem;
  readonly #scenario: Scenario;
  readonly #model = new Model();
  readonly #laws: StepLaws;
  readonly #history: ReplicaHistory;
  readonly #blocks: Omit<Extract<Step, { readonly do: "block" }>, "do" | "isBlocked">[] = [];
  #broken: unknown;
  /** Whether the next request is the first after the clusters became Ready. */
  #isFirstUse = false;

  constructor(system: SimulatedSystem, scenario: Scenario) {
    this.#system = system;
    this.#scenario = scenario;
    this.#laws = new StepLaws(system, this.#model);
    this.#history = new ReplicaHistory(system);
    for (const tenant of scenario.isFresh ? [] : tenants)
      for (const cluster of clustersOf(tenant, scenario)) this.#model.register(tenant, cluster);
    new PauseLaw(system, this.#model, (error) => {
      this.#broken ??= error;
    });
    system.onClusterChange = () => this.#check();
  }

  async play(): Promise<void> {
    const system = this.#system;
    if (this.#scenario.hasAgents)
      for (const { tenant, cluster } of this.#model.targets.values())
        await system.loop.until(system.startAgent(tenant, cluster));
    await system.loop.run(1000);
    for (const { waitMs, step } of this.#scenario.steps) {
      await system.loop.runUntil(waitMs, () => this.#broken !== undefined);
      this.#throwIfBroken();
      system.trace.note(system.nowMs, "step", JSON.stringify(step), "");
      await this.#take(step);
      this.#throwIfBroken();
    }
    system.heal();
    await this.#resume();
    await this.#converge(graceMsMax);
    await checkRestLaws(system, this.#model, this.#history);
    await checkStable(system, this.#scenario.stableMs);
    this.#throwIfBroken();
  }

  /** Authors end pauses, and mend templates that fail; nothing blocks disruptions any more. */
  async #resume(): Promise<void> {
    for (const block of this.#blocks)
      await this.#request({ do: "block", ...block, isBlocked: false });
    for (const { tenant, name, isBroken, pausedSinceMs } of [...this.#model.workloads.values()]) {
      const annotation = "workload.kcp.io/paused";
      if (pausedSinceMs !== undefined)
        await this.#request({ do: "annotate", tenant, name, annotation, value: null });
      if (isBroken) await this.#request({ do: "edit", tenant, name });
    }
  }

  #check(): void {
    if (this.#broken !== undefined) return;
    try {
      this.#laws.check();
    } catch (error) {
      this.#broken = error;
      if (error instanceof BrokenLaw)
        this.#system.trace.note(this.#system.nowMs, "law", error.law, error.message);
    }
  }

  #throwIfBroken(): void {
    if (this.#broken !== undefined) throw this.#broken;
  }

  async #converge(quietMs: number): Promise<void> {
    const isOver = () => this.#broken !== undefined;
    await converge(this.#system, quietMs, isOver);
    this.#throwIfBroken();
    // A Pod that takes long to end writes nothing meanwhile.
    while (quietMs >= graceMsMax && this.#system.hasTerminatingPods()) {
      await this.#system.loop.runUntil(graceMsMax, isOver);
      await converge(this.#system, quietMs, isOver);
      this.#throwIfBroken();
    }
    if (quietMs < graceMsMax) return;
    for (const workload of this.#model.workloads.values()) workload.isRollingOut = false;
  }

  async #take(step: Step): Promise<void> {
    const system = this.#system;
    switch (step.do) {
      case "settle":
        await this.#converge(pauseMs);
        break;
      case "planned-drain":
        await this.#drainAsPlanned(step);
        break;
      case "await-ready":
        await untilReady(system, [...this.#model.targets.values()]);
        this.#isFirstUse = true;
        break;
      case "cut":
        system.cut(step.cluster, step.forMs);
        this.#laws.unblock((_tenant, _name, cluster) => cluster === step.cluster);
        break;
      case "network":
        system.setQuality(this.#qualityOf(step.quality));
        break;
      case "break-watches":
        system.breakWatches();
        break;
      case "disk-full":
        system.fillDisk(step.forMs);
        break;
      case "clock-jump":
        system.jumpClock(step.byMs);
        break;
      case "crash":
        system.planCrash(step);
        break;
      case "crash-agent":
        system.crashAgent(step.tenant, step.cluster, step.downMs);
        break;
      case "lose-pods":
        await this.#losePods(step.cluster);
        break;
      default:
        await this.#request(step);
    }
  }

  /** Agents promise a renewal every two seconds: they count as lost when their events come late. */
  #qualityOf(name: string): LinkQuality {
    const quality = qualities[name] ?? perfectQuality;
    const { hasAgents } = this.#scenario;
    const eventLatencyMs = Math.min(quality.eventLatencyMs, hasAgents ? 200 : Infinity);
    return { ...quality, eventLatencyMs };
  }

  async #drainAsPlanned({
    tenant,
    cluster,
  }: Extract<Step, { readonly do: "planned-drain" }>): Promise<void> {
    const system = this.#system;
    system.heal();
    await this.#converge(graceMsMax);
    const expected = await expectDrain(system, this.#model, { tenant, cluster });
    await this.#request({ do: "drain", tenant, cluster });
    await this.#converge(graceMsMax);
    if (expected !== undefined) checkDrain(system, expected);
  }

  async #losePods(cluster: string): Promise<void> {
    const { cluster: simulated, observer } = this.#system.clusters.get(cluster) ?? {};
    if (simulated === undefined || observer === undefined) return;
    this.#laws.isLosing = true;
    const { items } = await this.#system.loop.until(simulated.client.resource(pods).list());
    for (const pod of items) {
      const { name, namespace: of = "" } = pod.metadata;
      const gone = simulated.client
        .resource(pods)
        .delete({ name, namespace: of })
        .catch(() => {});
      await this.#system.loop.until(gone);
    }
    for (const workload of this.#model.workloads.values()) workload.floor = 0;
    this.#laws.isLosing = false;
  }

  async #request(
    step: Exclude<
      Step,
      {
        readonly do:
          | "settle"
          | "cut"
          | "network"
          | "break-watches"
          | "disk-full"
          | "clock-jump"
          | "crash"
          | "crash-agent"
          | "lose-pods"
          | "planned-drain"
          | "await-ready";
      }
    >,
  ): Promise<void> {
    const { tenant } = step;
    // A user asks again when the disk that was full has room.
    while (this.#system.isDiskFull) await this.#system.loop.run(1000);
    // The wish counts from its request on: a response may be lost.
    this.#wish(step);
    const answer = await this.#system.askNow(tenant, async (client) => {
      await this.#send(step, client);
      return "accepted" as const;
    });
    if (this.#isFirstUse && answer === undefined)
      throw new BrokenLaw(
        "Ready means usable",
        `every SyncTarget is Ready, and the control plane refuses to ${step.do} a workload`,
      );
    this.#isFirstUse = false;
    if (step.do === "register" && this.#scenario.hasAgents)
      await this.#system.loop.until(this.#system.startAgent(tenant, step.cluster));
  }

  #unblock(of: { readonly tenant: string; readonly name: string }): void {
    this.#laws.unblock((tenant, name) => tenant === of.tenant && name === of.name);
  }

  #wish(step: Step): void {
    const model = this.#model;
    switch (step.do) {
      case "scale": {
        const workload = model.workload(step.tenant, step.name);
        if (workload === undefined) return;
        this.#unblock(step);
        if (workload.kind === "Deployment" || workload.kind === "StatefulSet") {
          workload.replicas = step.replicas;
          workload.floor = Math.min(workload.floor, step.replicas);
        }
        break;
      }
      case "edit": {
        const workload = model.workload(step.tenant, step.name);
        if (workload === undefined) return;
        // By default a quarter may be unavailable, in all clusters together.
        const { floor, replicas } = workload;
        workload.isRollingOut = true;
        workload.floor = Math.min(floor, replicas - Math.floor(replicas / 4));
        break;
      }
      case "annotate": {
        const workload = model.workload(step.tenant, step.name);
        if (workload !== undefined && isPause(step) && step.value === null)
          workload.pausedSinceMs = undefined;
        if (workload !== undefined && step.annotation === "workload.kcp.io/max-unavailable")
          workload.unavailableMax = Math.max(
            workload.unavailableMax,
            Math.ceil(workload.replicas / 3),
          );
        break;
      }
      case "edit-copy": {
        const workload = model.workload(step.tenant, step.name);
        if (workload === undefined) return;
        // What a user takes away comes back, and nothing is said of when.
        workload.isRollingOut = true;
        workload.floor = 0;
        this.#unblock(step);
        break;
      }
      case "block":
        if (!step.isBlocked) this.#unblock(step);
        break;
      case "delete": {
        this.#unblock(step);
        model.workloads.delete(workloadKey(step.tenant, step.name));
        model.deletedWorkloads.add(workloadKey(step.tenant, step.name));
        break;
      }
      case "limit":
        this.#laws.forgetLimit(step.tenant, step.cluster);
        break;
    }
  }

  async #send(step: Step, client: Client): Promise<void> {
    const model = this.#model;
    switch (step.do) {
      case "create": {
        const { tenant, name, kind, replicas } = step;
        const resource = client.resource(resourceOfKind[kind]);
        if ((await resource.find({ name, namespace })) === undefined)
          await resource.create(manifestOf(step));
        model.workloads.set(workloadKey(tenant, name), {
          tenant,
          name,
          kind,
          replicas,
          isStopBeforeStart: step.isStopBeforeStart === true,
          hasVolume: step.hasVolume === true,
          pinnedTo: step.pinnedTo,
          floor: 0,
          isRollingOut: false,
          isBroken: false,
          pausedSinceMs: undefined,
          unavailableMax: 0,
        });
        break;
      }
      case "scale": {
        const workload = model.workload(step.tenant, step.name);
        if (workload?.kind !== "Deployment" && workload?.kind !== "StatefulSet") return;
        await this.#patchWorkload(client, step, { spec: { replicas: step.replicas } });
        break;
      }
      case "edit":
        await this.#edit(step, client);
        break;
      case "delete": {
        for (const resource of Object.values(resourceOfKind)) {
          const target = { name: step.name, namespace };
          if ((await client.resource(resource).find(target)) === undefined) continue;
          const propagationPolicy = "Background";
          await client.resource(resource).delete(target, { propagationPolicy });
        }
        break;
      }
      case "annotate": {
        const { annotation, value } = step;
        const workload = model.workload(step.tenant, step.name);
        if (workload === undefined || !isPaced(workload)) return;
        await this.#patchWorkload(client, step, {
          metadata: { annotations: { [annotation]: value } },
        });
        if (isPause(step) && value === "true") workload.pausedSinceMs ??= this.#system.nowMs;
        break;
      }
      case "edit-copy":
        await this.#editCopy(step, client);
        break;
      case "block":
        await this.#block(step, client);
        break;
      case "place":
      case "quota":
      case "limit-location":
        await this.#sendPolicy(step, client);
        break;
      default:
        await this.#sendToTarget(step as never, client);
    }
  }

  async #edit(step: Extract<Step, { readonly do: "edit" }>, client: Client): Promise<void> {
    const workload = this.#model.workload(step.tenant, step.name);
    if (workload === undefined || !isPaced(workload)) return;
    const isBroken = step.isBroken === true;
    // A StatefulSet keeps a Pod that fails, whatever its template says then.
    if (isBroken && workload.kind !== "Deployment") return;
    const readiness = isBroken ? "false" : null;
    const annotations = {
      [editedAtAnnotation]: String(this.#system.nowMs),
      ...(isBroken || workload.isBroken ? { "sim.kcp.io/ready": readiness } : {}),
    };
    workload.isBroken = isBroken;
    await this.#patchWorkload(client, step, { spec: { template: { metadata: { annotations } } } });
  }

  async #editCopy(
    { tenant, name, cluster, replicas }: Extract<Step, { readonly do: "edit-copy" }>,
    client: Client,
  ): Promise<void> {
    const workload = this.#model.workload(tenant, name);
    if (workload?.kind !== "Deployment" || workload.isStopBeforeStart) return;
    const resource = client.resource(resourceOfKind.Deployment);
    const copy = { name: `${name}--${cluster}`, namespace };
    if (replicas === undefined) await resource.delete(copy);
    else await resource.patch(copy, { type: "merge", patch: { spec: { replicas } } as never });
  }

  /** As a controller in the cluster does, by the annotation that every such controller may set. */
  async #block(
    { tenant, name, cluster, isBlocked }: Extract<Step, { readonly do: "block" }>,
    client: Client,
  ): Promise<void> {
    if (isBlocked && this.#model.workload(tenant, name)?.kind !== "Deployment") return;
    const value = isBlocked ? "traffic" : null;
    const annotations = { [`finalizers.workload.kcp.io/${cluster}`]: value };
    const copy = { name: `${name}--${cluster}`, namespace };
    const { metadata, spec } = (await client
      .resource(resourceOfKind.Deployment)
      .patch(copy, { type: "merge", patch: { metadata: { annotations } } as never })) as {
      readonly metadata: { readonly deletionTimestamp?: string };
      readonly spec?: { readonly replicas?: number };
    };
    if (!isBlocked || metadata.deletionTimestamp !== undefined) return;
    this.#blocks.push({ tenant, name, cluster });
    this.#laws.block(tenant, name, cluster, spec?.replicas ?? 0);
  }

  async #sendPolicy(
    step: Extract<Step, { readonly do: "place" | "quota" | "limit-location" }>,
    client: Client,
  ): Promise<void> {
    if (step.do === "limit-location") {
      const { tenant, pods } = step;
      const patch = { spec: { resourceLimits: { pods } } } as never;
      await client.resource(locations).patch({ name: "default" }, { type: "merge", patch });
      const { podsMost = 0 } = this.#model.locationLimits.get(tenant) ?? {};
      this.#model.locationLimits.set(tenant, { pods, podsMost: Math.max(pods, podsMost) });
      return;
    }
    if (step.do === "place") {
      const { name, weights } = step;
      const spec = {
        namespaceSelector: {},
        weights,
        workloadSelector: { matchLabels: { "simulation/workload": name } },
      };
      const resource = client.resource(placements);
      this.#model.placed.add(workloadKey(step.tenant, name));
      if ((await resource.find({ name })) === undefined)
        await resource.create({ metadata: { name }, spec } as never);
      else await resource.patch({ name }, { type: "merge", patch: { spec } as never });
      return;
    }
    const hard = { "count/deployments.apps": String(step.deployments) };
    const resource = client.resource(resourceQuotas);
    const metadata = { name: "quota", namespace };
    if ((await resource.find(metadata)) === undefined)
      await resource.create({ metadata, spec: { hard } } as never);
    else await resource.patch(metadata, { type: "merge", patch: { spec: { hard } } as never });
    this.#model.quotas.set(step.tenant, step.deployments);
  }

  async #sendToTarget(
    step: Extract<Step, { readonly cluster: string; readonly tenant: string }>,
    client: Client,
  ): Promise<void> {
    const { tenant, cluster } = step;
    const resource = client.resource(syncTargets);
    const patch = (spec: object) =>
      resource.patch({ name: cluster }, { type: "merge", patch: { spec } as never });
    const target = this.#model.target(tenant, cluster);
    if (step.do === "register") {
      if ((await resource.find({ name: cluster })) !== undefined) return;
      this.#model.register(tenant, cluster);
      await resource.create(syncTargetOf(cluster, this.#scenario));
      return;
    }
    if (target === undefined || target.deletedAtMs !== undefined) return;
    switch (step.do) {
      case "cordon":
        await patch({ unschedulable: true });
        target.isCordoned = true;
        break;
      case "uncordon":
        await patch({ unschedulable: false, drain: null });
        target.isCordoned = false;
        target.isDrained = false;
        break;
      case "drain":
        await patch({ unschedulable: true, drain: {} });
        target.isCordoned = true;
        target.isDrained = true;
        break;
      case "narrow":
        this.#laws.unblock((of, _name, at) => of === tenant && at === cluster);
        await patch({ resources: ["configmaps"] });
        target.isNarrow = true;
        break;
      case "limit":
        this.#laws.forgetLimit(tenant, cluster);
        target.podsMax = step.pods;
        await patch({ resourceLimits: step.pods === undefined ? null : { pods: step.pods } });
        break;
      case "delete-target":
        this.#laws.unblock((of, _name, at) => of === tenant && at === cluster);
        await resource.delete({ name: cluster });
        target.deletedAtMs = this.#system.nowMs;
        break;
    }
  }

  async #patchWorkload(
    client: Client,
    { tenant, name }: { readonly tenant: TenantName; readonly name: string },
    patch: object,
  ): Promise<void> {
    const workload = this.#model.workload(tenant, name);
    if (workload === undefined) return;
    const resource = client.resource(resourceOfKind[workload.kind]);
    await resource.patch({ name, namespace }, { type: "merge", patch: patch as never });
  }
}

/** Whether its author edits the template, and paces what follows. */
function isPaced({ kind }: WantedWorkload): boolean {
  return kind !== "Job" && kind !== "Pod" && kind !== "CronJob";
}

function isPause({ annotation }: Extract<Step, { readonly do: "annotate" }>): boolean {
  return annotation === "workload.kcp.io/paused";
}
