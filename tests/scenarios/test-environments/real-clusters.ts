/**
 * Real clusters for tests. They take long to start, so one of each name is kept, and cleared when a
 * test has ended.
 */
import assert from "node:assert/strict";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client, KubernetesObject, Resource } from "@kcp-ts/sdk";
import {
  customResourceDefinitions as definitions,
  namespaces,
  persistentVolumes as volumes,
} from "@kcp-ts/sdk/kinds";
import { eventually } from "@kcp-ts/testkit";
import { startRealCluster } from "./real-cluster.ts";
import { oneNode, type TestCluster, type TestEnvironment } from "./test-environment.ts";

const ownNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];
/** A machine may be slow: how long something takes decides no test. */
const gracePeriods = { timeoutMs: 180_000, intervalMs: 100 };

export class RealClusters implements TestEnvironment {
  readonly kind = "real";
  readonly #clusters = new Map<string, Promise<TestCluster>>();

  async acquire(...[to, name, nodes = oneNode(name)]: Parameters<TestEnvironment["acquire"]>) {
    const starting = this.#clusters.get(name) ?? startRealCluster(name, []);
    this.#clusters.set(name, starting);
    const cluster = await starting;
    to.after(() => clear(cluster));
    for (const node of nodes) await cluster.nodes.add(node);
    return cluster;
  }

  async close(): Promise<void> {
    const started = await Promise.allSettled(this.#clusters.values());
    for (const one of started) if (one.status === "fulfilled") await one.value.close();
  }
}

/** Machines go last: Pods are not ended without them. */
async function clear({ client, nodes, faults }: TestCluster): Promise<void> {
  await faults.heal();
  await removeAll(client, namespaces, ({ metadata }) => !ownNamespaces.includes(metadata.name));
  await removeAll(client, volumes);
  await removeAll(client, definitions);
  for (const name of [...nodes.names]) await nodes.remove(name);
}

async function removeAll(
  client: Client,
  resource: Resource<KubernetesObject>,
  isMeant: (object: KubernetesObject) => boolean = () => true,
): Promise<void> {
  await eventually(async () => {
    const { items } = await client.resource(resource).list();
    const left = items.filter(isMeant);
    for (const { metadata } of left.filter(({ metadata }) => !metadata.deletionTimestamp))
      await client
        .resource(resource)
        .delete({ name: metadata.name })
        .catch((error: unknown) => {
          if (!isStatusError(error, "NotFound")) throw error;
        });
    assert.deepEqual(
      left.map(({ metadata }) => metadata.name),
      [],
    );
  }, gracePeriods);
}
