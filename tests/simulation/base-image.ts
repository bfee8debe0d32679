/**
 * The disk of a control plane whose tenants have registered their clusters, which are Ready: what
 * most scenarios start from. It is made once for each number of clusters, by a seed of its own.
 */

import { syncTargets } from "@kcp-ts/multicluster";
import { isConditionTrue } from "@kcp-ts/sdk";
import { namespaces } from "@kcp-ts/sdk/kinds";
import { BrokenLaw } from "./laws.ts";
import { clusterNames, clustersOf, type Scenario, type TenantName } from "./scenario.ts";
import { type DiskImage, SimulatedSystem } from "./simulated-system.ts";
import { Trace } from "./trace.ts";

export const tenants: readonly TenantName[] = ["alpha", "beta"];
export const namespace = "shop";
/** No scenario has it. */
const imageSeed = 0x5eed_0000;
const readyWithinMs = 120_000;
const readyPollMs = 50;

type Size = Pick<Scenario, "clusters" | "hasBeta" | "hasAgents" | "hasMoreKinds">;

const images = new Map<number, DiskImage>();

export async function baseImage(size: Size): Promise<DiskImage> {
  const family = Number(size.hasAgents) + 2 * Number(size.hasMoreKinds);
  const key = 100 * family + 2 * size.clusters + Number(size.hasBeta);
  const known = images.get(key);
  if (known !== undefined) return known;
  const made = await makeImage(size, imageSeed + key);
  images.set(key, made);
  return made;
}

async function makeImage(size: Size, seed: number): Promise<DiskImage> {
  const names = clusterNames(size.clusters);
  const { hasMoreKinds } = size;
  const trace = new Trace();
  const system = await SimulatedSystem.start({ seed, trace, clusters: names, hasMoreKinds });
  await createNamespaces(system);
  const targets = tenants.flatMap((tenant) =>
    clustersOf(tenant, size).map((cluster) => ({ tenant, cluster })),
  );
  for (const { tenant, cluster } of targets) {
    await system.askNow(tenant, (client) =>
      client.resource(syncTargets).create(syncTargetOf(cluster, size)),
    );
    if (size.hasAgents) await system.loop.until(system.startAgent(tenant, cluster));
  }
  await untilReady(system, targets);
  // A cluster that has just become Ready is Recovering for a while.
  await system.loop.run(15_000);
  const { image } = system;
  await system.end();
  return image;
}

export async function createNamespaces(system: SimulatedSystem): Promise<void> {
  for (const tenant of tenants)
    await system.askNow(tenant, (client) =>
      client.resource(namespaces).create({ metadata: { name: namespace } }),
    );
}

/** Runs the system until the SyncTargets are Ready. */
export async function untilReady(
  system: SimulatedSystem,
  targets: readonly { readonly tenant: TenantName; readonly cluster: string }[],
): Promise<void> {
  for (const { tenant, cluster: name } of targets) {
    for (let waitedMs = 0; ; waitedMs += readyPollMs) {
      const target = await system.askNow(tenant, (client) =>
        client.resource(syncTargets).find({ name }),
      );
      if (isConditionTrue(target?.status?.conditions, "Ready")) break;
      if (waitedMs > readyWithinMs)
        throw new BrokenLaw("settles", `the SyncTarget ${name} does not become Ready`);
      await system.loop.run(readyPollMs);
    }
  }
}

export function syncTargetOf(name: string, { hasAgents }: Pick<Scenario, "hasAgents">) {
  if (hasAgents) return { metadata: { name }, spec: { mode: "Pull" as const } };
  const kubeconfig = JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": name,
    clusters: [{ name, cluster: { server: `https://${name}.simulation` } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    users: [{ name, user: { token: "simulated" } }],
  });
  return { metadata: { name }, spec: { kubeconfig } };
}
