/**
 * Numbers of StatefulSets as users of the claims that are made from their templates: each number is a workload of its own, with one replica, that is where the
 * range of a part has it, may still run where that range had it, and is asked for where it is to go. Pure.
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
  /** Where the number is, or is asked for. */
  readonly cluster: string;
  readonly parts: readonly VolumeUser[];
}

export interface OrdinalSet {
  readonly whole: FoundWorkload;
  readonly templates: readonly ClaimTemplate[];
  readonly users: readonly OrdinalUser[];
}

/** Undefined for what has no templates. */
export function ordinalSetOf(
  whole: FoundWorkload,
  homeOf: (claim: string) => string | undefined,
): OrdinalSet | undefined {
  const { object } = whole;
  const templates = whole.kind.resource.kind === "StatefulSet" ? claimTemplatesOf(object) : [];
  if (templates.length === 0 || object.metadata.deletionTimestamp !== undefined) return undefined;
  const asks = requestedOrdinals(object);
  const clusters = new Map<number, string>();
  const add = ({ start, end }: Range, cluster: string) => {
    for (let ordinal = start; ordinal < end; ordinal++) {
      if (!clusters.has(ordinal)) clusters.set(ordinal, cluster);
    }
  };
  for (const part of whole.parts) add(rangeOf(part.object), part.facts.cluster);
  for (const [cluster, range] of asks) add(range, cluster);
  const { name } = object.metadata;
  const users = [...clusters].map(([ordinal, cluster]): OrdinalUser => {
    const claims = templates.map((one) => ordinalClaimName(one.name, name, ordinal));
    const home = claims.map(homeOf).find((one) => one !== undefined);
    const parts = partsOf(whole, ordinal, { asks, home });
    return { ordinal, cluster, claims: new Set(claims), parts };
  });
  return { whole, templates, users };
}

function partsOf(
  { object, parts }: FoundWorkload,
  ordinal: number,
  { asks, home }: { readonly asks: ReadonlyMap<string, Range>; readonly home: string | undefined },
): readonly VolumeUser[] {
  const whole = `StatefulSet ${object.metadata.name}`;
  const found: VolumeUser[] = [];
  const idle = { whole, takesOverFrom: undefined, isFenced: false };
  for (const part of parts) {
    const { cluster, isOpened, isGoing } = part.facts;
    const isIn = includes(rangeOf(part.object), ordinal);
    // What has not said that it runs no more than it should may run what it had.
    if (!isIn && hasOnlyItsOwn(part)) continue;
    const replicas = isIn ? 1 : 0;
    found.push({ ...idle, cluster, replicas, isGoing, isOpened, isStopped: !isOpened });
  }
  for (const [cluster, range] of asks) {
    if (!includes(range, ordinal) || found.some((part) => part.cluster === cluster)) continue;
    const takesOverFrom = home === cluster ? undefined : home;
    const asked = { replicas: 1, isGoing: false, isOpened: false, isStopped: true };
    found.push({ ...idle, ...asked, cluster, takesOverFrom });
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

/** Whether all claims of a part's numbers are there: a set that does not find one makes it by itself. */
export function isComplete(
  { object, facts: { cluster } }: FoundCopy,
  { users }: OrdinalSet,
  claimOf: (
    name: string,
  ) => { readonly object: StoredObject; readonly facts: VolumeClaim } | undefined,
): boolean {
  const range = rangeOf(object);
  return users
    .filter(({ ordinal }) => includes(range, ordinal))
    .every(({ claims }) =>
      [...claims].every((name) => {
        const claim = claimOf(name);
        if (claim === undefined) return false;
        const { facts } = claim;
        if (facts.boundIn.has(cluster)) return true;
        const isBorn = facts.home === cluster && !facts.broughtTo.has(cluster);
        return isBorn && claimPhaseIn(claim.object, cluster) !== "";
      }),
    );
}

/** As a cluster would make it; who owns it is a matter of `retention.ts`. */
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
