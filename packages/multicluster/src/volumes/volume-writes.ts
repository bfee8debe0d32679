/**
 * Executes the decision: annotations and labels on claims and per-cluster objects, and
 * PersistentVolumes for other clusters. Writes nothing that is up to date.
 */
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
  volumeCopyRequestAnnotation,
  volumeGateAnnotation,
  volumesAnnotation,
  volumesFinalizer,
  type WorkloadPlacementStatus,
} from "../api/index.ts";
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
import { type KnownVolume, migratedVolumeDiff, requestText } from "./read-claims.ts";
import type { FoundSnapshots } from "./snapshot-steps.ts";
import type { SnapshotWrites } from "./snapshot-writes.ts";
import type { VolumeCopier } from "./volume-copies.ts";

export interface FoundClaim {
  readonly object: StoredObject;
  readonly claim: VolumeClaim;
  /** The snapshots of copies; undefined where no copy is requested. */
  readonly snapshots?: FoundSnapshots | undefined;
}

export interface FoundCopy {
  readonly object: StoredObject;
  readonly kind: ClaimUserKind;
  readonly user: VolumeUser;
  /** One ordinal of a StatefulSet: its coordinator decides about it, from the claims. */
  readonly isOrdinal?: boolean;
}

export interface FoundWorkload {
  readonly object: StoredObject;
  readonly kind: ClaimUserKind;
  readonly copies: readonly FoundCopy[];
  /** The record of the workload's placement; undefined before the first decision. */
  readonly record?: WorkloadPlacementStatus | undefined;
}

export interface GroupWork {
  readonly workloads: readonly FoundWorkload[];
  readonly claims: readonly FoundClaim[];
  readonly copies: readonly FoundCopy[];
  readonly decision: VolumesDecision;
  /** Whether the other dependencies of a per-cluster object exist, before its gate opens. */
  readonly isComplete: (copy: FoundCopy) => boolean;
}

type Marks = Record<string, string | null>;

/** A cluster that the claims of a namespace may be in. */
export interface VolumeCluster {
  /** A client of the logical cluster that has its SyncTarget, and so its volumes. */
  readonly client: Client;
  /** The name of the SyncTarget there. */
  readonly name: string;
  /** The name of the namespace in the cluster. */
  readonly namespace: string;
}

