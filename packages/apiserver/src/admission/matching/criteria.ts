/**
 * Match criteria: the requests that a webhook, a policy or a binding matches, and the kind as which
 * it sees them.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  everything,
  type LabelSelector,
  type LabelSelectorObject,
  selectorFromLabelSelectorObject,
} from "@kcp-ts/machinery/selectors";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import type { ReviewedRequest } from "../reviewed-request.ts";
import type { EquivalentKind, TargetKind } from "../sources.ts";
import { type Rule, readRules, ruleMatches, ruleMatchesEquivalent } from "./rules.ts";

export interface MatchCriteria {
  /** Empty matches all resources; a webhook without rules is never called (see `matchWebhook`). */
  readonly rules: readonly Rule[];
  readonly excluded: readonly Rule[];
  readonly isExact: boolean;
  readonly namespaceSelector: LabelSelector;
  readonly objectSelector: LabelSelector;
}

/** The requested kind, or an equivalent kind to which the objects are converted. */
export type Match =
  | { readonly kind: TargetKind; readonly equivalent: undefined }
  | { readonly kind: TargetKind; readonly equivalent: EquivalentKind };

export function readMatchCriteria(
  value: JsonObject,
  rules: "rules" | "resourceRules",
): MatchCriteria {
  return {
    rules: readRules(value[rules]),
    excluded: readRules(value["excludeResourceRules"]),
    isExact: value["matchPolicy"] === "Exact",
    namespaceSelector: readSelector(value["namespaceSelector"]),
    objectSelector: readSelector(value["objectSelector"]),
  };
}

export function readSelector(value: JsonValue | undefined): LabelSelector {
  return isJsonObject(value)
    ? selectorFromLabelSelectorObject(value as LabelSelectorObject)
    : everything;
}

/** Undefined when the request does not match. */
export async function matchRequest(
  criteria: MatchCriteria,
  reviewed: ReviewedRequest,
): Promise<Match | undefined> {
  const { rules, excluded, namespaceSelector, objectSelector } = criteria;
  if (excluded.length > 0 && (await findRule(excluded, criteria, reviewed)) !== undefined)
    return undefined;
  const match =
    rules.length === 0 ? reviewed.asRequested : await findRule(rules, criteria, reviewed);
  if (match === undefined) return undefined;
  if (!objectSelector.isEmpty && !isSelected(objectSelector, reviewed)) return undefined;
  if (namespaceSelector.isEmpty) return match;
  return (await isInNamespace(namespaceSelector, reviewed)) ? match : undefined;
}

/**
 * Tries the requested kind first; equivalent kinds are tried when the match policy is Equivalent.
 */
async function findRule(
  rules: readonly Rule[],
  { isExact }: MatchCriteria,
  reviewed: ReviewedRequest,
): Promise<Match | undefined> {
  for (const rule of rules)
    if (ruleMatches(rule, reviewed.matchedOperation, reviewed.asRequested.kind))
      return reviewed.asRequested;
  // Equivalent kinds have the same plural, so most rules are skipped without looking up
  // equivalents.
  const { resource } = reviewed.request;
  if (
    isExact ||
    !rules.some((rule) => ruleMatchesEquivalent(rule, reviewed.matchedOperation, resource))
  )
    return undefined;
  const equivalents = await reviewed.equivalents();
  for (const rule of rules)
    for (const equivalent of equivalents)
      if (ruleMatches(rule, reviewed.matchedOperation, equivalent))
        return { kind: equivalent, equivalent };
  return undefined;
}

/** Objects without metadata, such as the options of a session, match no selector. */
function isSelected(selector: LabelSelector, { object, old }: ReviewedRequest): boolean {
  return [object, old].some(
    (one) => one?.["metadata"] !== undefined && selector.matches(labelsOf(one)),
  );
}

/** Cluster-scoped objects match every namespace selector. */
async function isInNamespace(selector: LabelSelector, reviewed: ReviewedRequest): Promise<boolean> {
  const { request, object } = reviewed;
  const isNamespace = request.group === "" && request.resource === "namespaces";
  if (reviewed.namespace === "" && !isNamespace) return true;
  // The new labels of the Namespace are only in the object of this request.
  if (isNamespace && request.subresource === "" && object !== null)
    return selector.matches(labelsOf(object));
  const namespace = await reviewed.namespaceObject();
  if (namespace === null) throw namespaceMissing(reviewed.namespace);
  return selector.matches(labelsOf(namespace));
}

function namespaceMissing(name: string): StatusError {
  return new StatusError(statusError.notFound({ group: "", resource: "namespaces" }, name).status);
}

function labelsOf(object: JsonObject): Readonly<Record<string, string>> {
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  return isJsonObject(metadata["labels"])
    ? (metadata["labels"] as Readonly<Record<string, string>>)
    : {};
}
