/**
 * Maintains the claim labels of objects: admission labels new writes, and a walk labels existing
 * objects.
 */
import type { AdmissionPlugin } from "@kcp-ts/apiserver/admission";
import {
  type CollectionKey,
  collectionKeyOf,
  type ResourceDefinition,
} from "@kcp-ts/apiserver/registry";
import {
  clusterPrefix,
  type Entry,
  parseObjectKey,
  resourcePrefix,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import { cachedLabels } from "@kcp-ts/apiserver/watch-cache";
import { yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { member, systemWriteOptions, uncancelled } from "../workspaces/index.ts";
import type { BoundResourceCatalog } from "./bound-resource-catalog.ts";
import { type ClaimedObject, claimLabels, isClaimOn, withClaimLabels } from "./claims.ts";
import type { ApiSharingDependencies } from "./dependencies.ts";
import { systemWrite } from "./kinds/definitions.ts";
import type { Claim } from "./records.ts";
import { isBuiltInIdentity, systemIdentity } from "./system-exports.ts";

const pageEntries = 200;

/** Costs one lookup in a set where an object has no labels and no export claims permissions. */
export function claimsAdmission(dependencies: ApiSharingDependencies): AdmissionPlugin {
  return {
    name: "apis.kcp.io/PermissionClaims",
    mutate(request, draft) {
      const { cluster, group, resource, subresource } = request;
      // Bodies of other subresources are other kinds, which are not stored.
      if (subresource !== "" && subresource !== "status") return undefined;
      const { bindings } = dependencies;
      const metadata = draft["metadata"] as JsonObject | undefined;
      const labels = metadata?.["labels"] as JsonObject | undefined;
      // Users may not forge claim labels in logical clusters without claims either.
      if (labels === undefined && !bindings.clustersWithClaims.has(cluster)) return undefined;
      const served = bindings.inCluster(cluster)?.find(group, resource);
      const identity = served?.bound.identityHash ?? "";
      const next = labelsIn(dependencies, cluster, { group, resource, identity }, labels);
      if (next !== undefined) draft["metadata"] = withLabels(metadata, next);
      return undefined;
    },
  };
}

/** The labels that an object should have instead of these; undefined when they are correct. */
function labelsIn(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  { group, resource, identity }: CollectionKey,
  labels: JsonObject | undefined,
): JsonObject | undefined {
  const bindings = dependencies.bindings.inCluster(cluster);
  if (bindings === undefined) return withClaimLabels(labels, noLabels);
  const wanted = claimLabels(bindings.records.values(), {
    ...{ group, resource, identity, labels: labels as ClaimedObject["labels"] },
    systemIdentity: identity === "" ? systemIdentity(dependencies, group, resource) : undefined,
  });
  return withClaimLabels(labels, wanted);
}

const noLabels: ReadonlyMap<string, string> = new Map();

/**
 * Whether the claim labels of a stored object differ from those that the bindings of its logical
 * cluster require.
 */
export function hasStaleClaimLabels(dependencies: ApiSharingDependencies, entry: Entry): boolean {
  const { cluster, ...collection } = parseObjectKey(entry.key);
  return (
    labelsIn(dependencies, cluster, collection, cachedLabels(entry) as JsonObject) !== undefined
  );
}

function withLabels(metadata: JsonObject | undefined, labels: JsonObject): JsonObject {
  const { labels: _, ...rest } = metadata ?? {};
  return Object.keys(labels).length === 0 ? rest : { ...rest, labels };
}

/** A claimed resource, with the identity of its provider. */
export type ClaimedResource = Pick<Claim, "group" | "resource" | "identityHash">;

/** Walks the objects of a claimed resource in a cluster and corrects their claim labels. */
export async function updateClaimLabels(
  dependencies: ApiSharingDependencies,
  catalog: BoundResourceCatalog,
  cluster: ClusterName,
  claim: ClaimedResource,
): Promise<void> {
  // With a partial index, the labels of the missing bindings' claims would be removed.
  await dependencies.loading();
  const failures: unknown[] = [];
  for (const definition of await definitionsOf(dependencies, catalog, cluster, claim))
    await updateAllClaimLabels(dependencies, cluster, definition, failures);
  if (failures.length > 0)
    throw new AggregateError(
      failures.slice(0, failuresToldMax),
      `${failures.length} objects of ${claim.resource}.${claim.group} in ${cluster} could not be labelled`,
    );
}

const failuresToldMax = 10;

/** Corrects the claim labels of one object. */
export async function updateClaimLabelsOf(
  dependencies: ApiSharingDependencies,
  catalog: BoundResourceCatalog,
  key: StorageKey,
): Promise<void> {
  await dependencies.loading();
  const { group, resource, identity, ...address } = parseObjectKey(key);
  const claimed = { group, resource, identityHash: identity };
  const [definition] = await definitionsOf(dependencies, catalog, address.cluster, claimed);
  if (definition !== undefined) await updateOneClaimLabels(dependencies, definition, address);
}

/** The storage prefixes of a claimed resource. */
export function prefixesOf(
  dependencies: ApiSharingDependencies,
  claim: ClaimedResource,
): readonly StorageKey[] {
  if (isBuiltInIdentity(dependencies, claim))
    return builtInsOf(dependencies, claim).map((definition) =>
      resourcePrefix(collectionKeyOf(definition)),
    );
  const { group, resource, identityHash } = claim;
  return [resourcePrefix({ group, resource, identity: identityHash })];
}

/** The built-in kinds that a claim selects: one, or none. */
function builtInsOf(
  dependencies: ApiSharingDependencies,
  claim: ClaimedResource,
): readonly ResourceDefinition[] {
  return dependencies.builtIns.filter(
    ({ group, resource, isReview, storedAs, codec }) =>
      isClaimOn(claim, group, resource) &&
      isReview !== true &&
      (storedAs === undefined || codec === undefined),
  );
}

async function definitionsOf(
  dependencies: ApiSharingDependencies,
  catalog: BoundResourceCatalog,
  cluster: ClusterName,
  claim: ClaimedResource,
): Promise<readonly ResourceDefinition[]> {
  const { bindings, schemas } = dependencies;
  if (isBuiltInIdentity(dependencies, claim)) return builtInsOf(dependencies, claim);
  const served = bindings.inCluster(cluster)?.find(claim.group, claim.resource);
  if (served?.bound.identityHash !== claim.identityHash) return [];
  const { schemaUid, schemaName } = served.bound;
  const schema = await schemas.get(schemaUid, served.binding.exportCluster ?? cluster, schemaName);
  // All versions are needed, because the storage version need not be served.
  for (const { version } of schema?.shared.versions ?? []) {
    const definition = await catalog.definitionOf(served, version);
    if (definition !== undefined) return [definition];
  }
  return [];
}

async function updateAllClaimLabels(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  definition: ResourceDefinition,
  failures: unknown[],
): Promise<void> {
  const prefix = clusterPrefix({ ...collectionKeyOf(definition), cluster });
  for (let continueAfter: StorageKey | undefined; ; ) {
    const page = await dependencies.storage.list(prefix, {
      signal: uncancelled,
      entriesMax: pageEntries,
      continueAfter,
    });
    for (const entry of page.entries) {
      if (!hasStaleClaimLabels(dependencies, entry)) continue;
      // An object whose write fails does not block the labels of other objects.
      await updateOneClaimLabels(dependencies, definition, parseObjectKey(entry.key)).catch(
        (error: unknown) => {
          failures.push(error);
        },
      );
    }
    if (!page.more) return;
    continueAfter = page.entries.at(-1)?.key;
    await yieldToEventLoop();
  }
}

async function updateOneClaimLabels(
  dependencies: ApiSharingDependencies,
  definition: ResourceDefinition,
  { cluster, namespace, name }: { cluster: ClusterName; namespace: string; name: string },
): Promise<void> {
  const rules = { ...systemWriteOptions, subresource: systemWrite, isDerivedFromLive: true };
  const collection = collectionKeyOf(definition);
  try {
    await dependencies.registry.update(
      definition,
      { cluster, namespace, name },
      async (old) => {
        const metadata = member(old as JsonObject, "metadata");
        const labels = metadata["labels"] as JsonObject | undefined;
        const next = labelsIn(dependencies, cluster, collection, labels) ?? labels;
        return { ...old, metadata: withLabels(metadata, next ?? {}) };
      },
      rules,
    );
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}
