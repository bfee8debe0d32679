/** Where the demo plays: a control plane and simulated clusters in this process, everything in one folder, on free ports. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type ControlPlane,
  controlPlaneDefaults,
  createLog,
  startControlPlane,
  toYaml,
} from "@kcp-ts/controlplane";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Condition,
  type DynamicObject,
  defineResource,
  findCondition,
  type ObjectInput,
  stringMember,
} from "@kcp-ts/sdk";
import { type SimulatedCluster, startListeningCluster } from "@kcp-ts/simulator";
import type { ClusterRow, DemoView, DeploymentRow } from "./scene.ts";

const syncTargets = defineResource<DynamicObject>({
  group: "workload.kcp.io",
  version: "v1alpha1",
  resource: "synctargets",
  kind: "SyncTarget",
  namespaced: false,
});
const deployments = defineResource<DynamicObject>({
  group: "apps",
  version: "v1",
  resource: "deployments",
  kind: "Deployment",
  namespaced: true,
});

const namespace = "default";
/** Faster than a real one, so that nobody falls asleep; a real one waits a minute before it gives up a cluster. */
const fastProbes = {
  link: { probeMs: 1000, probeTimeoutMs: 2000, failuresMax: 2, inventoryMs: 30_000 },
  importPollMs: 5000,
  patience: { graceMs: 3000, settleMs: 1000 },
};
/** Slow enough to watch. */
const kubelet = { startDelayMs: { min: 300, max: 3000 }, stopDelayMs: 300 };

export class DemoEnvironment {
  readonly folder: string;
  readonly plane: ControlPlane;
  readonly #clusters = new Map<string, SimulatedCluster>();
  readonly #log;

  static async open(folder: string): Promise<DemoEnvironment> {
    const lines: string[] = [];
    const log = createLog({ format: "pretty", verbosity: 0, write: (line) => lines.push(line) });
    const plane = await startControlPlane(
      {
        ...controlPlaneDefaults,
        rootDirectory: folder,
        bindAddress: "127.0.0.1",
        securePort: 0,
        storage: { kind: "memory" },
        physicalClusters: fastProbes,
        shutdownTimeoutMs: 2000,
      },
      { log },
    );
    return new DemoEnvironment(folder, plane, { log, lines });
  }

  private constructor(
    folder: string,
    plane: ControlPlane,
    log: { readonly log: ReturnType<typeof createLog>; readonly lines: readonly string[] },
  ) {
    this.folder = folder;
    this.plane = plane;
    this.#log = log;
  }

  /** Warnings of all parts, the latest last. */
  get complaints(): readonly string[] {
    return this.#log.lines;
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  /** Starts a cluster and writes the SyncTarget that makes the control plane know it. */
  async prepareCluster(name: string): Promise<void> {
    const cluster = await startListeningCluster({ name, nodes: 3, kubelet, log: this.#log.log });
    this.#clusters.set(name, cluster);
    await writeFile(this.file(`${name}.kubeconfig`), cluster.kubeconfig ?? "", { mode: 0o600 });
    await this.#write(`${name}.yaml`, syncTargets, {
      metadata: { name },
      spec: { kubeconfig: cluster.kubeconfig ?? "" },
    });
  }

  async prepareDeployment(name: string, replicas: number): Promise<void> {
    await this.#write(`${name}.yaml`, deployments, deploymentOf(name, replicas));
  }

  async register(name: string): Promise<void> {
    const kubeconfig = this.#cluster(name).kubeconfig ?? "";
    const target = { metadata: { name }, spec: { kubeconfig } };
    await this.plane.client.resource(syncTargets).apply(target as never, applied);
  }

  async deploy(name: string, replicas: number): Promise<void> {
    const object = deploymentOf(name, replicas) as unknown as ObjectInput<DynamicObject>;
    await this.plane.client.resource(deployments).apply(object, applied);
  }

  async setImage(name: string, image: string): Promise<void> {
    const template = { spec: { containers: [{ name: "web", image }] } };
    const patch = { spec: { template } };
    await this.plane.client
      .resource(deployments)
      .patch({ namespace, name }, { type: "strategic-merge", patch });
  }

  async cut(name: string): Promise<void> {
    await this.#cluster(name).faults.cut();
  }

  async heal(name: string): Promise<void> {
    await this.#cluster(name).faults.heal();
  }

  async look(): Promise<DemoView> {
    const targets = await this.plane.client.resource(syncTargets).list();
    return {
      clusters: targets.items.map(clusterRow),
      deployments: await this.#deployments(),
    };
  }

  async close(): Promise<void> {
    await this.plane.stop();
    await Promise.all([...this.#clusters.values()].map((cluster) => cluster.close()));
  }

  async #deployments(): Promise<readonly DeploymentRow[] | undefined> {
    try {
      const { items } = await this.plane.client.resource(deployments).list({ namespace });
      return items.map(deploymentRow);
    } catch (error) {
      if (isStatusError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  #cluster(name: string): SimulatedCluster {
    const cluster = this.#clusters.get(name);
    if (cluster === undefined) throw new Error(`there is no cluster ${name}`);
    return cluster;
  }

  async #write(
    file: string,
    { group, version, kind }: typeof deployments,
    object: object,
  ): Promise<void> {
    const manifest = { apiVersion: `${group}/${version}`, kind, ...object };
    await writeFile(this.file(file), toYaml(manifest as never), { mode: 0o600 });
  }
}

const applied = { fieldManager: "kcp-demo", force: true };

function deploymentOf(name: string, replicas: number): object {
  const labels = { app: name };
  return {
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "web", image: "nginx:1.27" }] },
      },
    },
  };
}

interface Status {
  readonly conditions?: readonly Condition[];
  readonly [count: string]: unknown;
}

function clusterRow({ metadata, ...rest }: DynamicObject): ClusterRow {
  const { conditions } = (rest["status"] ?? {}) as Status;
  const ready = findCondition(conditions, "Ready");
  return { name: metadata.name, ready: ready?.status ?? "", reason: ready?.reason ?? "" };
}

function deploymentRow({ metadata, ...rest }: DynamicObject): DeploymentRow {
  const status = (rest["status"] ?? {}) as unknown as Status;
  const { replicas = 1 } = (rest["spec"] ?? {}) as { replicas?: number };
  const count = (name: string) => Number(status[name] ?? 0);
  const cluster = stringMember(metadata.labels, "workloads.kcp.io/cluster");
  const lostSince = stringMember(metadata.annotations, "workloads.kcp.io/lost-since");
  return {
    name: metadata.name,
    replicas,
    ready: count("readyReplicas"),
    updated: count("updatedReplicas"),
    available: count("availableReplicas"),
    cluster,
    isLost: lostSince !== undefined,
    isObserved: count("observedGeneration") === metadata.generation,
  };
}
