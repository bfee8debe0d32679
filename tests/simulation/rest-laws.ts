/** The laws that hold when nothing is left to do. */
import { type SyncTarget, syncTargets } from "@kcp-ts/multicluster";
import { isConditionTrue, type KubernetesObject } from "@kcp-ts/sdk";
import { events } from "@kcp-ts/sdk/kinds";
import { namespace } from "./base-image.ts";
import { ownerOf } from "./cluster-observer.ts";
import { WriteLog } from "./converge.ts";
import { BrokenLaw, podsOf, readyPods, schedulersOf, where } from "./laws.ts";
import { resourceOfKind } from "./manifests.ts";
import { type Model, type WantedWorkload, workloadKey } from "./model.ts";
import type { ReplicaHistory } from "./replica-history.ts";
import type { TenantName } from "./scenario.ts";
import type { SimulatedSystem } from "./simulated-system.ts";

interface Placed extends KubernetesObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: {
    readonly readyReplicas?: number;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
}

/** What a tenant sees at rest. */
interface TenantView {
  readonly tenant: TenantName;
  readonly targets: readonly SyncTarget[];
  readonly deployments: readonly Placed[];
  readonly events: readonly KubernetesObject[];
}

export async function checkRestLaws(
  system: SimulatedSystem,
  model: Model,
  history: ReplicaHistory,
): Promise<void> {
  checkDeletedWorkloads(system, model);
  const tenants = new Set([...model.targets.values()].map(({ tenant }) => tenant));
  for (const tenant of tenants) {
    const view = await readView(system, tenant);
    checkTargets(system, model, view);
    checkPerClusterObjects(model, view);
    for (const workload of model.workloads.values())
      if (workload.tenant !== tenant) continue;
      else if (workload.kind === "Deployment") checkDeployment(system, model, workload, view);
      else checkSingle(system, model, workload, view);
    checkLocation(system, model, view);
    checkEvents(view, history);
  }
}

async function readView(system: SimulatedSystem, tenant: TenantName): Promise<TenantView> {
  const view = await system.askNow(tenant, async (client) => ({
    tenant,
    targets: (await client.resource(syncTargets).list()).items,
    deployments: await client
      .resource(resourceOfKind.Deployment)
      .list({ namespace })
      .then(({ items }) => items as readonly Placed[])
      // Without a cluster that serves the kind, the control plane does not serve it.
      .catch(() => []),
    events: (await client.resource(events).list({ namespace })).items,
  }));
  if (view === undefined) throw new BrokenLaw("settles", "the control plane refuses lists at rest");
  return view;
}

/** A cluster that another could replace: it is Ready, and nothing is kept out of it. */
function isOpen(model: Model, tenant: TenantName, cluster: string): boolean {
  const target = model.target(tenant, cluster);
  return (
    target !== undefined &&
    target.deletedAtMs === undefined &&
    !target.isCordoned &&
    !target.isNarrow &&
    target.podsMax === undefined
  );
}

/** What was deleted is in no cluster. */
function checkDeletedWorkloads(system: SimulatedSystem, model: Model): void {
  for (const key of model.deletedWorkloads) {
    if (model.workloads.has(key)) continue;
    const [tenant, name] = key.split("/") as [TenantName, string];
    const left = podsOf(system, { tenant, name });
    if (left.length > 0)
      throw new BrokenLaw(
        "nothing is left behind",
        `${name} of ${tenant} was deleted, and ${left.length} Pods are in ${[...new Set(left.map(([cluster]) => cluster))].join(", ")}`,
      );
  }
}

/** A SyncTarget says of its cluster what is true, and leaves nothing behind. */
function checkTargets(
  system: SimulatedSystem,
  model: Model,
  { tenant, targets }: TenantView,
): void {
  const names = new Set(targets.map(({ metadata }) => metadata.name));
  for (const { cluster, ...wanted } of model.targets.values()) {
    if (wanted.tenant !== tenant) continue;
    const target = targets.find(({ metadata }) => metadata.name === cluster);
    const there = [...(system.clusters.get(cluster)?.observer.workloads.values() ?? [])].filter(
      (one) => one.tenant === tenant,
    );
    // What is assigned by hand, and what has a volume, stays where it is.
    const isMovable = there.every(({ workload: name }) => {
      const workload = model.workload(tenant, name);
      return workload === undefined || !(workload.hasVolume || workload.pinnedTo !== undefined);
    });
    const hasOther =
      isMovable && [...names].some((other) => other !== cluster && isOpen(model, tenant, other));
    if (target === undefined) {
      if (there.length > 0 && hasOther)
        throw new BrokenLaw(
          "nothing is left behind",
          `the SyncTarget ${cluster} is gone, and ${there.map(({ workload }) => workload).join(", ")} of ${tenant} runs on in its cluster`,
        );
      continue;
    }
    if (target.metadata.deletionTimestamp !== undefined) {
      if (hasOther)
        throw new BrokenLaw("settles", `the SyncTarget ${cluster} of ${tenant} hangs in deletion`);
      continue;
    }
    const conditions = target.status?.conditions;
    if (!isConditionTrue(conditions, "Ready"))
      throw new BrokenLaw(
        "conditions are true",
        `the cluster ${cluster} is well, and its SyncTarget is not Ready: ${JSON.stringify(conditions?.filter(({ status }) => status !== "True"))}`,
      );
    const isDrained = isConditionTrue(conditions, "Drained");
    const moving = there.filter(({ kind }) => kind !== "DaemonSet");
    if (isDrained && moving.length > 0)
      throw new BrokenLaw(
        "conditions are true",
        `${cluster} is Drained, and runs ${moving.map(({ workload }) => workload).join(", ")} of ${tenant}`,
      );
  }
}

