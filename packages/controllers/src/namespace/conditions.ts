/**
 * The conditions of a terminating namespace: five conditions with Kubernetes' own texts, which
 * tools and people grep for. Pure.
 */
import { type Condition, type ConditionInput, setCondition } from "@kcp-ts/sdk";

/** The findings of one pass over a namespace. */
export interface Findings {
  /** By `group/version`: discovery failed, so the namespace is not known to be empty. */
  readonly discoveryFailures: ReadonlyMap<string, unknown>;
  /** By `resource.group`: deletions failed. */
  readonly contentFailures: ReadonlyMap<string, unknown>;
  /** By `resource.group`: the number of remaining objects. */
  readonly remaining: ReadonlyMap<string, number>;
  /** By finalizer: how many objects it blocks. */
  readonly finalizers: ReadonlyMap<string, number>;
}

export function isEmptied({
  discoveryFailures,
  contentFailures,
  remaining,
}: Pick<Findings, "discoveryFailures" | "contentFailures" | "remaining">): boolean {
  return discoveryFailures.size + contentFailures.size + remaining.size === 0;
}

/** The conditions with these findings; the identical list when nothing changes. */
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
          `Discovery failed for some groups, ${discoveryFailures.size} failing: unable to retrieve the complete list of server APIs: ${listed(discoveryFailures, (name, error) => `${name}: ${messageOf(error)}`)}`,
        ),
    // Groups and versions need no parsing here, so this condition cannot fail.
    good("NamespaceDeletionGroupVersionParsingFailure"),
    contentFailures.size === 0
      ? good("NamespaceDeletionContentFailure")
      : bad(
          "NamespaceDeletionContentFailure",
          "ContentDeletionFailed",
          `Failed to delete all resource types, ${contentFailures.size} remaining: ${listed(contentFailures, (_, error) => messageOf(error))}`,
        ),
    remaining.size === 0
      ? good("NamespaceContentRemaining")
      : bad(
          "NamespaceContentRemaining",
          "SomeResourcesRemain",
          `Some resources are remaining: ${listed(remaining, (name, count) => `${name} has ${count} resource instances`)}`,
        ),
    finalizers.size === 0
      ? good("NamespaceFinalizersRemaining")
      : bad(
          "NamespaceFinalizersRemaining",
          "SomeFinalizersRemain",
          `Some content in the namespace has finalizers remaining: ${listed(finalizers, (name, count) => `${name} in ${count} resource instances`)}`,
        ),
  ];
}

/**
 * The content of each condition without a failure: status False, since each condition names a
 * failure.
 */
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

/**
 * A tenant chooses the names and the number of finalizers: the message is bounded so that it fits
 * into a status.
 */
export const messageCharactersMax = 4096;

function shortened(message: string): string {
  return message.length <= messageCharactersMax
    ? message
    : `${message.slice(0, messageCharactersMax - 1)}…`;
}

/** Sorted, so that the same findings always have the same text. */
function listed<Value>(
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
