/**
 * What a namespace that is being emptied says about it: five conditions, in the words of Kubernetes, which tools and people grep for. Pure.
 */
import { type Condition, type ConditionInput, setCondition } from "@kcp-ts/sdk";

/** What one pass over a namespace found out. */
export interface Findings {
  /** By `group/version`: what the cluster serves is not known there, so it is not known to be empty. */
  readonly discoveryFailures: ReadonlyMap<string, unknown>;
  /** By `resource.group`: deleting went wrong. */
  readonly contentFailures: ReadonlyMap<string, unknown>;
  /** By `resource.group`: objects that are still there. */
  readonly remaining: ReadonlyMap<string, number>;
  /** By finalizer: how many objects it holds back. */
  readonly finalizers: ReadonlyMap<string, number>;
}

export function isEmptied({
  discoveryFailures,
  contentFailures,
  remaining,
}: Pick<Findings, "discoveryFailures" | "contentFailures" | "remaining">): boolean {
  return discoveryFailures.size + contentFailures.size + remaining.size === 0;
}

/** The list with these findings in it; the very list it was given when it says so already. */
export function withFindings(
  conditions: readonly Condition[] | undefined,
  findings: Findings,
  nowMs: number,
): readonly Condition[] {
  let list = conditions ?? [];
  for (const input of conditionsOf(findings)) list = setCondition(list, input, nowMs);
  return list;
}

export function conditionsOf(findings: Findings): ConditionInput[] {
  const { discoveryFailures, contentFailures, remaining, finalizers } = findings;
  return [
    discoveryFailures.size === 0
      ? good("NamespaceDeletionDiscoveryFailure")
      : bad(
          "NamespaceDeletionDiscoveryFailure",
          "DiscoveryFailed",
          `Discovery failed for some groups, ${discoveryFailures.size} failing: unable to retrieve the complete list of server APIs: ${told(discoveryFailures, (name, error) => `${name}: ${messageOf(error)}`)}`,
        ),
    // Group and version come apart by themselves here: there is nothing that could fail.
    good("NamespaceDeletionGroupVersionParsingFailure"),
    contentFailures.size === 0
      ? good("NamespaceDeletionContentFailure")
      : bad(
          "NamespaceDeletionContentFailure",
          "ContentDeletionFailed",
          `Failed to delete all resource types, ${contentFailures.size} remaining: ${told(contentFailures, (_, error) => messageOf(error))}`,
        ),
    remaining.size === 0
      ? good("NamespaceContentRemaining")
      : bad(
          "NamespaceContentRemaining",
          "SomeResourcesRemain",
          `Some resources are remaining: ${told(remaining, (name, count) => `${name} has ${count} resource instances`)}`,
        ),
    finalizers.size === 0
      ? good("NamespaceFinalizersRemaining")
      : bad(
          "NamespaceFinalizersRemaining",
          "SomeFinalizersRemain",
          `Some content in the namespace has finalizers remaining: ${told(finalizers, (name, count) => `${name} in ${count} resource instances`)}`,
        ),
  ];
}

/** Of each condition, what it says when all is well: status False, since each of them names a trouble. */
const wellbeing = {
  NamespaceDeletionDiscoveryFailure: [
    "ResourcesDiscovered",
    "All resources successfully discovered",
  ],
  NamespaceDeletionGroupVersionParsingFailure: [
    "ParsedGroupVersions",
    "All legacy kube types successfully parsed",
  ],
  NamespaceDeletionContentFailure: [
    "ContentDeleted",
    "All content successfully deleted, may be waiting on finalization",
  ],
  NamespaceContentRemaining: ["ContentRemoved", "All content successfully removed"],
  NamespaceFinalizersRemaining: [
    "ContentHasNoFinalizers",
    "All content-preserving finalizers finished",
  ],
} as const;

function good(type: keyof typeof wellbeing): ConditionInput {
  const [reason, message] = wellbeing[type];
  return { type, status: "False", reason, message };
}

function bad(type: keyof typeof wellbeing, reason: string, message: string): ConditionInput {
  return { type, status: "True", reason, message: shortened(message) };
}

/** A tenant chooses the names of finalizers, and how many: the message stays one that a status can hold. */
export const messageCharactersMax = 4096;

function shortened(message: string): string {
  return message.length <= messageCharactersMax
    ? message
    : `${message.slice(0, messageCharactersMax - 1)}…`;
}

/** In order of the words, so that the same findings always read the same. */
function told<Value>(
  map: ReadonlyMap<string, Value>,
  sentence: (name: string, value: Value) => string,
): string {
  return [...map]
    .map(([name, value]) => sentence(name, value))
    .sort()
    .join(", ");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