/** Objects for single clusters have a workload and a cluster, and none hangs in deletion. */
function checkPerClusterObjects(model: Model, { tenant, targets, deployments }: TenantView): void {
  for (const object of deployments) {
    const [name, cluster] = object.metadata.name.split("--");
    if (cluster === undefined) continue;
    const text = `${object.metadata.name} of ${tenant}`;
    const isTargetThere = targets.some(({ metadata }) => metadata.name === cluster);
    if (object.metadata.deletionTimestamp !== undefined)
      throw new BrokenLaw("nothing is left behind", `${text} hangs in deletion`);
    if (model.workload(tenant, name ?? "") === undefined)
      throw new BrokenLaw("nothing is left behind", `${text} has no workload`);
    if (!isTargetThere && targets.some((one) => isOpen(model, tenant, one.metadata.name)))
      throw new BrokenLaw("nothing is left behind", `${text} has no SyncTarget`);
  }
  for (const object of deployments) {
    const owner = ownerOf(object);
    if (owner !== undefined && owner.tenant !== tenant)
      throw new BrokenLaw(
        "tenants apart",
        `${object.metadata.name} of ${owner.tenant} is in the workspace of ${tenant}`,
      );
  }
}

/** What a Deployment says of itself is so, and what is asked for runs where there is room. */
function checkDeployment(
  system: SimulatedSystem,
  model: Model,
  workload: WantedWorkload,
  { deployments, targets, tenant }: TenantView,
): void {
  const { name, replicas, pinnedTo } = workload;
  const found = deployments.find(({ metadata }) => metadata.name === name);
  const ready = readyPods(system, workload);
  if (found === undefined) return;
  const said = found.status?.readyReplicas ?? 0;
  if (said !== ready)
    throw new BrokenLaw(
      "conditions are true",
      `${name} says that ${said} replicas are ready, and ${ready} are: ${where(system, workload)}`,
    );
  if (pinnedTo !== undefined) return;
  const conditions = found.status?.conditions ?? [];
  const scheduled = conditions.find(({ type }) => type === "Scheduled");
  const assigned = deployments
    .filter(({ metadata }) => metadata.name.startsWith(`${name}--`))
    .reduce((sum, { spec }) => sum + (spec?.replicas ?? 0), 0);
  if (scheduled?.status === "True" && assigned < replicas)
    throw new BrokenLaw(
      "conditions are true",
      `${name} is Scheduled ("${scheduled.message}"), and ${assigned} of ${replicas} replicas are assigned`,
    );
  if (scheduled?.status === "True" && ready < replicas && !model.quotas.has(tenant))
    throw new BrokenLaw(
      "conditions are true",
      `${name} is Scheduled ("${scheduled.message}"), and ${ready} of ${replicas} replicas are ready: ${where(system, workload)}`,
    );
  const isFree = targets.some(({ metadata }) => isOpen(model, tenant, metadata.name));
  // A cluster that does not sync Deployments any more keeps those that it has as they are.
  const isKept = podsOf(system, workload).some(
    ([at]) => model.target(tenant, at)?.isNarrow === true,
  );
  if (
    isFree &&
    !isKept &&
    !model.locationLimits.has(tenant) &&
    !model.quotas.has(tenant) &&
    ready !== replicas &&
    !model.placed.has(workloadKey(tenant, name))
  )
    throw new BrokenLaw(
      "settles",
      `${ready} of ${replicas} replicas of ${name} are ready at rest: ${where(system, workload)}; Scheduled: ${JSON.stringify(scheduled)}`,
    );
}

/** A Pod runs, and a CronJob has its schedule, in one cluster. */
function checkSingle(
  system: SimulatedSystem,
  model: Model,
  workload: WantedWorkload,
  { targets, tenant }: TenantView,
): void {
  const { name, kind } = workload;
  if (kind !== "Pod" && kind !== "CronJob") return;
  const places = kind === "CronJob" ? schedulersOf(system, workload) : podPlaces(system, workload);
  const isFree = targets.some(({ metadata }) => isOpen(model, tenant, metadata.name));
  const isLimited = model.locationLimits.has(tenant) || model.placed.has(workloadKey(tenant, name));
  const isRight = places.length === 1 || (places.length === 0 && (isLimited || !isFree));
  if (isRight) return;
  throw new BrokenLaw("settles", `${kind} ${name} is in "${places.join()}" at rest`);
}

