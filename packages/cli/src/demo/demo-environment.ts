/**
 * The environment of the demo: a control plane and simulated clusters in this process, all files in
 * one folder, on free ports.
 */
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
import * as kinds from "@kcp-ts/sdk/kinds";
import { type SimulatedCluster, startListeningCluster } from "@kcp-ts/simulator";
import type { ClusterRow, DemoView, DeploymentRow } from "./demo-view.ts";

const syncTargets = defineResource<DynamicObject>(kinds.syncTargets);
const deployments = defineResource<DynamicObject>(kinds.deployments);

const namespace = "default";
/** Shorter grace periods than in production, where a cluster is evicted after a minute. */
const fastProbes = {
  link: { probeMs: 1000, probeTimeoutMs: 2000, failuresMax: 2, inventoryMs: 30_000 },
  importPollMs: 5000,
  gracePeriods: { unreachableAfterMs: 3000, recoveryMs: 1000 },
};
/** Slow enough to watch. */
const kubelet = { startDelayMs: { min: 300, max: 3000 }, stopDelayMs: 300 };

export class DemoEnvironment {
  readonly folder: string;
  readonly controlPlane: ControlPlane;
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
    controlPlane: ControlPlane,
    log: { readonly log: ReturnType<typeof createLog>; readonly lines: readonly string[] },
  ) {
    this.folder = folder;
    this.controlPlane = controlPlane;
    this.#log = log;
  }

  /** Warnings of all components, the latest last. */
  get errors(): readonly string[] {
    return this.#log.lines;
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  /** Starts a cluster and creates the SyncTarget that registers it in the control plane. */
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
    await this.controlPlane.client.resource(syncTargets).apply(target as never, applied);
  }

  async deploy(name: string, replicas: number): Promise<void> {
    const object = deploymentOf(name, replicas) as unknown as ObjectInput<DynamicObject>;
    await this.controlPlane.client.resource(deployments).apply(object, applied);
  }

  async setImage(name: string, image: string): Promise<void> {
    const template = { spec: { containers: [{ name: "web", image }] } };
    const patch = { spec: { template } };
    await this.controlPlane.client
      .resource(deployments)
      .patch({ namespace, name }, { type: "strategic-merge", patch });
  }

  async cut(name: string): Promise<void> {
    await this.#cluster(name).faults.cut();
  }

  async heal(name: string): Promise<void> {
    await this.#cluster(name).faults.heal();
  }

  async view(): Promise<DemoView> {
    const targets = await this.controlPlane.client.resource(syncTargets).list();
    return { clusters: targets.items.map(clusterRow), deployments: await this.#deployments() };
  }

  async close(): Promise<void> {
    await this.controlPlane.stop();
    await Promise.all([...this.#clusters.values()].map((cluster) => cluster.close()));
  }

  async #deployments(): Promise<readonly DeploymentRow[] | undefined> {
    try {
      const { items } = await this.controlPlane.client.resource(deployments).list({ namespace });
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
  const cluster = stringMember(metadata.labels, "workload.kcp.io/cluster");
  const lostSince = stringMember(metadata.annotations, "workload.kcp.io/unreachable-since");
  return {
    name: metadata.name,
    replicas,
    ready: count("readyReplicas"),
    updated: count("updatedReplicas"),
    available: count("availableReplicas"),
    cluster,
    isUnreachable: lostSince !== undefined,
    isObserved: count("observedGeneration") === metadata.generation,
  };
}
