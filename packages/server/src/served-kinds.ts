/** Put together: the kinds that a server has by itself, those of workspaces and of shared APIs, and what logical clusters define. */
import type { Supervisor } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { ApiSharing } from "./api-sharing/index.ts";
import type { Authorizer } from "./authorization/index.ts";
import { CustomResources, customResourceDefinitions } from "./custom-resources/index.ts";
import { bindingToCached, bindingToExport, readingAll } from "./export-access.ts";
import {
  builtIns,
  type Catalog,
  type CollectionSource,
  ExtendedCatalog,
  type Registry,
  type ResourceDefinition,
} from "./registry/index.ts";
import type { ApiServerOptions } from "./server.ts";
import { Tenancy } from "./tenancy/index.ts";
import { Topology } from "./topology/index.ts";
import { useOfType } from "./type-use.ts";
import type { WatchCache } from "./watch-cache/index.ts";
import type { WebhookClient } from "./webhooks/index.ts";

type ServedKindsOptions = Pick<
  ApiServerOptions,
  "storage" | "clock" | "random" | "log" | "resources" | "besides" | "root" | "homeWorkspaces"
>;

export interface ServedKinds {
  readonly tenancy: Tenancy;
  readonly topology: Topology;
  readonly customResources: CustomResources;
  readonly sharing: ApiSharing;
  /** All of it, with what is served beside it. */
  readonly catalog: Catalog & CollectionSource;
}

/** Everything that is served: what is built in, what tenancy adds to it, and what logical clusters define themselves. */
export function servedKinds(
  options: ServedKindsOptions,
  rooms: {
    registry: Registry;
    watchCache: WatchCache;
    rules: Authorizer;
    webhooks: WebhookClient;
    supervisor: Supervisor;
  },
): ServedKinds {
  const { storage, clock, random, log, resources = [], besides = [] } = options;
  const { registry, watchCache, rules, webhooks, supervisor } = rooms;
  const base = { storage, supervisor, registry, watchCache, clock };
  const shared = [...Topology.resources, ...ApiSharing.resources];
  const topology = new Topology({
    ...{ storage, registry, watchCache, clock },
    onError: (error) => log.warn({ err: error }, "a partition set has to wait"),
  });
  const tenancy = new Tenancy({
    ...base,
    random,
    mayUse: useOfType(rules),
    bindDefaults: (cluster, path, bindings) => sharing.bindDefaults(cluster, path, bindings),
    keepDefaults: (cluster, path, bindings) => sharing.keepDefaults(cluster, path, bindings),
    defaultsComplete: (cluster, bindings) => sharing.defaultsComplete(cluster, bindings),
    defaultsIn: (cluster, bindings) => sharing.defaultsIn(cluster, bindings),
    kindIn: (cluster, group, version, kind) =>
      definitionOfKind(sharing.catalog, cluster, { group, version, kind }),
    builtIns: [...builtIns, customResourceDefinitions, ...shared, ...resources],
    ...{ root: options.root, homeWorkspaces: options.homeWorkspaces },
    onError: (error) => log.warn({ err: error }, "a workspace has to wait"),
  });
  const allBuiltIns = [...builtIns, ...tenancy.resources, ...shared, ...resources];
  const customResources = new CustomResources({
    ...base,
    builtIns: allBuiltIns,
    rootOnly: tenancy.rootResources,
    webhooks,
    onError: (error) => log.warn({ err: error }, "a custom resource definition has to wait"),
  });
  const sharing: ApiSharing = new ApiSharing({
    ...base,
    builtIns: [customResourceDefinitions, ...allBuiltIns],
    inner: customResources.catalog,
    conversion: customResources.conversion,
    resolve: (path) => tenancy.resolve(path),
    partitionIn: (cluster, name) => topology.selectorOf(cluster, name),
    shardLabels: () => tenancy.shardLabels(),
    maintainedIn: (cluster) => tenancy.maintainedIn(cluster),
    onBinding: (cluster) => tenancy.bindingChanged(cluster),
    ownNames: (cluster) => customResources.namesIn(cluster),
    mayBind: bindingToExport(rules),
    mayBindCached: bindingToCached(rules),
    mayReadAll: readingAll(rules),
    onError: (error) => log.warn({ err: error }, "a shared API has to wait"),
  });
  const { catalog } = sharing;
  const isPlain = besides.length === 0;
  return {
    ...{ tenancy, topology, customResources, sharing },
    catalog: isPlain ? catalog : new ExtendedCatalog(catalog, besides),
  };
}

/** What is listed is shared by those who serve the same; what is found is the cluster's own. */
async function definitionOfKind(
  catalog: Catalog,
  cluster: ClusterName,
  { group, version, kind }: { group: string; version: string; kind: string },
): Promise<ResourceDefinition | undefined> {
  const listed = (await catalog.all(cluster)).find(
    (one) => one.kind === kind && one.group === group && one.version === version,
  );
  return listed === undefined ? undefined : catalog.find(cluster, group, version, listed.resource);
}
