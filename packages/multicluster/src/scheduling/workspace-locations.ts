/**
 * The Locations of a workspace: its own, and those of the compute workspaces whose clusters it
 * uses.
 */
import type { StringMap } from "@kcp-ts/sdk";
import { isSharedFrom, type Location, type ResourceLimits } from "../api/index.ts";
import { selectorOf } from "./selectors.ts";

export interface LocationInWorkspace {
  readonly location: Location;
  /** The compute workspace of the Location, if it is not the workspace itself. */
  readonly computeWorkspace?: string | undefined;
}

/** The properties of a cluster that decide whether it is in a Location. */
export interface LocationInstance {
  readonly name: string;
  readonly labels?: StringMap | undefined;
}

export type LocationMatcher = (instance: LocationInstance) => boolean;

/**
 * A Location of a compute workspace contains clusters of that workspace only, whatever labels other
 * clusters have.
 */
export function locationMatcher({
  location,
  computeWorkspace,
}: LocationInWorkspace): LocationMatcher {
  const selector = selectorOf(location.spec.instanceSelector ?? {});
  return ({ name, labels }) =>
    (computeWorkspace === undefined || isSharedFrom(name, computeWorkspace)) &&
    selector.matches(labels);
}

/**
 * The limit of one workspace on the clusters of a Location together. The Location defines it:
 * tenants cannot lift it.
 */
export interface LocationLimits {
  readonly location: string;
  readonly resourceLimits: ResourceLimits;
  readonly includes: LocationMatcher;
}

const none: readonly LocationLimits[] = [];

export function locationLimitsOf(
  locations: readonly LocationInWorkspace[],
): readonly LocationLimits[] {
  const bounded = locations.filter(({ location }) => hasResourceLimits(location));
  if (bounded.length === 0) return none;
  return bounded
    .map((located) => ({
      location: located.location.metadata.name,
      resourceLimits: located.location.spec.resourceLimits ?? {},
      includes: locationMatcher(located),
    }))
    .sort((one, other) => (one.location < other.location ? -1 : 1));
}

function hasResourceLimits({ spec }: Location): boolean {
  return Object.keys(spec.resourceLimits ?? {}).length > 0;
}
