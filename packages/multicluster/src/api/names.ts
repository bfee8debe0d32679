/**
 * Labels, annotations and finalizers by which the parts of the multi-cluster half talk to each other, and what their values mean.
 *
 * Names that history has left behind are aliases: they are read everywhere, and never written.
 */
import { type StringMap, stringMember } from "@kcp-ts/sdk";

/** Whether a label or an annotation is one of the control plane's, by its domain. */
export function isKcpKey(key: string): boolean {
  const slash = key.indexOf("/");
  const domain = slash < 0 ? "" : key.slice(0, slash);
  return ["kcp.io", "kcp.dev"].some((own) => domain === own || domain.endsWith(`.${own}`));
}

/** Of annotations for simulated clusters, which speak of nothing in the control plane. */
export const simulatorPrefix = "sim.kcp.io/";

/** On an object or a namespace: the SyncTarget that it is assigned to; empty while it is assigned to none. */
export const clusterLabel = "workloads.kcp.io/cluster";
/** All spellings of `clusterLabel`, the one that counts first. */
export const clusterLabels: readonly string[] = [
  clusterLabel,
  "workloads.kcp.dev/cluster",
  "kcp.dev/cluster",
];

/** The SyncTarget that labels assign to; undefined when none of the spellings is there or all are empty. */
export function assignedCluster(labels: StringMap | undefined): string | undefined {
  for (const label of clusterLabels) {
    const value = stringMember(labels, label);
    if (value !== undefined && value !== "") return value;
  }
  return undefined;
}

/** On a part of a split object: the name of the whole. */
export const ownedByLabel = "kcp.io/owned-by";
export const ownedByLabels: readonly string[] = [ownedByLabel, "kcp.dev/owned-by"];

/** On objects and namespaces, `<prefix><SyncTarget>`: empty while it is pending, `Sync`, or `Upsync`. */
export const stateLabelPrefix = "state.workload.kcp.io/";
export const stateSync = "Sync";
export const stateUpsync = "Upsync";

/** The time since which an object is to leave a SyncTarget. */
export const deletionAnnotationPrefix = "deletion.internal.workload.kcp.io/";
/** A list with commas: who still needs the object in a SyncTarget. It is not deleted there while the list has members. */
export const softFinalizersAnnotationPrefix = "finalizers.workload.kcp.io/";
/** On parts and on their copies, "true": an agent whose lease is gone stops it, because another one is started elsewhere then. */
export const stopBeforeStartLabel = "workloads.kcp.io/at-most-one";
/** A real finalizer: held by the syncer from before it creates downstream until what it made there is gone. */
export const syncerFinalizerPrefix = "workload.kcp.io/syncer-";
/** A JSON patch of `.spec` for one SyncTarget. */
export const specDiffAnnotationPrefix = "experimental.spec-diff.workload.kcp.io/";
/** The status that one SyncTarget reports, as JSON. */
export const statusAnnotationPrefix = "experimental.status.workload.kcp.io/";
/** What the syncer's view of an object differs in, as JSON. */
export const diffAnnotationPrefix = "diff.syncer.internal.kcp.io/";
export const summarizingAnnotation = "experimental.summarizing.workload.kcp.io";

export function stateLabel(target: string): string {
  return stateLabelPrefix + target;
}

export function deletionAnnotation(target: string): string {
  return deletionAnnotationPrefix + target;
}

export function softFinalizersAnnotation(target: string): string {
  return softFinalizersAnnotationPrefix + target;
}

/** Who still needs the object in a SyncTarget. */
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

/** `syncer-<name>` is the longest of the names above that hold a SyncTarget's: 63 characters are allowed for it. */
export const syncTargetNameCharactersMax = 56;

/** The SyncTargets that the labels of an object speak of, with their states. */
export function statesOf(labels: StringMap | undefined): ReadonlyMap<string, string> {
  const states = new Map<string, string>();
  for (const [label, state] of Object.entries(labels ?? {})) {
    if (label.startsWith(stateLabelPrefix)) states.set(label.slice(stateLabelPrefix.length), state);
  }
  return states;
}

/**
 * Whether the object was copied up from a cluster. The control plane lets only syncers make such an object, and lets nobody put the label on or take it off afterwards
 * (`CopiesOfClusters` in admission): what says so was written by a cluster, and what does not was not.
 */
export function isUpsynced(labels: StringMap | undefined): boolean {
  for (const [label, state] of Object.entries(labels ?? {}))
    if (state === stateUpsync && label.startsWith(stateLabelPrefix)) return true;
  return false;
}

