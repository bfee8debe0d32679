/**
 * The applications of examples/ as a test: applied with kubectl and unchanged, over two clusters of
 * a ground.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { after, before, it } from "node:test";
import { fileURLToPath } from "node:url";
import { type Manifest, parseManifests } from "@kcp-ts/controlplane";
import { syncedResourcesDefault, syncTargets } from "@kcp-ts/multicluster";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";
import type { TestCluster, TestEnvironment } from "../../test-environments/index.ts";
import { parseScenarios } from "../scenario.ts";
import { Terminal } from "../terminal.ts";
import { ApplicationClusters } from "./application-clusters.ts";
import { limitsManifest, limitsNamespace, outcomesOfLimits } from "./limits.ts";
import { outcomeOf } from "./outcome.ts";
import { WriteRecorder } from "./write-recorder.ts";

const root = new URL("../../../../../", import.meta.url);
const folder = fileURLToPath(new URL("examples/applications/", root));
const page = new URL("docs/guides/applications.md", root);
const files = (await readdir(folder)).filter((name) => name.endsWith(".yaml")).sort();
const clusterNames = ["us-east1", "us-west1"];
const nodesEach = 2;
/** `serviceimports` are synced where a cluster has them installed. */
const needed = syncedResourcesDefault.filter((kind) => !kind.startsWith("serviceimports."));
/** A machine may be slow: how long something takes decides no test. */
const patience = { timeoutMs: 180_000, intervalMs: 100 };
/** Longer than a syncer rests between two looks at something that does not do. */
const quietMs = 3000;
const physicalClusters = {
  // A cluster that answers late is not lost.
  link: { probeMs: 1000, probeTimeoutMs: 20_000, failuresMax: 10, inventoryMs: 2000 },
  gracePeriods: { recoveryMs: 0 },
};

export function testApplications(environment: TestEnvironment): void {
  let plane: TestControlPlane;
  let clusterSet: ApplicationClusters;
  let terminal: Terminal;
  const closing: (() => Promise<void>)[] = [];
  const rows: string[] = [];
  const writes = new WriteRecorder();

  before(async () => {
    plane = await startTestControlPlane({ physicalClusters, middleware: [writes.middleware] });
    const until = { after: (close: () => Promise<void>) => void closing.push(close) };
    const clusters = await Promise.all(
      clusterNames.map((name) => environment.acquire(until, name, nodes(name))),
    );
    clusterSet = new ApplicationClusters(clusters, nodesEach);
    await register(plane, clusters);
    terminal = await Terminal.open(() => Promise.reject(new Error("there are no cues")));
    await terminal.write("kubeconfig", await plane.kubeconfig({ cluster: "root" }));
  });

  after(async () => {
    await plane?.close();
    await terminal?.close();
    for (const close of closing) await close();
  });

  for (const file of files) {
    const namespace = file.replace(/\.yaml$/, "");
    it(namespace, async () => {
      const text = await readFile(folder + file, "utf8");
      await terminal.write(file, text);
      const manifests = parseManifests(text, file);
      for (const scenario of parseScenarios(installs(namespace, file)))
        await terminal.run(scenario);
      for (const manifest of manifests) {
        const { client } = plane;
        const applied = { manifest, namespace, client, clusters: clusterSet };
        const outcome = await eventually(async () => {
          try {
            return await outcomeOf(applied);
          } catch (error) {
            throw new Error(`${title(manifest)}: ${String(error)}`, { cause: error });
          }
        }, patience);
        rows.push(`| ${namespace} | ${title(manifest)} | ${outcome} |`);
      }
    });
  }

  it("is what the page says", async () => {
    assert.equal((await tablesOf(page))[0], rows.join("\n"));
  });

  it("ends: when nothing happens, nothing is written", async () => {
    assert.ok(writes.count > rows.length, `${writes.count} writes are known`);
    await eventually(async () => assert.deepEqual(await writes.within(quietMs), []), patience);
  });

  it("has its limits, and the page says which", async () => {
    const file = "limits.yaml";
    await terminal.write(file, limitsManifest);
    for (const scenario of parseScenarios(installs(limitsNamespace, file)))
      await terminal.run(scenario);
    const tried = await eventually(async () => {
      assert.deepEqual(await writes.within(quietMs), []);
      return await outcomesOfLimits({ client: plane.client, clusters: clusterSet });
    }, patience);
    assert.equal((await tablesOf(page))[1], tried.join("\n"));
  });
}

function nodes(name: string): { readonly name: string }[] {
  return Array.from({ length: nodesEach }, (_, index) => ({ name: `${name}-node-${index + 1}` }));
}

/** Resolves when every kind is served; Ready is said before that. */
async function register(
  { client }: TestControlPlane,
  clusters: readonly TestCluster[],
): Promise<void> {
  for (const { name, kubeconfig } of clusters)
    await client.resource(syncTargets).create({ metadata: { name }, spec: { kubeconfig } });
  await eventually(async () => {
    const { items } = await client.resource(syncTargets).list({});
    for (const { metadata, status } of items) {
      const missing = needed.filter((kind) => !status?.syncedResources?.includes(kind));
      assert.deepEqual(missing, [], metadata.name);
    }
  }, patience);
}

/** The rows of each table of a page, without what stands above them. */
async function tablesOf(file: URL): Promise<readonly string[]> {
  const sections = (await readFile(file, "utf8")).split("\n## ");
  return sections.map((section) => {
    const lines = section.split("\n").filter((line) => line.startsWith("| "));
    return lines.slice(1).join("\n");
  });
}

/** Those whose Pods talk to their cluster: docs/guides/operators.md. */
const talking: ReadonlySet<string> = new Set(["queue-operator"]);

/**
 * As with any Kubernetes, objects of a kind in the same file need a second apply; and a machine may
 * be too slow for kubectl's patience.
 */
function installs(namespace: string, file: string): string {
  const asks = `
$ kubectl label namespace ${namespace} workload.kcp.io/api-access=true
namespace/${namespace} labeled`;
  return `
A1  ${namespace}
$ kubectl create namespace ${namespace}
namespace/${namespace} created${talking.has(namespace) ? asks : ""}
~ kubectl apply --namespace ${namespace} -f ${file}
...
`;
}

function title({ kind, metadata }: Manifest): string {
  const { name } = metadata as unknown as { name: string };
  return `${kind} ${name}`;
}
