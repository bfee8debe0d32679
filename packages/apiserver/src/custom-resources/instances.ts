/** Where the instances of a stored definition are, without parsing it: it may be large. */
import { runSyncFirst } from "@kcp-ts/machinery/base";
import type { StorageKey } from "../storage/index.ts";
import { clusterOfKey, clusterPrefix, type Entry, parseObjectKey } from "../storage/index.ts";
import { decodeMetadata } from "../stored-object/index.ts";

/** The prefix of the instances' keys; undefined where the definition's name does not tell it. */
export async function instancesPrefix(definition: Entry): Promise<StorageKey | undefined> {
  const names = namesOfDefinition(parseObjectKey(definition.key).name);
  if (names === undefined) return undefined;
  const { uid } = await runSyncFirst(decodeMetadata(definition));
  const { cluster } = clusterOfKey(definition.key);
  return clusterPrefix({ ...names, identity: String(uid), cluster });
}

/**
 * A definition is named by its plural and its group; undefined for definitions of the core group,
 * which are named as those of a group `core` would be.
 */
export function namesOfDefinition(
  name: string,
): { readonly group: string; readonly resource: string } | undefined {
  if (name.endsWith(".core")) return undefined;
  const dot = name.indexOf(".");
  return { resource: name.slice(0, dot), group: name.slice(dot + 1) };
}
