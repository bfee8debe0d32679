/**
 * Validates the writes of a provider through a permission claim: the server acts on some objects,
 * and the effects of such an object may exceed the access that the claim grants.
 */
import type { Draft } from "@kcp-ts/apiserver/registry";
import { isJsonObject, type JsonObject, jsonEqual, listOf, textOf } from "@kcp-ts/machinery/json";
import { member } from "../../workspaces/index.ts";
import { acceptedClaimIn } from "../claims.ts";
import {
  requireServiceAccountClaim,
  validateNamespace,
  validateWorkload,
} from "./claimed-workloads.ts";
import {
  allows,
  type ClaimedWrite,
  claimForbidden,
  coversAll,
  secrets,
  type WriteValidator,
} from "./claimed-write.ts";
import {
  constraintsOf,
  validateAddress,
  validateInterception,
  validatePolicyBinding,
  webhooksOf,
} from "./interception.ts";

/**
 * Throws a 403 when the object, or its status, grants more than the claim. Undefined when there is
 * nothing to check.
 */
export function validateClaimedWrite(
  write: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
): Promise<void> | undefined {
  const { group, resource } = write.claim;
  const validate = validators.get(`${group}/${resource}`) ?? validateWorkload;
  return validate(write, draft, old);
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

/** The users of an issuer enter the children of the workspace: only the consumer adds one. */
function validateIssuers(
  { claim }: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
): undefined {
  if (jsonEqual(draft["spec"] ?? {}, old?.["spec"] ?? {})) return undefined;
  throw claimForbidden(claim, draft, "issuers cannot be set by a permission claim");
}

/** A physical cluster receives the workloads of the workspace, and the Secrets that they use. */
function validateSyncTarget(
  write: ClaimedWrite,
  draft: Draft,
  old: JsonObject | undefined,
): undefined {
  if (jsonEqual(draft["spec"] ?? {}, old?.["spec"] ?? {})) return undefined;
  if (coversAll(write, secrets, ["get"])) return undefined;
  const message = "no accepted permission claim to get all secrets allows to register clusters";
  throw claimForbidden(write.claim, draft, message);
}

const admissionGroup = "admissionregistration.k8s.io";
/**
 * The kinds that the server acts on. All others may have templates of Pods, which
 * `validateWorkload` finds in any kind.
 */
const validators: ReadonlyMap<string, WriteValidator> = new Map<string, WriteValidator>([
  ["/secrets", validateSecret],
  ["/namespaces", validateNamespace],
  ["/services", validateAddress],
  ["/endpoints", validateAddress],
  ["discovery.k8s.io/endpointslices", validateAddress],
  ["apis.kcp.io/apibindings", validateBinding],
  ["tenancy.kcp.io/workspaceauthenticationconfigurations", validateIssuers],
  ["workload.kcp.io/synctargets", validateSyncTarget],
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
  [
    `${admissionGroup}/validatingadmissionpolicybindings`,
    validatePolicyBinding(["get"], "validatingadmissionpolicies"),
  ],
  [
    `${admissionGroup}/mutatingadmissionpolicybindings`,
    validatePolicyBinding(["get", "update"], "mutatingadmissionpolicies"),
  ],
]);
