/** Locations as a workspace sees them: its own, and those of the workspaces whose clusters it uses. */
import type { StringMap } from "@kcp-ts/sdk";
import { isSharedFrom, type Location, type ResourceLimits } from "../api/index.ts";
import { selectorOf } from "./selectors.ts";

export interface LocationInWorkspace {
  readonly location: Location;
  /** The workspace that has it, where that is another one. */
  readonly home?: string | undefined;
}

/** As much of a cluster as it takes to know whether it is in a Location. */
export interface LocationInstance {
  readonly name: string;
  readonly labels?: StringMap | undefined;
}

export type LocationMatcher = (instance: LocationInstance) => boolean;

/** Another workspace's Location has clusters of that workspace only, whatever labels others have. */
export function locationMatcher({ location, home }: LocationInWorkspace): LocationMatcher {
  const selector = selectorOf(location.spec.instanceSelector ?? {});
  return ({ name, labels }) =>
    (home === undefined || isSharedFrom(name, home)) && selector.matches(labels);
}

/** What one workspace may use of the clusters of a Location together. It is the Location's own say: who uses the clusters cannot lift it. */
export interface LocationLimits {
  readonly location: string;
  readonly bounds: ResourceLimits;
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
      bounds: located.location.spec.bounds ?? {},
      includes: locationMatcher(located),
    }))
    .sort((one, other) => (one.location < other.location ? -1 : 1));
}

function hasResourceLimits({ spec }: Location): boolean {
  return Object.keys(spec.bounds ?? {}).length > 0;
}
