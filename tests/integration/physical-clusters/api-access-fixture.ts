/**
 * For tests of Pods that talk to their logical cluster: an operator as people write it, and eyes on
 * what it finds.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { TestContext } from "node:test";
import { type Manifest, parseManifests } from "@kcp-ts/controlplane";
import { apiAccessLabel } from "@kcp-ts/multicluster";
import {
  type Client,
  type Connection,
  type DynamicObject,
  defineResource,
  type KubernetesObject,
} from "@kcp-ts/sdk";
import { namespaces, serviceAccounts } from "@kcp-ts/sdk/kinds";
import { type Pod, PodClient, pods, secrets } from "@kcp-ts/testing/internal";
import { eventually } from "./fixture.ts";

export { namespaces } from "@kcp-ts/sdk/kinds";

export interface Queue extends KubernetesObject {
  readonly spec: { readonly partitions: number };
  readonly status?: { readonly ready?: boolean };
}

export const queues = defineResource<Queue>({
  group: "messaging.example.io",
  version: "v1",
  resource: "queues",
  kind: "Queue",
  namespaced: true,
});

export const accounts = serviceAccounts;

export const namespace = "messaging";
const file = new URL("../../../../examples/applications/queue-operator.yaml", import.meta.url);

/**
 * The manifests of examples/applications/queue-operator.yaml, unchanged, in a namespace that asks
 * for access.
 */
export async function applyOperator(
  client: Client,
  labels: Readonly<Record<string, string>> = { [apiAccessLabel]: "true" },
): Promise<void> {
  await client.resource(namespaces).create({ metadata: { name: namespace, labels } });
  for (const manifest of parseManifests(await readFile(file, "utf8"), "queue-operator.yaml"))
    await eventually(() => apply(client, manifest));
}

async function apply(client: Client, manifest: Manifest): Promise<void> {
  const { apiVersion, kind, metadata } = manifest as unknown as KubernetesObject & Manifest;
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const namespaced = kind !== "CustomResourceDefinition";
  const resource = defineResource<DynamicObject>({
    group,
    version,
    kind,
    resource: `${kind.toLowerCase()}s`,
    namespaced,
  });
  const object = { ...manifest, metadata: { ...metadata, ...(namespaced ? { namespace } : {}) } };
  await client.resource(resource).apply(object as never, { fieldManager: "test", force: true });
}

/** A Pod of the operator in a physical cluster, and what is in it. */
export async function operatorIn(
  t: TestContext,
  physical: Client,
): Promise<{ readonly pod: Pod; readonly inside: PodClient; readonly connection: Connection }> {
  return await eventually(async () => {
    const { items } = await physical.resource(pods).list({ labelSelector: "app=queue-operator" });
    const pod = items.find(({ metadata }) => metadata.deletionTimestamp === undefined);
    assert.ok(pod !== undefined, "no Pod yet");
    const inside = await PodClient.start(t, physical, pod);
    return { pod, inside, connection: await inside.connect(t) };
  });
}

/** Of both sides: names of the Secrets by which Pods have access. */
export async function accessSecrets(client: Client): Promise<readonly string[]> {
  const { items } = await client
    .resource(secrets)
    .list({ labelSelector: `${apiAccessLabel}=true` });
  return items.map(({ metadata }) => metadata.name).sort();
}

/** The token in a Secret of this name, wherever it is. */
export async function tokenOf(client: Client, name: string): Promise<string> {
  const { items } = await client.resource(secrets).list({ fieldSelector: `metadata.name=${name}` });
  return Buffer.from(items[0]?.data?.["token"] ?? "", "base64").toString("utf8");
}