export class VolumeWrites {
  readonly #client: Client;
  readonly #cluster: ObjectKey["cluster"];
  readonly #events: EventRecorder;
  readonly #signal: AbortSignal;
  readonly #podLocation: (target: string) => VolumeCluster | undefined;
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
    this.#podLocation = context.whereabouts;
    this.#snapshots = context.snapshots;
  }

  /** Whether the state is as decided, without writes. */
  async applyDecision(work: GroupWork): Promise<boolean> {
    const { workloads, claims, decision, isComplete } = work;
    const copies = work.copies.filter(({ isOrdinal }) => isOrdinal !== true);
    const decided = (copy: FoundCopy) => {
      const { isFenced, isVolumeGateOpen } = decision.users.get(copy.user) as VolumeUserDecision;
      return {
        isFenced,
        isVolumeGateOpen: isVolumeGateOpen && (copy.user.isVolumeGateOpen || isComplete(copy)),
      };
    };
    for (const copy of copies)
      if (decided(copy).isFenced) await this.#markPart(copy, decided(copy));
    for (const claim of claims) {
      const next = decision.claims.get(claim.claim.name) as ClaimDecision;
      const brought = await this.#bring(claim, next);
      await this.#markClaim(claim, next, brought);
      const isKept = next.request?.id === claim.claim.request?.id;
      if (next.request !== undefined && isKept) await this.#snapshots.advance(claim, next.request);
      await this.#snapshots.deleteObsolete(claim, next.request);
    }
    for (const workload of workloads) await this.#tie(workload, decision, claims);
    for (const copy of copies)
      if (!decided(copy).isFenced) await this.#markPart(copy, decided(copy));
    const states = [...decision.claims.values()].flatMap(({ clusters }) => [...clusters.values()]);
    return states.every(({ state }) => state === "bound" || state === "refused");
  }

  /** A claim that is being deleted, or that has left a cluster, is not held there any more. */
  async release(claim: FoundClaim): Promise<boolean> {
    const { object, claim: facts } = claim;
    const { annotations = {}, deletionTimestamp, finalizers = [] } = object.metadata;
    const marks: Marks = {};
    if (deletionTimestamp !== undefined) {
      await this.#snapshots.deleteObsolete(claim, undefined);
      for (const target of facts.assigned) Object.assign(marks, holderMarks(object, target, false));
    }
    for (const target of facts.migratedTo.keys()) {
      const isGone = !facts.assigned.has(target) && !finalizers.includes(syncerFinalizer(target));
      if (isGone && specDiffAnnotation(target) in annotations)
        marks[specDiffAnnotation(target)] = null;
      if (isGone) await this.#removeVolume(facts, target);
    }
    return this.#mark(persistentVolumeClaims, object, marks);
  }

  /** Opens the gate of an object that nothing else blocks. */
  async openGate(copy: FoundCopy): Promise<boolean> {
    const marks = { [volumeGateAnnotation(copy.user.cluster)]: volumesFinalizer };
    return this.#mark(copy.kind.resource, copy.object, marks);
  }

  async make(claim: Pick<StoredObject, "metadata" | "spec">): Promise<void> {
    try {
      await this.#client.resource(persistentVolumeClaims).create(claim, { signal: this.#signal });
    } catch (error) {
      if (!isStatusError(error, "AlreadyExists")) throw error;
    }
  }

  /** The update has the observed version: a conflict means that another client was faster. */
  async replace(claim: StoredObject): Promise<void> {
    const signal = this.#signal;
    await this.#client.resource(persistentVolumeClaims).update(claim, { signal });
  }

  /** Deletes the object with the observed uid and version as preconditions. */
  async remove(claim: StoredObject, set: StoredObject): Promise<void> {
    const { name } = claim.metadata;
    const signal = this.#signal;
    try {
      await this.#client.resource(persistentVolumeClaims).sameVersion(claim).remove({ signal });
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
    const message = `claim ${name} is deleted with its number, as whenScaled says`;
    this.#events.record(this.#cluster, set, { type: "Normal", reason: "ClaimDeleted", message });
  }

  async #markPart(copy: FoundCopy, next: VolumeUserDecision): Promise<void> {
    const { cluster } = copy.user;
    await this.#mark(copy.kind.resource, copy.object, marksOf(copy, next));
    if (!next.isFenced || copy.user.isFenced) return;
    const message = `it is stopped in ${cluster} until its volumes are where it is to be`;
    this.#events.record(this.#cluster, copy.object, {
      type: "Normal",
      reason: "StoppedForVolumeMigration",
      message,
    });
  }

  /** Creates volumes for clusters that the claim is new in: their names by cluster. */
  async #bring(
    { claim }: FoundClaim,
    next: ClaimDecision,
  ): Promise<ReadonlyMap<string, MigratedSource>> {
    const names = new Map<string, MigratedSource>();
    for (const [cluster, { from, name, isCopy }] of next.migrated) {
      if (isCopy) {
        names.set(cluster, { name, copier: claim.copier });
        continue;
      }
      const where = this.#podLocation(cluster);
      // The cluster is not registered any more: the next reconcile reports it.
      if (where === undefined) continue;
      const volume = claim.volumes.get(from) as KnownVolume;
      const resource = where.client.resource(persistentVolumes);
      const wanted = {
        metadata: { name, labels: { [clusterLabel]: where.name } },
        spec: broughtSpec(volume, { namespace: where.namespace, name: claim.name }),
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
    const where = this.#podLocation(target);
    if (volume === undefined || where === undefined) return;
    const resource = where.client.resource(persistentVolumes);
    const signal = this.#signal;
    try {
      const found = await resource.get({ name: volume.name }, { signal });
      await resource.sameObject(found).remove({ signal });
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }

  /**
   * One write contains the cluster of the data and the clusters of the claim, because they belong
   * together.
   */
  async #markClaim(
    { object, claim }: FoundClaim,
    next: ClaimDecision,
    brought: ReadonlyMap<string, MigratedSource>,
  ): Promise<void> {
    const marks: Marks = { [volumeClusterAnnotation]: next.dataCluster ?? null };
    const labels: Marks = {};
    const said: Record<string, JsonValue> = {};
    for (const [cluster, place] of [...next.clusters].sort()) {
      said[cluster] = place as unknown as JsonObject;
      marks[volumeGateAnnotation(cluster)] = next.openedIn.has(cluster) ? volumesFinalizer : null;
      if (next.assigned.has(cluster)) labels[stateLabel(cluster)] = stateSync;
      else if (place.state === "releasing") labels[stateLabel(cluster)] = null;
      Object.assign(marks, holderMarks(object, cluster, next.openedIn.has(cluster)));
    }
    for (const [cluster, source] of brought)
      marks[specDiffAnnotation(cluster)] = migratedVolumeDiff(source);
    const places = JSON.stringify(said);
    marks[volumesAnnotation] = places;
    marks[volumeCopyRequestAnnotation] =
      next.request === undefined || claim.copier === undefined
        ? null
        : requestText(next.request, claim.copier);
    const isNews = stringMember(object.metadata.annotations, volumesAnnotation) !== places;
    await this.#mark(persistentVolumeClaims, object, marks, labels);
    if (isNews) this.#tell(object, next);
  }

  #tell(object: StoredObject, { clusters }: ClaimDecision): void {
    for (const { state, reason, message } of clusters.values()) {
      if (state !== "refused" || message === undefined) continue;
      const refusal = {
        type: "Warning" as const,
        reason: reason ?? "VolumeMigrationRejected",
        message,
      };
      this.#events.record(this.#cluster, object, refusal);
    }
  }

  async #tie(
    workload: FoundWorkload,
    { dataCluster, claims }: VolumesDecision,
    found: readonly FoundClaim[],
  ): Promise<void> {
    const waiting: Record<string, JsonValue> = {};
    for (const { claim } of found) {
      for (const [cluster, place] of claims.get(claim.name)?.clusters ?? []) {
        if (place.state === "bound" || place.state === "releasing") continue;
        waiting[cluster] = { claim: claim.name, ...place } as unknown as JsonObject;
      }
    }
    const isQuiet = Object.keys(waiting).length === 0;
    await this.#mark(workload.kind.resource, workload.object, {
      [volumeClusterAnnotation]: dataCluster ?? null,
      [volumesAnnotation]: isQuiet ? null : JSON.stringify(waiting),
    });
  }

  /**
   * Writes only differences, and returns whether there were any. A conflict means that another
   * client was faster: the next reconcile decides again.
   */
  async #mark(
    resource: Resource<StoredObject>,
    { metadata }: StoredObject,
    annotations: Marks,
    labels: Marks = {},
  ): Promise<boolean> {
    const changedMarks = changed(annotations, metadata.annotations);
    const changedLabels = changed(labels, metadata.labels);
    if (Object.keys(changedMarks).length + Object.keys(changedLabels).length === 0) return false;
    await this.#client
      .resource(resource)
      .sameVersion({ metadata })
      .mergePatch(
        { metadata: { annotations: changedMarks, labels: changedLabels } },
        { signal: this.#signal },
      );
    return true;
  }
}

function marksOf(
  { object, kind, user }: FoundCopy,
  { isFenced, isVolumeGateOpen }: VolumeUserDecision,
): Marks {
  const { cluster } = user;
  const stop = kind.stopOf(object);
  const opened = volumeGateAnnotation(cluster);
  if (stop.by === "removal")
    return { [opened]: isFenced ? stoppedForVolumes : isVolumeGateOpen ? volumesFinalizer : null };
  const marks: Marks = { [opened]: isVolumeGateOpen ? volumesFinalizer : null };
  // A user's own spec diff is not changed.
  if (stop.by === "diff" && (isFenced || user.isFenced))
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

/** A volume, or a copier's copy of one. */
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

/**
 * The same storage, reserved for this claim: without its name, any claim in the cluster could bind
 * the volume.
 */
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
