/**
 * Labels, annotations and finalizers of multi-cluster, and the meaning of their values.
 *
 * Keys of this project have the prefix `workload.kcp.io/`. Keys for one SyncTarget have kcp's form
 * `<what>.workload.kcp.io/<SyncTarget>`: the name part of a key has 63 characters, and the name of
 * a SyncTarget may need 56 of them. Other spellings that are read as input: `input-spellings.ts`.
 */
import { type StringMap, stringMember } from "@kcp-ts/sdk/client";
import { spellingsOf } from "./input-spellings.ts";

/** Whether a label or an annotation belongs to the control plane, by its domain. */
export function isKcpKey(key: string): boolean {
  const slash = key.indexOf("/");
  const domain = slash < 0 ? "" : key.slice(0, slash);
  return ["kcp.io", "kcp.dev"].some((own) => domain === own || domain.endsWith(`.${own}`));
}

/** The prefix of annotations for simulated clusters, which have no meaning in the control plane. */
export const simulatorPrefix = "sim.kcp.io/";

/**
 * On an object or a namespace: the SyncTarget that it is assigned to; empty while it is unassigned.
 */
export const clusterLabel = "workload.kcp.io/cluster";
/** All spellings of `clusterLabel`, in order of precedence. */
export const clusterLabels = spellingsOf(clusterLabel);

/** The SyncTarget that the labels assign to; undefined when every spelling is absent or empty. */
export function assignedCluster(labels: StringMap | undefined): string | undefined {
  for (const label of clusterLabels) {
    const value = stringMember(labels, label);
    if (value !== undefined && value !== "") return value;
  }
  return undefined;
}

/** On a per-cluster object: the name of its workload. */
export const ownedByLabel = "workload.kcp.io/owned-by";
export const ownedByLabels = spellingsOf(ownedByLabel);

/**
 * On objects and namespaces, `<prefix><SyncTarget>`: empty while the assignment is pending, `Sync`,
 * or `Upsync`.
 */
export const stateLabelPrefix = "state.workload.kcp.io/";
export const stateSync = "Sync";
export const stateUpsync = "Upsync";

/** The time since which an object is to be removed from a SyncTarget. */
export const deletionAnnotationPrefix = "deletion.internal.workload.kcp.io/";
/**
 * A comma-separated list of the controllers that still need the object in a SyncTarget. The syncer
 * does not delete the object there while the list has members.
 */
export const softFinalizersAnnotationPrefix = "finalizers.workload.kcp.io/";
/**
 * On per-cluster objects and their downstream copies, "true": an agent stops the object when its
 * lease has expired, because another cluster then starts a replacement.
 */
export const stopBeforeStartLabel = "workload.kcp.io/stop-before-start";
/**
 * A real finalizer: the syncer sets it before it creates the downstream object, and removes it when
 * the downstream object is deleted.
 */
export const syncerFinalizerPrefix = "workload.kcp.io/syncer-";
/** A JSON patch of `.spec` for one SyncTarget. */
export const specDiffAnnotationPrefix = "experimental.spec-diff.workload.kcp.io/";
/** The status that one SyncTarget reports, as JSON. */
export const statusAnnotationPrefix = "experimental.status.workload.kcp.io/";

/**
 * On upstream objects, `<prefix><SyncTarget>`: why the syncer cannot sync the object, as JSON.
 * Absent when the object is in sync.
 */
export const syncErrorAnnotationPrefix = "sync-error.workload.kcp.io/";

export function syncErrorAnnotation(target: string): string {
  return syncErrorAnnotationPrefix + target;
}

export function stateLabel(target: string): string {
  return stateLabelPrefix + target;
}

export function deletionAnnotation(target: string): string {
  return deletionAnnotationPrefix + target;
}

export function softFinalizersAnnotation(target: string): string {
  return softFinalizersAnnotationPrefix + target;
}

/** The controllers that still need the object in a SyncTarget. */
export function softFinalizersOf(
  annotations: StringMap | undefined,
  target: string,
): readonly string[] {
  const text = stringMember(annotations, softFinalizersAnnotation(target)) ?? "";
  return text
    .split(",")
    .map((holder) => holder.trim())
    .filter((holder) => holder !== "");
}

export function syncerFinalizer(target: string): string {
  return syncerFinalizerPrefix + target;
}

export function specDiffAnnotation(target: string): string {
  return specDiffAnnotationPrefix + target;
}

export function statusAnnotation(target: string): string {
  return statusAnnotationPrefix + target;
}

/**
 * `syncer-<name>` is the longest key above that contains the name of a SyncTarget; the name part of
 * a key may have 63 characters.
 */
export const syncTargetNameCharactersMax = 56;

