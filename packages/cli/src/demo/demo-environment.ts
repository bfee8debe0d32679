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
import { systemClock } from "@kcp-ts/machinery/base";
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
import { DemoTraffic } from "./demo-traffic.ts";
import type { ClusterRow, DemoView, DeploymentRow } from "./demo-view.ts";

const syncTargets = defineResource<DynamicObject>(kinds.syncTargets);
const deployments = defineResource<DynamicObject>(kinds.deployments);
const services = defineResource<DynamicObject>(kinds.services);

const namespace = "default";
/** Shorter grace periods than in production, where a cluster is evicted after a minute. */
const fastProbes = {
  link: { probeMs: 1000, probeTimeoutMs: 2000, failuresMax: 2, inventoryMs: 30_000 },
  importPollMs: 5000,
  gracePeriods: { unreachableAfterMs: 6000, recoveryMs: 1000 },
};
/** Slow enough to watch. */
const kubelet = { startDelayMs: { min: 300, max: 3000 }, stopDelayMs: 300 };

export class DemoEnvironment {
  readonly folder: string;
  readonly controlPlane: ControlPlane;
  readonly #clusters = new Map<string, SimulatedCluster>();
  readonly #cut = new Set<string>();
  readonly #log;
  #traffic: DemoTraffic | undefined;

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
    const target = { metadata: { name }, spec: { kubeconfig: cluster.kubeconfig ?? "" } };
    await this.#write(`${name}.yaml`, [syncTargets, target]);
  }

  /** A Deployment with its Service, whose endpoints get traffic from the cluster `from`. */
  async prepareDeployment(name: string, replicas: number, from: string): Promise<void> {
    await this.#write(
      `${name}.yaml`,
      [deployments, deploymentOf(name, replicas)],
      [services, serviceOf(name)],
    );
    this.#traffic = new DemoTraffic({
      service: name,
      from,
      clusters: this.#clusters,
      isReachable: (cluster) => !this.#cut.has(cluster),
    });
  }

  async register(name: string): Promise<void> {
    const kubeconfig = this.#cluster(name).kubeconfig ?? "";
    const target = { metadata: { name }, spec: { kubeconfig } };
    await this.controlPlane.client.resource(syncTargets).apply(target as never, applied);
  }

  async deploy(name: string, replicas: number): Promise<void> {
    const object = deploymentOf(name, replicas) as unknown as ObjectInput<DynamicObject>;
    await this.controlPlane.client.resource(deployments).apply(object, applied);
    const service = serviceOf(name) as unknown as ObjectInput<DynamicObject>;
    await this.controlPlane.client.resource(services).apply(service, applied);
  }

  async setImage(name: string, image: string): Promise<void> {
    const template = { spec: { containers: [{ name: "web", image }] } };
    const patch = { spec: { template } };
    await this.controlPlane.client
      .resource(deployments)
      .patch({ namespace, name }, { type: "strategic-merge", patch });
  }

  async cut(name: string): Promise<void> {
    this.#cut.add(name);
    await this.#cluster(name).faults.cut();
  }

  async heal(name: string): Promise<void> {
    await this.#cluster(name).faults.heal();
    this.#cut.delete(name);
  }

  async view(): Promise<DemoView> {
    const targets = await this.controlPlane.client.resource(syncTargets).list();
    return {
      clusters: targets.items.map(clusterRow),
      deployments: await this.#deployments(),
      traffic: await this.#traffic?.send(),
    };
  }

  async close(): Promise<void> {
    await this.controlPlane.stop();
    await Promise.all([...this.#clusters.values()].map((cluster) => cluster.close()));
  }

  async #deployments(): Promise<readonly DeploymentRow[] | undefined> {
    try {
      const { client } = this.controlPlane;
      const { items } = await client.resource(deployments).list({ namespace });
      const placements = await client.resource(kinds.workloadPlacements).list({ namespace });
      const unreachable = new Set(
        placements.items.flatMap(({ status, spec }) =>
          (status?.clusters ?? [])
            .filter((one) => one.unreachableSince !== undefined)
            .map((one) => `${spec.workloadRef.name} ${one.name}`),
        ),
      );
      return items.map((item) => deploymentRow(item, unreachable));
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
    ...objects: readonly (readonly [typeof deployments, object])[]
  ): Promise<void> {
    const texts = objects.map(([{ group, version, kind }, object]) => {
      const apiVersion = group === "" ? version : `${group}/${version}`;
      return toYaml({ apiVersion, kind, ...object } as never);
    });
    await writeFile(this.file(file), texts.join("---\n"), { mode: 0o600 });
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

function serviceOf(name: string): object {
  return {
    metadata: { name, namespace },
    spec: { selector: { app: name }, ports: [{ port: 80 }] },
  };
}

interface Status {
  readonly conditions?: readonly Condition[];
  readonly [count: string]: unknown;
}

function clusterRow({ metadata, ...rest }: DynamicObject): ClusterRow {
  const { conditions } = (rest["status"] ?? {}) as Status;
  const ready = findCondition(conditions, "Ready");
  const sinceMs = Date.parse(ready?.lastTransitionTime ?? "");
  const leftMs = sinceMs + fastProbes.gracePeriods.unreachableAfterMs - systemClock.now();
  return {
    name: metadata.name,
    ready: ready?.status ?? "",
    reason: ready?.reason ?? "",
    failoverInSeconds:
      ready?.status === "False" && !Number.isNaN(leftMs)
        ? Math.max(0, Math.ceil(leftMs / 1000))
        : undefined,
  };
}

function deploymentRow(
  { metadata, ...rest }: DynamicObject,
  unreachable: ReadonlySet<string>,
): DeploymentRow {
  const status = (rest["status"] ?? {}) as unknown as Status;
  const { replicas = 1, template } = (rest["spec"] ?? {}) as {
    replicas?: number;
    template?: { spec?: { containers?: readonly { image?: string }[] } };
  };
  const count = (name: string) => Number(status[name] ?? 0);
  const cluster = stringMember(metadata.labels, "workload.kcp.io/cluster");
  const workload = stringMember(metadata.labels, "workload.kcp.io/owned-by");
  return {
    name: metadata.name,
    replicas,
    ready: count("readyReplicas"),
    updated: count("updatedReplicas"),
    image: template?.spec?.containers?.[0]?.image ?? "",
    cluster,
    isUnreachable: unreachable.has(`${workload} ${cluster}`),
    isObserved: count("observedGeneration") === metadata.generation,
  };
}
