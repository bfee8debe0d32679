/**
 * A resource of a provider as a workspace of a consumer has it: the provider's own objects, those that are selected, to be read. Nothing is copied:
 * stored bytes are served, and say that they are of the consumer's workspace, which the request names and not the object.
 */

import type { ResourceDefinition, VersionCodec } from "@kcp-ts/apiserver/registry";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import { type Entry, keyInCluster } from "@kcp-ts/apiserver/storage";
import { cachedLabels } from "@kcp-ts/apiserver/watch-cache";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { LabelSelector } from "@kcp-ts/machinery/selectors";
import { RestrictedDefinition } from "../services/restricted-definition.ts";

export const readVerbs: readonly string[] = ["get", "list", "watch"];

type OnRetired = NonNullable<ResourceDefinition["onRetired"]>;

export interface CachedSource {
  /** The logical cluster that the objects are in. */
  readonly provider: ClusterName;
  /** As that one serves them. */
  readonly definition: ResourceDefinition;
  readonly selector: LabelSelector;
}

export function cachedDefinition(
  { provider, definition, selector }: CachedSource,
  consumer: ClusterName,
  /** What it follows from besides the provider's definition. */
  sources: readonly OnRetired[],
): ResourceDefinition {
  const all = definition.onRetired === undefined ? sources : [...sources, definition.onRetired];
  return new RestrictedDefinition(definition, {
    verbs: readVerbs,
    servedFrom: provider,
    form: new ConsumerClusterCodec(definition.form, consumer),
    isVisible: selector.isEmpty ? undefined : (entry) => selector.matches(cachedLabels(entry)),
    onRetired: (callback) => {
      const stops = all.map((onRetired) => onRetired(callback));
      return () => {
        for (const stop of stops) stop();
      };
    },
  });
}

/** Objects of one logical cluster as if they were in another. */
class ConsumerClusterCodec implements VersionCodec {
  readonly #base: VersionCodec | undefined;
  readonly #cluster: ClusterName;
  readonly presentNow: ((entry: Entry) => Entry) | undefined;

  constructor(base: VersionCodec | undefined, cluster: ClusterName) {
    this.#base = base;
    this.#cluster = cluster;
    const presentNow = base === undefined ? (entry: Entry) => entry : base.presentNow;
    this.presentNow = presentNow && ((entry) => this.#moved(presentNow(entry)));
  }

  get name(): string {
    return `${this.#base?.name ?? ""} in ${this.#cluster}`;
  }

  present(entries: readonly Entry[]): MaybePromise<readonly Entry[]> {
    const shown = this.#base?.present(entries) ?? entries;
    const moved = (all: readonly Entry[]) => all.map((entry) => this.#moved(entry));
    return shown instanceof Promise ? shown.then(moved) : moved(shown);
  }

  /** Nothing is written through it. */
  toStored(object: JsonObject): JsonObject {
    return object;
  }

  #moved(entry: Entry): Entry {
    return { ...entry, key: keyInCluster(entry.key, this.#cluster) };
  }
}
