/**
 * The format of what is stored, as an object of the store: ConfigMap `kcp-store` in the namespace
 * `default` of the logical cluster `system:admin`, in backups as everything else.
 *
 *     format        the highest format of the programs that have written
 *     readableBy    the lowest format of a program that can read what they have written
 *
 * A program whose format is lower than `readableBy` refuses the store. A release that stores
 * something in a new way raises `format` and still writes the old way; only the release after it
 * writes the new way, and raises `readableBy`. So servers of two successive releases share an etcd,
 * and one step back is always possible: docs/adr/0092.
 */
import { randomUUID } from "node:crypto";
import { type Clock, kcpVersion } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Entry,
  isStorageError,
  objectKey,
  type Storage,
  StorageError,
} from "../storage/index.ts";
import { decodeObject, encodeObject } from "../stored-object/index.ts";

export interface StoreFormat {
  readonly format: number;
  readonly readableBy: number;
}

/** Of this program. */
export const storeFormat: StoreFormat = { format: 1, readableBy: 1 };

export const storeFormatKey = objectKey({
  group: "",
  resource: "configmaps",
  identity: "",
  cluster: "system:admin" as ClusterName,
  namespace: "default",
  name: "kcp-store",
});

/** Throws `unavailable` for a store that this program cannot read; records its format otherwise. */
export async function ensureStoreFormat(
  storage: Storage,
  { clock, program = storeFormat }: { readonly clock: Clock; readonly program?: StoreFormat },
): Promise<void> {
  const signal = new AbortController().signal;
  for (;;) {
    const entry = await storage.get(storeFormatKey, { signal });
    const stored = entry === undefined ? undefined : formatOf(entry);
    if (stored !== undefined && stored.readableBy > program.format) throw tooNew(stored, program);
    if (stored !== undefined && stored.format >= program.format) return;
    const value = encodeObject(record(program, clock, entry));
    try {
      const expected = entry?.modifiedAt ?? "absent";
      await storage.commit({ key: storeFormatKey, value, expected }, { signal });
      return;
    } catch (error) {
      // Another server of the same store was first.
      if (!isStorageError(error, "conflict")) throw error;
    }
  }
}

interface StoredFormat extends StoreFormat {
  readonly writtenBy: string;
}

function formatOf(entry: Entry): StoredFormat {
  const { data = {} } = decodeObject(entry) as { data?: Readonly<Record<string, string>> };
  const [format, readableBy] = [Number(data["format"]), Number(data["readableBy"])];
  if (!Number.isInteger(format) || !Number.isInteger(readableBy))
    throw new StorageError(
      "corrupt",
      "ConfigMap default/kcp-store of system:admin does not say the format of the store: restore it from a backup",
    );
  return { format, readableBy, writtenBy: data["writtenBy"] ?? "an unknown version" };
}

function tooNew({ format, readableBy, writtenBy }: StoredFormat, program: StoreFormat): Error {
  return new StorageError(
    "unavailable",
    `the data has format ${format}, written by kcp ${writtenBy}, and needs a program that reads format ${readableBy}; kcp ${kcpVersion} reads up to format ${program.format}: start kcp ${writtenBy} or a newer one, or restore a backup from before the upgrade`,
  );
}

function record({ format, readableBy }: StoreFormat, clock: Clock, entry: Entry | undefined) {
  const known = entry === undefined ? undefined : decodeObject(entry)["metadata"];
  const created = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
  const metadata = known ?? {
    name: "kcp-store",
    namespace: "default",
    uid: randomUUID(),
    creationTimestamp: created,
  };
  const data = { format: String(format), readableBy: String(readableBy), writtenBy: kcpVersion };
  return { kind: "ConfigMap", apiVersion: "v1", metadata, data };
}
