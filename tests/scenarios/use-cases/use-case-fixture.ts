/**
 * For the use cases: a control plane, two clusters of the test environment that serve all their
 * APIs, and a terminal.
 */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { definitionOfKind } from "@kcp-ts/machinery/schema";
import { serviceImportKind, syncedResourcesDefault, syncTargets } from "@kcp-ts/multicluster";
import {
  type Client,
  type Condition,
  type DynamicObject,
  defineResource,
  findCondition,
  type KubernetesObject,
} from "@kcp-ts/sdk";
import { customResourceDefinitions, persistentVolumes } from "@kcp-ts/sdk/kinds";
import type { NodeOptions } from "@kcp-ts/simulator";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
import { eventually as eventuallyWithin } from "@kcp-ts/testkit";
import type { TestCluster, TestEnvironment } from "../test-environments/index.ts";
import { parseScenarios, Terminal } from "../walkthroughs/index.ts";

/** A machine may be slow: how long something takes decides no test. */
export function eventually<Value>(check: () => Value | Promise<Value>): Promise<Value> {
  return eventuallyWithin(check, { timeoutMs: 180_000, intervalMs: 50 });
}

/** What is read here of any object. */
export interface AnyObject extends KubernetesObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>> & {
    readonly conditions?: readonly Condition[];
  };
}

const of = (group: string, version: string, resource: string, kind: string) =>
  defineResource<AnyObject>({ group, version, resource, kind, namespaced: true });

export const kinds = {
  deployments: of("apps", "v1", "deployments", "Deployment"),
  pods: of("", "v1", "pods", "Pod"),
  services: of("", "v1", "services", "Service"),
  configMaps: of("", "v1", "configmaps", "ConfigMap"),
  claims: of("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
  ingresses: of("networking.k8s.io", "v1", "ingresses", "Ingress"),
  volumes: defineResource<AnyObject>(persistentVolumes),
} as const;
export type Kind = keyof typeof kinds;

const definitions = defineResource<DynamicObject>(customResourceDefinitions);

export const namespace = "default";
export const bothClusters = ["east", "west"] as const;
export type UseCaseClusterName = (typeof bothClusters)[number];
export const region = "topology.kubernetes.io/region";

const physicalClusters = {
  // A cluster that answers late is not lost.
  link: { probeMs: 500, probeTimeoutMs: 20_000, failuresMax: 10, inventoryMs: 1000 },
  importPollMs: 500,
  gracePeriods: { unreachableAfterMs: 3_600_000, recoveryMs: 0 },
};

export interface UseCaseOptions {
  readonly nodes?: (cluster: string) => readonly NodeOptions[];
  /** The APIs that the clusters serve; the defaults if omitted. */
  readonly resources?: readonly string[];
}

export class UseCaseFixture {
  readonly client: Client;
  readonly clusters: ReadonlyMap<string, TestCluster>;
  readonly #terminal: Terminal;

  private constructor(
    client: Client,
    clusters: ReadonlyMap<string, TestCluster>,
    terminal: Terminal,
  ) {
    this.client = client;
    this.clusters = clusters;
    this.#terminal = terminal;
  }

  static async start(
    t: TestContext,
    environment: TestEnvironment,
    options: UseCaseOptions = {},
  ): Promise<UseCaseFixture> {
    const plane = await startTestControlPlane({ physicalClusters });
    t.after(() => plane.close());
    const terminal = await Terminal.open(() => Promise.reject(new Error("there are no cues")));
    t.after(() => terminal.close());
    await terminal.write("kubeconfig", await plane.kubeconfig({ cluster: "root" }));
    const lent = await Promise.all(
      bothClusters.map((name) => environment.acquire(t, name, options.nodes?.(name))),
    );
    const clusters = new Map(lent.map((cluster) => [cluster.name, cluster]));
    const stage = new UseCaseFixture(plane.client, clusters, terminal);
    for (const name of bothClusters) await stage.#join(name, options.resources);
    return stage;
  }

  cluster(name: string): TestCluster {
    return this.clusters.get(name) ?? assert.fail(`${name} is no cluster of this stage`);
  }

  /** What a person types, and what is printed: see `scenario.ts`. */
  async types(text: string): Promise<void> {
    for (const scenario of parseScenarios(`T1  typed\n${text}`)) await this.#terminal.run(scenario);
  }

  /** Writes a manifest where the person sits, for `kubectl apply -f`. */
  async write(name: string, ...objects: readonly object[]): Promise<void> {
    await this.#terminal.write(name, { apiVersion: "v1", kind: "List", items: objects });
  }

  async find(kind: Kind, name: string): Promise<AnyObject | undefined> {
    const { namespaced } = kinds[kind];
    const key = namespaced ? { namespace, name } : { name };
    return await this.client.resource(kinds[kind]).find(key);
  }

  async patch(kind: Kind, name: string, patch: object): Promise<void> {
    await this.client
      .resource(kinds[kind])
      .patch({ namespace, name }, { type: "merge", patch: patch as never });
  }

  /** `ready/asked` of the whole and of each part: `{ web: "4/4", east: "2/2", west: "2/2" }`. */
  async counts(name = "web"): Promise<Record<string, string>> {
    const { items } = await this.client.resource(kinds.deployments).list({ namespace });
    const own = items.filter(
      ({ metadata }) => metadata.name === name || metadata.name.startsWith(`${name}--`),
    );
    return Object.fromEntries(
      own.map(({ metadata, spec, status }) => [
        metadata.name.slice(metadata.name === name ? 0 : name.length + 2),
        `${status?.["readyReplicas"] ?? 0}/${spec?.["replicas"]}`,
      ]),
    );
  }

  async untilCounts(wanted: Record<string, string>, name = "web"): Promise<void> {
    await eventually(async () => {
      const placed = findCondition(
        (await this.find("deployments", name))?.status?.conditions,
        "Scheduled",
      );
      assert.deepEqual(await this.counts(name), wanted, JSON.stringify(placed));
    });
  }

  /** The names of what of this kind the syncer or the cluster made in a cluster, sorted. */
  async inCluster(kind: Kind, cluster: string): Promise<readonly string[]> {
    const { items } = await this.cluster(cluster).client.resource(kinds[kind]).list();
    const own = items.filter(({ metadata }) => metadata.namespace?.startsWith("kcp-") ?? true);
    return own.map(({ metadata }) => metadata.name).sort();
  }

  async patchTarget(name: string, spec: object): Promise<void> {
    await this.client
      .resource(syncTargets)
      .patch({ name }, { type: "merge", patch: { spec } as never });
  }

  async #join(name: string, resources: readonly string[] | undefined): Promise<void> {
    const { client, kubeconfig } = this.cluster(name);
    await client
      .resource(definitions)
      .create(definitionOfKind(serviceImportKind) as unknown as DynamicObject);
    const metadata = { name, labels: { [region]: name } };
    const spec = { kubeconfig, ...(resources === undefined ? {} : { resources }) };
    await this.client.resource(syncTargets).create({ metadata, spec });
    await eventually(async () => {
      const { status } = await this.client.resource(syncTargets).get({ name });
      const wanted = resources ?? syncedResourcesDefault;
      const missing = wanted.filter((kind) => !status?.syncedResources?.includes(kind));
      assert.deepEqual(missing, [], `${name} does not lend all: ${JSON.stringify(status)}`);
    });
  }
}
