/**
 * For tests of volumes: two simulated clusters whose volumes can be seen, and an eye on what is
 * attached where.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { parseManifests } from "@kcp-ts/controlplane";
import { systemClock } from "@kcp-ts/machinery/base";
import { syncTargets } from "@kcp-ts/multicluster";
import { type Client, defineResource, type KubernetesObject, pause } from "@kcp-ts/sdk";
import { persistentVolumeClaims, persistentVolumes, pods } from "@kcp-ts/sdk/kinds";
import type { ListeningClusterOptions, SimulatedCluster } from "@kcp-ts/simulator";
import { registerPullTarget, startAgentWith } from "./agents.ts";
import {
  deployment,
  deployments,
  eventually,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilCondition,
  untilSynced,
} from "./fixture.ts";

export { pods } from "@kcp-ts/sdk/kinds";

export interface StoredObject extends KubernetesObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: {
    readonly phase?: string;
    readonly readyReplicas?: number;
    readonly active?: readonly object[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export const claims = defineResource<StoredObject>(persistentVolumeClaims);
export const volumes = defineResource<StoredObject>(persistentVolumes);
export const namespace = "default";
export const data = { namespace, name: "data" };
export const web = { namespace, name: "web" };
const kubelet = { startDelayMs: { min: 10, max: 50 }, stopDelayMs: 20, runMs: 100 };

export const guidePage = readFileSync(
  new URL("../../../../docs/guides/stateful.md", import.meta.url),
  "utf8",
);

/** An example of the page. */
export function exampleFromGuide(kind: string): StoredObject {
  const blocks = [...guidePage.matchAll(/```yaml\n(.*?)```/gs)].flatMap(([, text = ""]) =>
    parseManifests(text, "stateful.md"),
  );
  return (blocks.find((one) => one["kind"] === kind) ?? assert.fail()) as unknown as StoredObject;
}

export interface VolumeFixtureOptions {
  /** What is done in a cluster before it is registered. */
  readonly prepare?: (client: Client) => Promise<void>;
  /** By an agent in the cluster, with its own token and over the network. */
  readonly isPulled?: boolean;
}

export class VolumeFixture {
  readonly client: Client;
  readonly clusters: ReadonlyMap<string, SimulatedCluster>;
  /** Clusters in which the handle was attached at the same time. */
  readonly attachedTwice: string[] = [];

  constructor(client: Client, clusters: ReadonlyMap<string, SimulatedCluster>) {
    this.client = client;
    this.clusters = clusters;
  }

  /** Two clusters, with volumes. */
  static async start(
    t: TestContext,
    more: readonly string[] = [],
    physical: Partial<ListeningClusterOptions> = {},
    { prepare = async () => {}, isPulled = false }: VolumeFixtureOptions = {},
  ): Promise<VolumeFixture> {
    // This cleanup runs before the clusters are closed: no client reads a closed cluster.
    let stopLooking = async () => {};
    t.after(() => stopLooking());
    const plane = await startControlPlaneWithClusters(t, {
      gracePeriods: { unreachableAfterMs: 60_000, recoveryMs: 0 },
    });
    const clusters = new Map<string, SimulatedCluster>();
    for (const name of ["east", "west"]) {
      const cluster = await startPhysicalCluster(t, { name, kubelet, ...physical });
      clusters.set(name, cluster);
      await prepare(cluster.client);
      const { resources } = exampleFromGuide("SyncTarget").spec as { readonly resources: string[] };
      const all = [...resources, ...more];
      if (isPulled) {
        const { target, view: upstream } = await registerPullTarget(t, plane, name, "root", {
          resources: all,
        });
        const stop = startAgentWith({
          upstream,
          downstream: cluster.client,
          target,
          resources: all,
        });
        t.after(stop);
      } else {
        await register(plane.client, name, { kubeconfig: cluster.kubeconfig, resources: all });
      }
      await untilCondition(plane.client, name, { status: "True" });
      await untilSynced(plane.client, name, all);
    }
    const stage = new VolumeFixture(plane.client, clusters);
    stopLooking = stage.#watchAttachments();
    return stage;
  }

  async apply(
    accessModes: readonly string[],
    annotations = {},
    storageClassName = "shared",
  ): Promise<void> {
    await this.applyClaim(claimFor(accessModes, annotations, storageClassName));
  }

  async claimAlone(accessModes: readonly string[], annotations = {}): Promise<void> {
    const claim = claimFor(accessModes, annotations, "shared");
    await eventually(() => this.client.resource(claims).create(claim));
  }

