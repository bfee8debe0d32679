/**
 * The policy for one workload, merged over the levels at which Placements speak. The most specific one that says something about a matter decides it:
 *
 *     annotations of the object  >  Placement that selects its namespace  >  Placement of the workspace  >  `default` in root  >  all clusters, evenly
 *
 * Of several at one level, one with a workloadSelector comes first, then the older one.
 */
import type { LabelSelectorObject } from "@kcp-ts/machinery/selectors";
import type { StringMap } from "@kcp-ts/sdk";
import type { Location, Placement, PlacementSpec } from "../api/index.ts";
import { type LocationInWorkspace, type LocationMatcher, locationMatcher } from "./located.ts";
import { selectorOf } from "./selectors.ts";

/** What Placements say about anything but where. */
export type PlacementRules = Pick<
  PlacementSpec,
  | "weights"
  | "spread"
  | "affinity"
  | "antiAffinity"
  | "tolerations"
  | "rollout"
  | "failover"
  | "overrides"
>;

export interface Policy extends PlacementRules {
  /** Undefined: every cluster of the workspace. */
  readonly choice?: SelectedLocation | undefined;
  /** Who has a say, the most specific first, for people. */
  readonly sources: readonly string[];
}

/** The Location that a Placement has. */
export interface SelectedLocation {
  readonly placement: string;
  /** Undefined while it has none. */
  readonly location: string | undefined;
  /** Which clusters are in it. */
  readonly includes: LocationMatcher;
}

export type PolicyLevel = "namespace" | "workspace" | "global";

export interface ApplicablePlacement {
  readonly level: PolicyLevel;
  readonly placement: Placement;
  /** Those that it has: one, or for the Placement of all, whatever of the workspace it selects. Undefined: it does not say where. */
  readonly locations: readonly LocationInWorkspace[] | undefined;
}

export const defaultPolicy: Policy = { sources: [] };

export interface PolicySubject {
  readonly namespaceLabels: StringMap;
  readonly workloadLabels: StringMap;
}

/** Which of the Placements of a workspace, and of the one for all, are about the workload; in the order of the levels. */
export function applicablePlacements(
  subject: PolicySubject,
  own: readonly Placement[],
  global: Placement | undefined,
  locationsOf: (
    placement: Placement,
    level: PolicyLevel,
  ) => readonly LocationInWorkspace[] | undefined,
): readonly ApplicablePlacement[] {
  const found: ApplicablePlacement[] = [];
  const add = (placement: Placement, level: PolicyLevel) =>
    found.push({ level, placement, locations: locationsOf(placement, level) });
  for (const placement of own) {
    const level = levelOf(placement);
    if (level !== undefined && isAbout(placement, subject)) add(placement, level);
  }
  const isOwn = global !== undefined && own.includes(global);
  if (global !== undefined && !isOwn && isAbout(global, subject)) add(global, "global");
  return found.sort(bySpecificity);
}

export function policyOf(statements: readonly ApplicablePlacement[]): Policy {
  if (statements.length === 0) return defaultPolicy;
  const first = <Name extends keyof PlacementRules>(name: Name) => {
    for (const { placement } of statements) {
      const said = placement.spec[name];
      if (said !== undefined) return { [name]: said };
    }
    return {};
  };
  return {
    ...first("weights"),
    ...first("spread"),
    ...first("affinity"),
    ...first("antiAffinity"),
    ...first("tolerations"),
    ...first("rollout"),
    ...first("failover"),
    ...first("overrides"),
    choice: choiceOf(statements),
    sources: statements.map(
      ({ placement, level }) => `Placement ${placement.metadata.name} (${levelWords[level]})`,
    ),
  };
}

const levelWords: Readonly<Record<PolicyLevel, string>> = {
  namespace: "of the namespace",
  workspace: "of the workspace",
  global: "of root, for all",
};

function choiceOf(statements: readonly ApplicablePlacement[]): SelectedLocation | undefined {
  for (const { placement, locations } of statements) {
    if (locations === undefined || !choosesLocation(placement)) continue;
    const included = locations.map(locationMatcher);
    const names = new Set(locations.map(({ location }) => location.metadata.name));
    return {
      placement: placement.metadata.name,
      location: names.size === 0 ? undefined : [...names].sort().join(", "),
      includes: (instance) => included.some((includes) => includes(instance)),
    };
  }
  return undefined;
}

const everything: LabelSelectorObject = {};

/** Whether a Placement selects a Location by its labels. */
export function selectsLocation({ spec }: Placement, { metadata }: Location): boolean {
  const selectors = spec.locationSelectors ?? [everything];
  return selectors.some((one) => selectorOf(one).matches(metadata.labels));
}

export function choosesLocation({ spec }: Placement): boolean {
  return spec.locationSelectors !== undefined || (spec.locationWorkspace ?? "") !== "";
}

/** Undefined for one that is about no namespace. */
export function levelOf({ spec }: Placement): Exclude<PolicyLevel, "global"> | undefined {
  const { namespaceSelector } = spec;
  if (namespaceSelector === undefined) return undefined;
  return isEmpty(namespaceSelector) ? "workspace" : "namespace";
}

/** Whether it is about workloads of a namespace with such labels. */
export function isAboutNamespace({ spec }: Placement, namespaceLabels: StringMap): boolean {
  const { namespaceSelector } = spec;
  return namespaceSelector !== undefined && selectorOf(namespaceSelector).matches(namespaceLabels);
}

function isAbout(
  placement: Placement,
  { namespaceLabels, workloadLabels }: PolicySubject,
): boolean {
  const { workloadSelector } = placement.spec;
  if (!isAboutNamespace(placement, namespaceLabels)) return false;
  return workloadSelector === undefined || selectorOf(workloadSelector).matches(workloadLabels);
}

const levelRank: Readonly<Record<PolicyLevel, number>> = { namespace: 0, workspace: 1, global: 2 };

function bySpecificity(one: ApplicablePlacement, other: ApplicablePlacement): number {
  const [a, b] = [one.placement, other.placement];
  const narrow = ({ spec }: Placement) => (spec.workloadSelector === undefined ? 1 : 0);
  return (
    levelRank[one.level] - levelRank[other.level] ||
    narrow(a) - narrow(b) ||
    compare(a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? "") ||
    compare(a.metadata.name, b.metadata.name)
  );
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function isEmpty({ matchLabels, matchExpressions }: LabelSelectorObject): boolean {
  return Object.keys(matchLabels ?? {}).length + (matchExpressions ?? []).length === 0;
}
