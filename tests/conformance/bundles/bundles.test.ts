/**
 * Bundles of applications, which are data from outside: each is applied to a logical cluster with
 * two simulated clusters, becomes ready, and leaves nothing when it is deleted. With a real
 * kube-apiserver, its answers and its defaulted objects are the same.
 *
 * `KCP_BUNDLES` names the folder. `KCP_BUNDLES_PAGE` names a file for the table of what works.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { syncedResourcesDefault, syncTargets } from "@kcp-ts/multicluster";
import { type SimulatedCluster, startListeningCluster } from "@kcp-ts/simulator";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";
import {
  type CorpusResponse,
  compareResponses,
  describeDifference,
  type KubeApiserver,
  kubeApiserverMissing,
  startKubeApiserver,
  valueAt,
} from "../side-by-side/index.ts";
import { type BundleObject, isGuard, readBundles } from "./bundle.ts";
import { BundleServer, settling } from "./bundle-server.ts";
import { comparable, unserved } from "./comparable.ts";
import { isWorkload, unreadyReason } from "./unready-reason.ts";

const folder = process.env["KCP_BUNDLES"];
const bundles = folder === undefined ? [] : await readBundles(folder);
const clusterNames = ["east", "west"];
/** `serviceimports` are synced where a cluster has them installed. */
const needed = syncedResourcesDefault.filter((kind) => !kind.startsWith("serviceimports."));

describe("bundles", { skip: folder === undefined ? "needs KCP_BUNDLES" : false }, () => {
  let plane: TestControlPlane;
  let ours: BundleServer;
  let real: KubeApiserver | undefined;
  let theirs: BundleServer | undefined;
  const clusters: SimulatedCluster[] = [];
  const rows: string[] = [];

  before(async () => {
    plane = await startTestControlPlane({ physicalClusters: { importPollMs: 300 } });
    for (const name of clusterNames) clusters.push(await join(plane, name));
    const { url, caPem } = await plane.listen();
    ours = new BundleServer({ url, caPem, token: tokenIn(await plane.kubeconfig()) });
    // Bundles for it expect it; a logical cluster has no namespace of a cluster's own components.
    const metadata = { name: "kube-system" };
    await ours.create({ apiVersion: "v1", kind: "Namespace", metadata });
    if (kubeApiserverMissing() !== undefined) return;
    real = await startKubeApiserver();
    theirs = new BundleServer(real);
  });
  after(async () => {
    const page = process.env["KCP_BUNDLES_PAGE"];
    if (page !== undefined) await writeFile(page, table(rows));
    ours?.close();
    theirs?.close();
    await plane?.close();
    for (const cluster of clusters) await cluster.close();
    await real?.stop();
  });

  for (const bundle of bundles) {
    it(`${bundle.name} is answered alike, becomes ready, and leaves nothing`, async () => {
      const differences: string[] = [];
      const accepted: BundleObject[] = [];
      const apply = async (object: BundleObject) => {
        const answer = await ours.create(object);
        if (answer.status === 201) accepted.push(object);
        differences.push(...(await differencesOf(object, answer, theirs)));
      };
      for (const object of bundle.objects) if (!isGuard(object.kind)) await apply(object);
      const ready = await untilReady(accepted, ours);
      // They ask Services in the clusters, which simulated Pods do not answer.
      for (const object of bundle.objects) if (isGuard(object.kind)) await apply(object);
      for (const server of [ours, theirs])
        for (const object of bundle.objects.toReversed()) await server?.remove(object);
      const left = await untilGone(clusters);
      const count = bundle.objects.length;
      rows.push(`| ${bundle.name} | ${count} | ${accepted.length} | ${ready} | ${left.length} |`);
      assert.deepEqual(left, []);
      assert.equal(differences.join("\n"), "");
    });
  }
});

async function differencesOf(
  object: BundleObject,
  answer: CorpusResponse,
  theirs: BundleServer | undefined,
): Promise<readonly string[]> {
  if (theirs === undefined || unserved.has(object.kind)) return [];
  const expected = comparable(object, await theirs.create(object));
  const found = compareResponses(expected, comparable(object, answer));
  if (found.length === 0) return [];
  return [`${object.kind} ${object.metadata.name}`, ...found.map(describeDifference)];
}

/** The number of workloads, all of which are ready. */
async function untilReady(
  accepted: readonly BundleObject[],
  server: BundleServer,
): Promise<number> {
  const workloads = accepted.filter(isWorkload);
  for (const object of workloads)
    await eventually(async () => {
      const reason = unreadyReason(object, await server.read(object));
      if (reason !== undefined)
        throw new Error(`${object.kind} ${object.metadata.name}: ${reason}`);
    }, settling);
  return workloads.length;
}

/** What of tenants is left in the clusters. */
async function untilGone(clusters: readonly SimulatedCluster[]): Promise<readonly string[]> {
  const look = async () => {
    const left: string[] = [];
    for (const { client } of clusters)
      for (const [group, resource] of [
        ["apps", "deployments"],
        ["apps", "statefulsets"],
        ["apps", "daemonsets"],
        ["batch", "jobs"],
        ["", "services"],
      ] as const) {
        const root = group === "" ? "/api/v1" : `/apis/${group}/v1`;
        const labelSelector = "internal.workload.kcp.io%2Fcluster";
        const path = `${root}/${resource}?labelSelector=${labelSelector}`;
        const list = await client.json({ method: "GET", path });
        const items = (valueAt(list, "items") ?? []) as readonly unknown[];
        left.push(...items.map((one) => `${resource}/${valueAt(one, "metadata.name")}`));
      }
    return left;
  };
  return await eventually(async () => {
    const left = await look();
    if (left.length > 0) throw new Error(left.join());
    return left;
  }, settling).catch(look);
}

/** A simulated cluster, whose kinds are served when this resolves. */
async function join(plane: TestControlPlane, name: string): Promise<SimulatedCluster> {
  const cluster = await startListeningCluster({ name, nodes: 2 });
  const { kubeconfig = "" } = cluster;
  await plane.client.resource(syncTargets).create({ metadata: { name }, spec: { kubeconfig } });
  await eventually(async () => {
    const { status } = await plane.client.resource(syncTargets).get({ name });
    const missing = needed.filter((kind) => !status?.syncedResources?.includes(kind));
    assert.deepEqual(missing, []);
  }, settling);
  return cluster;
}

function table(rows: readonly string[]): string {
  return [
    "| bundle | objects | accepted | workloads, all ready | left after deletion |",
    "|---|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

function tokenIn(kubeconfig: string): string {
  const { users } = JSON.parse(kubeconfig) as { users: [{ user: { token: string } }] };
  return users[0].user.token;
}
