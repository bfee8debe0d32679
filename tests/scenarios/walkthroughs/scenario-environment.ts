/**
 * For scenarios: a control plane with a port, two clusters whose Pods run when the scenario starts
 * them, and a terminal with the manifests.
 */
import type { PhysicalClusterOptions } from "@kcp-ts/controlplane";
import { definitionOf, importApis, type SyncTargetSpec } from "@kcp-ts/multicluster";
import { connect, parseKubeconfig } from "@kcp-ts/sdk";
import { type Generation, startListeningCluster } from "@kcp-ts/simulator";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { freePorts } from "@kcp-ts/testkit";
import { Terminal } from "./terminal.ts";

/** Often enough for somebody who types; the figures of `kcp start` are in `linkDefaults`. */
const impatient: PhysicalClusterOptions = {
  link: { probeMs: 500, probeTimeoutMs: 10_000, failuresMax: 10, inventoryMs: 1000 },
  importPollMs: 500,
  gracePeriods: { recoveryMs: 0 },
};

/** A cluster in which nothing runs before it is started: nodes of its own come then. */
export interface ScenarioCluster {
  readonly kubeconfig: string;
  start(): Promise<void>;
  /** From then on no request reaches the cluster. */
  disconnect?(): Promise<void>;
  close(): Promise<void>;
}

export interface ScenarioEnvironmentOptions {
  readonly physicalClusters?: PhysicalClusterOptions;
  readonly clusters: ReadonlyMap<string, () => Promise<ScenarioCluster>>;
  /**
   * APIs of the first cluster whose definitions lie in the terminal's folder, as `kcp crd-puller`
   * writes them.
   */
  readonly pulled?: readonly string[];
  /** What lies in the terminal's folder, beside a manifest for each cluster. */
  readonly files: Readonly<Record<string, object>>;
}

export class ScenarioEnvironment {
  readonly plane: TestControlPlane;
  readonly terminal: Terminal;
  readonly #clusters: ReadonlyMap<string, ScenarioCluster>;

  private constructor(
    plane: TestControlPlane,
    terminal: Terminal,
    clusters: ReadonlyMap<string, ScenarioCluster>,
  ) {
    this.plane = plane;
    this.terminal = terminal;
    this.#clusters = clusters;
  }

  static async start(options: ScenarioEnvironmentOptions): Promise<ScenarioEnvironment> {
    const { physicalClusters, clusters: wanted, files } = options;
    const clusters = new Map<string, ScenarioCluster>();
    const plane = await startTestControlPlane({
      physicalClusters: { ...impatient, ...physicalClusters },
    });
    const terminal = await Terminal.open(async (words) => {
      const [, name = "", what = ""] = /^(\S+) (gets nodes|is lost)$/.exec(words) ?? [];
      const cluster = clusters.get(name);
      const act = what === "is lost" ? cluster?.disconnect : cluster?.start;
      if (act === undefined) throw new Error(`nobody knows what to do: ${words}`);
      await act();
    });
    const stage = new ScenarioEnvironment(plane, terminal, clusters);
    try {
      for (const [name, start] of wanted) clusters.set(name, await start());
      await terminal.write("kubeconfig", await kubeconfigOf(plane, ["admin", "user", "history"]));
      for (const [name, content] of Object.entries(files)) await terminal.write(name, content);
      const [first] = clusters.values();
      for (const name of options.pulled ?? [])
        await terminal.write(`${name}.yaml`, await pulled(first?.kubeconfig ?? "", name));
      const resources = ["deployments.apps"];
      for (const [name, { kubeconfig }] of clusters) {
        await terminal.write(`${name}.yaml`, syncTarget(name, { kubeconfig, resources }));
        await terminal.write(`${name}-default.yaml`, syncTarget(name, { kubeconfig }));
        await terminal.write(`${name}.kubeconfig`, kubeconfig);
      }
    } catch (error) {
      await stage.close();
      throw error;
    }
    return stage;
  }

  async close(): Promise<void> {
    await this.plane.close();
    for (const cluster of this.#clusters.values()) await cluster.close();
    await this.terminal.close();
  }
}

const runs = { startDelayMs: { min: 0, max: 50 }, stopDelayMs: 20, runMs: 100 };

export async function simulatedScenarioCluster(
  name: string,
  generation: Generation = "1.36",
): Promise<ScenarioCluster> {
  // One that is lost comes back in the same place.
  const [port = 0] = await freePorts(1);
  const cluster = await startListeningCluster({ name, generation, nodes: 0, kubelet: runs, port });
  return {
    kubeconfig: cluster.kubeconfig ?? "",
    start: () => cluster.nodes.add({ name: `${name}-node` }),
    disconnect: () => cluster.faults.cut(),
    close: () => cluster.close(),
  };
}

async function pulled(kubeconfig: string, resource: string): Promise<object> {
  const { client, close } = connect(parseKubeconfig(kubeconfig, { trust: "inline" }));
  const { signal } = new AbortController();
  const { apis } = await importApis(client, { resources: [resource], signal });
  await close();
  const [api] = apis;
  if (api === undefined) throw new Error(`the cluster does not serve ${resource}`);
  return definitionOf(api);
}

function syncTarget(name: string, spec: SyncTargetSpec): object {
  return { apiVersion: "workload.kcp.io/v1alpha1", kind: "SyncTarget", metadata: { name }, spec };
}

interface Kubeconfig {
  readonly clusters: readonly object[];
  readonly users: readonly object[];
}

/** A context for each: that of the administrator is the logical cluster root. */
async function kubeconfigOf(plane: TestControlPlane, names: readonly string[]): Promise<object> {
  const clusters: object[] = [];
  const contexts: object[] = [];
  const users: object[] = [];
  for (const name of names) {
    const cluster = name === "admin" ? "root" : name;
    const one = JSON.parse(await plane.kubeconfig({ cluster })) as Kubeconfig;
    clusters.push({ ...one.clusters[0], name });
    users.push({ ...one.users[0], name });
    contexts.push({ name, context: { cluster: name, user: name } });
  }
  return {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "admin",
    clusters,
    contexts,
    users,
  };
}