/** The SyncTargets that an object with such labels is synced down to. What a cluster wrote goes to no cluster, whatever else is on it. */
export function assignedTargets(labels: StringMap | undefined): ReadonlySet<string> {
  const targets = new Set<string>();
  if (isUpsynced(labels)) return targets;
  const one = assignedCluster(labels);
  if (one !== undefined) targets.add(one);
  for (const [target, state] of statesOf(labels)) if (state === stateSync) targets.add(target);
  return targets;
}

/** On downstream namespaces and objects without one: where they come from, as JSON. */
export const namespaceLocatorAnnotation = "kcp.io/namespace-locator";
export const namespaceLocatorAnnotations: readonly string[] = [
  namespaceLocatorAnnotation,
  "kcp.dev/namespace-locator",
];
/** On downstream namespaces: that the syncer made it, by a key that nobody in the cluster has. */
export const namespaceProofAnnotation = "internal.workload.kcp.io/namespace-proof";
/** On downstream namespaces: those of one tenant have the same. */
export const tenantLabel = "kcp.io/tenant-id";
/** On everything that a syncer made downstream: the key of its SyncTarget. */
export const downstreamLabel = "internal.workload.kcp.io/cluster";
/** On a part: since when its cluster is lost. */
export const unreachableSinceAnnotation = "workloads.kcp.io/lost-since";
/** On parts of custom kinds: what they need beside them, with commas, as in `configmaps/a,persistentvolumeclaims/data`. */
export const dependenciesAnnotation = "workloads.kcp.io/refers-to";

/** Names of one resource among them. */
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

/** On SyncTargets: their key, unique among all logical clusters. */
export const syncTargetKeyLabel = "internal.workload.kcp.io/key";
/** On Placements: the key of the chosen SyncTarget. */
export const selectedTargetAnnotation = "internal.workload.kcp.io/synctarget";
export const workspaceUrlAnnotation = "internal.workload.kcp.io/workspace-url";
/** On upsynced objects: the downstream resourceVersion they were copied at. */
export const upsyncedVersionAnnotation = "workload.kcp.io/rv";
/** On upsynced objects: the uids of what they are copies of and of the SyncTarget it is in, as JSON. */
export const upsyncedFromAnnotation = "workload.kcp.io/copy-of";
/** `status.reason` of upsynced Pods whose cluster cannot be seen. */
export const clusterUnreachableReason = "ClusterLost";
export const upsyncDiffAnnotationPrefix = "internal.workload.kcp.io/upsyncdiff";
/** On Services: what belongs to it downstream and is copied up, `endpoints` for one. */
export const upsyncDerivedAnnotation = "experimental.workload.kcp.io/upsync-derived-resources";

/** On namespaces: they are assigned by Placements. */
export const placementAnnotation = "scheduling.kcp.io/placement";
/** On Locations: their labels, for a column. */
export const locationLabelsAnnotation = "scheduling.kcp.io/labels";
/** On parts: what they take of their cluster, as in \`cpu=2,memory=4Gi,pods=4,workloads=1\`. */
export const reservedAnnotation = "workloads.kcp.io/reserved";
export const advancedSchedulingAnnotation =
  "featuregates.experimental.workload.kcp.io/advancedscheduling";
export const computeExportAnnotation = "extra.apis.kcp.io/compute.workload.kcp.io";
export const skipDefaultObjectsAnnotation = "workload.kcp.io/skip-default-object-creation";

/** On Services, "false": it is not exported though the workload behind it is in several clusters. */
export const exportAnnotation = "workloads.kcp.io/export";
/** On Services, "true": in clusters, a Service `<name>-clusterset` has the endpoints of all of them behind it. */
export const clustersetAnnotation = "workloads.kcp.io/clusterset";
/** On what follows others (Services their Pods, ConfigMaps what refers to them): the SyncTargets that it was assigned to for that. Assignments that are not in it are people's. */
export const propagatedToAnnotation = "workloads.kcp.io/follows";

/** Where an object is because it follows others. */
export function propagatedTargets(annotations: StringMap | undefined): ReadonlySet<string> {
  const text = stringMember(annotations, propagatedToAnnotation) ?? "";
  return new Set(text.split(",").filter((target) => target !== ""));
}

/** On ServiceImports: since when each cluster exports, as JSON. The one that has done so for longest decides what they disagree on. */
export const exportedSinceAnnotation = "workloads.kcp.io/exported-since";
/** Among soft finalizers of workloads, followed by the name of a Service: its endpoints have not shifted yet. */
export const trafficFinalizerPrefix = "traffic/";

