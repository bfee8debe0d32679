/**
 * Ordinals of StatefulSets as users of the claims that are created from their volumeClaimTemplates:
 * each ordinal is a workload of its own, with one replica, which is in the cluster whose copy has
 * it in its range, may still run in the cluster that had it before, and is requested for its
 * destination. Pure.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  type ClaimTemplate,
  claimPhaseIn,
  claimTemplatesOf,
  ordinalClaimName,
  requestedOrdinals,
} from "../coordination/index.ts";
import type { VolumeClaim, VolumeUser } from "./decide-volumes.ts";
import { countAt, objectAt, type StoredObject } from "./objects.ts";
import type { FoundCopy, FoundWorkload } from "./volume-writes.ts";

/** From `start`, up to and without `end`. */
interface Range {
  readonly start: number;
  readonly end: number;
}

export interface OrdinalUser {
  readonly ordinal: number;
  readonly claims: ReadonlySet<string>;
  /** The cluster that has the ordinal, or is to have it. */
  readonly cluster: string;
  readonly copies: readonly VolumeUser[];
}

export interface OrdinalSet {
  readonly workload: FoundWorkload;
  readonly templates: readonly ClaimTemplate[];
  readonly users: readonly OrdinalUser[];
}

/** Undefined for a set without templates. */
export function ordinalSetOf(
  workload: FoundWorkload,
  homeOf: (claim: string) => string | undefined,
): OrdinalSet | undefined {
  const { object } = workload;
  const templates = workload.kind.resource.kind === "StatefulSet" ? claimTemplatesOf(object) : [];
  if (templates.length === 0 || object.metadata.deletionTimestamp !== undefined) return undefined;
  const asks = requestedOrdinals(workload.record);
  const clusters = new Map<number, string>();
  const add = ({ start, end }: Range, cluster: string) => {
    for (let ordinal = start; ordinal < end; ordinal++) {
      if (!clusters.has(ordinal)) clusters.set(ordinal, cluster);
    }
  };
  for (const copy of workload.copies) add(rangeOf(copy.object), copy.user.cluster);
  for (const [cluster, range] of asks) add(range, cluster);
  const { name } = object.metadata;
  const users = [...clusters].map(([ordinal, cluster]): OrdinalUser => {
    const claims = templates.map((one) => ordinalClaimName(one.name, name, ordinal));
    const home = claims.map(homeOf).find((one) => one !== undefined);
    const copies = partsOf(workload, ordinal, { asks, home });
    return { ordinal, cluster, claims: new Set(claims), copies };
  });
  return { workload, templates, users };
}

function partsOf(
  { object, copies }: FoundWorkload,
  ordinal: number,
  { asks, home }: { readonly asks: ReadonlyMap<string, Range>; readonly home: string | undefined },
): readonly VolumeUser[] {
  const workload = `StatefulSet ${object.metadata.name}`;
  const found: VolumeUser[] = [];
  const idle = { workload, migrationSource: undefined, isFenced: false };
  for (const copy of copies) {
    const { cluster, isVolumeGateOpen, isDeleting } = copy.user;
    const isIn = includes(rangeOf(copy.object), ordinal);
    // A copy that has not reported that it runs only its desired replicas may still run its former
    // ones.
    if (!isIn && hasOnlyItsOwn(copy)) continue;
    const replicas = isIn ? 1 : 0;
    found.push({
      ...idle,
      cluster,
      replicas,
      isDeleting,
      isVolumeGateOpen,
      isStopped: !isVolumeGateOpen,
    });
  }
  for (const [cluster, range] of asks) {
    if (!includes(range, ordinal) || found.some((part) => part.cluster === cluster)) continue;
    const migrationSource = home === cluster ? undefined : home;
    const asked = { replicas: 1, isDeleting: false, isVolumeGateOpen: false, isStopped: true };
    found.push({ ...idle, ...asked, cluster, migrationSource });
  }
  return found;
}

function rangeOf({ spec }: StoredObject): Range {
  const start = countAt(objectAt(spec, "ordinals"), "start", 0);
  return { start, end: start + countAt(spec, "replicas", 1) };
}

function includes({ start, end }: Range, ordinal: number): boolean {
  return ordinal >= start && ordinal < end;
}

export function hasOnlyItsOwn({ object, kind }: FoundCopy): boolean {
  const running = kind.runningOf(object);
  return running !== undefined && running <= countAt(object.spec, "replicas", 1);
}

/**
 * Whether all claims of a copy's ordinals exist: a StatefulSet controller would create a missing
 * claim itself.
 */
export function isComplete(
  { object, user: { cluster } }: FoundCopy,
  { users }: OrdinalSet,
  claimOf: (
    name: string,
  ) => { readonly object: StoredObject; readonly claim: VolumeClaim } | undefined,
): boolean {
  const range = rangeOf(object);
  return users
    .filter(({ ordinal }) => includes(range, ordinal))
    .every(({ claims }) =>
      [...claims].every((name) => {
        const claim = claimOf(name);
        if (claim === undefined) return false;
        const { claim: facts } = claim;
        if (facts.boundIn.has(cluster)) return true;
        const isBorn = facts.dataCluster === cluster && !facts.migratedTo.has(cluster);
        return isBorn && claimPhaseIn(claim.object, cluster) !== "";
      }),
    );
}

/** The claim as a cluster would create it; `retention.ts` decides about its owner. */
export function claimFrom(
  template: ClaimTemplate,
  set: StoredObject,
  ordinal: number,
): Pick<StoredObject, "metadata" | "spec"> {
  const { name, namespace } = set.metadata;
  const { labels, annotations } = template.metadata as {
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  const selected = objectAt(objectAt(set.spec, "selector"), "matchLabels");
  return {
    metadata: {
      name: ordinalClaimName(template.name, name, ordinal),
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...labels, ...(selected as Record<string, string>) },
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: template.spec as JsonObject,
  };
}
