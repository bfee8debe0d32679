/** Carries out what was decided: marks on claims and parts, and PersistentVolumes for other clusters. Writes nothing that is so already. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type EventRecorder,
  type ObjectKey,
  type Resource,
  stringMember,
} from "@kcp-ts/sdk";
import {
  clusterLabel,
  softFinalizersAnnotation,
  softFinalizersOf,
  specDiffAnnotation,
  stateLabel,
  stateSync,
  stoppedForVolumes,
  syncerFinalizer,
  volumeClusterAnnotation,
  volumeCopyAnnotation,
  volumeGateAnnotation,
  volumesAnnotation,
  volumesFinalizer,
} from "../api/index.ts";
import type { VolumeCopier } from "./copies.ts";
import type {
  ClaimDecision,
  VolumeClaim,
  VolumesDecision,
  VolumeUser,
  VolumeUserDecision,
} from "./decide-volumes.ts";
import {
  type ClaimUserKind,
  persistentVolumeClaims,
  persistentVolumes,
  type StoredObject,
} from "./objects.ts";
import { type KnownVolume, migratedVolumeDiff, requestText } from "./read-facts.ts";
import type { FoundSnapshots } from "./snapshot-steps.ts";
import type { SnapshotWrites } from "./snapshot-writes.ts";

export interface FoundClaim {
  readonly object: StoredObject;
  readonly facts: VolumeClaim;
  /** Of copies by snapshot; undefined where none is asked for. */
  readonly snapshots?: FoundSnapshots | undefined;
}

export interface FoundCopy {
  readonly object: StoredObject;
  readonly kind: ClaimUserKind;
  readonly facts: VolumeUser;
  /** One number of it: what becomes of that is its coordinator's affair, who sees the claims. */
  readonly isOrdinal?: boolean;
}

export interface FoundWorkload {
  readonly object: StoredObject;
  readonly kind: ClaimUserKind;
  readonly parts: readonly FoundCopy[];
}

export interface GroupWork {
  readonly wholes: readonly FoundWorkload[];
  readonly claims: readonly FoundClaim[];
  readonly parts: readonly FoundCopy[];
  readonly decision: VolumesDecision;
  /** Whether what else a part needs is there, before it may be. */
  readonly isComplete: (part: FoundCopy) => boolean;
}

type Marks = Record<string, string | null>;

/** A cluster that the claims of a namespace may be in. */
export interface VolumeCluster {
  /** Of the logical cluster that has its SyncTarget, and so its volumes. */
  readonly client: Client;
  /** What the SyncTarget is called there. */
  readonly name: string;
  /** What the namespace is called in the cluster. */
  readonly namespace: string;
}

export class VolumeWrites {
  readonly #client: Client;
  readonly #cluster: ObjectKey["cluster"];
  readonly #events: EventRecorder;
  readonly #signal: AbortSignal;
  readonly #whereabouts: (target: string) => VolumeCluster | undefined;
  readonly #snapshots: SnapshotWrites;

  constructor(context: {
    readonly client: Client;
    readonly cluster: ObjectKey["cluster"];
    readonly signal: AbortSignal;
    readonly events: EventRecorder;
    readonly whereabouts: (target: string) => VolumeCluster | undefined;
    readonly snapshots: SnapshotWrites;
  }) {
    this.#client = context.client;
    this.#cluster = context.cluster;
    this.#signal = context.signal;
    this.#events = context.events;
    this.#whereabouts = context.whereabouts;
    this.#snapshots = context.snapshots;
  }

  /** Whether everything is where it should be. */
  async carryOut(work: GroupWork): Promise<boolean> {
    const { wholes, claims, decision, isComplete } = work;
    const parts = work.parts.filter(({ isOrdinal }) => isOrdinal !== true);
    const decided = (part: FoundCopy) => {
      const { isFenced, isOpened } = decision.parts.get(part.facts) as VolumeUserDecision;
      return { isFenced, isOpened: isOpened && (part.facts.isOpened || isComplete(part)) };
    };
    for (const part of parts) if (decided(part).isFenced) await this.#markPart(part, decided(part));
    for (const claim of claims) {
      const next = decision.claims.get(claim.facts.name) as ClaimDecision;
      const brought = await this.#bring(claim, next);
      await this.#markClaim(claim, next, brought);
      const isKept = next.request?.id === claim.facts.request?.id;
      if (next.request !== undefined && isKept) await this.#snapshots.advance(claim, next.request);
      await this.#snapshots.tidy(claim, next.request);
    }
    for (const whole of wholes) await this.#tie(whole, decision, claims);
    for (const part of parts)
      if (!decided(part).isFenced) await this.#markPart(part, decided(part));
    const states = [...decision.claims.values()].flatMap(({ places }) => [...places.values()]);
    return states.every(({ state }) => state === "bound" || state === "refused");
  }

