/**
 * Which slices tell of which export, whatever they are called and wherever they are: by the export's name, since paths say the same in many
 * ways. And which of them cover a Partition only.
 */
import { type Entry, parseObjectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { partitions } from "../topology/index.ts";
import { member } from "../workspaces/index.ts";
import { textOf } from "./kinds/as-definition.ts";
import { keyOf } from "./parts.ts";

export interface EndpointSliceRecord {
  readonly exportName: string;
  /** Undefined when it covers all shards. */
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

  /** Of exports of this name, in any workspace. */
  of(exportName: string): Iterable<StorageKey> {
    return this.#byExport.get(exportName) ?? [];
  }

  /** That cover this Partition. */
  in(partition: StorageKey): Iterable<StorageKey> {
    return this.#byPartition.get(partition) ?? [];
  }

  /** That cover any Partition. */
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
