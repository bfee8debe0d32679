/**
 * What a SyncTarget is called on objects: by its name in the logical cluster that it is in, and by a longer one everywhere else.
 *
 *     root:compute        us-east1                   the SyncTarget itself
 *     root:team           us-east1.1x7k2m9d4q        the same, for those who use the clusters of root:compute
 *     root:team           us-east1                   a SyncTarget of their own, which is another one
 *
 * Names of SyncTargets have no dots, so the two never meet. What follows the dot stands for the logical cluster: nobody chooses that one's name.
 */
import { hashDigits } from "./hash-digits.ts";
import { syncTargetNameCharactersMax } from "./names.ts";

/** As much of a SyncTarget as it takes to speak of it. */
export interface NamedTarget {
  readonly name: string;
  /** The logical cluster that it is in. */
  readonly cluster: string;
}

const homeDigits = 10;
const nameCharactersMax = syncTargetNameCharactersMax - homeDigits - 1;

/** By which labels, annotations and finalizers of objects in `cluster` mean the SyncTarget. */
export function targetNameIn(cluster: string, target: NamedTarget): string {
  return cluster === target.cluster ? target.name : sharedTargetName(target);
}

export function sharedTargetName({ name, cluster }: NamedTarget): string {
  return `${shortened(name)}.${hashDigits(`compute:${cluster}`, homeDigits)}`;
}

/** Whether objects mean a SyncTarget of another logical cluster by it. */
export function isSharedTargetName(name: string): boolean {
  return name.includes(".");
}

/** Whether the SyncTarget that others call so is in that logical cluster. */
export function isSharedFrom(name: string, cluster: string): boolean {
  return name.endsWith(`.${hashDigits(`compute:${cluster}`, homeDigits)}`);
}

/** What a SyncTarget is called at home, by what others call it; undefined where that name may be a shortened one. */
export function ownTargetName(shared: string): string | undefined {
  const [name = ""] = shared.split(".", 1);
  return name.length < nameCharactersMax ? name : undefined;
}

/** A name that is too long for both keeps what tells it from others. */
function shortened(name: string): string {
  if (name.length <= nameCharactersMax) return name;
  const hash = hashDigits(name, homeDigits);
  return `${name.slice(0, nameCharactersMax - homeDigits - 1)}-${hash}`;
}
