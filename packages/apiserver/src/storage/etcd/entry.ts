import { toRevision } from "../revision.ts";
import type { Entry } from "../storage.ts";
import type { KeyValue } from "./generated/etcd_pb.ts";
import type { KeySpace } from "./key-space.ts";

/**
 * Converts etcd's pair to an entry. The value is copied: it would otherwise keep its whole message
 * in memory, which may be a thousand times its size.
 */
export function toEntry(pair: KeyValue, keySpace: KeySpace): Entry {
  return {
    key: keySpace.decode(pair.key),
    value: new Uint8Array(pair.value),
    createdAt: toRevision(pair.createRevision),
    modifiedAt: toRevision(pair.modRevision),
  };
}
