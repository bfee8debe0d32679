/**
 * Tells the shards of exports whether this shard has consumers: an annotation of the export says
 * so, from which the endpoints of its slices follow, wherever these are. A provider that removes
 * the annotation gets it back; one that invents it lists an endpoint without objects.
 */
import { parseObjectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Replicas } from "../replicas/index.ts";
import { KeyedWorkQueue } from "../workspaces/index.ts";
import type { ApiSharingDependencies } from "./dependencies.ts";
import { apiExports } from "./kinds/definitions.ts";
import { consumerAnnotationPrefix } from "./records.ts";

export class ConsumerReports {
  readonly #dependencies: ApiSharingDependencies & { readonly replicas: Replicas };
  readonly #jobs: KeyedWorkQueue<StorageKey>;

  constructor(dependencies: ApiSharingDependencies & { readonly replicas: Replicas }) {
    this.#dependencies = dependencies;
    const { clock, onError } = dependencies;
    this.#jobs = new KeyedWorkQueue({ clock, onError, work: (key) => this.#report(key) });
  }

  stop(): Promise<void> {
    return this.#jobs.stop();
  }

  /** Called when an export of another shard, or the first or last binding to it, has changed. */
  add(key: StorageKey): void {
    this.#jobs.add(key);
  }

  async #report(key: StorageKey): Promise<undefined> {
    const { replicas, bindings, exports, loading } = this.#dependencies;
    await loading();
    const { cluster, name } = parseObjectKey(key);
    if (replicas.shardOf(cluster) === undefined) return;
    const record = exports.get(key);
    const isUsed = bindings.hasBindingsTo(cluster, name);
    if (isUsed && record?.hasPolicy === true) this.#dependencies.followPolicy(cluster);
    if (record === undefined || record.consumerShards.includes(replicas.ownName) === isUsed) return;
    const annotations: JsonObject = {
      [`${consumerAnnotationPrefix}${replicas.ownName}`]: isUsed ? "true" : null,
    };
    try {
      await replicas.reader.patch(apiExports, cluster, name, { metadata: { annotations } });
    } catch (error) {
      // Deleted a moment ago: its replica goes, too.
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
}

/** None where there is one shard. */
export function consumerReports(dependencies: ApiSharingDependencies): ConsumerReports | undefined {
  const { replicas } = dependencies;
  return replicas && new ConsumerReports({ ...dependencies, replicas });
}