function podPlaces(system: SimulatedSystem, workload: WantedWorkload): string[] {
  return podsOf(system, workload).map(([cluster]) => cluster);
}

/** A Location has no more Pods than it ever allowed, and nothing waits that it would allow. */
function checkLocation(
  system: SimulatedSystem,
  model: Model,
  { tenant, targets, deployments }: TenantView,
): void {
  const limit = model.locationLimits.get(tenant);
  if (limit === undefined) return;
  let assigned = 0;
  for (const { observer } of system.clusters.values()) {
    for (const one of observer.workloads.values()) if (one.tenant === tenant) assigned += one.pods;
    for (const pod of observer.pods.values())
      if (pod.tenant === tenant && model.workload(tenant, pod.workload)?.kind === "Pod") assigned++;
  }
  if (assigned > limit.podsMost)
    throw new BrokenLaw(
      "limits",
      `${assigned} Pods of ${tenant} are assigned, and its Location never allowed more than ${limit.podsMost}`,
    );
  const isFree = targets.some(({ metadata }) => isOpen(model, tenant, metadata.name));
  // What a Job reserves beside the Pods that it still has to run is not known here.
  const hasJobs = [...model.workloads.values()].some(
    (one) => one.tenant === tenant && one.kind === "Job",
  );
  if (!isFree || hasJobs || model.quotas.has(tenant) || assigned >= limit.pods) return;
  for (const { metadata, status } of deployments) {
    const scheduled = status?.conditions?.find(({ type }) => type === "Scheduled");
    if (scheduled?.status !== "False" || model.placed.has(workloadKey(tenant, metadata.name)))
      continue;
    throw new BrokenLaw(
      "settles",
      `${metadata.name} waits ("${scheduled.message}"), ${assigned} of ${limit.pods} Pods are assigned, and a cluster is open`,
    );
  }
}

/** An Event that tells of a number tells of one that was stored. */
function checkEvents(view: TenantView, history: ReplicaHistory): void {
  for (const event of view.events) {
    const { reason, note, message, regarding, involvedObject } = event as KubernetesObject & {
      readonly reason?: string;
      readonly note?: string;
      readonly message?: string;
      readonly regarding?: { readonly kind?: string; readonly name?: string };
      readonly involvedObject?: { readonly kind?: string; readonly name?: string };
    };
    const about = regarding ?? involvedObject;
    const text = note ?? message ?? "";
    if (reason !== "ScaledCluster" || about?.kind !== "Deployment") continue;
    for (const [, cluster, to] of text.matchAll(/(\S+) from \d+ to (\d+)/g))
      if (!history.had(view.tenant, `${about.name}--${cluster}`, Number(to)))
        throw new BrokenLaw(
          "no Event lies",
          `${about.name}: "${text}", and ${about.name}--${cluster} never had ${to} replicas`,
        );
  }
}

/**
 * Requests in a minute of a system at rest, for each cluster and each kind that is synced: probes,
 * new watches, and lists of what a blocked drain waits for.
 */
const requestsPerMinuteMax = 12;
/** An agent without a tunnel renews the Lease of its SyncTarget every two seconds. */
const renewalsPerMinuteMax = 31;

/** When nothing changes, nothing is written, and little is read. */
export async function checkStable(system: SimulatedSystem, forMs: number): Promise<void> {
  const log = new WriteLog(system);
  const beganAtMs = system.nowMs;
  const requests = new Map<string, number>();
  const { onRequest } = system;
  system.onRequest = (link, method, path, status) => {
    onRequest(link, method, path, status);
    const what = `${link} ${method} ${path.split("?", 1)[0]} ${status}`;
    if (!/[?&]watch=/.test(path)) requests.set(what, (requests.get(what) ?? 0) + 1);
  };
  await system.loop.run(forMs);
  system.onRequest = onRequest;
  log.stop();
  if (log.entries.length > 0)
    throw new BrokenLaw(
      "eventually stable",
      `the system writes at rest: ${log.summary(beganAtMs)}`,
    );
  const minutes = forMs / 60_000;
  let total = 0;
  for (const [what, count] of requests) {
    if (!what.includes("/leases/")) total += count;
    else if (count > renewalsPerMinuteMax * minutes)
      throw new BrokenLaw("rests", `${count} x ${what} in ${forMs / 1000} s at rest`);
  }
  const shares = system.clusters.size * system.syncedResources.length;
  if (total > requestsPerMinuteMax * shares * minutes) {
    const top = [...requests].sort(([, a], [, b]) => b - a).slice(0, 4);
    throw new BrokenLaw(
      "rests",
      `${total} requests in ${forMs / 1000} s at rest: ${top.map(([what, count]) => `${count} x ${what}`).join("; ")}`,
    );
  }
}
