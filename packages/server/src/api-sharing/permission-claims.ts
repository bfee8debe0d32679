/** Keeps the labels of claims on objects: on what is written from now on by admission, on what is there already by going through it. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { AdmissionPlugin } from "../admission/index.ts";
import { collectionKeyOf, type ResourceDefinition } from "../registry/index.ts";
import { otherWork } from "../request/other-work.ts";
import { clusterPrefix, parseObjectKey, type StorageKey } from "../storage/index.ts";
import { member, systemWriteOptions, uncancelled } from "../tenancy/index.ts";
import { cachedLabels } from "../watch-cache/index.ts";
import { type ClaimedObject, claimLabels, isClaimOn, relabelled } from "./claims.ts";
import { systemWrite } from "./kinds/definitions.ts";
import type { SharingParts } from "./parts.ts";
import type { Claim } from "./records.ts";
import type { SharingCatalog } from "./sharing-catalog.ts";
import { isBuiltInIdentity, systemIdentity } from "./system-exports.ts";

const pageEntries = 200;

/** Costs a look at a map where nothing is bound. */
export function claimsAdmission(parts: SharingParts): AdmissionPlugin {
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
      const object = {
        ...{ group, resource, identity, labels: labels as ClaimedObject["labels"] },
        systemIdentity: identity === "" ? systemIdentity(parts, group, resource) : undefined,
      };
      const wanted =
        bindings === undefined
          ? noLabels
          : claimLabels(bindings.records.values(), parts.exportOf, object);
      const next = relabelled(labels, wanted);
      if (next !== undefined) draft["metadata"] = withLabels(metadata, next);
      return undefined;
    },
  };
}

const noLabels: ReadonlyMap<string, string> = new Map();

function withLabels(metadata: JsonObject | undefined, labels: JsonObject): JsonObject {
  const { labels: _, ...rest } = metadata ?? {};
  return Object.keys(labels).length === 0 ? rest : { ...rest, labels };
}

/** Goes through the objects of a claimed resource in a cluster and puts their labels right. */
export async function relabel(
  parts: SharingParts,
  catalog: SharingCatalog,
  cluster: ClusterName,
  claim: Claim,
): Promise<void> {
  for (const definition of await definitionsOf(parts, catalog, cluster, claim))
    await relabelAll(parts, cluster, definition);
}

async function definitionsOf(
  parts: SharingParts,
  catalog: SharingCatalog,
  cluster: ClusterName,
  claim: Claim,
): Promise<readonly ResourceDefinition[]> {
  const { builtIns, bindings, schemas } = parts;
  if (isBuiltInIdentity(parts, claim)) {
    const claimed = builtIns.filter(
      ({ group, resource, isReview, storedAs, form }) =>
        isClaimOn(claim, group, resource) &&
        isReview !== true &&
        (storedAs === undefined || form === undefined),
    );
    return claimed;
  }
  const served = bindings.in(cluster)?.find(claim.group, claim.resource);
  if (served?.bound.identityHash !== claim.identityHash) return [];
  const { schemaUid, schemaName } = served.bound;
  const schema = await schemas.get(schemaUid, served.binding.exportCluster ?? cluster, schemaName);
  if (schema === undefined) return [];
  const definition = await catalog.definitionOf(served, schema.shared.storageVersion);
  return definition === undefined ? [] : [definition];
}

async function relabelAll(
  parts: SharingParts,
  cluster: ClusterName,
  definition: ResourceDefinition,
): Promise<void> {
  const collection = collectionKeyOf(definition);
  const prefix = clusterPrefix({ ...collection, cluster });
  const { group, resource } = definition;
  const { identity } = collection;
  const wantedFor = (labels: ClaimedObject["labels"]) =>
    claimLabels(parts.bindings.in(cluster)?.records.values() ?? [], parts.exportOf, {
      group,
      resource,
      identity,
      systemIdentity: identity === "" ? systemIdentity(parts, group, resource) : undefined,
      labels,
    });
  for (let continueAfter: StorageKey | undefined; ; ) {
    const page = await parts.storage.list(prefix, {
      signal: uncancelled,
      entriesMax: pageEntries,
      continueAfter,
    });
    for (const entry of page.entries) {
      const labels = cachedLabels(entry);
      if (relabelled(labels as JsonObject | undefined, wantedFor(labels)) === undefined) continue;
      const { namespace, name } = parseObjectKey(entry.key);
      await relabelOne(parts, definition, { cluster, namespace, name }, wantedFor);
    }
    if (!page.more) return;
    continueAfter = page.entries.at(-1)?.key;
    await otherWork();
  }
}

async function relabelOne(
  { registry }: SharingParts,
  definition: ResourceDefinition,
  address: { cluster: ClusterName; namespace: string; name: string },
  wantedFor: (labels: ClaimedObject["labels"]) => ReadonlyMap<string, string>,
): Promise<void> {
  const rules = { ...systemWriteOptions, subresource: systemWrite, isDerived: true };
  try {
    await registry.update(
      definition,
      address,
      async (old) => {
        const metadata = member(old as JsonObject, "metadata");
        const labels = metadata["labels"] as JsonObject | undefined;
        const next = relabelled(labels, wantedFor(labels as ClaimedObject["labels"])) ?? labels;
        return { ...old, metadata: withLabels(metadata, next ?? {}) };
      },
      rules,
    );
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}
