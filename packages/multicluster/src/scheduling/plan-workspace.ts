/** The status updates for the Locations, Placements and namespaces of one workspace. Pure. */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { type Condition, type ConditionInput, isConditionTrue, setCondition } from "@kcp-ts/sdk";
import {
  defaultLocationName,
  type Location,
  type LocationStatus,
  locationLabelsAnnotation,
  namespaceScheduledCondition,
  type Placement,
  type PlacementStatus,
  placementConditions,
  type SyncTarget,
  targetConditions,
} from "../api/index.ts";
import type { NamespaceInfo } from "./policies.ts";
import { choosesLocation, isAboutNamespace, selectsLocation } from "./policy.ts";
import { type LocationInWorkspace, locationMatcher } from "./workspace-locations.ts";

export interface WorkspaceState {
  /** The logical cluster. */
  readonly cluster: string;
  readonly targets: readonly SyncTarget[];
  readonly locations: readonly Location[];
  /**
   * The Locations of compute workspaces whose clusters this workspace uses, by their names and
   * paths.
   */
  readonly sharedLocations?: ReadonlyMap<string, SharedLocations> | undefined;
  readonly placements: readonly Placement[];
  readonly namespaces: readonly NamespaceInfo[];
  readonly nowMs: number;
}

export interface SharedLocations {
  /** The logical cluster of the Locations. */
  readonly path: string;
  readonly locations: readonly Location[];
}

export interface WorkspacePlan {
  /** The default Location, which every workspace with clusters has, is missing. */
  readonly needsDefaultLocation: boolean;
  readonly locations: readonly LocationUpdate[];
  readonly placements: readonly PlacementUpdate[];
  readonly namespaces: readonly NamespaceUpdate[];
}

export interface LocationUpdate {
  readonly location: Location;
  readonly status: LocationStatus;
  /** The labels, formatted in one line. */
  readonly labels: string;
}

export interface PlacementUpdate {
  readonly placement: Placement;
  readonly status: PlacementStatus;
}

export interface NamespaceUpdate {
  readonly namespace: NamespaceInfo;
  readonly isScheduled: boolean;
  readonly condition: Condition;
}

/** The plan contains only changes to the current status. */
export function planWorkspace(state: WorkspaceState): WorkspacePlan {
  const locations = state.locations.map((location) => locationUpdate(location, state));
  const placements = state.placements.map((placement) => placementUpdate(placement, state));
  return {
    needsDefaultLocation:
      state.targets.some(({ metadata }) => isOwn(metadata) && !isGoing(metadata)) &&
      !state.locations.some(({ metadata }) => metadata.name === defaultLocationName),
    locations: locations.filter(isChanged),
    placements: placements.filter(({ placement, status }) => !same(placement.status ?? {}, status)),
    namespaces: state.namespaces
      .filter(({ isDeleting }) => !isDeleting)
      .flatMap((namespace) => namespaceUpdate(namespace, placements, state)),
  };
}

/** The names of shared SyncTargets of compute workspaces contain a dot. */
function isOwn({ name }: SyncTarget["metadata"]): boolean {
  return !name.includes(".");
}

function isGoing({ deletionTimestamp }: SyncTarget["metadata"]): boolean {
  return deletionTimestamp !== undefined;
}

export function instancesOf(
  located: LocationInWorkspace,
  targets: readonly SyncTarget[],
): readonly SyncTarget[] {
  const includes = locationMatcher(located);
  return targets.filter(({ metadata }) => includes(metadata));
}

