/**
 * A published resource of a provider as a consumer's workspace serves it: the selected objects of
 * the provider, read-only. Objects are not copied: the stored bytes are served with the consumer's
 * logical cluster, which comes from the request and not from the object.
 */
import type { ResourceDefinition, VersionCodec } from "@kcp-ts/apiserver/registry";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import { type Entry, keyInCluster } from "@kcp-ts/apiserver/storage";
import { cachedLabels } from "@kcp-ts/apiserver/watch-cache";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { LabelSelector } from "@kcp-ts/machinery/selectors";
import { RestrictedDefinition } from "../virtual-workspaces/restricted-definition.ts";

export const readVerbs: readonly string[] = ["get", "list", "watch"];

type OnRetired = NonNullable<ResourceDefinition["onRetired"]>;

export interface CachedSource {
  /** The logical cluster of the objects. */
  readonly provider: ClusterName;
  /** The definition as the provider's cluster serves it. */
  readonly definition: ResourceDefinition;
  readonly selector: LabelSelector;
}

export function cachedDefinition(
  { provider, definition, selector }: CachedSource,
  consumer: ClusterName,
  /** Sources of retirement in addition to the provider's definition. */
  sources: readonly OnRetired[],
): ResourceDefinition {
  const all = definition.onRetired === undefined ? sources : [...sources, definition.onRetired];
  return new RestrictedDefinition(definition, {
    verbs: readVerbs,
    sourceCluster: provider,
    codec: new ConsumerClusterCodec(definition.codec, consumer),
    isVisible: selector.isEmpty ? undefined : (entry) => selector.matches(cachedLabels(entry)),
    onRetired: (callback) => {
      const stops = all.map((onRetired) => onRetired(callback));
      return () => {
        for (const stop of stops) stop();
      };
    },
  });
}

/** Serves objects of one logical cluster as objects of another. */
class ConsumerClusterCodec implements VersionCodec {
  readonly #base: VersionCodec | undefined;
  readonly #cluster: ClusterName;
  readonly toServedSync: ((entry: Entry) => Entry) | undefined;
  readonly storesAsServed = false;

  constructor(base: VersionCodec | undefined, cluster: ClusterName) {
    this.#base = base;
    this.#cluster = cluster;
    const presentNow = base === undefined ? (entry: Entry) => entry : base.toServedSync;
    this.toServedSync = presentNow && ((entry) => this.#withConsumerKey(presentNow(entry)));
  }

  get name(): string {
    return `${this.#base?.name ?? ""} in ${this.#cluster}`;
  }

  toServed(entries: readonly Entry[]): MaybePromise<readonly Entry[]> {
    const shown = this.#base?.toServed(entries) ?? entries;
    const moved = (all: readonly Entry[]) => all.map((entry) => this.#withConsumerKey(entry));
    return shown instanceof Promise ? shown.then(moved) : moved(shown);
  }

  /** Unreachable: the resource is read-only. */
  async toStored(object: JsonObject): Promise<JsonObject> {
    return object;
  }

  #withConsumerKey(entry: Entry): Entry {
    return { ...entry, key: keyInCluster(entry.key, this.#cluster) };
  }
}
