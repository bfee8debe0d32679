/**
 * What clients of an API server did and saw: the material that checkers judge.
 *
 * A history is of few keys and one short time. Times are of one monotonic clock; whatever a client
 * does not know stays open. Every written value is written once and begins with its logical
 * cluster, so that an object that was read names the write it comes from.
 */
export interface ObjectKey {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
}

export type Texts = Readonly<Record<string, string>>;

/** An object as a client sees it. */
export interface ObjectState {
  readonly uid: string;
  readonly revision: number;
  /** Absent for kinds that have none. */
  readonly generation?: number | undefined;
  readonly labels: Texts;
  readonly spec: Texts;
  readonly status: Texts;
}

export type WriteRequest =
  | { readonly verb: "create"; readonly spec: Texts; readonly labels: Texts }
  | {
      readonly verb: "update";
      readonly spec: Texts;
      readonly labels: Texts;
      readonly expectedRevision?: number | undefined;
    }
  | {
      readonly verb: "patch";
      readonly spec: Texts;
      readonly labels: Texts;
      readonly expectedRevision?: number | undefined;
    }
  | { readonly verb: "patchStatus"; readonly status: Texts }
  /** Server-side apply, by force: it creates what is absent. */
  | { readonly verb: "apply"; readonly spec: Texts; readonly labels: Texts }
  | {
      readonly verb: "delete";
      readonly expectedRevision?: number | undefined;
      readonly expectedUid?: string | undefined;
    };

export type KeyRequest = WriteRequest | { readonly verb: "get" };

export type Outcome =
  | { readonly kind: "object"; readonly state: ObjectState }
  | { readonly kind: "deleted"; readonly uid: string }
  | { readonly kind: "notFound" }
  | { readonly kind: "alreadyExists" }
  | { readonly kind: "conflict" }
  /** A timeout, a lost connection, a 5xx: it may have happened, may happen later, or never. */
  | { readonly kind: "open"; readonly reason: string };

export interface Operation {
  readonly client: string;
  readonly key: ObjectKey;
  readonly request: KeyRequest;
  readonly invokedAt: number;
  /** Infinity for an open one. */
  readonly returnedAt: number;
  readonly outcome: Outcome;
}

/** What a list or a watch selects. */
export interface Scope {
  /** `*`: all logical clusters of the history. */
  readonly cluster: string;
  readonly namespace: string;
  readonly label?: readonly [name: string, value: string] | undefined;
  /** `metadata.name`, or a member of the spec as `spec.color`. */
  readonly field?: readonly [path: string, value: string] | undefined;
}

/** `quorum` sees all that was acknowledged, `any` may be old, the others name a revision. */
export type ListMode =
  | { readonly kind: "quorum" }
  | { readonly kind: "any" }
  | { readonly kind: "notOlderThan"; readonly revision: number }
  | { readonly kind: "exact"; readonly revision: number };

export interface KeyedState {
  readonly key: ObjectKey;
  readonly state: ObjectState;
}

export interface ListRecord {
  readonly client: string;
  readonly scope: Scope;
  readonly mode: ListMode;
  readonly invokedAt: number;
  readonly returnedAt: number;
  /** The first answer's; pages that say another are in `pageRevisions`. */
  readonly revision: number;
  readonly pageRevisions: readonly number[];
  readonly items: readonly KeyedState[];
}

/** A get with resourceVersion=0: any state of the past will do. */
export interface StaleGet {
  readonly client: string;
  readonly key: ObjectKey;
  readonly invokedAt: number;
  readonly returnedAt: number;
  readonly state: ObjectState;
}

export type WatchEvent =
  | {
      readonly type: "ADDED" | "MODIFIED" | "DELETED";
      readonly key: ObjectKey;
      /** Of a DELETED one: as it was last, at the revision of the change. */
      readonly state: ObjectState;
      readonly receivedAt: number;
    }
  | { readonly type: "BOOKMARK"; readonly revision: number; readonly receivedAt: number };

/** One answer to a watch request. A watcher that comes back has several. */
export interface WatchSegment {
  readonly watcher: string;
  readonly scope: Scope;
  readonly openedAt: number;
  /** How its beginning was asked for: behind a revision, or with the state of then. */
  readonly start:
    | { readonly kind: "after"; readonly revision: number; readonly isResumed: boolean }
    | { readonly kind: "initial"; readonly mode: ListMode };
  /**
   * The ADDED events before the bookmark that ends them, and its revision; absent while there is
   * none.
   */
  readonly initial?:
    | { readonly items: readonly KeyedState[]; readonly revision: number; readonly at: number }
    | undefined;
  /** Behind `start`, or behind the initial ones. */
  readonly events: readonly WatchEvent[];
}

export interface History {
  /** There was no object of the history's namespaces yet. */
  readonly startRevision: number;
  readonly operations: readonly Operation[];
  readonly lists: readonly ListRecord[];
  readonly staleGets: readonly StaleGet[];
  readonly watches: readonly WatchSegment[];
}

/** A broken promise, with the few lines that show it. */
export interface Violation {
  readonly guarantee: string;
  readonly message: string;
  readonly excerpt: readonly string[];
}

export function keyText({ cluster, namespace, name }: ObjectKey): string {
  return `${cluster}/${namespace}/${name}`;
}

export function revisionOf(event: WatchEvent): number {
  return event.type === "BOOKMARK" ? event.revision : event.state.revision;
}
