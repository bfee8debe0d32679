/** Locations as a workspace sees them: its own, and those of the workspaces whose clusters it uses. */
import type { StringMap } from "@kcp-ts/sdk";
import { type Bounds, isSharedFrom, type Location } from "../api/index.ts";
import { selectorOf } from "./selectors.ts";

export interface LocatedLocation {
  readonly location: Location;
  /** The workspace that has it, where that is another one. */
  readonly home?: string | undefined;
}

/** As much of a cluster as it takes to know whether it is in a Location. */
export interface Instance {
  readonly name: string;
  readonly labels?: StringMap | undefined;
}

export type Includes = (instance: Instance) => boolean;

/** Another workspace's Location has clusters of that workspace only, whatever labels others have. */
export function instancesIn({ location, home }: LocatedLocation): Includes {
  const selector = selectorOf(location.spec.instanceSelector ?? {});
  return ({ name, labels }) =>
    (home === undefined || isSharedFrom(name, home)) && selector.matches(labels);
}

/** What one workspace may use of the clusters of a Location together. It is the Location's own say: who uses the clusters cannot lift it. */
export interface Allowance {
  readonly location: string;
  readonly bounds: Bounds;
  readonly includes: Includes;
}

const none: readonly Allowance[] = [];

export function allowancesOf(locations: readonly LocatedLocation[]): readonly Allowance[] {
  const bounded = locations.filter(({ location }) => hasBounds(location));
  if (bounded.length === 0) return none;
  return bounded
    .map((located) => ({
      location: located.location.metadata.name,
      bounds: located.location.spec.bounds ?? {},
      includes: instancesIn(located),
    }))
    .sort((one, other) => (one.location < other.location ? -1 : 1));
}

function hasBounds({ spec }: Location): boolean {
  return Object.keys(spec.bounds ?? {}).length > 0;
}
