/**
 * The reasons against moving a volume to another cluster, checked before any workload stops. Pure.
 */
import type { VolumeClaim, VolumeRefusal, VolumesInput, VolumeUser } from "./decide-volumes.ts";
import { snapshotTransferRefusal } from "./snapshot-transfer.ts";
import { copyRequestFor } from "./volume-copies.ts";

type Known = Pick<VolumesInput, "visibilityOf" | "showsVolumes" | "storageOf">;

export function volumeRefusalOf(
  claim: VolumeClaim,
  groupHome: string | undefined,
  to: string,
  known: Known,
): VolumeRefusal | undefined {
  const { visibilityOf, showsVolumes = () => true } = known;
  const source = claim.dataCluster ?? groupHome ?? "";
  const name = `claim ${claim.name}`;
  if (visibilityOf(source) === "Unregistered") {
    const message = `${name} had its data in ${source}, which is not registered any more; register it again, or delete the claim`;
    return { reason: "VolumeLost", message };
  }
  if (visibilityOf(to) === "Unregistered") {
    const message = `${name} stays in ${source}: ${to} is not registered any more`;
    return { reason: "ClusterUnregistered", message };
  }
  if (claim.copier === undefined && !claim.isShared && !claim.mayDetach) {
    const message = `${name} can be in one cluster at a time and is in ${source}: to stop its workloads there before they start in ${to}, annotate it with workload.kcp.io/volume-migration=detach (or =snapshot, for a copy), or name a hook that copies it`;
    return { reason: "IncompatibleAccessMode", message };
  }
  // For a copy, only its source must be observed.
  const hidden = (claim.copier === undefined ? [source, to] : [source]).find(
    (cluster) => !showsVolumes(cluster),
  );
  if (hidden !== undefined) {
    const message = `the volume of ${name} cannot be seen: add persistentvolumes to spec.resources of SyncTarget ${hidden}`;
    return { reason: "VolumeNotSynced", message };
  }
  if (claim.copier?.by === "hook") return undefined;
  if (claim.copier?.by === "snapshot") {
    const journey = { source, destination: to };
    return (
      copyRequestFor(claim, journey)?.failure ?? snapshotTransferRefusal(claim, journey, known)
    );
  }
  return rebindingRefusal(claim, source);
}

function rebindingRefusal(claim: VolumeClaim, home: string): VolumeRefusal | undefined {
  const name = `claim ${claim.name}`;
  const volume = claim.volumes.get(home);
  if (volume === undefined) return undefined;
  if (!volume.isPortable) {
    const message = `${name} is on volume ${volume.name}, which only ${home} can reach; name a hook that copies it by workload.kcp.io/volume-copier`;
    return { reason: "VolumeNotMovable", message };
  }
  if (!volume.isRetained) {
    const message = `volume ${volume.name} of ${name} would be deleted with its claim in ${home}; set its persistentVolumeReclaimPolicy to Retain`;
    return { reason: "IncompatibleReclaimPolicy", message };
  }
  return undefined;
}

/** A workload that cannot be stopped is awaited before any other step. */
export function volumeInUseBy(
  [claim]: readonly VolumeClaim[],
  destination: string,
  parts: readonly VolumeUser[],
): VolumeRefusal | undefined {
  const busy = parts.find(
    (part) => part.cluster !== destination && part.endsByItself === true && isRunning(part),
  );
  if (busy === undefined) return undefined;
  const { workload, cluster } = busy;
  const message = `${workload} runs to its end in ${cluster}, and with it claim ${claim?.name} stays there until then; to move now, delete it`;
  return { reason: "VolumeInUse", message };
}

export function isRunning({ isVolumeGateOpen, isStopped }: VolumeUser): boolean {
  return isVolumeGateOpen && !isStopped;
}
