/**
 * Finds the exports of claimed identities: a claim names a resource of another provider by its
 * identity, and this shard may have no consumer of that provider. Each other shard is asked about
 * its own exports, once for each identity; then the export is pulled as any other.
 */
import type { StorageKey } from "@kcp-ts/apiserver/storage";
import { isJsonObject, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Replicas } from "../replicas/index.ts";
import { KeyedWorkQueue } from "../workspaces/index.ts";
import { type ApiSharingDependencies, keyOf } from "./dependencies.ts";
import { apiExports } from "./kinds/definitions.ts";
import type { Claim, ExportRecord } from "./records.ts";
import { isBuiltInIdentity } from "./system-exports.ts";

type Dependencies = ApiSharingDependencies & { readonly replicas: Replicas };

/** The operation by which shards ask each other. */
export const exportOfIdentity = "export-of-identity";
/** Asked again after this time: the other provider may export its API later. */
const againMs = 60_000;
/** Claims that are looked for; further ones show nothing. */
const claimsMax = 10_000;

export class ClaimedIdentities {
  readonly #dependencies: Dependencies;
  readonly #jobs: KeyedWorkQueue<string>;
  readonly #wanted = new Map<string, Claim>();
  readonly #found = new Set<StorageKey>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    const { clock, onError } = dependencies;
    this.#jobs = new KeyedWorkQueue({ clock, onError, work: (identity) => this.#find(identity) });
  }

  stop(): Promise<void> {
    return this.#jobs.stop();
  }

  onExport(record: ExportRecord | undefined): void {
    for (const claim of record?.claims ?? []) {
      const { identityHash } = claim;
      if (identityHash === "" || this.#wanted.has(identityHash)) continue;
      if (this.#wanted.size >= claimsMax) return;
      this.#wanted.set(identityHash, claim);
      this.#jobs.add(identityHash);
    }
  }

  /** Whether an export was pulled because of a claim. */
  isClaimed(key: StorageKey): boolean {
    return this.#found.has(key);
  }

  async #find(identity: string): Promise<number | undefined> {
    const { replicas, exports, loading } = this.#dependencies;
    await loading();
    const claim = this.#wanted.get(identity);
    if (claim === undefined || isBuiltInIdentity(this.#dependencies, claim)) return undefined;
    for (const known of exports.values()) if (known.identityHash === identity) return undefined;
    const { group, resource } = claim;
    for (const shard of replicas.others.names()) {
      try {
        const answer = await replicas.others.ask(shard, exportOfIdentity, {
          identity,
          group,
          resource,
        });
        if (!isJsonObject(answer)) continue;
        const cluster = textOf(answer["cluster"]) as ClusterName;
        // A shard speaks of its own logical clusters alone.
        if (replicas.shardOf(cluster) !== shard) continue;
        const name = textOf(answer["name"]);
        this.#found.add(keyOf(apiExports, cluster, name));
        await replicas.pull(apiExports, cluster, name);
        return undefined;
      } catch (error) {
        // Asked again with the next round.
        if (!isStatusError(error, "ServiceUnavailable")) throw error;
      }
    }
    return againMs;
  }
}

/** None where there is one shard. */
export function claimedIdentities(
  dependencies: ApiSharingDependencies,
): ClaimedIdentities | undefined {
  const { replicas } = dependencies;
  return replicas && new ClaimedIdentities({ ...dependencies, replicas });
}
