/**
 * Permission claims: the access of a provider to other resources in its consumers' workspaces, as
 * far as the consumers accepted it.
 *
 * Objects that a claim covers carry a label, so that watches over all workspaces are notified of
 * objects that become covered. The label alone grants no access: objects of a rejected claim are
 * invisible at once.
 */
import { type JsonObject, shallowCopy } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type LabelSelector,
  type LabelSelectorObject,
  SelectorSyntaxError,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";
import type { BindingIndex } from "./binding-index.ts";
import { base62Hash, exportHash } from "./kinds/hashes.ts";
import type { BindingRecord, Claim, ClaimSelector, ExportRecord } from "./records.ts";

export const claimLabelPrefix = "claimed.internal.apis.kcp.io/";

/** The two API groups of Events. */
const eventGroups: ReadonlySet<string> = new Set(["", "events.k8s.io"]);

export function isClaimOn(
  claim: Pick<Claim, "group" | "resource">,
  group: string,
  resource: string,
): boolean {
  if (claim.resource !== resource) return false;
  if (claim.group === group) return true;
  return resource === "events" && eventGroups.has(claim.group) && eventGroups.has(group);
}

export function claimLabel(exportCluster: string, exportName: string): string {
  return `${claimLabelPrefix}${exportHash(exportCluster, exportName)}`;
}

export function claimHash({ group, resource, identityHash }: Claim): string {
  const claim = {
    ...(group === "" ? {} : { group }),
    resource,
    verbs: null,
    ...(identityHash === "" ? {} : { identityHash }),
  };
  return base62Hash(JSON.stringify(claim));
}

const selectors = new WeakMap<ClaimSelector, LabelSelector | undefined>();

export function isSelected(
  { selector }: Claim,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  if (selector === undefined) return false;
  if (selector.matchAll) return true;
  if (!selectors.has(selector)) selectors.set(selector, compile(selector));
  return selectors.get(selector)?.matches(labels) === true;
}

/** An invalid selector selects nothing. */
function compile({ matchLabels, matchExpressions }: ClaimSelector): LabelSelector | undefined {
  if (Object.keys(matchLabels).length === 0 && matchExpressions.length === 0) return undefined;
  try {
    const object = { matchLabels, matchExpressions } as unknown as LabelSelectorObject;
    return selectorFromLabelSelectorObject(object);
  } catch (error) {
    if (error instanceof SelectorSyntaxError) return undefined;
    throw error;
  }
}

export interface AcceptedClaim {
  readonly claim: Claim;
  readonly verbs: readonly string[];
}

/** The claim of an export that a binding accepted, with the intersection of both. */
function acceptedClaim(
  askedClaims: readonly Claim[],
  binding: BindingRecord,
  group: string,
  resource: string,
): AcceptedClaim | undefined {
  if (binding.isDeleted) return undefined;
  for (const asked of askedClaims) {
    if (!isClaimOn(asked, group, resource)) continue;
    const claim = binding.claims.find(
      (one) =>
        one.state === "Accepted" &&
        one.resource === asked.resource &&
        one.group === asked.group &&
        one.identityHash === asked.identityHash,
    );
    if (claim === undefined) continue;
    return { claim, verbs: asked.verbs.filter((verb) => claim.verbs.includes(verb)) };
  }
  return undefined;
}

/** A workspace may have several bindings to one export. */
export function* bindingsTo(
  bindings: BindingIndex,
  cluster: ClusterName,
  exported: { readonly cluster: ClusterName; readonly name: string },
): Iterable<BindingRecord> {
  for (const binding of bindings.inCluster(cluster)?.records.values() ?? []) {
    if (binding.exportName === exported.name && binding.exportCluster === exported.cluster)
      yield binding;
  }
}

/**
 * The accepted claim of a workspace on a resource. Of several bindings that accept the claim one
 * decides, with its selector and its verbs, so that their union grants nothing that no single
 * binding grants: a bound binding before an unbound one, the older before the younger.
 */
export function acceptedClaimIn(
  bindings: BindingIndex,
  cluster: ClusterName,
  exported: ExportRecord,
  { group, resource }: { readonly group: string; readonly resource: string },
): AcceptedClaim | undefined {
  let decides: { readonly binding: BindingRecord; readonly claim: AcceptedClaim } | undefined;
  for (const binding of bindingsTo(bindings, cluster, exported)) {
    if (decides !== undefined && !hasPrecedence(binding, decides.binding)) continue;
    const claim = acceptedClaim(exported.claims, binding, group, resource);
    if (claim !== undefined) decides = { binding, claim };
  }
  return decides?.claim;
}

function hasPrecedence(a: BindingRecord, b: BindingRecord): boolean {
  return a.isBound === b.isBound ? a.createdAt < b.createdAt : a.isBound;
}

export interface ClaimedObject {
  readonly group: string;
  readonly resource: string;
  /** The identity of the resource's provider; empty for built-in resources. */
  readonly identity: string;
  /** The identity of a built-in resource's system export, which claims may use as well. */
  readonly systemIdentity?: string | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
}

/**
 * The claim labels that an object should have. They depend only on the bindings of the object's
 * logical cluster, not on exports: so all servers with the same bindings compute the same labels,
 * and an export that is missing for a while changes none.
 */
export function claimLabels(
  bindings: Iterable<BindingRecord>,
  { group, resource, identity, systemIdentity, labels }: ClaimedObject,
): ReadonlyMap<string, string> {
  const wanted = new Map<string, string>();
  for (const binding of bindings) {
    const { exportCluster, exportName, exportClaims } = binding;
    if (exportCluster === undefined || exportClaims.length === 0) continue;
    const accepted = acceptedClaim(exportClaims, binding, group, resource);
    if (accepted === undefined) continue;
    const { identityHash } = accepted.claim;
    if (identityHash !== identity && identityHash !== systemIdentity) continue;
    if (!isSelected(accepted.claim, labels)) continue;
    wanted.set(claimLabel(exportCluster, exportName), claimHash(accepted.claim));
  }
  return wanted;
}

/**
 * The labels of an object with exactly these claim labels; undefined when the object has them
 * already.
 */
export function withClaimLabels(
  labels: JsonObject | undefined,
  wanted: ReadonlyMap<string, string>,
): JsonObject | undefined {
  const next = shallowCopy(labels ?? {});
  let isChanged = false;
  for (const key of Object.keys(next)) {
    if (!key.startsWith(claimLabelPrefix) || wanted.get(key) === next[key]) continue;
    delete next[key];
    isChanged = true;
  }
  for (const [key, value] of wanted) {
    if (next[key] === value) continue;
    next[key] = value;
    isChanged = true;
  }
  return isChanged ? next : undefined;
}
