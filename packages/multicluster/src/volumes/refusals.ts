/** Why a volume cannot be in another cluster, or may not; found out before anything stops. Pure. */
import { copyRequestFor } from "./copies.ts";
import type { VolumeClaim, VolumeRefusal, VolumesInput, VolumeUser } from "./decide-volumes.ts";
import { snapshotTransferRefusal } from "./snapshot-way.ts";

type Known = Pick<VolumesInput, "sight" | "showsVolumes" | "storageOf">;

export function volumeRefusalOf(
  claim: VolumeClaim,
  groupHome: string | undefined,
  to: string,
  known: Known,
): VolumeRefusal | undefined {
  const { sight, showsVolumes = () => true } = known;
  const home = claim.home ?? groupHome ?? "";
  const name = `claim ${claim.name}`;
  if (sight(home) === "gone") {
    const message = `${name} had its data in ${home}, which is not registered any more; register it again, or delete the claim`;
    return { reason: "DataGone", message };
  }
  if (sight(to) === "gone") {
    const message = `${name} stays in ${home}: ${to} is not registered any more`;
    return { reason: "NotRegistered", message };
  }
  if (claim.copier === undefined && !claim.isShared && !claim.mayDetach) {
    const message = `${name} can be in one cluster at a time and is in ${home}: to stop its workloads there before they start in ${to}, annotate it with workloads.kcp.io/volume-move=detach (or =snapshot, for a copy), or name a hook that copies it`;
    return { reason: "AccessMode", message };
  }
  // Of a copy, only what it is made of has to be seen.
  const hidden = (claim.copier === undefined ? [home, to] : [home]).find(
    (cluster) => !showsVolumes(cluster),
  );
  if (hidden !== undefined) {
    const message = `the volume of ${name} cannot be seen: add persistentvolumes to spec.resources of SyncTarget ${hidden}`;
    return { reason: "VolumeUnknown", message };
  }
  if (claim.copier?.by === "hook") return undefined;
  if (claim.copier?.by === "snapshot") {
    const journey = { home, destination: to };
    return (
      copyRequestFor(claim, journey)?.failure ?? snapshotTransferRefusal(claim, journey, known)
    );
  }
  return rebindingRefusal(claim, home);
}

function rebindingRefusal(claim: VolumeClaim, home: string): VolumeRefusal | undefined {
  const name = `claim ${claim.name}`;
  const volume = claim.volumes.get(home);
  if (volume === undefined) return undefined;
  if (!volume.isPortable) {
    const message = `${name} is on volume ${volume.name}, which only ${home} can reach; name a hook that copies it by workloads.kcp.io/volume-hook`;
    return { reason: "NotPortable", message };
  }
  if (!volume.isRetained) {
    const message = `volume ${volume.name} of ${name} would be deleted with its claim in ${home}; set its persistentVolumeReclaimPolicy to Retain`;
    return { reason: "ReclaimPolicy", message };
  }
  return undefined;
}

/** What cannot be stopped is waited for, before anything else is. */
export function volumeInUseBy(
  [claim]: readonly VolumeClaim[],
  destination: string,
  parts: readonly VolumeUser[],
): VolumeRefusal | undefined {
  const busy = parts.find(
    (part) => part.cluster !== destination && part.endsByItself === true && isRunning(part),
  );
  if (busy === undefined) return undefined;
  const { whole, cluster } = busy;
  const message = `${whole} runs to its end in ${cluster}, and with it claim ${claim?.name} stays there until then; to move now, delete it`;
  return { reason: "Busy", message };
}

export function isRunning({ isOpened, isStopped }: VolumeUser): boolean {
  return isOpened && !isStopped;
}