/** On claims, and on parts of workloads that use claims, `<prefix><SyncTarget>`: volumes are in place there. Before that, nothing of it is created there. */
export const volumeGateAnnotationPrefix = "opened.workload.kcp.io/";
/** Its value on what cannot be stopped otherwise: nothing of it may be there until its volumes are where it is to be. */
export const stoppedForVolumes = "stopped";
/** On claims, and on workloads whose volumes can be in one cluster only: the SyncTarget that has the data. */
export const volumeClusterAnnotation = "workloads.kcp.io/volumes-in";
/** On a StatefulSet with claim templates: the numbers that SyncTargets are to have, with their claims, as JSON. */
export const requestedOrdinalsAnnotation = "workloads.kcp.io/volumes-for";
/** On claims of numbers in use: the uid of the set that wants them deleted when their number is scaled away. */
export const deleteWhenScaledAnnotation = "workloads.kcp.io/delete-when-scaled";
/** On a part: the SyncTarget that it is to take over from, volumes included. */
export const migrationSourceAnnotation = "workloads.kcp.io/takes-over-from";
/** On claims: how the volume may get into another cluster, `detach`, `snapshot` or `never`. */
export const volumeMoveAnnotation = "workloads.kcp.io/volume-move";
/** On claims: who copies the volume to another cluster. */
export const volumeHookAnnotation = "workloads.kcp.io/volume-hook";
/** On claims: the copy that is asked for, and what a hook says when it is made, as JSON. */
export const volumeCopyAnnotation = "workloads.kcp.io/volume-copy";
export const volumeCopiedAnnotation = "workloads.kcp.io/volume-copied";
/** On a SyncTarget: by driver, the name of what its snapshots are valid in, as in `csi.example.com=lab`, with commas. */
export const snapshotDomainsAnnotation = "workloads.kcp.io/snapshot-domains";
/** On VolumeSnapshots and their contents that were made for a copy: the uid of the claim. */
export const snapshotOfLabel = "workloads.kcp.io/snapshot-of";
/** On the same: the id of the copy that was asked for. */
export const snapshotForAnnotation = "workloads.kcp.io/snapshot-for";
/** On claims and workloads: how their volumes are, by SyncTarget, as JSON. */
export const volumesAnnotation = "workloads.kcp.io/volumes";
/** On PersistentVolumes: who holds them in the cluster, with commas. */
export const attachedInClusterAnnotation = "workload.kcp.io/held-in-cluster";
/** Among soft finalizers of claims: the data is there, or may be. */
export const volumesFinalizer = "volumes";

export function volumeGateAnnotation(target: string): string {
  return volumeGateAnnotationPrefix + target;
}

/** On workloads and namespaces, "true": Pods talk to their logical cluster. On Secrets, "true": by these they do. */
export const apiAccessLabel = "workloads.kcp.io/api-access";
/** On workloads and namespaces with that label, an IPv4 address: there `kubernetes.default.svc` is found in their Pods. */
export const apiAddressLabel = "workloads.kcp.io/api-address";

/** On leaf ingresses: the coordinates of their root. */
export const ingressOwnedByClusterLabel = "ingress.kcp.dev/owned-by-cluster";
export const ingressOwnedByIngressLabel = "ingress.kcp.dev/owned-by-ingress";
export const ingressOwnedByNamespaceLabel = "ingress.kcp.dev/owned-by-namespace";
export const ingressEnvoyLabel = "ingress.kcp.dev/envoy";

/** On a SyncTarget: holds it until nothing of ours is in the cluster any more. */
export const syncTargetFinalizer = "workload.kcp.io/synctarget";
/** On a SyncTarget that is being deleted, "true": what is in the cluster may stay there. */
export const orphanAnnotation = "workload.kcp.io/orphan";

/** On what is installed in a cluster for an agent: the SyncTarget that it is for, as JSON. */
export const agentAnnotation = "workload.kcp.io/agent";

/** On imports and negotiated resources: `group/version`, for a column. */
export const apiVersionAnnotation = "apiresource.kcp.io/apiVersion";

/** Who writes: the owners of fields in server-side apply. */
export const syncerFieldManager = "kcp-syncer";
export const registrationFieldManager = "kcp-cluster-controller";
/** Of how far drains are. */
export const drainFieldManager = "kcp-drain";
/** An agent, of what it says about its cluster. */
export const agentFieldManager = "kcp-agent";
export const importerFieldManager = "kcp-api-importer";
export const negotiationFieldManager = "kcp-api-negotiation";
export const computeFieldManager = "kcp-compute";
export const schedulerFieldManager = "kcp-scheduler";
export const apiAccessFieldManager = "kcp-api-access";