  /** As the page says. */
  async allow(): Promise<void> {
    const [, name = "", value = ""] =
      /^kubectl annotate pvc data (\S+)=(\S+)$/m.exec(guidePage) ?? [];
    const patch = { metadata: { annotations: { [name]: value } } };
    await this.client.resource(claims).patch(data, { type: "merge", patch });
  }

  /** And a workload that uses it. */
  async applyClaim(claim: Pick<StoredObject, "metadata" | "spec">): Promise<void> {
    await eventually(() => this.client.resource(claims).create(claim));
    const used = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
    const workload = deployment("web", { volumes: used });
    await eventually(() => this.client.resource(deployments).create(workload));
  }

  async ready(): Promise<Record<string, string>> {
    const { items } = await this.client.resource(deployments).list({ namespace });
    return Object.fromEntries(
      items.map((one) => {
        const { status, spec } = one as StoredObject;
        return [one.metadata.name, `${status?.readyReplicas ?? 0}/${spec?.["replicas"]}`];
      }),
    );
  }

  async until(wanted: Record<string, string>): Promise<void> {
    await eventually(async () => assert.deepEqual(await this.ready(), wanted, await this.#told()));
  }

  /** The cluster that all of the workload is in, and the other one. */
  async untilBound(): Promise<readonly [home: string, other: string]> {
    return eventually(async () => {
      const { web: workload, ...parts } = await this.ready();
      const [[name, ready] = ["", ""], ...more] = Object.entries(parts);
      assert.deepEqual([workload, ready, more], ["2/2", "2/2", []], await this.#told());
      return name === "web--east" ? ["east", "west"] : ["west", "east"];
    });
  }

  async #told(): Promise<string> {
    const found = [
      await this.claim(),
      ...(await this.client.resource(deployments).list({ namespace })).items,
    ];
    return JSON.stringify(
      found.map(({ metadata }) => [metadata.name, metadata.annotations, metadata.labels]),
      null,
      1,
    );
  }

  claim(): Promise<StoredObject> {
    return this.client.resource(claims).get(data);
  }

  /** What the claim says about a cluster. */
  async volumeStatusOf(
    cluster: string,
  ): Promise<{ state?: string; reason?: string; message?: string }> {
    const text = (await this.claim()).metadata.annotations?.["workload.kcp.io/volumes"];
    return JSON.parse(text ?? "{}")[cluster] ?? {};
  }

  /** By cluster: the handles that claims have there. */
  async handles(): Promise<Record<string, readonly string[]>> {
    const found: Record<string, readonly string[]> = {};
    for (const [name, { client }] of this.clusters) {
      const [bound, known] = [
        await client.resource(claims).list({}),
        await client.resource(volumes).list({}),
      ];
      found[name] = bound.items.map((claim) => {
        const volume = known.items.find((one) => one.metadata.name === claim.spec?.["volumeName"]);
        return handleOf(volume);
      });
    }
    return found;
  }

  async pods(cluster: string): Promise<readonly string[]> {
    const { items } =
      (await this.clusters.get(cluster)?.client.resource(pods).list({})) ?? assert.fail();
    return items.map(({ metadata }) => metadata.name);
  }

  async empty(cluster: string): Promise<void> {
    const patch = { spec: { drain: {} } };
    await this.client.resource(syncTargets).patch({ name: cluster }, { type: "merge", patch });
  }

  /** Returns what ends it. */
  #watchAttachments(): () => Promise<void> {
    const stop = new AbortController();
    const attached = new Map<string, Set<string>>();
    const look = async () => {
      while (!stop.signal.aborted) {
        for (const [name, { client }] of this.clusters) {
          const { items } = await client.resource(volumes).list({});
          const held = items.filter(({ metadata }) => (metadata.finalizers ?? []).length > 0);
          const handles = held.map(handleOf);
          attached.set(name, new Set(handles));
        }
        const [east = new Set(), west = new Set()] = attached.values();
        for (const handle of east) if (west.has(handle)) this.attachedTwice.push(handle);
        await pause(systemClock, 5);
      }
    };
    const looking = look();
    return async () => {
      stop.abort();
      await looking;
    };
  }
}

function claimFor(
  accessModes: readonly string[],
  annotations: object,
  storageClassName: string,
): Pick<StoredObject, "metadata" | "spec"> {
  const requests = { storage: "1Gi" };
  const spec = { accessModes, storageClassName, resources: { requests } };
  return { metadata: { ...data, annotations: { ...annotations } }, spec };
}

function handleOf(volume: StoredObject | undefined): string {
  const source = volume?.spec?.["csi"] as { readonly volumeHandle: string } | undefined;
  return source?.volumeHandle ?? "none";
}
