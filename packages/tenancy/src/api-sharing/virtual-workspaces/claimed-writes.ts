/**
 * Validates the writes of a provider through a permission claim: the server acts on some objects,
 * and the effects of such an object may exceed the access that the claim grants.
 */
import { collectionKeyOf, type Draft } from "@kcp-ts/apiserver/registry";
import { objectKey } from "@kcp-ts/apiserver/storage";
import { cachedLabels } from "@kcp-ts/apiserver/watch-cache";
import { isJsonObject, type JsonObject, jsonEqual, listOf, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { quote, statusError } from "@kcp-ts/machinery/status";
import { member, uncancelled } from "../../workspaces/index.ts";
import { acceptedClaimIn, isSelected } from "../claims.ts";
import type { ApiSharingDependencies } from "../dependencies.ts";
import type { Claim, ExportRecord } from "../records.ts";

/** A write through an accepted claim. */
export interface ClaimedWrite {
  readonly dependencies: ApiSharingDependencies;
  readonly record: ExportRecord;
  readonly cluster: ClusterName;
  readonly claim: Claim;
  /** The namespace of the object; empty for cluster-scoped objects. */
  readonly namespace?: string;
}

type Judge = (
  write: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
) => Promise<void> | undefined;

/**
 * Throws a 403 when the object grants more than the claim. Undefined when the kind needs no check.
 */
export function validateClaimedWrite(
  write: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
): Promise<void> | undefined {
  const { group, resource } = write.claim;
  return judges.get(`${group}/${resource}`)?.(write, draft, old);
}

/** A changed owner reference makes the garbage collector delete the object. */
export function denyOwnerChangeWithoutDelete(
  { dependencies, record, cluster, claim }: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
): void {
  if (old === undefined) return;
  const [now, before] = [draft, old].map((one) =>
    listOf(member(one, "metadata")["ownerReferences"]),
  );
  if (jsonEqual([...(now ?? [])], [...(before ?? [])])) return;
  const verbs = acceptedClaimIn(dependencies.bindings, cluster, record, claim)?.verbs ?? [];
  if (allows(verbs, "delete")) return;
  throw claimForbidden(claim, draft, "cannot set an ownerRef on a resource you can't delete");
}

const tokenType = "kubernetes.io/service-account-token";
const accountAnnotations = [
  "kubernetes.io/service-account.name",
  "kubernetes.io/service-account.uid",
] as const;

/**
 * A reader of a token Secret can act as the ServiceAccount: that takes a claim that can create such
 * accounts.
 */
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
  { dependencies, record, cluster, claim, namespace = "" }: ClaimedWrite,
  draft: Draft,
  name: string,
): Promise<void> {
  const accounts = { group: "", resource: "serviceaccounts" };
  const accepted = acceptedClaimIn(dependencies.bindings, cluster, record, accounts);
  const definition = dependencies.builtIns.find(
    ({ group, resource }) => group === accounts.group && resource === accounts.resource,
  );
  if (
    definition !== undefined &&
    accepted !== undefined &&
    allows(accepted.verbs, "create") &&
    name !== ""
  ) {
    const key = objectKey({ ...collectionKeyOf(definition), cluster, namespace, name });
    const entry = await dependencies.watchCache.get(key, { kind: "latest" }, uncancelled);
    if (entry !== undefined && isSelected(accepted.claim, cachedLabels(entry))) return;
  }
  const message = `no accepted permission claim to create serviceaccounts covers service account ${quote(name)}`;
  throw claimForbidden(claim, draft, message);
}

/** Only the consumer may accept a claim, never the provider that makes it. */
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

/**
 * A webhook or policy intercepts writes to other objects: the provider must be able to read all of
 * these objects, and to change them if the webhook or policy mutates them.
 */
function validateInterception(
  verbs: readonly string[],
  rulesOf: (object: JsonObject) => Interception,
): Judge {
  return (write, draft, old) => {
    const { dependencies, record, cluster, claim } = write;
    const now = rulesOf(draft);
    if (old !== undefined && jsonEqual([...now.all], [...rulesOf(old).all])) return undefined;
    const isCovered = (group: string, resource: string) => {
      if (record.resources.some((one) => one.group === group && one.resource === resource))
        return true;
      const accepted = acceptedClaimIn(dependencies.bindings, cluster, record, { group, resource });
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
  /** All fields that decide which requests are intercepted, and which endpoint receives them. */
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

/** A conversion webhook receives every object of its CRD. */
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

/** Kubernetes' Forbidden error for the object of the write. */
export function claimForbidden(claim: Claim, object: JsonObject, message: string): Error {
  return statusError.forbidden(claim, textOf(member(object, "metadata")["name"]), message);
}