  /** A claim that is being deleted, or that has left a cluster, is not held there any more. */
  async letGo(claim: FoundClaim): Promise<boolean> {
    const { object, facts } = claim;
    const { annotations = {}, deletionTimestamp, finalizers = [] } = object.metadata;
    const marks: Marks = {};
    if (deletionTimestamp !== undefined) {
      await this.#snapshots.tidy(claim, undefined);
      for (const target of facts.assigned) Object.assign(marks, holderMarks(object, target, false));
    }
    for (const target of facts.broughtTo.keys()) {
      const isGone = !facts.assigned.has(target) && !finalizers.includes(syncerFinalizer(target));
      if (isGone && specDiffAnnotation(target) in annotations)
        marks[specDiffAnnotation(target)] = null;
      if (isGone) await this.#removeVolume(facts, target);
    }
    return this.#mark(persistentVolumeClaims, object, marks);
  }

  /** For one that nothing else keeps. */
  async open(part: FoundCopy): Promise<boolean> {
    const marks = { [volumeGateAnnotation(part.facts.cluster)]: volumesFinalizer };
    return this.#mark(part.kind.resource, part.object, marks);
  }

  async make(claim: Pick<StoredObject, "metadata" | "spec">): Promise<void> {
    try {
      await this.#client.resource(persistentVolumeClaims).create(claim, { signal: this.#signal });
    } catch (error) {
      if (!isStatusError(error, "AlreadyExists")) throw error;
    }
  }

  /** With the version that was read: a conflict means that somebody was faster. */
  async replace(claim: StoredObject): Promise<void> {
    const signal = this.#signal;
    await this.#client.resource(persistentVolumeClaims).update(claim, { signal });
  }

  /** The one that was looked at, and as it was then. */
  async remove({ metadata }: StoredObject, set: StoredObject): Promise<void> {
    const { namespace = "", name, uid = "", resourceVersion = "" } = metadata;
    const options = { preconditions: { uid, resourceVersion }, signal: this.#signal };
    try {
      await this.#client.resource(persistentVolumeClaims).delete({ namespace, name }, options);
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
    const message = `claim ${name} is deleted with its number, as whenScaled says`;
    this.#events.record(this.#cluster, set, { type: "Normal", reason: "ClaimDeleted", message });
  }

  async #markPart(part: FoundCopy, next: VolumeUserDecision): Promise<void> {
    const { cluster } = part.facts;
    await this.#mark(part.kind.resource, part.object, marksOf(part, next));
    if (!next.isFenced || part.facts.isFenced) return;
    const message = `it is stopped in ${cluster} until its volumes are where it is to be`;
    this.#events.record(this.#cluster, part.object, { type: "Normal", reason: "Fenced", message });
  }

  /** Volumes for clusters that the claim is new in: by cluster, what they are called there. */
  async #bring(
    { facts }: FoundClaim,
    next: ClaimDecision,
  ): Promise<ReadonlyMap<string, MigratedSource>> {
    const names = new Map<string, MigratedSource>();
    for (const [cluster, { from, name, isCopy }] of next.brought) {
      if (isCopy) {
        names.set(cluster, { name, copier: facts.copier });
        continue;
      }
      const where = this.#whereabouts(cluster);
      // Not registered any more: who wanted it there is told otherwise by the next look.
      if (where === undefined) continue;
      const volume = facts.volumes.get(from) as KnownVolume;
      const resource = where.client.resource(persistentVolumes);
      const wanted = {
        metadata: { name, labels: { [clusterLabel]: where.name } },
        spec: broughtSpec(volume, { namespace: where.namespace, name: facts.name }),
      };
      try {
        await resource.create(wanted, { signal: this.#signal });
      } catch (error) {
        if (!isStatusError(error, "AlreadyExists")) throw error;
      }
      names.set(cluster, { name, copier: undefined });
    }
    return names;
  }

  async #removeVolume(facts: VolumeClaim, target: string): Promise<void> {
    const volume = facts.volumes.get(target);
    const where = this.#whereabouts(target);
    if (volume === undefined || where === undefined) return;
    const resource = where.client.resource(persistentVolumes);
    const signal = this.#signal;
    try {
      const { name, uid = "" } = (await resource.get({ name: volume.name }, { signal })).metadata;
      await resource.delete({ name }, { preconditions: { uid }, signal });
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }

  /** In one write: where the data is, and where the claim may be, belong together. */
  async #markClaim(
    { object, facts }: FoundClaim,
    next: ClaimDecision,
    brought: ReadonlyMap<string, MigratedSource>,
  ): Promise<void> {
    const marks: Marks = { [volumeClusterAnnotation]: next.home ?? null };
    const labels: Marks = {};
    const said: Record<string, JsonValue> = {};
    for (const [cluster, place] of [...next.places].sort()) {
      said[cluster] = place as unknown as JsonObject;
      marks[volumeGateAnnotation(cluster)] = next.opened.has(cluster) ? volumesFinalizer : null;
      if (next.assigned.has(cluster)) labels[stateLabel(cluster)] = stateSync;
      else if (place.state === "releasing") labels[stateLabel(cluster)] = null;
      Object.assign(marks, holderMarks(object, cluster, next.opened.has(cluster)));
    }
    for (const [cluster, source] of brought)
      marks[specDiffAnnotation(cluster)] = migratedVolumeDiff(source);
    const places = JSON.stringify(said);
    marks[volumesAnnotation] = places;
    marks[volumeCopyAnnotation] =
      next.request === undefined || facts.copier === undefined
        ? null
        : requestText(next.request, facts.copier);
    const isNews = stringMember(object.metadata.annotations, volumesAnnotation) !== places;
    await this.#mark(persistentVolumeClaims, object, marks, labels);
    if (isNews) this.#tell(object, next);
  }

  #tell(object: StoredObject, { places }: ClaimDecision): void {
    for (const { state, reason, message } of places.values()) {
      if (state !== "refused" || message === undefined) continue;
      const refusal = { type: "Warning" as const, reason: reason ?? "Refused", message };
      this.#events.record(this.#cluster, object, refusal);
    }
  }