/** The SyncTargets in an object's state labels, with the states. */
export function statesOf(labels: StringMap | undefined): ReadonlyMap<string, string> {
  const states = new Map<string, string>();
  for (const [label, state] of Object.entries(labels ?? {})) {
    if (label.startsWith(stateLabelPrefix)) states.set(label.slice(stateLabelPrefix.length), state);
  }
  return states;
}

/**
 * Whether the object was synced up from a cluster. The control plane permits only syncers to create
 * such an object, and permits no client to add or remove the label afterwards (`CopiesOfClusters`
 * in admission): an object with the label was written by a cluster, and an object without the label
 * was not.
 */
export function isUpsynced(labels: StringMap | undefined): boolean {
  for (const [label, state] of Object.entries(labels ?? {}))
    if (state === stateUpsync && label.startsWith(stateLabelPrefix)) return true;
  return false;
}

/**
 * The SyncTargets that an object with such labels is synced down to. An object that was synced up
 * from a cluster is synced to no cluster, whatever its other labels are.
 */
export function assignedTargets(labels: StringMap | undefined): ReadonlySet<string> {
  const targets = new Set<string>();
  if (isUpsynced(labels)) return targets;
  const one = assignedCluster(labels);
  if (one !== undefined) targets.add(one);
  for (const [target, state] of statesOf(labels)) if (state === stateSync) targets.add(target);
  return targets;
}

/**
 * On downstream namespaces and cluster-scoped objects: the upstream object that they are a copy of,
 * as JSON.
 */
export const namespaceLocatorAnnotation = "kcp.io/namespace-locator";
export const namespaceLocatorAnnotations = spellingsOf(namespaceLocatorAnnotation);
/**
 * On downstream namespaces: a signature of the syncer, by a key that no client in the cluster has.
 */
export const namespaceSignatureAnnotation = "workload.kcp.io/namespace-signature";
/** On downstream namespaces: an id that all namespaces of one tenant share. */
export const tenantLabel = "kcp.io/tenant-id";
/** On every downstream object of a syncer: the key of its SyncTarget. */
export const downstreamLabel = "internal.workload.kcp.io/cluster";
/**
 * On per-cluster objects of custom kinds: their dependencies, comma-separated, such as
 * `configmaps/a,persistentvolumeclaims/data`.
 */
export const dependenciesAnnotation = "workload.kcp.io/dependencies";

/** The names of the dependencies of one resource. */
export function dependenciesOn(
  annotations: StringMap | undefined,
  resource: string,
): readonly string[] {
  const text = stringMember(annotations, dependenciesAnnotation) ?? "";
  const prefix = `${resource}/`;
  return text
    .split(",")
    .filter((one) => one.startsWith(prefix))
    .map((one) => one.slice(prefix.length));
}

/** On upsynced objects: the uids of the downstream object and of its SyncTarget, as JSON. */
export const upsyncedFromAnnotation = "workload.kcp.io/upsynced-from";
/** `status.reason` of upsynced Pods whose cluster is not observed. */
export const clusterUnreachableReason = "ClusterUnreachable";

/** On namespaces: Placements assign the namespace. */
export const placementAnnotation = "scheduling.kcp.io/placement";
/** On Locations: their labels, for a table column. */
export const locationLabelsAnnotation = "scheduling.kcp.io/labels";
export const computeExportAnnotation = "extra.apis.kcp.io/compute.workload.kcp.io";

/**
 * On Services, "false": the Service is not exported although its workload is in several clusters.
 */
export const exportAnnotation = "workload.kcp.io/export";
/**
 * On Services, "true": each cluster gets a Service `<name>-clusterset` with the endpoints of all
 * clusters.
 */
export const clustersetAnnotation = "workload.kcp.io/clusterset";
/**
 * On objects that follow others (Services their Pods, ConfigMaps the workloads that refer to them):
 * the SyncTargets that the object was assigned to for this reason. All other assignments are the
 * users'.
 */
export const propagatedToAnnotation = "workload.kcp.io/propagated-to";

/** The SyncTargets that an object was assigned to because it follows others. */
export function propagatedTargets(annotations: StringMap | undefined): ReadonlySet<string> {
  const text = stringMember(annotations, propagatedToAnnotation) ?? "";
  return new Set(text.split(",").filter((target) => target !== ""));
}

/**
 * On ServiceImports: the time since which each cluster exports the Service, as JSON. The oldest
 * export decides conflicts.
 */
export const exportedSinceAnnotation = "workload.kcp.io/exported-since";
/**
 * The prefix of soft finalizers of workloads, followed by the name of a Service: the Service's
 * endpoints have not moved yet.
 */
export const trafficFinalizerPrefix = "traffic/";

