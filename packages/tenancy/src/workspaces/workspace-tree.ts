/**
 * The workspace tree: resolves a path to the name of a logical cluster, with one Workspace object
 * per segment.
 *
 * A path whose workspaces are indexed is resolved synchronously.
 */
import { collectionKeyOf } from "@kcp-ts/apiserver/registry";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import { objectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import { type ClusterName, type ClusterPath, parseClusterReference } from "@kcp-ts/machinery/names";
import type { PathResolution } from "../shards/index.ts";
import { homeClusterName } from "./cluster-names.ts";
import { workspaces } from "./kinds/definitions.ts";
import type { ObjectIndex } from "./object-index.ts";
import type { WorkspaceRecord } from "./records.ts";

const missing: PathResolution = { kind: "missing" };
const unavailable: PathResolution = { kind: "unavailable" };

/** Resolves what is below clusters of other shards. */
export interface PathsElsewhere {
  /** The shard that has a cluster; undefined: this one. */
  shardOf(cluster: ClusterName): string | undefined;
  resolve(cluster: ClusterName, words: readonly string[]): MaybePromise<PathResolution>;
}

export class WorkspaceTree {
  readonly #workspaces: ObjectIndex<WorkspaceRecord>;
  readonly #elsewhere: PathsElsewhere | undefined;

  constructor(index: ObjectIndex<WorkspaceRecord>, elsewhere?: PathsElsewhere) {
    this.#workspaces = index;
    this.#elsewhere = elsewhere;
  }

  resolve({ words }: ClusterPath): MaybePromise<PathResolution> {
    const isHome = words[0] === "user";
    const first = isHome ? homeClusterName(words[1] as string) : (words[0] as ClusterName);
    return this.#walk(first, words, isHome ? 2 : 1);
  }

  /** Resolves a path of any length, or a cluster name, as users write it. */
  resolvePathText(path: string): MaybePromise<PathResolution> {
    const reference = parseClusterReference(path);
    if (reference === undefined) return missing;
    if (typeof reference === "string") return { kind: "cluster", cluster: reference };
    return this.resolve(reference);
  }

  #walk(from: ClusterName, words: readonly string[], at: number): MaybePromise<PathResolution> {
    let cluster = from;
    for (let next = at; next < words.length; next++) {
      if (this.#elsewhere?.shardOf(cluster) !== undefined)
        return this.#elsewhere.resolve(cluster, words.slice(next));
      const known = this.#workspaces.get(workspaceKey(cluster, words[next] as string));
      const isLast = next === words.length - 1;
      if (known instanceof Promise) {
        return known.then((record) => {
          const step = stepOf(cluster, record, isLast);
          return typeof step === "string" ? this.#walk(step, words, next + 1) : step;
        });
      }
      const step = stepOf(cluster, known, isLast);
      if (typeof step !== "string") return step;
      cluster = step;
    }
    return { kind: "cluster", cluster };
  }
}

/**
 * The cluster of a child workspace, or the reason why there is none. An unscheduled workspace
 * counts as missing.
 */
function stepOf(
  parent: ClusterName,
  record: WorkspaceRecord | undefined,
  isLast: boolean,
): ClusterName | PathResolution {
  if (record === undefined) return missing;
  if (record.phase === "Unavailable") return unavailable;
  if (record.mountUrl !== undefined && isLast) {
    const { mountUrl: url } = record;
    return record.phase === "Ready" && url !== "" ? { kind: "mount", url, parent } : unavailable;
  }
  return record.cluster === undefined || record.phase === "Scheduling" ? missing : record.cluster;
}

export function workspaceKey(cluster: ClusterName, name: string): StorageKey {
  return objectKey({ ...collectionKeyOf(workspaces), cluster, namespace: "", name });
}
