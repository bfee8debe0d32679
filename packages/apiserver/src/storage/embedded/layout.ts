/**
 * The layout of the engine's one key space.
 *
 *     d<key>                        the newest entry of a key
 *     o<key> NUL <modifiedAt>       an entry that was replaced or deleted since, as long as history has it
 *     o<key> NUL <deletedAt>x       a deletion, so that a read at an old revision detects the absence
 *     h<last revision><count>       the keys that one group of writes changed, see history-group.ts
 *     h<last revision>0000<first>   a jump of the counter: no revision of it has a change
 *     i<cluster>                    the move of a logical cluster, see move-records.ts
 *     l<cluster> NUL <revision>     a change that was imported with a logical cluster
 *     m                             the counters, see meta.ts
 *     t                             the age of history, see embedded-persistent-history.ts
 *
 * So a value is written once, and copied once more when it is replaced; one key's past is
 * contiguous, and a read of one tenant's past does not scan the writes of others. Revisions are 14
 * hex digits (2^53 fits), so that all keys are ASCII and sort by revision.
 */
import type { StorageKey } from "../key.ts";
import type { Revision } from "../revision.ts";
import type { EngineRange } from "./engine.ts";

export const metaKey = "m";
export const revisionSamplesKey = "t";

export function newestKey(key: StorageKey): string {
  return `d${key}`;
}

export function oldKey(key: StorageKey, modifiedAt: Revision): string {
  return `o${key}\0${hex(modifiedAt, revisionDigits)}`;
}

export function deletionKey(key: StorageKey, deletedAt: Revision): string {
  return `${oldKey(key, deletedAt)}x`;
}

export function historyKey(last: Revision, count: number): string {
  return `h${hex(last, revisionDigits)}${hex(count, countDigits)}`;
}

/** The counter jumped from before `first` to `last`. */
export function jumpKey(first: Revision, last: Revision): string {
  return `${historyKey(last, 0)}${hex(first, revisionDigits)}`;
}

export function moveKey(cluster: string): string {
  return `i${cluster}`;
}

export const moveRange: EngineRange = { from: "i", to: "j" };

export function importedKey(cluster: string, revision: Revision): string {
  return `l${cluster}\0${hex(revision, revisionDigits)}`;
}

/** The imported changes of a cluster after a revision. */
export function importedRange(cluster: string, after: Revision): EngineRange {
  return { from: importedKey(cluster, (after + 1) as Revision), to: `l${cluster}\x01` };
}

export function parseImportedKey(engineKey: string): { readonly revision: Revision } {
  return { revision: Number.parseInt(engineKey.slice(-revisionDigits), 16) as Revision };
}

/** The parsed key of an `o` record. */
export interface OldVersion {
  readonly key: StorageKey;
  readonly revision: Revision;
  readonly isDeletion: boolean;
}

export function parseOldKey(engineKey: string): OldVersion {
  const isDeletion = engineKey.endsWith("x");
  const end = isDeletion ? engineKey.length - 1 : engineKey.length;
  return {
    key: engineKey.slice(1, end - revisionDigits - 1) as StorageKey,
    revision: Number.parseInt(engineKey.slice(end - revisionDigits, end), 16) as Revision,
    isDeletion,
  };
}

export function parseNewestKey(engineKey: string): StorageKey {
  return engineKey.slice(1) as StorageKey;
}

export interface HistorySpan {
  readonly first: Revision;
  readonly last: Revision;
}

export function parseHistoryKey(engineKey: string): HistorySpan {
  const last = Number.parseInt(engineKey.slice(1, 1 + revisionDigits), 16);
  const firstAt = 1 + revisionDigits + countDigits;
  const count = Number.parseInt(engineKey.slice(1 + revisionDigits, firstAt), 16);
  if (count === 0) {
    const first = Number.parseInt(engineKey.slice(firstAt), 16);
    return { first: first as Revision, last: last as Revision };
  }
  return { first: (last - count + 1) as Revision, last: last as Revision };
}

/** The newest entries under a prefix, after `after` if given. */
export function newestRange(prefix: StorageKey, after: StorageKey | undefined): EngineRange {
  return { from: `d${firstKey(prefix, after, "\0")}`, to: behindPrefix(`d${prefix}`) };
}

/** The past of the keys under a prefix, after the key `after` if given. */
export function oldRange(prefix: StorageKey, after: StorageKey | undefined): EngineRange {
  return { from: `o${firstKey(prefix, after, "\x01")}`, to: behindPrefix(`o${prefix}`) };
}

/** One key's past up to a revision, newest first. */
export function oldVersionsRange(key: StorageKey, upTo: Revision): EngineRange {
  return { from: `o${key}\0`, to: `${oldKey(key, upTo)}y`, reverse: true };
}

/** The groups that end after `after`, and not after `upTo` if given. */
export function historyRange(after: Revision, upTo?: Revision): EngineRange {
  return {
    from: `h${hex(after + 1, revisionDigits)}`,
    to: upTo === undefined ? "i" : `h${hex(upTo + 1, revisionDigits)}`,
  };
}

/** Whether a key has only characters that the layout supports, and a valid length. */
export function isLayoutKey(key: string): boolean {
  return key.length <= keyBytesMax && printable.test(key);
}

export const keyBytesMax = 4096;

function firstKey(prefix: StorageKey, after: StorageKey | undefined, behind: string): string {
  return after !== undefined && after >= prefix ? `${after}${behind}` : prefix;
}

/** The first string after all strings with a non-empty `prefix`. */
function behindPrefix(prefix: string): string {
  const last = prefix.length - 1;
  return prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

const revisionDigits = 14;
const countDigits = 4;
const printable = /^[ -~]*$/;
