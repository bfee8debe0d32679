/**
 * Paths whose workspaces are on other shards: the shard that has a cluster resolves what is below
 * it. A cluster keeps its name as long as it exists, so what was resolved is kept; who finds that
 * the cluster is gone forgets it.
 */
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import type { Clock } from "@kcp-ts/machinery/base";
import { parseJson } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import type { ShardConnections } from "./shard-connections.ts";
import { unavailable } from "./shard-mesh.ts";

export type PathResolution =
  | { readonly kind: "cluster"; readonly cluster: ClusterName }
  | { readonly kind: "missing" }
  /** The workspace exists, and is not usable. */
  | { readonly kind: "unavailable" }
  /** Another server serves the workspace; `parent` is the cluster of the mount. */
  | { readonly kind: "mount"; readonly url: string; readonly parent: ClusterName };

export interface RemotePathsOptions {
  readonly connections: ShardConnections;
  readonly clock: Pick<Clock, "monotonic">;
}

interface Known {
  readonly found: PathResolution & { readonly kind: "cluster" };
  readonly until: number;
}

const pathsMax = 20_000;
const knownMs = 30_000;
/** The target of the internal request; no client of a shard reaches it. */
export const resolvePrefix = "/shard/resolve/";

export class RemotePaths {
  readonly #options: RemotePathsOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: RemotePathsOptions) {
    this.#options = options;
  }

  /** Resolves `words` below a cluster that another shard has. */
  resolve(
    shard: string,
    cluster: ClusterName,
    words: readonly string[],
  ): MaybePromise<PathResolution> {
    const path = [cluster, ...words].join(":");
    const known = this.#known.get(path);
    if (known !== undefined && known.until > this.#options.clock.monotonic()) return known.found;
    return this.#ask(shard, path);
  }

  /** The cluster does not exist any more. */
  forget(cluster: ClusterName): void {
    for (const [path, { found }] of this.#known)
      if (found.cluster === cluster) this.#known.delete(path);
  }

  async #ask(shard: string, path: string): Promise<PathResolution> {
    const { connections, clock } = this.#options;
    const answer = await connections.request(shard, {
      method: "GET",
      target: resolvePrefix + encodeURIComponent(path),
    });
    if (answer.status !== 200 || !(answer.body instanceof Uint8Array)) {
      if (answer.status === 503) throw unavailable(shard);
      throw statusError.internal(`the shard ${shard} could not resolve ${path}`);
    }
    const found = parseJson(Buffer.from(answer.body).toString()).value as unknown as PathResolution;
    if (found.kind === "cluster") {
      this.#known.delete(path);
      this.#known.set(path, { found, until: clock.monotonic() + knownMs });
      if (this.#known.size > pathsMax) {
        const [oldest] = this.#known.keys();
        if (oldest !== undefined) this.#known.delete(oldest);
      }
    }
    return found;
  }
}
