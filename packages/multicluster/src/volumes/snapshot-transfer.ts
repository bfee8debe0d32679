/**
 * Whether a snapshot can transfer a claim's data from one cluster to another, and with which
 * classes. Pure.
 *
 * The handle of a snapshot is valid in the storage that created it, and no API shows which clusters
 * share a storage: equal drivers do not prove it (two accounts of a cloud have the same driver). So
 * the owner of the SyncTargets declares it, by `workload.kcp.io/snapshot-domains:
 * <driver>=<domain>` on each: a handle is valid wherever driver and domain are equal.
 */
import type { VolumeClaim, VolumeRefusal, VolumesInput } from "./decide-volumes.ts";
import type { ClaimMigration } from "./volume-copies.ts";

export interface ClusterStorage {
  /** By driver: the domain in which its snapshots are valid. */
  readonly domains: ReadonlyMap<string, string>;
  readonly classes: readonly StorageClass[];
  readonly snapshotClasses: readonly SnapshotClass[];
}

export interface StorageClass {
  readonly name: string;
  readonly provisioner: string;
  readonly isDefault: boolean;
  /** Claims of the class are bound when a Pod uses them, and not before (WaitForFirstConsumer). */
  readonly waitsForConsumer: boolean;
}

export interface SnapshotClass {
  readonly name: string;
  readonly driver: string;
  readonly isDefault: boolean;
  /** Snapshots outlive their objects. */
  readonly isRetained: boolean;
}

/** The kinds that both clusters must sync, by `resource.group`. */
export const snapshotKinds = [
  "volumesnapshots.snapshot.storage.k8s.io",
  "volumesnapshotcontents.snapshot.storage.k8s.io",
  "volumesnapshotclasses.snapshot.storage.k8s.io",
  "storageclasses.storage.k8s.io",
] as const;

export interface SnapshotTransfer {
  readonly driver: string;
  /** The class in the source cluster, and in the destination. */
  readonly from: SnapshotClass;
  readonly to: SnapshotClass;
}

type Known = Pick<VolumesInput, "storageOf">;

export function snapshotTransferRefusal(
  claim: VolumeClaim,
  claimMigration: ClaimMigration,
  known: Known,
): VolumeRefusal | undefined {
  const found = snapshotTransferOf(claim, claimMigration, known);
  return found === undefined || "driver" in found ? undefined : found;
}

/** Undefined while the claim has no volume. */
export function snapshotTransferOf(
  claim: VolumeClaim,
  { source: home, destination }: ClaimMigration,
  { storageOf = () => undefined }: Known,
): SnapshotTransfer | VolumeRefusal | undefined {
  const [source, target] = [storageOf(home), storageOf(destination)];
  const name = `claim ${claim.name}`;
  if (source === undefined || target === undefined) {
    const cluster = source === undefined ? home : destination;
    const message = `snapshots of ${name} cannot be seen in ${cluster}: install the VolumeSnapshot kinds there, and add ${snapshotKinds.join(", ")} to spec.resources of SyncTarget ${cluster}`;
    return { reason: "SnapshotsNotSynced", message };
  }
  const volume = claim.volumes.get(home);
  if (volume === undefined) return undefined;
  const { driver } = volume;
  if (driver === undefined) {
    const message = `${name} is on volume ${volume.name}, which is of no CSI driver and cannot be snapshotted; name a hook that copies it by workload.kcp.io/volume-copier`;
    return { reason: "VolumeNotMovable", message };
  }
  const domain = source.domains.get(driver);
  if (domain === undefined || domain !== target.domains.get(driver)) {
    const message = `whether snapshots of ${driver} in ${home} are valid in ${destination} is not known: if they are, annotate both SyncTargets with workload.kcp.io/snapshot-domains=${driver}=<the same name>`;
    return { reason: "SnapshotDomainMismatch", message };
  }
  const [from, to] = [retainedClass(source, driver), retainedClass(target, driver)];
  if (from === undefined || to === undefined) {
    const cluster = from === undefined ? home : destination;
    const message = `${cluster} has no VolumeSnapshotClass of ${driver} with deletionPolicy Retain, which ${name} needs to be copied to ${destination}`;
    return { reason: "NoSnapshotClass", message };
  }
  return classRefusal(claim, driver, { destination, target }) ?? { driver, from, to };
}

/** The claim is provisioned again in the destination, where its class must have the same driver. */
function classRefusal(
  claim: VolumeClaim,
  driver: string,
  { destination, target }: { readonly destination: string; readonly target: ClusterStorage },
): VolumeRefusal | undefined {
  const { storageClass } = claim;
  const found = target.classes.find((one) =>
    storageClass === undefined ? one.isDefault : one.name === storageClass,
  );
  const reason = "IncompatibleStorageClass";
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

/** The default class of the driver, or the first by name. */
function retainedClass(
  { snapshotClasses }: ClusterStorage,
  driver: string,
): SnapshotClass | undefined {
  const fitting = snapshotClasses.filter((one) => one.driver === driver && one.isRetained);
  const byName = [...fitting].sort((a, b) => (a.name < b.name ? -1 : 1));
  return byName.find(({ isDefault }) => isDefault) ?? byName[0];
}

/** Parses `a.example.com=east,b.example.com=lab`; invalid entries are ignored. */
export function domainsIn(text: string | undefined): ReadonlyMap<string, string> {
  const domains = new Map<string, string>();
  for (const entry of (text ?? "").split(",")) {
    const [, driver, domain] = /^\s*([^=\s]+)=(\S+)\s*$/.exec(entry) ?? [];
    if (driver !== undefined && domain !== undefined) domains.set(driver, domain);
  }
  return domains;
}
