/**
 * Paths whose workspaces are on other shards: the shard that has a cluster resolves what is below
 * it. A cluster keeps its name as long as it exists, so what was resolved is kept; who finds that
 * the cluster is gone forgets it.
 */
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import type { Clock } from "@kcp-ts/machinery/base";
import type { JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";

export type PathResolution =
  | { readonly kind: "cluster"; readonly cluster: ClusterName }
  | { readonly kind: "missing" }
  /** The workspace exists, and is not usable. */
  | { readonly kind: "unavailable" }
  /** Another server serves the workspace; `parent` is the cluster of the mount. */
  | { readonly kind: "mount"; readonly url: string; readonly parent: ClusterName };

export interface RemotePathsOptions {
  readonly ask: (cluster: ClusterName, operation: "resolve", path: string) => Promise<JsonValue>;
  readonly clock: Pick<Clock, "monotonic">;
}

interface Known {
  readonly found: PathResolution & { readonly kind: "cluster" };
  readonly until: number;
}

const pathsMax = 20_000;
const knownMs = 30_000;

export class RemotePaths {
  readonly #options: RemotePathsOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: RemotePathsOptions) {
    this.#options = options;
  }

  /** Resolves `words` below a cluster that another shard has. */
  resolve(cluster: ClusterName, words: readonly string[]): MaybePromise<PathResolution> {
    const path = [cluster, ...words].join(":");
    const known = this.#known.get(path);
    if (known !== undefined && known.until > this.#options.clock.monotonic()) return known.found;
    return this.#ask(cluster, path);
  }

  /** The cluster does not exist any more. */
  forget(cluster: ClusterName): void {
    for (const [path, { found }] of this.#known)
      if (found.cluster === cluster) this.#known.delete(path);
  }

  async #ask(cluster: ClusterName, path: string): Promise<PathResolution> {
    const { ask, clock } = this.#options;
    const found = (await ask(cluster, "resolve", path)) as unknown as PathResolution;
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
