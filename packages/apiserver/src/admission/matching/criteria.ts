/** Which requests a webhook, a policy or a binding is about, and as which kind it sees them. */
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
  /** Empty means everything where `isOptional`. */
  readonly rules: readonly Rule[];
  readonly excluded: readonly Rule[];
  readonly isExact: boolean;
  readonly namespaceSelector: LabelSelector;
  readonly objectSelector: LabelSelector;
}

/** The kind that was asked for, or another one that it is shown as. */
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

/** Undefined when the request is none of theirs. */
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

/** The kind that was asked for goes first; others are tried when the rules mean no exact version. */
async function findRule(
  rules: readonly Rule[],
  { isExact }: MatchCriteria,
  reviewed: ReviewedRequest,
): Promise<Match | undefined> {
  for (const rule of rules)
    if (ruleMatches(rule, reviewed.asked, reviewed.asRequested.kind)) return reviewed.asRequested;
  // All names of the same objects share the plural, so that most rules are passed over without asking for others.
  const { resource } = reviewed.request;
  if (isExact || !rules.some((rule) => ruleMatchesEquivalent(rule, reviewed.asked, resource)))
    return undefined;
  const pending = reviewed.equivalents();
  const equivalents = pending instanceof Promise ? await pending : pending;
  for (const rule of rules)
    for (const equivalent of equivalents)
      if (ruleMatches(rule, reviewed.asked, equivalent)) return { kind: equivalent, equivalent };
  return undefined;
}

/** What has no metadata, as options of a session, cannot be selected by it. */
function isSelected(selector: LabelSelector, { object, old }: ReviewedRequest): boolean {
  return [object, old].some(
    (one) => one?.["metadata"] !== undefined && selector.matches(labelsOf(one)),
  );
}

/** Objects that live in no namespace are in all of them. */
async function isInNamespace(selector: LabelSelector, reviewed: ReviewedRequest): Promise<boolean> {
  const { request, object } = reviewed;
  const isNamespace = request.group === "" && request.resource === "namespaces";
  if (reviewed.namespace === "" && !isNamespace) return true;
  // The server does not know yet what a namespace is about to become.
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
