/**
 * The policy for one workload, merged over the levels of Placements. Each rule comes from the most
 * specific level that has it:
 *
 *     annotations of the object
 *     > Placement that selects its namespace
 *     > Placement of the workspace
 *     > Placement `default` in root
 *     > all clusters, evenly
 *
 * Of several Placements at one level, one with a workloadSelector comes first, then the older one.
 */
import type { LabelSelectorObject } from "@kcp-ts/machinery/selectors";
import type { StringMap } from "@kcp-ts/sdk";
import type { Location, Placement, PlacementSpec } from "../api/index.ts";
import { selectorOf } from "./selectors.ts";
import {
  type LocationInWorkspace,
  type LocationMatcher,
  locationMatcher,
} from "./workspace-locations.ts";

/** The rules of Placements besides the selection of Locations. */
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
  /** The selected Location; undefined for every cluster of the workspace. */
  readonly selectedLocation?: SelectedLocation | undefined;
  /** The sources of the rules for messages, the most specific first. */
  readonly sources: readonly string[];
}

/** The Location that a Placement has selected. */
export interface SelectedLocation {
  readonly placement: string;
  /** Undefined while the Placement has no Location. */
  readonly location: string | undefined;
  /** Whether a cluster is in the Location. */
  readonly includes: LocationMatcher;
}

export type PolicyLevel = "namespace" | "workspace" | "global";

export interface ApplicablePlacement {
  readonly level: PolicyLevel;
  readonly placement: Placement;
  /**
   * The selected Locations: one, or for the global Placement every Location of the workspace that
   * it selects. Undefined when the Placement does not select Locations.
   */
  readonly locations: readonly LocationInWorkspace[] | undefined;
}

export const defaultPolicy: Policy = { sources: [] };

export interface PolicySubject {
  readonly namespaceLabels: StringMap;
  readonly workloadLabels: StringMap;
}

/**
 * The Placements of a workspace and the global one that apply to the workload, in the order of the
 * levels.
 */
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
    selectedLocation: choiceOf(statements),
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

/** The level of a Placement; undefined for a Placement without a namespaceSelector. */
export function levelOf({ spec }: Placement): Exclude<PolicyLevel, "global"> | undefined {
  const { namespaceSelector } = spec;
  if (namespaceSelector === undefined) return undefined;
  return isEmpty(namespaceSelector) ? "workspace" : "namespace";
}

/** Whether the Placement applies to workloads of a namespace with these labels. */
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
