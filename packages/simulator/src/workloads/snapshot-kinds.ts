/**
 * The kinds of CSI snapshots, and StorageClasses, as an administrator installs them in a cluster:
 * CustomResourceDefinitions, with the classes of the simulated driver.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { anyObject, bool, definitionOfKind, object, string } from "@kcp-ts/machinery/schema";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Condition,
  defineResource,
  findCondition,
  type KubernetesObject,
  type ObjectInput,
  pause,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { storageClasses } from "../api/index.ts";

export interface Snapshotted extends KubernetesObject {
  readonly spec: JsonObject;
  readonly status?: JsonObject;
}

export interface VolumeSnapshotClass extends KubernetesObject {
  readonly driver: string;
  readonly deletionPolicy: string;
  readonly parameters?: Readonly<Record<string, string>>;
}

export const volumeSnapshots = defineResource<Snapshotted>(kinds.volumeSnapshots);

export const volumeSnapshotContents = defineResource<Snapshotted>(kinds.volumeSnapshotContents);

export const volumeSnapshotClasses = defineResource<VolumeSnapshotClass>(
  kinds.volumeSnapshotClasses,
);

interface Definition extends KubernetesObject {
  readonly spec: object;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const definitions = defineResource<Definition>(kinds.customResourceDefinitions);

export const snapshotDriver = "snap.sim.kcp.io";

const texts = (...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, string()]));
const reported = {
  ...texts("creationTime", "boundVolumeSnapshotContentName", "snapshotHandle", "restoreSize"),
  readyToUse: bool(),
  error: object(texts("message", "time")),
};

/** The part of the published schemas that is used here. */
const schemas = {
  volumesnapshots: {
    spec: object({
      ...texts("volumeSnapshotClassName"),
      source: object(texts("persistentVolumeClaimName", "volumeSnapshotContentName")),
    }),
    status: object(reported),
  },
  volumesnapshotcontents: {
    spec: object({
      ...texts("deletionPolicy", "driver", "volumeSnapshotClassName", "sourceVolumeMode"),
      source: object(texts("snapshotHandle", "volumeHandle")),
      volumeSnapshotRef: object(texts("apiVersion", "kind", "namespace", "name", "uid")),
    }),
    status: object(reported),
  },
  volumesnapshotclasses: { ...texts("driver", "deletionPolicy"), parameters: anyObject() },
  storageclasses: {
    ...texts("provisioner", "reclaimPolicy", "volumeBindingMode"),
    parameters: anyObject(),
  },
};

const defined = [volumeSnapshots, volumeSnapshotContents, volumeSnapshotClasses, storageClasses];

function definitionOf({ group, version, resource, kind, namespaced }: (typeof defined)[number]) {
  const members = schemas[resource as keyof typeof schemas];
  const definition = definitionOfKind({
    ...{ group, version, resource, kind, isNamespaced: namespaced },
    hasStatus: "status" in members,
    schema: object(members),
  });
  // Groups of Kubernetes' own require an approval annotation.
  const approval = "https://github.com/kubernetes-csi/external-snapshotter/pull/814";
  const annotations = { "api-approved.kubernetes.io": approval };
  return { ...definition, metadata: { ...definition.metadata, annotations } };
}

/** Resolves when all kinds are served. */
export async function installSnapshots(client: Client, clock: Clock): Promise<void> {
  const resource = client.resource(definitions);
  for (const kind of defined) {
    const definition = definitionOf(kind);
    const { name } = definition.metadata;
    await unlessThere(() => resource.create(definition));
    while (!isEstablished(await resource.get({ name }))) await pause(clock, establishedLookMs);
  }
  const metadata = { name: "snap" };
  const snap: ObjectInput<VolumeSnapshotClass> = {
    metadata,
    driver: snapshotDriver,
    deletionPolicy: "Retain",
  };
  await unlessThere(() => client.resource(volumeSnapshotClasses).create(snap));
  const rest = { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" };
  const storage = { metadata, provisioner: snapshotDriver, ...rest };
  await unlessThere(() => client.resource(storageClasses).create(storage));
}

const establishedLookMs = 10;

function isEstablished({ status }: Definition): boolean {
  return findCondition(status?.conditions, "Established")?.status === "True";
}

async function unlessThere(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!isStatusError(error, "AlreadyExists")) throw error;
  }
}
