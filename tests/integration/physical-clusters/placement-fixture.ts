/**
 * For the tests of this folder: a control plane and simulated clusters in which everything runs at
 * once.
 */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { type SyncTarget, type SyncTargetSpec, syncTargets } from "@kcp-ts/multicluster";
import { type Client, type Condition, findCondition, type KubernetesObject } from "@kcp-ts/sdk";
import type { NodeOptions, SimulatedCluster } from "@kcp-ts/simulator";
import type { TestControlPlane } from "@kcp-ts/testing/internal";
import {
  deployment,
  deployments,
  eventually,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilCondition,
} from "./fixture.ts";

export interface PlacementFixtureOptions {
  /** By name: their nodes; one with much of everything if left out. */
  readonly clusters: Readonly<Record<string, readonly NodeOptions[] | undefined>>;
  /** Of their SyncTargets. */
  readonly labels?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly specs?: Readonly<Record<string, SyncTargetSpec>>;
  /** How long a lost cluster is waited for; longer than any test if left out. */
  readonly unreachableAfterMs?: number;
}

interface Status {
  readonly readyReplicas?: number;
  readonly conditions?: readonly Condition[];
}

const kubelet = { startDelayMs: { min: 0, max: 20 }, stopDelayMs: 10, runMs: 100 };

export class PlacementFixture {
  readonly plane: TestControlPlane;
  readonly client: Client;
  readonly clusters = new Map<string, SimulatedCluster & { readonly kubeconfig: string }>();

  private constructor(plane: TestControlPlane, client = plane.client.inCluster("root")) {
    this.plane = plane;
    this.client = client;
  }

  /** The same clusters, registered by another tenant. */
  static async beside(
    { plane, clusters }: PlacementFixture,
    client: Client,
    labels: PlacementFixtureOptions["labels"],
  ): Promise<PlacementFixture> {
    const stage = new PlacementFixture(plane, client);
    for (const [name, cluster] of clusters) {
      stage.clusters.set(name, cluster);
      await stage.register(name, labels === undefined ? {} : { labels });
    }
    return stage;
  }

  static async start(t: TestContext, options: PlacementFixtureOptions): Promise<PlacementFixture> {
    const { unreachableAfterMs = 600_000 } = options;
    const plane = await startControlPlaneWithClusters(t, {
      gracePeriods: { unreachableAfterMs, recoveryMs: 0 },
    });
    const stage = new PlacementFixture(plane);
    for (const [name, nodes] of Object.entries(options.clusters)) {
      const cluster = await startPhysicalCluster(t, {
        name,
        kubelet,
        ...(nodes === undefined ? {} : { nodes }),
      });
      stage.clusters.set(name, cluster);
      await stage.register(name, options);
    }
    return stage;
  }

  async register(
    name: string,
    { labels, specs }: Omit<PlacementFixtureOptions, "clusters"> = {},
  ): Promise<void> {
    const kubeconfig = this.clusters.get(name)?.kubeconfig ?? "";
    const spec = { kubeconfig, resources: ["deployments.apps"], ...specs?.[name] };
    const metadata = { name, labels: labels?.[name] ?? {} };
    await this.client.resource(syncTargets).create({ metadata, spec });
    await untilCondition(this.client, name, { status: "True" });
  }

  async apply(
    name: string,
    replicas: number,
    more: {
      readonly pod?: object;
      readonly labels?: Record<string, string>;
      readonly namespace?: string;
    } = {},
  ): Promise<void> {
    const { metadata, spec } = deployment(name);
    const { namespace = "default", labels = {} } = more;
    const container = { name: "web", image: "nginx:1.27", ...more.pod };
    const template = { metadata: spec?.template?.metadata, spec: { containers: [container] } };
    const workload = {
      metadata: { ...metadata, namespace, labels: { ...metadata.labels, ...labels } },
      spec: { ...spec, replicas, template },
    };
    await eventually(() => this.client.resource(deployments).create(workload as never));
  }

  async shares(name: string, namespace = "default"): Promise<Record<string, number | undefined>> {
    const { items } = await this.client.resource(deployments).list({ namespace });
    const parts = items.filter(({ metadata }) => metadata.name.startsWith(`${name}--`));
    return Object.fromEntries(
      parts.map(({ metadata, spec }) => [metadata.name.slice(name.length + 2), spec?.replicas]),
    );
  }

  async untilShares(
    name: string,
    wanted: Record<string, number>,
    namespace = "default",
  ): Promise<void> {
    await eventually(async () => assert.deepEqual(await this.shares(name, namespace), wanted));
  }

  async untilReady(name: string, replicas: number, namespace = "default"): Promise<void> {
    await eventually(async () => {
      const { readyReplicas = 0 } = await this.status(name, namespace);
      assert.equal(readyReplicas, replicas);
    });
  }

  async status(name: string, namespace = "default"): Promise<Status> {
    const found = await this.client.resource(deployments).get({ namespace, name });
    return ((found as KubernetesObject & { status?: Status }).status ?? {}) as Status;
  }

  async untilScheduled(name: string, check: { reason: string; message?: RegExp }): Promise<void> {
    await eventually(async () => {
      const placed = findCondition((await this.status(name)).conditions, "Scheduled");
      assert.equal(placed?.reason, check.reason, placed?.message);
      if (check.message !== undefined) assert.match(placed?.message ?? "", check.message);
    });
  }

  async patchTarget(name: string, patch: object): Promise<SyncTarget> {
    return await this.client
      .resource(syncTargets)
      .patch({ name }, { type: "merge", patch: patch as never });
  }
}
