/**
 * Wiring of webhooks and policies with the storage, registry, catalog and authorizer of this
 * server.
 */
import { randomUUID } from "node:crypto";
import { neverAborted } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type AdmissionPlugin,
  type AdmissionSources,
  DynamicAdmission,
  LimitRanger,
  QuotaAdmission,
} from "./admission/index.ts";
import {
  configurationIndex,
  equivalentKinds,
  limitRangeSource,
  parameterSource,
  quotaSource,
} from "./admission-sources/index.ts";
import type { Authorizer } from "./authorization/index.ts";
import { DefinitionDecoder } from "./handlers/index.ts";
import {
  type Catalog,
  type CollectionSource,
  namespaces,
  type Registry,
  storageKeyOf,
} from "./registry/index.ts";
import type { ResourceKey, Storage } from "./storage/index.ts";
import { decodeObject } from "./stored-object/index.ts";
import type { WatchCache } from "./watch-cache/index.ts";
import type { WebhookClient } from "./webhooks/index.ts";

export interface AdmissionWiringOptions {
  readonly storage: Storage;
  readonly watchCache: WatchCache;
  readonly registry: Registry;
  readonly catalog: Catalog & CollectionSource;
  readonly authorizer: Authorizer;
  readonly webhooks: WebhookClient;
  readonly providers: AdmissionSources["providers"];
  /**
   * False when a logical cluster has no object in a collection, as of the hub's current revision.
   */
  readonly mayContain: (cluster: ClusterName, collection: ResourceKey) => boolean;
}

/** The configured plugins in the order in which they run, after all compiled-in plugins. */
export function configuredAdmission(options: AdmissionWiringOptions): readonly AdmissionPlugin[] {
  return [
    new LimitRanger(limitRangeSource(options)),
    dynamicAdmission(options),
    new QuotaAdmission(quotaSource(options)),
  ];
}

function dynamicAdmission(options: AdmissionWiringOptions): DynamicAdmission {
  const { storage, watchCache, catalog, authorizer, webhooks, providers } = options;
  const { mayContain } = options;
  const sources: AdmissionSources = {
    configurations: configurationIndex({ storage, hub: watchCache.hub, mayContain }),
    parameters: parameterSource({ catalog, watchCache, storage }),
    webhooks,
    equivalents: equivalentKinds({
      catalog,
      decoderOf: (definition) => new DefinitionDecoder(definition),
    }),
    authorize: async (attributes) => authorizer.authorize(attributes),
    newUid: randomUUID,
    providers,
    async namespace(cluster, name) {
      const key = storageKeyOf(namespaces, { cluster, namespace: "", name });
      const cached = watchCache.peek(key);
      const entry = cached ?? (await watchCache.get(key, { kind: "latest" }, neverAborted));
      return entry && decodeObject(entry);
    },
  };
  return new DynamicAdmission(sources);
}
