/**
 * Indexes APIExportEndpointSlices of all names and workspaces by the name of their export, because
 * one export has many equivalent paths; and by their Partition.
 */

import { type Entry, parseObjectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { textOf } from "@kcp-ts/machinery/json";
import { partitions } from "../topology/index.ts";
import { member } from "../workspaces/index.ts";
import { keyOf } from "./dependencies.ts";

export interface EndpointSliceRecord {
  readonly exportName: string;
  /** Undefined when the slice covers all shards. */
  readonly partition: StorageKey | undefined;
}

export function readEndpointSlice(entry: Entry): EndpointSliceRecord {
  const spec = member(decodeObject(entry), "spec");
  const partition = textOf(spec["partition"]);
  const { cluster } = parseObjectKey(entry.key);
  return {
    exportName: textOf(member(spec, "export")["name"]),
    partition: partition === "" ? undefined : keyOf(partitions, cluster, partition),
  };
}

export class EndpointSliceIndex {
  readonly #byExport = new Map<string, Set<StorageKey>>();
  readonly #byPartition = new Map<StorageKey, Set<StorageKey>>();

  /** The slices of exports of this name, in any workspace. */
  ofExport(exportName: string): Iterable<StorageKey> {
    return this.#byExport.get(exportName) ?? [];
  }

  /** The slices that reference this Partition. */
  ofPartition(partition: StorageKey): Iterable<StorageKey> {
    return this.#byPartition.get(partition) ?? [];
  }

  /** The slices that reference any Partition. */
  *partitioned(): Generator<StorageKey> {
    for (const keys of this.#byPartition.values()) yield* keys;
  }

  *all(): Generator<StorageKey> {
    for (const keys of this.#byExport.values()) yield* keys;
  }

  change(
    key: StorageKey,
    now: EndpointSliceRecord | undefined,
    before: EndpointSliceRecord | undefined,
  ): void {
    move(this.#byExport, key, now?.exportName, before?.exportName);
    move(this.#byPartition, key, now?.partition, before?.partition);
  }
}

function move<Group>(
  groups: Map<Group, Set<StorageKey>>,
  key: StorageKey,
  now: Group | undefined,
  before: Group | undefined,
): void {
  if (before !== undefined && before !== now) {
    const keys = groups.get(before);
    keys?.delete(key);
    if (keys?.size === 0) groups.delete(before);
  }
  if (now === undefined) return;
  const keys = groups.get(now);
  if (keys === undefined) groups.set(now, new Set([key]));
  else keys.add(key);
}
