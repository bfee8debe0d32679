/**
 * The conditions of negotiation: which field of which cluster is incompatible, and what to do about
 * it.
 */
import type { Finding } from "@kcp-ts/machinery/compat";
import { type ConditionInput, findCondition } from "@kcp-ts/sdk";
import {
  importConditions,
  type NegotiatedAPIResource,
  negotiatedConditions,
  publishingReason,
} from "../api/index.ts";
import { type Definition, isBeingEstablished, isServed, whyNotServed } from "./definitions.ts";
import type { ImportCompatibility, ImportMember } from "./negotiate-imports.ts";
import type { NegotiationPlan, PlannedVersion } from "./plan-negotiation.ts";

export const findingsShownMax = 10;
const messageCharactersMax = 2048;

export function describeFindings(findings: readonly Finding[]): string {
  const shown = findings
    .slice(0, findingsShownMax)
    .map(({ path, message }) => `${path === "" ? "the object" : path}: ${message}`);
  const more = findings.length - shown.length;
  const text = [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
  return text.length <= messageCharactersMax ? text : `${text.slice(0, messageCharactersMax)}…`;
}

export function compatibleCondition(
  { name, location }: ImportMember,
  result: ImportCompatibility,
  isEnforced: boolean,
): ConditionInput {
  const type = importConditions.compatible;
  if (result.isCompatible) {
    const { narrowed } = result;
    const message =
      narrowed.length === 0 ? "" : `narrows the others: ${describeFindings(narrowed)}`;
    return { type, status: "True", reason: "Compatible", message };
  }
  const why = describeFindings(result.findings);
  const next = isEnforced
    ? "the definition was made by hand: change it there"
    : result.isNarrowable
      ? `to narrow what is published: kubectl patch apiresourceimport ${name} --type=merge -p '{"spec":{"schemaUpdateStrategy":"UpdatePublished"}}'`
      : "the cluster has to be brought to another version";
  return {
    type,
    status: "False",
    reason: "IncompatibleSchema",
    message: `${location} does not accept what the others do (${why}); ${next}`,
  };
}

export interface PublicationState {
  readonly plan: NegotiationPlan;
  readonly definition: Definition | undefined;
  /** Why the server rejected the definition. */
  readonly refusal: string | undefined;
  /** Why an obsolete definition is kept. */
  readonly kept: string | undefined;
}

/** Whether this version is published, and if not, why. */
export function publishedCondition(version: string, publication: PublicationState): ConditionInput {
  const type = negotiatedConditions.published;
  const { plan, definition, refusal, kept } = publication;
  const no = (reason: string, message: string): ConditionInput => ({
    type,
    status: "False",
    reason,
    message,
  });
  if (refusal !== undefined && plan.chosen?.version === version)
    return no("DefinitionRefused", refusal);
  const served =
    definition?.spec.versions.filter((one) => one.served).map(({ name }) => name) ?? [];
  if (definition !== undefined && served.includes(version)) {
    if (!isServed(definition)) {
      const reason = isBeingEstablished(definition) ? publishingReason : "DefinitionNotServed";
      return no(reason, whyNotServed(definition));
    }
    return { type, status: "True", reason: "Published", message: kept ?? "" };
  }
  const planned = plan.versions.find((one) => one.version === version);
  if (definition !== undefined && planned?.publish === true)
    return no(
      "OtherVersionPublished",
      `${served.join(", ")} is published: one version at a time is, which most clusters can take part in`,
    );
  if (planned?.publish === true) return no(publishingReason, "");
  return no("NotPublished", "spec.publish is false: set it to true to serve the API here");
}

export function negotiatedStatus(
  version: string,
  planned: PlannedVersion | undefined,
  publication: PublicationState,
): ConditionInput[] {
  const { plan, definition, refusal } = publication;
  const published = publishedCondition(version, publication);
  const isSubmitted = definition?.spec.versions.some(({ name }) => name === version) === true;
  const { submitted, enforced } = negotiatedConditions;
  return [
    isSubmitted && !plan.isEnforced
      ? { type: submitted, status: "True", reason: "Submitted", message: "" }
      : { type: submitted, status: "False", reason: "NotSubmitted", message: refusal ?? "" },
    published,
    plan.isEnforced
      ? {
          type: enforced,
          status: "True",
          reason: "ManualDefinition",
          message: "the definition in this logical cluster was made by hand and is not touched",
        }
      : { type: enforced, status: "False", reason: "Negotiated", message: "" },
    narrowedCondition(planned),
  ];
}

/** Which cluster narrowed the API of the other clusters, and in which fields. */
function narrowedCondition(planned: PlannedVersion | undefined): ConditionInput {
  const parts: string[] = [];
  for (const { name, location } of planned?.members ?? []) {
    const result = planned?.compatibility.get(name);
    if (result?.isCompatible === true && result.narrowed.length > 0)
      parts.push(`${location} (${describeFindings(result.narrowed)})`);
  }
  return parts.length === 0
    ? { type: "Narrowed", status: "False", reason: "NotNarrowed", message: "" }
    : {
        type: "Narrowed",
        status: "True",
        reason: "NarrowedByClusters",
        message: `for the sake of ${parts.join(", ")}`.slice(0, messageCharactersMax),
      };
}

/** An import is available where the negotiated API of its version is published. */
export function availableCondition(published: ConditionInput): ConditionInput {
  return { ...published, type: importConditions.available };
}

/** Whether the negotiated API is published. */
export function isPublished({ status }: NegotiatedAPIResource): boolean {
  return findCondition(status?.conditions, negotiatedConditions.published)?.status === "True";
}
