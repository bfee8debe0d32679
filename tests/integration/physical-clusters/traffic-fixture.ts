/**
 * For the tests of traffic: a control plane, clusters in which ServiceImports are installed, and a
 * workload with a Service.
 */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { PhysicalClusterOptions } from "@kcp-ts/controlplane";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { definitionOfKind } from "@kcp-ts/machinery/schema";
import {
  importedServiceLabel,
  type ServiceExport,
  type ServiceImport,
  serviceExports,
  serviceImportKind,
  serviceImports,
  sourceClusterLabel,
} from "@kcp-ts/multicluster";
import {
  type Client,
  type Condition,
  type DynamicObject,
  defineResource,
  findCondition,
  type KubernetesObject,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { customResourceDefinitions } from "@kcp-ts/sdk/kinds";
import type { SimulatedCluster } from "@kcp-ts/simulator";
import type { TestControlPlane } from "@kcp-ts/testing/internal";
import {
  deployment,
  deployments,
  eventually,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilCondition,
} from "./fixture.ts";

export interface EndpointSlice extends KubernetesObject {
  readonly endpoints: readonly {
    readonly addresses: readonly string[];
    readonly conditions?: { readonly ready?: boolean };
  }[];
  readonly ports?: readonly JsonObject[];
}

export const endpointSlices = defineResource<EndpointSlice>(kinds.endpointSlices);

export const services = defineResource<DynamicObject>(kinds.services);

export const configMaps = defineResource<DynamicObject>(kinds.configMaps);

const definitions = defineResource<DynamicObject>(customResourceDefinitions);

export const namespace = "default";
const kubelet = { startDelayMs: { min: 10, max: 200 }, stopDelayMs: 20, runMs: 100 };

type Physical = SimulatedCluster & { readonly kubeconfig: string };

export class TrafficFixture {
  readonly plane: TestControlPlane;
  readonly clusters: ReadonlyMap<string, Physical>;

  private constructor(plane: TestControlPlane, clusters: ReadonlyMap<string, Physical>) {
    this.plane = plane;
    this.clusters = clusters;
  }

  static async start(
    t: TestContext,
    names: readonly string[],
    options: PhysicalClusterOptions = {},
  ): Promise<TrafficFixture> {
    const plane = await startControlPlaneWithClusters(t, {
      gracePeriods: { unreachableAfterMs: 3_600_000, recoveryMs: 0 },
      endpointGracePeriods: { withdrawMs: 200, returnMs: 0 },
      ...options,
    });
    const clusters = new Map<string, Physical>();
    for (const name of names) {
      const cluster = await startPhysicalCluster(t, { name, kubelet });
      await cluster.client
        .resource(definitions)
        .create(definitionOfKind(serviceImportKind) as unknown as DynamicObject);
      clusters.set(name, cluster);
    }
    return new TrafficFixture(plane, clusters);
  }

  physical(name: string): Physical {
    const cluster = this.clusters.get(name);
    assert.ok(cluster !== undefined, name);
    return cluster;
  }

  async join(name: string, client: Client = this.plane.client): Promise<void> {
    await register(client, name, { kubeconfig: this.physical(name).kubeconfig });
    await untilCondition(client, name, { status: "True" });
  }

  /** A Deployment and its Service, both as anybody would write them. */
  async deploy(
    replicas: number,
    options: { client?: Client; annotations?: Record<string, string>; name?: string } = {},
  ): Promise<void> {
    const { client = this.plane.client, annotations = {}, name = "web" } = options;
    const { metadata, spec } = deployment(name);
    await eventually(() =>
      client
        .resource(deployments)
        .create({ metadata: { ...metadata, annotations }, spec: { ...spec, replicas } }),
    );
    await eventually(() => client.resource(services).create(service(name)));
  }
}

export function service(name: string, spec: JsonObject = {}) {
  const ports = [{ name: "http", port: 80, targetPort: 8080 }];
  return { metadata: { name, namespace }, spec: { selector: { app: name }, ports, ...spec } };
}

export function importOf(client: Client, name = "web"): Promise<ServiceImport | undefined> {
  return client.resource(serviceImports).find({ namespace, name });
}

export function exportOf(client: Client, name = "web"): Promise<ServiceExport | undefined> {
  return client.resource(serviceExports).find({ namespace, name });
}

export async function exportCondition(
  client: Client,
  type: string,
  name = "web",
): Promise<Condition | undefined> {
  return findCondition((await exportOf(client, name))?.status?.conditions, type);
}

/** By the cluster that they are in: how many ready endpoints an import has. */
export async function readyBySource(
  client: Client,
  options: { name?: string; namespace?: string } = {},
): Promise<Record<string, number>> {
  const labelSelector = `${importedServiceLabel}=${options.name ?? "web"}`;
  const where = options.namespace === undefined ? {} : { namespace: options.namespace };
  const { items } = await client.resource(endpointSlices).list({ labelSelector, ...where });
  return countReady(items);
}

export function countReady(slices: readonly EndpointSlice[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { metadata, endpoints } of slices) {
    const source = String(metadata.labels?.[sourceClusterLabel]);
    const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false).length;
    counts[source] = (counts[source] ?? 0) + ready;
  }
  return counts;
}

/** Everything that an import's endpoints ever were, from a watch that misses nothing. */
export class EndpointRecorder {
  readonly states: Record<string, number>[] = [];
  readonly #slices = new Map<string, EndpointSlice>();
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;

  private constructor(client: Client, initial: readonly EndpointSlice[], resourceVersion: string) {
    for (const slice of initial) this.#slices.set(slice.metadata.name, slice);
    this.#note();
    this.#watching = this.#watch(client, resourceVersion);
  }

  static async start(t: TestContext, client: Client): Promise<EndpointRecorder> {
    const { items, metadata } = await client.resource(endpointSlices).list({ labelSelector });
    const record = new EndpointRecorder(client, items, metadata.resourceVersion ?? "");
    t.after(() => record.stop());
    return record;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }

  async #watch(client: Client, resourceVersion: string): Promise<void> {
    const { signal } = this.#stop;
    const where = { labelSelector, resourceVersion, signal };
    try {
      for await (const { type, object } of client.resource(endpointSlices).watch(where)) {
        if (type === "DELETED") this.#slices.delete(object.metadata.name);
        else if (type !== "BOOKMARK") this.#slices.set(object.metadata.name, object);
        this.#note();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #note(): void {
    this.states.push(countReady([...this.#slices.values()]));
  }
}

const labelSelector = `${importedServiceLabel}=web`;

export function total(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
