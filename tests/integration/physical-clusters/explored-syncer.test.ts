/**
 * The controllers that connect a cluster and take objects down to it, under crashes after their
 * writes and under every pattern of faults between them and the control plane.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clusterLabel, runMulticluster, syncTargets } from "@kcp-ts/multicluster";
import type { Kubeconfig } from "@kcp-ts/sdk";
import { configMaps, secrets } from "@kcp-ts/sdk/kinds";
import { exploreFaults, type FaultyTest, startTestControlPlane } from "@kcp-ts/testing";

const timeoutMs = 30_000;
const at = { name: "page", namespace: "default" };

/** The server of the kubeconfig is the name of a logical cluster of `clusters`. */
const kubeconfigOf = (cluster: string) =>
  JSON.stringify({
    "current-context": "a",
    clusters: [{ name: "a", cluster: { server: `https://${cluster}.example` } }],
    users: [{ name: "a", user: { token: "t" } }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
  });
const clusterOf = ({ clusters }: Kubeconfig) =>
  new URL([...clusters.values()][0]?.server ?? "").hostname.replace(/\.example$/, "");

describe("a syncer", () => {
  it("takes down, corrects and removes after a crash at its writes, and under all faults", async () => {
    const clusters = await startTestControlPlane({ physicalClusters: false });
    const syncs: FaultyTest = async ({ client, cluster, runController, eventuallyStable }) => {
      const physical = clusters.clientFor(`${cluster}-east`);
      runController((given, signal) => {
        const { clock, random } = given;
        return runMulticluster(
          {
            client: given,
            resources: ["configmaps"],
            connect: (kubeconfig) => {
              const connected = clusters.clientFor(clusterOf(kubeconfig));
              const { transport } = connected;
              return { client: connected, transport, namespace: "default", close: async () => {} };
            },
            clock,
            random,
            onError() {},
          },
          signal,
        );
      });
      const reference = { namespace: "default", name: "east" };
      const stringData = { kubeconfig: kubeconfigOf(`${cluster}-east`) };
      await client.resource(secrets).create({ metadata: reference, stringData });
      const spec = { kubeconfigSecretRef: reference };
      await client.resource(syncTargets).create({ metadata: { name: "east" }, spec });
      const maps = client.resource(configMaps);
      const labels = { [clusterLabel]: "east" };
      await maps.create({ metadata: { ...at, labels }, data: { text: "one" } });
      const copies = async () => {
        const { items } = await physical.resource(configMaps).list();
        return items.filter(({ metadata }) => metadata.name === at.name).map(({ data }) => data);
      };
      await eventuallyStable(async () => assert.deepEqual(await copies(), [{ text: "one" }]), {
        timeoutMs,
      });
      await maps.patch(at, { type: "merge", patch: { data: { text: "two" } } });
      await eventuallyStable(async () => assert.deepEqual(await copies(), [{ text: "two" }]), {
        timeoutMs,
      });
      await maps.delete(at);
      await eventuallyStable(
        async () => {
          assert.deepEqual(await copies(), []);
          assert.equal(await maps.find(at), undefined);
        },
        { timeoutMs },
      );
    };
    const { writes, runs } = await exploreFaults(syncs, { physicalClusters: false, crashesMax: 8 });
    assert.ok(writes.length >= 5, writes.join("; "));
    assert.ok(runs > 10);
    await clusters.close();
  });
});
