/**
 * ClusterMoves: how a logical cluster goes from one store to another, while it is read and written.
 *
 *     source       copying ── fenced ── left ── removed           (cancelled: no record)
 *     destination       importing ────── sealed ──── open         (cancelled: discarding, no record)
 *
 * Objects keep their revisions. The destination raises its counter above every revision that the
 * source has said about the cluster, and keeps the imported changes as the cluster's history: a
 * watch that resumes from a revision of the source gets what followed there, and then the changes
 * here. Watches of one resource in all clusters get each arrived object once, as an addition at a
 * revision after the present (a relocation), and each object that left as a deletion; watches of
 * the cluster itself get neither.
 *
 * Every call is idempotent and durable when it resolves, so a mover that crashed repeats its last
 * step. Remote backends do not have it: their revisions are their own.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { DataChange } from "../change-feed.ts";
import type { ResourceKey } from "../key.ts";
import type { Revision } from "../revision.ts";
import type { CallOptions, Entry } from "../storage.ts";

/**
 * - `copying`: reads and writes as always; only the record of the mover.
 * - `fenced`: reads as always, writes are rejected with `moving`.
 * - `left`: neither reads nor writes; the objects remain on disk until they are removed.
 * - `removed`: none of its objects remains; writes are rejected for ever.
 * - `importing`, `discarding`: its objects are not visible, writes are rejected.
 * - `sealed`: visible and complete, writes are rejected.
 * - `open`: as any other cluster, with a history from another store.
 */
export type MovePhase =
  | "copying"
  | "fenced"
  | "left"
  | "removed"
  | "importing"
  | "discarding"
  | "sealed"
  | "open";

export interface MoveRecord {
  readonly cluster: ClusterName;
  readonly phase: MovePhase;
  /** The cluster was here before, and has left: a cancelled import returns to that. */
  readonly hadLeft: boolean;
  /** The mover's own data; the store keeps it as it is. */
  readonly note: string;
  /** At the source: the final revision. At the destination: what was imported completely. */
  readonly upTo: Revision;
  /** The destination has every object, as of some revision, and imports changes from then on. */
  readonly hasState: boolean;
  /** Imported changes after this revision are kept. */
  readonly oldest: Revision;
  /** The store's revision at which the cluster became visible here; 0 before. */
  readonly arrivedAt: Revision;
  /** The kinds that the server itself follows were announced; then come all others. */
  readonly announcedFirst: boolean;
  /** The key up to which arrived objects were announced to watches of all clusters. */
  readonly announcedTo: string;
  /** The revision of the last announcement; 0 until all are announced. */
  readonly announcedAt: Revision;
}

/** A part of an export, in an order in which it can be imported. */
export type ExportRecord =
  /** An object of the state with which the export begins. */
  | { readonly kind: "state"; readonly entry: Entry }
  /** All objects of that state were sent; history begins after `oldest`. */
  | { readonly kind: "stateEnd"; readonly revision: Revision; readonly oldest: Revision }
  /** A change. The state has those that it includes already; they are history only. */
  | { readonly kind: "change"; readonly change: DataChange }
  /** Every change up to this revision was sent. */
  | { readonly kind: "progress"; readonly revision: Revision };

export interface ClusterMoves {
  records(): readonly MoveRecord[];
  recordOf(cluster: ClusterName): MoveRecord | undefined;
  /** Changes of the cluster after this revision can be watched. */
  oldestRevision(cluster: ClusterName): Revision;
  /** The imported changes after a revision, in order. Throws `compacted` when they are gone. */
  importedChanges(
    cluster: ClusterName,
    after: Revision,
    options: CallOptions,
  ): AsyncIterable<DataChange>;

  /**
   * Begins a move from here, or begins it again with another note: the cluster is written. Throws
   * `conflict` when the cluster is not here.
   */
  startExport(cluster: ClusterName, note: string, options: CallOptions): Promise<void>;
  /**
   * Rejects writes of the cluster from now on, and returns the final revision: every acknowledged
   * write is at or before it, and no other one is durable.
   */
  fence(cluster: ClusterName, options: CallOptions): Promise<Revision>;
  /** Ends a move from here that was not switched: writes are accepted again. */
  cancelExport(cluster: ClusterName, options: CallOptions): Promise<void>;
  /** Hides the fenced cluster for good: the destination has it. */
  release(cluster: ClusterName, options: CallOptions): Promise<void>;
  /** Removes the objects of a released cluster, some at a time, without deleting them. */
  removeReleased(cluster: ClusterName, options: CallOptions): Promise<void>;

  /** Begins a move to here. Throws `conflict` when the cluster, or a rest of it, is here. */
  startImport(cluster: ClusterName, note: string, options: CallOptions): Promise<void>;
  /** Stores the next records of the export; returns how far the import is. */
  import(
    cluster: ClusterName,
    records: readonly ExportRecord[],
    options: CallOptions,
  ): Promise<MoveRecord>;
  /** Makes a completely imported cluster visible; `final` is what `fence` returned. */
  seal(cluster: ClusterName, final: Revision, options: CallOptions): Promise<void>;
  /** Tells watches of all clusters of the arrived objects, some at a time. */
  announce(cluster: ClusterName, options: AnnounceOptions): Promise<void>;
  /** Accepts writes of a sealed cluster. */
  open(cluster: ClusterName, options: CallOptions): Promise<void>;
  /** Removes everything of an import that is not open. */
  discardImport(cluster: ClusterName, options: CallOptions): Promise<void>;
}

export interface AnnounceOptions extends CallOptions {
  /** Only the kinds that the server itself follows: what it needs before it serves the cluster. */
  readonly onlyFirst?: boolean;
}

/** The kinds of roles, definitions, bindings, workspaces and quotas: few objects, all indexed. */
export function isAnnouncedFirst({ group, resource }: Pick<ResourceKey, "group" | "resource">) {
  if (group === "") return coreFirst.has(resource);
  return group.endsWith(".k8s.io") || group.endsWith(".kcp.io");
}

const coreFirst: ReadonlySet<string> = new Set(["namespaces", "resourcequotas", "limitranges"]);

/**
 * The distance of the destination's counter from the final revision: until the source is released,
 * it goes on to return its own revisions to readers of the cluster.
 */
export const revisionMargin = 1 << 24;

/** The objects that one batch announces or removes. */
export const relocatedPerBatch = 128;
