/**
 * The name of a SyncTarget on objects: its own name in its own logical cluster, and a longer name
 * in all other logical clusters.
 *
 *     root:compute        us-east1                   the SyncTarget itself
 *     root:team           us-east1.1x7k2m9d4q        the same, for users of root:compute
 *     root:team           us-east1                   another SyncTarget, of root:team itself
 *
 * Names of SyncTargets have no dots, so the two forms never collide. The part after the dot
 * identifies the logical cluster, whose name no user chooses.
 */
import { hashDigits } from "./hash-digits.ts";
import { syncTargetNameCharactersMax } from "./names.ts";

/** The properties that identify a SyncTarget. */
export interface NamedTarget {
  readonly name: string;
  /** The logical cluster of the SyncTarget. */
  readonly cluster: string;
}

const homeDigits = 10;
const nameCharactersMax = syncTargetNameCharactersMax - homeDigits - 1;

/** The name of the SyncTarget in labels, annotations and finalizers of objects in `cluster`. */
export function targetNameIn(cluster: string, target: NamedTarget): string {
  return cluster === target.cluster ? target.name : sharedTargetName(target);
}

export function sharedTargetName({ name, cluster }: NamedTarget): string {
  return `${shortened(name)}.${hashDigits(`compute:${cluster}`, homeDigits)}`;
}

/** Whether the name refers to a SyncTarget of another logical cluster. */
export function isSharedTargetName(name: string): boolean {
  return name.includes(".");
}

/** Whether the shared name refers to a SyncTarget in that logical cluster. */
export function isSharedFrom(name: string, cluster: string): boolean {
  return name.endsWith(`.${hashDigits(`compute:${cluster}`, homeDigits)}`);
}

/**
 * The name of a SyncTarget in its own logical cluster, from its shared name; undefined when the
 * shared name may be shortened.
 */
export function ownTargetName(shared: string): string | undefined {
  const [name = ""] = shared.split(".", 1);
  return name.length < nameCharactersMax ? name : undefined;
}

/** Shortens a name that is too long for the shared form; a hash keeps it unique. */
function shortened(name: string): string {
  if (name.length <= nameCharactersMax) return name;
  const hash = hashDigits(name, homeDigits);
  return `${name.slice(0, nameCharactersMax - homeDigits - 1)}-${hash}`;
}
