/**
 * What a provider writes by a permission claim gives the provider no more than the claim: the server acts on some objects, and what it
 * does for them may reach further than the objects themselves.
 */

import { collectionKeyOf, type Draft } from "@kcp-ts/apiserver/registry";
import { objectKey } from "@kcp-ts/apiserver/storage";
import { cachedLabels } from "@kcp-ts/apiserver/watch-cache";
import { isJsonObject, type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { quote, statusError } from "@kcp-ts/machinery/status";
import { member, uncancelled } from "../../workspaces/index.ts";
import { acceptedClaimIn, isSelected } from "../claims.ts";
import { listOf, textOf } from "../kinds/as-definition.ts";
import type { ApiSharingDependencies } from "../parts.ts";
import type { Claim, ExportRecord } from "../records.ts";

/** A write by an accepted claim. */
export interface ClaimedWrite {
  readonly parts: ApiSharingDependencies;
  readonly record: ExportRecord;
  readonly cluster: ClusterName;
  readonly claim: Claim;
  /** Where the object is; empty for one that is in none. */
  readonly namespace?: string;
}

type Judge = (
  write: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
) => Promise<void> | undefined;

/** Throws a 403 when the object gives more than the claim. Undefined where there is nothing to find out. */
export function validateClaimedWrite(
  write: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
): Promise<void> | undefined {
  const { group, resource } = write.claim;
  return judges.get(`${group}/${resource}`)?.(write, draft, old);
}

/** A changed owner is a deletion by the garbage collector. */
export function denyOwnerChangeWithoutDelete(
  { parts, record, cluster, claim }: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
): void {
  if (old === undefined) return;
  const [now, before] = [draft, old].map((one) =>
    listOf(member(one, "metadata")["ownerReferences"]),
  );
  if (jsonEqual([...(now ?? [])], [...(before ?? [])])) return;
  const verbs = acceptedClaimIn(parts.bindings, cluster, record, claim)?.verbs ?? [];
  if (allows(verbs, "delete")) return;
  throw claimForbidden(claim, draft, "cannot set an ownerRef on a resource you can't delete");
}

const tokenType = "kubernetes.io/service-account-token";
const accountAnnotations = [
  "kubernetes.io/service-account.name",
  "kubernetes.io/service-account.uid",
] as const;

/** Whoever reads a token Secret is the ServiceAccount: that takes a claim by which such accounts are made. */
function validateSecret(
  write: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
): Promise<void> | undefined {
  if (draft["type"] !== tokenType) return undefined;
  const [now, before] = [draft, old ?? {}].map((one) =>
    member(member(one, "metadata"), "annotations"),
  );
  const isSame = accountAnnotations.every((key) => now?.[key] === before?.[key]);
  if (old?.["type"] === tokenType && isSame) return undefined;
  return requireServiceAccountClaim(write, draft, textOf(now?.[accountAnnotations[0]]));
}

async function requireServiceAccountClaim(
  { parts, record, cluster, claim, namespace = "" }: ClaimedWrite,
  draft: Draft,
  name: string,
): Promise<void> {
  const accounts = { group: "", resource: "serviceaccounts" };
  const accepted = acceptedClaimIn(parts.bindings, cluster, record, accounts);
  const definition = parts.builtIns.find(
    ({ group, resource }) => group === accounts.group && resource === accounts.resource,
  );
  if (
    definition !== undefined &&
    accepted !== undefined &&
    allows(accepted.verbs, "create") &&
    name !== ""
  ) {
    const key = objectKey({ ...collectionKeyOf(definition), cluster, namespace, name });
    const entry = await parts.watchCache.get(key, { kind: "latest" }, uncancelled);
    if (entry !== undefined && isSelected(accepted.claim, cachedLabels(entry))) return;
  }
  const message = `no accepted permission claim to create serviceaccounts covers service account ${quote(name)}`;
  throw claimForbidden(claim, draft, message);
}

/** A claim is agreed to by the consumer, never by whoever makes it. */
function validateBinding(
  { claim }: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
): undefined {
  const before = acceptedClaimsOf(old ?? {});
  const isAdded = (one: JsonObject) => !before.some((other) => jsonEqual(one, other));
  if (acceptedClaimsOf(draft).some(isAdded))
    throw claimForbidden(
      claim,
      draft,
      "permission claims cannot be accepted by a permission claim",
    );
  return undefined;
}

function acceptedClaimsOf(binding: JsonObject): readonly JsonObject[] {
  const claims = listOf(member(binding, "spec")["permissionClaims"]).filter(isJsonObject);
  return claims.filter(({ state }) => state === "Accepted");
}

/** What intercepts writes sees the objects of others: those that the provider sees anyway, and, to change them, that it may change. */
function validateInterception(
  verbs: readonly string[],
  rulesOf: (object: JsonObject) => Interception,
): Judge {
  return (write, draft, old) => {
    const { parts, record, cluster, claim } = write;
    const now = rulesOf(draft);
    if (old !== undefined && jsonEqual([...now.all], [...rulesOf(old).all])) return undefined;
    const isCovered = (group: string, resource: string) => {
      if (record.resources.some((one) => one.group === group && one.resource === resource))
        return true;
      const accepted = acceptedClaimIn(parts.bindings, cluster, record, { group, resource });
      return (
        accepted?.claim.selector?.matchAll === true &&
        verbs.every((verb) => allows(accepted.verbs, verb))
      );
    };
    for (const rule of now.rules) {
      const resources = listOf(rule["resources"]).map((one) => textOf(one).split("/")[0] as string);
      for (const group of listOf(rule["apiGroups"]).map(textOf))
        for (const resource of resources) {
          if (isCovered(group, resource)) continue;
          const what = `${resource}${group === "" ? "" : `.${group}`}`;
          const message = `no accepted permission claim to ${verbs.join(" and ")} all ${what} allows to intercept them`;
          throw claimForbidden(claim, draft, message);
        }
    }
    return undefined;
  };
}

interface Interception {
  /** All that decides over what is intercepted, and who learns of it. */
  readonly all: readonly JsonObject[];
  readonly rules: readonly JsonObject[];
}

function webhooksOf(object: JsonObject): Interception {
  const all = listOf(object["webhooks"]).filter(isJsonObject);
  return { all, rules: all.flatMap(({ rules }) => listOf(rules).filter(isJsonObject)) };
}

function constraintsOf(object: JsonObject): Interception {
  const spec = member(object, "spec");
  const rules = listOf(member(spec, "matchConstraints")["resourceRules"]).filter(isJsonObject);
  return { all: [spec], rules };
}

/** A conversion webhook is sent every object of its definition. */
function validateDefinition(
  { claim }: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
): undefined {
  const [now, before] = [draft, old ?? {}].map((one) => member(member(one, "spec"), "conversion"));
  if (now?.["strategy"] !== "Webhook" || jsonEqual(now, before ?? {})) return undefined;
  throw claimForbidden(claim, draft, "conversion webhooks cannot be set by a permission claim");
}

const admissionGroup = "admissionregistration.k8s.io";
const judges: ReadonlyMap<string, Judge> = new Map<string, Judge>([
  ["/secrets", validateSecret],
  ["apis.kcp.io/apibindings", validateBinding],
  ["apiextensions.k8s.io/customresourcedefinitions", validateDefinition],
  [`${admissionGroup}/validatingwebhookconfigurations`, validateInterception(["get"], webhooksOf)],
  [
    `${admissionGroup}/mutatingwebhookconfigurations`,
    validateInterception(["get", "update"], webhooksOf),
  ],
  [`${admissionGroup}/validatingadmissionpolicies`, validateInterception(["get"], constraintsOf)],
  [
    `${admissionGroup}/mutatingadmissionpolicies`,
    validateInterception(["get", "update"], constraintsOf),
  ],
]);

function allows(verbs: readonly string[], verb: string): boolean {
  return verbs.includes(verb) || verbs.includes("*");
}

/** Kubernetes' words for what is not allowed, about the object that would be written. */
export function claimForbidden(claim: Claim, object: JsonObject, message: string): Error {
  return statusError.forbidden(claim, textOf(member(object, "metadata")["name"]), message);
}
