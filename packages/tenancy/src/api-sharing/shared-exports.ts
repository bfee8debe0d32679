/**
 * The exports that this shard knows: its own, and replicas of those of other shards.
 *
 * An identity belongs to the shard from which it was known first, the own one before all others: an
 * export of another shard with the same identity counts as one without. So no shard can take part
 * in the objects of an identity whose key it does not have.
 */
import { parseObjectKey, type Revision, type StorageKey } from "@kcp-ts/apiserver/storage";
import type { Replicas } from "../replicas/index.ts";
import type { ApiSharingDependencies } from "./dependencies.ts";
import type { EagerIndex } from "./eager-index.ts";
import type { ExportRecord } from "./records.ts";

interface Holder {
  /** Undefined: this shard. */
  readonly shard: string | undefined;
  readonly since: Revision;
}

export class SharedExports {
  readonly #own: EagerIndex<ExportRecord>;
  readonly #elsewhere: EagerIndex<ExportRecord>;
  readonly #replicas: Replicas;
  readonly #holders = new Map<string, Map<StorageKey, Holder>>();

  constructor(
    own: EagerIndex<ExportRecord>,
    elsewhere: EagerIndex<ExportRecord>,
    replicas: Replicas,
  ) {
    this.#own = own;
    this.#elsewhere = elsewhere;
    this.#replicas = replicas;
  }

  get(key: StorageKey): ExportRecord | undefined {
    const own = this.#own.get(key);
    if (own !== undefined) return own;
    const replica = this.#elsewhere.get(key);
    return replica && this.#withIdentity(replica);
  }

  *values(): Generator<ExportRecord> {
    yield* this.#own.values();
    for (const replica of this.#elsewhere.values()) yield this.#withIdentity(replica);
  }

  /** Called for every change of an export, before anything reads it. */
  change(key: StorageKey, now: ExportRecord | undefined, before: ExportRecord | undefined): void {
    if (before !== undefined && before.identityHash !== now?.identityHash) {
      const holders = this.#holders.get(before.identityHash);
      holders?.delete(key);
      if (holders?.size === 0) this.#holders.delete(before.identityHash);
    }
    if (now === undefined || now.identityHash === "") return;
    const holders = this.#holders.get(now.identityHash) ?? new Map<StorageKey, Holder>();
    this.#holders.set(now.identityHash, holders);
    const { cluster } = parseObjectKey(key);
    holders.set(key, { shard: this.#replicas.shardOf(cluster), since: now.createdAt });
  }

  #withIdentity(record: ExportRecord): ExportRecord {
    const holders = this.#holders.get(record.identityHash);
    if (holders === undefined || holders.size < 2) return record;
    const isOurs = ownerAmong(holders.values()) === this.#replicas.shardOf(record.cluster);
    return isOurs ? record : withoutIdentity(record);
  }
}

function ownerAmong(holders: Iterable<Holder>): string | undefined {
  let first: Holder | undefined;
  for (const holder of holders) {
    if (holder.shard === undefined) return undefined;
    if (first === undefined || holder.since < first.since) first = holder;
  }
  return first?.shard;
}

const known = new WeakMap<ExportRecord, ExportRecord>();

/** The same object for the same record: what was made for a record is found by it. */
function withoutIdentity(record: ExportRecord): ExportRecord {
  const made = known.get(record) ?? { ...record, identityHash: "" };
  known.set(record, made);
  return made;
}

/** The own exports alone where there is one shard. */
export function sharedExports(
  own: EagerIndex<ExportRecord>,
  elsewhere: EagerIndex<ExportRecord> | undefined,
  replicas: Replicas | undefined,
): ApiSharingDependencies["exports"] {
  if (elsewhere === undefined || replicas === undefined) return own;
  return new SharedExports(own, elsewhere, replicas);
}
