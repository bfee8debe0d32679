/** Keeps the labels of claims on objects: on what is written from now on by admission, on what is there already by going through it. */

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
import { type ClaimedObject, claimLabels, isClaimOn, withClaimLabels } from "./claims.ts";
import { systemWrite } from "./kinds/definitions.ts";
import type { ApiSharingDependencies } from "./parts.ts";
import type { Claim } from "./records.ts";
import type { BoundResourceCatalog } from "./sharing-catalog.ts";
import { isBuiltInIdentity, systemIdentity } from "./system-exports.ts";

const pageEntries = 200;

/** Costs a look at a map where nothing is bound. */
export function claimsAdmission(parts: ApiSharingDependencies): AdmissionPlugin {
  return {
    name: "apis.kcp.io/PermissionClaims",
    mutate(request, draft) {
      const { cluster, group, resource, subresource } = request;
      // What else is posted to a subresource is another kind, and not stored.
      if (subresource !== "" && subresource !== "status") return undefined;
      const bindings = parts.bindings.in(cluster);
      const metadata = draft["metadata"] as JsonObject | undefined;
      const labels = metadata?.["labels"] as JsonObject | undefined;
      // Also where nothing is bound nobody may pretend to be claimed.
      if (bindings === undefined && labels === undefined) return undefined;
      const identity = bindings?.find(group, resource)?.bound.identityHash ?? "";
      const next = labelsIn(parts, cluster, { group, resource, identity }, labels);
      if (next !== undefined) draft["metadata"] = withLabels(metadata, next);
      return undefined;
    },
  };
}

/** The labels that an object should have instead of these; undefined when they are right. */
function labelsIn(
  parts: ApiSharingDependencies,
  cluster: ClusterName,
  { group, resource, identity }: CollectionKey,
  labels: JsonObject | undefined,
): JsonObject | undefined {
  const bindings = parts.bindings.in(cluster);
  if (bindings === undefined) return withClaimLabels(labels, noLabels);
  const wanted = claimLabels(bindings.records.values(), {
    ...{ group, resource, identity, labels: labels as ClaimedObject["labels"] },
    systemIdentity: identity === "" ? systemIdentity(parts, group, resource) : undefined,
  });
  return withClaimLabels(labels, wanted);
}

const noLabels: ReadonlyMap<string, string> = new Map();

/** Whether a stored object has other labels of claims than the bindings of its logical cluster ask for. */
export function hasStaleClaimLabels(parts: ApiSharingDependencies, entry: Entry): boolean {
  const { cluster, ...collection } = parseObjectKey(entry.key);
  return labelsIn(parts, cluster, collection, cachedLabels(entry) as JsonObject) !== undefined;
}

function withLabels(metadata: JsonObject | undefined, labels: JsonObject): JsonObject {
  const { labels: _, ...rest } = metadata ?? {};
  return Object.keys(labels).length === 0 ? rest : { ...rest, labels };
}

/** What is claimed: a resource, and of which provider it is. */
export type ClaimedResource = Pick<Claim, "group" | "resource" | "identityHash">;

/** Goes through the objects of a claimed resource in a cluster and puts their labels right. */
export async function updateClaimLabels(
  parts: ApiSharingDependencies,
  catalog: BoundResourceCatalog,
  cluster: ClusterName,
  claim: ClaimedResource,
): Promise<void> {
  // By half of the bindings, labels of the others' claims would be taken off.
  await parts.loading();
  const failures: unknown[] = [];
  for (const definition of await definitionsOf(parts, catalog, cluster, claim))
    await updateAllClaimLabels(parts, cluster, definition, failures);
  if (failures.length > 0)
    throw new AggregateError(
      failures.slice(0, failuresToldMax),
      `${failures.length} objects of ${claim.resource}.${claim.group} in ${cluster} could not be labelled`,
    );
}

const failuresToldMax = 10;

/** Puts the labels of one object right. */
export async function updateClaimLabelsOf(
  parts: ApiSharingDependencies,
  catalog: BoundResourceCatalog,
  key: StorageKey,
): Promise<void> {
  await parts.loading();
  const { group, resource, identity, ...address } = parseObjectKey(key);
  const claimed = { group, resource, identityHash: identity };
  const [definition] = await definitionsOf(parts, catalog, address.cluster, claimed);
  if (definition !== undefined) await updateOneClaimLabels(parts, definition, address);
}

/** The prefixes that objects of a claimed resource are stored under. */
export function prefixesOf(
  parts: ApiSharingDependencies,
  claim: ClaimedResource,
): readonly StorageKey[] {
  if (isBuiltInIdentity(parts, claim))
    return builtInsOf(parts, claim).map((definition) =>
      resourcePrefix(collectionKeyOf(definition)),
    );
  const { group, resource, identityHash } = claim;
  return [resourcePrefix({ group, resource, identity: identityHash })];
}

/** The built-in kinds that a claim is on: one, or none. */
function builtInsOf(
  parts: ApiSharingDependencies,
  claim: ClaimedResource,
): readonly ResourceDefinition[] {
  return parts.builtIns.filter(
    ({ group, resource, isReview, storedAs, form }) =>
      isClaimOn(claim, group, resource) &&
      isReview !== true &&
      (storedAs === undefined || form === undefined),
  );
}

async function definitionsOf(
  parts: ApiSharingDependencies,
  catalog: BoundResourceCatalog,
  cluster: ClusterName,
  claim: ClaimedResource,
): Promise<readonly ResourceDefinition[]> {
  const { bindings, schemas } = parts;
  if (isBuiltInIdentity(parts, claim)) return builtInsOf(parts, claim);
  const served = bindings.in(cluster)?.find(claim.group, claim.resource);
  if (served?.bound.identityHash !== claim.identityHash) return [];
  const { schemaUid, schemaName } = served.bound;
  const schema = await schemas.get(schemaUid, served.binding.exportCluster ?? cluster, schemaName);
  // The storage version need not be served.
  for (const { version } of schema?.shared.versions ?? []) {
    const definition = await catalog.definitionOf(served, version);
    if (definition !== undefined) return [definition];
  }
  return [];
}

async function updateAllClaimLabels(
  parts: ApiSharingDependencies,
  cluster: ClusterName,
  definition: ResourceDefinition,
  failures: unknown[],
): Promise<void> {
  const prefix = clusterPrefix({ ...collectionKeyOf(definition), cluster });
  for (let continueAfter: StorageKey | undefined; ; ) {
    const page = await parts.storage.list(prefix, {
      signal: uncancelled,
      entriesMax: pageEntries,
      continueAfter,
    });
    for (const entry of page.entries) {
      if (!hasStaleClaimLabels(parts, entry)) continue;
      // One that cannot be written keeps no other from its labels.
      await updateOneClaimLabels(parts, definition, parseObjectKey(entry.key)).catch(
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
  parts: ApiSharingDependencies,
  definition: ResourceDefinition,
  { cluster, namespace, name }: { cluster: ClusterName; namespace: string; name: string },
): Promise<void> {
  const rules = { ...systemWriteOptions, subresource: systemWrite, isDerived: true };
  const collection = collectionKeyOf(definition);
  try {
    await parts.registry.update(
      definition,
      { cluster, namespace, name },
      async (old) => {
        const metadata = member(old as JsonObject, "metadata");
        const labels = metadata["labels"] as JsonObject | undefined;
        const next = labelsIn(parts, cluster, collection, labels) ?? labels;
        return { ...old, metadata: withLabels(metadata, next ?? {}) };
      },
      rules,
    );
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}
