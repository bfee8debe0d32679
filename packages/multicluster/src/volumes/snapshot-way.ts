/**
 * Whether a snapshot can carry a claim's data from one cluster to another, and by which classes. Pure.
 *
 * The handle of a snapshot means something to the storage that made it, and nothing says which clusters share one: equal drivers do not (two accounts of a cloud have the
 * same). So who owns the SyncTargets says it, by `workloads.kcp.io/snapshot-domains: <driver>=<domain>` on each: a handle is good wherever driver and domain are the same.
 */
import type { ClaimMigration } from "./copies.ts";
import type { VolumeClaim, VolumeRefusal, VolumesInput } from "./decide-volumes.ts";

export interface ClusterStorage {
  /** By driver: the name of what its snapshots are valid in. */
  readonly domains: ReadonlyMap<string, string>;
  readonly classes: readonly StorageClass[];
  readonly snapshotClasses: readonly SnapshotClass[];
}

export interface StorageClass {
  readonly name: string;
  readonly provisioner: string;
  readonly isDefault: boolean;
  /** Its claims are bound when a Pod uses them, and not before. */
  readonly waitsForConsumer: boolean;
}

export interface SnapshotClass {
  readonly name: string;
  readonly driver: string;
  readonly isDefault: boolean;
  /** Snapshots outlive the objects that stand for them. */
  readonly isRetained: boolean;
}

/** Has to be synced by both clusters, by `resource.group`. */
export const snapshotKinds = [
  "volumesnapshots.snapshot.storage.k8s.io",
  "volumesnapshotcontents.snapshot.storage.k8s.io",
  "volumesnapshotclasses.snapshot.storage.k8s.io",
  "storageclasses.storage.k8s.io",
] as const;

export interface SnapshotTransfer {
  readonly driver: string;
  /** Of the cluster that the snapshot is taken in, and of the one that it is for. */
  readonly from: SnapshotClass;
  readonly to: SnapshotClass;
}

type Known = Pick<VolumesInput, "storageOf">;

export function snapshotTransferRefusal(
  claim: VolumeClaim,
  journey: ClaimMigration,
  known: Known,
): VolumeRefusal | undefined {
  const found = snapshotTransferOf(claim, journey, known);
  return found === undefined || "driver" in found ? undefined : found;
}

/** Undefined while the claim has no volume. */
export function snapshotTransferOf(
  claim: VolumeClaim,
  { home, destination }: ClaimMigration,
  { storageOf = () => undefined }: Known,
): SnapshotTransfer | VolumeRefusal | undefined {
  const [source, target] = [storageOf(home), storageOf(destination)];
  const name = `claim ${claim.name}`;
  if (source === undefined || target === undefined) {
    const cluster = source === undefined ? home : destination;
    const message = `snapshots of ${name} cannot be seen in ${cluster}: install the VolumeSnapshot kinds there, and add ${snapshotKinds.join(", ")} to spec.resources of SyncTarget ${cluster}`;
    return { reason: "SnapshotsUnknown", message };
  }
  const volume = claim.volumes.get(home);
  if (volume === undefined) return undefined;
  const { driver } = volume;
  if (driver === undefined) {
    const message = `${name} is on volume ${volume.name}, which is of no CSI driver and cannot be snapshotted; name a hook that copies it by workloads.kcp.io/volume-hook`;
    return { reason: "NotPortable", message };
  }
  const domain = source.domains.get(driver);
  if (domain === undefined || domain !== target.domains.get(driver)) {
    const message = `whether snapshots of ${driver} in ${home} are valid in ${destination} is not known: if they are, annotate both SyncTargets with workloads.kcp.io/snapshot-domains=${driver}=<the same name>`;
    return { reason: "SnapshotDomain", message };
  }
  const [from, to] = [retainedClass(source, driver), retainedClass(target, driver)];
  if (from === undefined || to === undefined) {
    const cluster = from === undefined ? home : destination;
    const message = `${cluster} has no VolumeSnapshotClass of ${driver} with deletionPolicy Retain, which ${name} needs to be copied to ${destination}`;
    return { reason: "SnapshotClass", message };
  }
  return classRefusal(claim, driver, { destination, target }) ?? { driver, from, to };
}

/** The claim is provisioned anew in the other cluster, where its class has to be another name for the same driver. */
function classRefusal(
  claim: VolumeClaim,
  driver: string,
  { destination, target }: { readonly destination: string; readonly target: ClusterStorage },
): VolumeRefusal | undefined {
  const { storageClass } = claim;
  const found = target.classes.find((one) =>
    storageClass === undefined ? one.isDefault : one.name === storageClass,
  );
  const reason = "StorageClass";
  const wanted =
    storageClass === undefined ? "default StorageClass" : `StorageClass ${storageClass}`;
  const needs = `which claim ${claim.name} needs to be copied there`;
  if (found === undefined) return { reason, message: `${destination} has no ${wanted}, ${needs}` };
  if (found.provisioner !== driver) {
    const message = `StorageClass ${found.name} of ${destination} is of ${found.provisioner}, which cannot read snapshots of ${driver}, ${needs}`;
    return { reason, message };
  }
  if (!found.waitsForConsumer) return undefined;
  const message = `StorageClass ${found.name} of ${destination} binds claims when their first Pod comes, and claim ${claim.name} has to be bound before its workload may start there: give ${destination} one with volumeBindingMode Immediate`;
  return { reason, message };
}

/** The default of the driver, or the first by name. */
function retainedClass(
  { snapshotClasses }: ClusterStorage,
  driver: string,
): SnapshotClass | undefined {
  const fitting = snapshotClasses.filter((one) => one.driver === driver && one.isRetained);
  const byName = [...fitting].sort((a, b) => (a.name < b.name ? -1 : 1));
  return byName.find(({ isDefault }) => isDefault) ?? byName[0];
}

/** `a.example.com=east,b.example.com=lab`; what does not look like it says nothing. */
export function domainsIn(text: string | undefined): ReadonlyMap<string, string> {
  const domains = new Map<string, string>();
  for (const entry of (text ?? "").split(",")) {
    const [, driver, domain] = /^\s*([^=\s]+)=(\S+)\s*$/.exec(entry) ?? [];
    if (driver !== undefined && domain !== undefined) domains.set(driver, domain);
  }
  return domains;
}