/**
 * On claims, and on per-cluster objects of workloads that use claims, `<prefix><SyncTarget>`: the
 * volumes are in this cluster. The syncer creates nothing of the object there before.
 */
export const volumeGateAnnotationPrefix = "volume-gate.workload.kcp.io/";
/**
 * The annotation's value on objects that cannot be scaled to zero: the object must not exist in the
 * cluster until its volumes are in the destination.
 */
export const stoppedForVolumes = "stopped";
/**
 * On claims, and on workloads whose volumes can be in one cluster only: the SyncTarget that has the
 * data.
 */
export const volumeClusterAnnotation = "workload.kcp.io/volume-cluster";
/**
 * On claims of ordinals in use: the uid of the StatefulSet that deletes the claims when their
 * ordinal is scaled down.
 */
export const deleteWhenScaledAnnotation = "workload.kcp.io/delete-when-scaled";
/** On claims: how the volume may be moved to another cluster, `detach`, `snapshot` or `never`. */
export const volumeMigrationAnnotation = "workload.kcp.io/volume-migration";
/** On claims: the controller that copies the volume to another cluster. */
export const volumeCopierAnnotation = "workload.kcp.io/volume-copier";
/** On claims: the requested copy, and the result that a hook reports, as JSON. */
export const volumeCopyRequestAnnotation = "workload.kcp.io/volume-copy-request";
export const volumeCopyResultAnnotation = "workload.kcp.io/volume-copy-result";
/**
 * On a SyncTarget: for each driver, the domain in which its snapshots are valid, such as
 * `csi.example.com=lab`, comma-separated.
 */
export const snapshotDomainsAnnotation = "workload.kcp.io/snapshot-domains";
/** On VolumeSnapshots and VolumeSnapshotContents of a volume copy: the uid of the claim. */
export const snapshotOfLabel = "workload.kcp.io/snapshot-of";
/** On VolumeSnapshots and VolumeSnapshotContents of a volume copy: the id of the copy request. */
export const snapshotRequestAnnotation = "workload.kcp.io/snapshot-request";
/** On claims and workloads: the state of their volumes for each SyncTarget, as JSON. */
export const volumesAnnotation = "workload.kcp.io/volumes";
/**
 * On PersistentVolumes: the finalizers of the volume in its cluster, comma-separated;
 * `external-attacher/…` while it is attached.
 */
export const attachedInClusterAnnotation = "workload.kcp.io/attached-in-cluster";
/** A soft finalizer of claims: the data is, or may be, in the cluster. */
export const volumesFinalizer = "volumes";

export function volumeGateAnnotation(target: string): string {
  return volumeGateAnnotationPrefix + target;
}

/**
 * On workloads and namespaces, "true": their Pods have access to their logical cluster. On Secrets,
 * "true": the Secret provides this access.
 */
export const apiAccessLabel = "workload.kcp.io/api-access";
/**
 * On workloads and namespaces with the label `api-access`, an IPv4 address: the address of
 * `kubernetes.default.svc` in their Pods.
 */
export const apiAddressLabel = "workload.kcp.io/api-address";

/** On leaf ingresses: the coordinates of their root ingress. */
export const ingressRootClusterLabel = "workload.kcp.io/ingress-root-cluster";
export const ingressRootNameLabel = "workload.kcp.io/ingress-root-name";
export const ingressRootNamespaceLabel = "workload.kcp.io/ingress-root-namespace";

/**
 * On a SyncTarget: a finalizer that blocks its deletion until all synced objects are deleted in the
 * cluster.
 */
export const syncTargetFinalizer = "workload.kcp.io/synctarget";
/** On a SyncTarget that is being deleted, "true": synced objects may stay in the cluster. */
export const orphanAnnotation = "workload.kcp.io/orphan";

/** On the objects of an agent in its cluster: the SyncTarget of the agent, as JSON. */
export const agentAnnotation = "workload.kcp.io/agent";

/** On imports and negotiated resources: `group/version`, for a table column. */
export const apiVersionAnnotation = "apiresource.kcp.io/apiVersion";

/** The syncer's field manager in server-side apply. */
export const syncerFieldManager = "kcp-syncer";
export const registrationFieldManager = "kcp-cluster-controller";
/** The field manager of the drain controller, which writes `status.drain`. */
export const drainFieldManager = "kcp-drain";
/** The field manager of an agent that reports the state of its cluster. */
export const agentFieldManager = "kcp-agent";
export const importerFieldManager = "kcp-api-importer";
export const negotiationFieldManager = "kcp-api-negotiation";
export const computeFieldManager = "kcp-compute";
export const schedulerFieldManager = "kcp-scheduler";
export const apiAccessFieldManager = "kcp-api-access";