  async #tie(
    whole: FoundWorkload,
    { tie, claims }: VolumesDecision,
    found: readonly FoundClaim[],
  ): Promise<void> {
    const waiting: Record<string, JsonValue> = {};
    for (const { facts } of found) {
      for (const [cluster, place] of claims.get(facts.name)?.places ?? []) {
        if (place.state === "bound" || place.state === "releasing") continue;
        waiting[cluster] = { claim: facts.name, ...place } as unknown as JsonObject;
      }
    }
    const isQuiet = Object.keys(waiting).length === 0;
    await this.#mark(whole.kind.resource, whole.object, {
      [volumeClusterAnnotation]: tie ?? null,
      [volumesAnnotation]: isQuiet ? null : JSON.stringify(waiting),
    });
  }

  /** Only what differs; whether there was something. A conflict means that somebody was faster: the next look decides anew. */
  async #mark(
    resource: Resource<StoredObject>,
    { metadata }: StoredObject,
    annotations: Marks,
    labels: Marks = {},
  ): Promise<boolean> {
    const changedMarks = changed(annotations, metadata.annotations);
    const changedLabels = changed(labels, metadata.labels);
    if (Object.keys(changedMarks).length + Object.keys(changedLabels).length === 0) return false;
    const { name, namespace, uid, resourceVersion } = metadata;
    const patch = {
      metadata: {
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
        annotations: changedMarks,
        labels: changedLabels,
      },
    };
    await this.#client
      .resource(resource)
      .patch(
        { name, ...(namespace === undefined ? {} : { namespace }) },
        { type: "merge", patch },
        { signal: this.#signal },
      );
    return true;
  }
}

function marksOf(
  { object, kind, facts }: FoundCopy,
  { isFenced, isOpened }: VolumeUserDecision,
): Marks {
  const { cluster } = facts;
  const stop = kind.stopOf(object);
  const opened = volumeGateAnnotation(cluster);
  if (stop.by === "removal")
    return { [opened]: isFenced ? stoppedForVolumes : isOpened ? volumesFinalizer : null };
  const marks: Marks = { [opened]: isOpened ? volumesFinalizer : null };
  // What people lay over the spec themselves is theirs.
  if (stop.by === "diff" && (isFenced || facts.isFenced))
    marks[specDiffAnnotation(cluster)] = isFenced ? stop.diff : null;
  return marks;
}

function changed(wanted: Marks, current: Readonly<Record<string, string>> | undefined): Marks {
  return Object.fromEntries(
    Object.entries(wanted).filter(
      ([name, value]) => (stringMember(current, name) ?? null) !== value,
    ),
  );
}

/** A volume, or what a copier made of one. */
interface MigratedSource {
  readonly name: string;
  readonly copier: VolumeCopier | undefined;
}

/** The syncer keeps a claim in a cluster, assigned or not, as long as this name is in the list. */
function holderMarks({ metadata }: StoredObject, target: string, isHeld: boolean): Marks {
  const holders = softFinalizersOf(metadata.annotations, target);
  const others = holders.filter((one) => one !== volumesFinalizer);
  const next = isHeld ? [...others, volumesFinalizer] : others;
  return { [softFinalizersAnnotation(target)]: next.length === 0 ? null : next.join(",") };
}

/** The same storage, kept for this claim: without its name anybody's claim in the cluster could have it. */
function broughtSpec(
  { spec }: KnownVolume,
  claim: { readonly namespace: string; readonly name: string },
): JsonObject {
  const { nodeAffinity: _nodes, ...rest } = spec as { nodeAffinity?: JsonObject };
  return {
    ...rest,
    persistentVolumeReclaimPolicy: "Retain",
    claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", ...claim },
  } as JsonObject;
}