function locationUpdate(location: Location, { targets }: WorkspaceState): LocationUpdate {
  const instances = instancesOf({ location }, targets);
  const labels = Object.entries(location.metadata.labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(" ");
  const availableInstances = instances.filter(isAvailable).length;
  return { location, labels, status: { instances: instances.length, availableInstances } };
}

function isChanged({ location, status, labels }: LocationUpdate): boolean {
  const { metadata, status: known = {} } = location;
  const said = metadata.annotations?.[locationLabelsAnnotation] ?? "";
  return said !== labels || !same(known, status);
}

function isAvailable({ spec, status }: SyncTarget): boolean {
  return (
    isConditionTrue(status?.conditions, targetConditions.ready) && spec?.unschedulable !== true
  );
}

function placementUpdate(placement: Placement, state: WorkspaceState): PlacementUpdate {
  const { status = {} } = placement;
  const choice = choose(placement, state);
  const { location } = choice;
  const isBound = state.namespaces.some(({ labels }) => isAboutNamespace(placement, labels));
  const isReady = choice.problem === undefined;
  const phase = !isReady ? "Pending" : isBound ? "Bound" : "Unbound";
  const { ready, scheduled } = placementConditions;
  const drafts: ConditionInput[] = [
    choice.problem === undefined
      ? { type: ready, status: "True", reason: "LocationSelected", message: choice.message }
      : { type: ready, status: "False", ...choice.problem },
    scheduling(scheduled, choice, state),
  ];
  let conditions: readonly Condition[] = status.conditions ?? [];
  for (const draft of drafts) conditions = setCondition(conditions, draft, state.nowMs);
  const selected =
    location === undefined
      ? {}
      : {
          selectedLocation: {
            path: choice.path ?? state.cluster,
            locationName: location.metadata.name,
          },
        };
  return { placement, status: { phase, ...selected, conditions } };
}

/** The Locations of this workspace, or of a compute workspace whose clusters it uses. */
function locationsIn(
  workspace: string,
  { cluster, locations, sharedLocations }: WorkspaceState,
): SharedLocations | undefined {
  if (workspace === "" || workspace === cluster) return { path: cluster, locations };
  return sharedLocations?.get(workspace);
}

interface LocationSelection {
  readonly location?: Location;
  /** The logical cluster of the Location. */
  readonly path?: string;
  readonly message: string;
  readonly problem?: { readonly reason: string; readonly message: string };
}

/**
 * The current Location as long as it is valid; otherwise the one with the most available clusters,
 * and of these the first by name.
 */
function choose(placement: Placement, state: WorkspaceState): LocationSelection {
  const { spec, status } = placement;
  if (!choosesLocation(placement)) return { message: "it is about every cluster of the workspace" };
  const { locationWorkspace = "" } = spec;
  const there = locationsIn(locationWorkspace, state);
  if (there === undefined) {
    const message = `Locations of ${locationWorkspace} cannot be used from here: bind the APIExport that offers its clusters (kubectl kcp bind compute ${locationWorkspace})`;
    return { message: "", problem: { reason: "LocationNotFound", message } };
  }
  const valid = there.locations.filter((location) => selectsLocation(placement, location));
  const known = status?.selectedLocation?.locationName;
  const kept = valid.find(({ metadata }) => metadata.name === known);
  const location = kept ?? [...valid].sort(byAvailability(there.path, state))[0];
  if (location !== undefined)
    return {
      location,
      path: there.path,
      message: `Location ${location.metadata.name} is selected`,
    };
  const message = "No valid location is found";
  return { message: "", problem: { reason: "LocationNoMatch", message } };
}

function byAvailability(
  path: string,
  state: WorkspaceState,
): (one: Location, other: Location) => number {
  const available = (location: Location) =>
    instancesOf(locationReferenceOf(path, location, state), state.targets).filter(isAvailable)
      .length;
  return (one, other) =>
    available(other) - available(one) || (one.metadata.name < other.metadata.name ? -1 : 1);
}

function locationReferenceOf(
  path: string,
  location: Location,
  { cluster }: WorkspaceState,
): LocationInWorkspace {
  return path === cluster ? { location } : { location, computeWorkspace: path };
}

function scheduling(
  type: string,
  choice: LocationSelection,
  state: WorkspaceState,
): ConditionInput {
  const failed = (reason: string, message: string): ConditionInput => ({
    type,
    status: "False",
    reason,
    message,
  });
  if (choice.problem !== undefined)
    return failed("ScheduleLocationNotFound", "No selected location is found");
  const { location } = choice;
  const located = location && locationReferenceOf(choice.path ?? state.cluster, location, state);
  const instances = located === undefined ? state.targets : instancesOf(located, state.targets);
  if (instances.length === 0)
    return failed("NoValidTarget", "No SyncTarget in the selected Location");
  const open = instances.filter(
    (target) => isAvailable(target) && target.spec?.drain === undefined,
  );
  if (open.length === 0) return failed("NoValidTarget", "No SyncTarget is Ready and schedulable");
  const names = open.map(({ metadata }) => metadata.name).sort();
  return { type, status: "True", reason: "Scheduled", message: names.join(", ") };
}

function namespaceUpdate(
  namespace: NamespaceInfo,
  placements: readonly PlacementUpdate[],
  { nowMs }: WorkspaceState,
): readonly NamespaceUpdate[] {
  const { labels, isAnnotated, scheduled } = namespace;
  const about = placements.filter(({ placement }) => isAboutNamespace(placement, labels));
  // A namespace that no Placement selects or has selected stays unchanged.
  if (about.length === 0 && !isAnnotated && scheduled === undefined) return [];
  const valid = about.filter(({ status }) => status.phase !== "Pending");
  const isPlaced = valid.length > 0;
  const isScheduled = valid.some(({ status }) =>
    isConditionTrue(status.conditions, placementConditions.scheduled),
  );
  const known = scheduled === undefined ? [] : [scheduled];
  const [condition] = setCondition(known, namespaceCondition(isPlaced, isScheduled), nowMs);
  if (condition === undefined) return [];
  return condition === scheduled && isPlaced === isAnnotated
    ? []
    : [{ namespace, isScheduled: isPlaced, condition }];
}

function namespaceCondition(isPlaced: boolean, isScheduled: boolean): ConditionInput {
  const type = namespaceScheduledCondition;
  if (isPlaced && isScheduled) return { type, status: "True", reason: "Scheduled", message: "" };
  const message = isPlaced ? "No available sync targets" : "No available placements";
  return { type, status: "False", reason: "Unschedulable", message };
}

function same(one: unknown, other: unknown): boolean {
  return jsonEqual(one as JsonValue, other as JsonValue);
}
