/**
 * The lifecycle of a copy: how the replicas of a workload appear in a cluster and disappear from it
 * when they move.
 *
 *                      deferred                                  disruptionBlocked
 *            ┌──────▶ pending ◀─────┐                  ┌────▶ disruptionBlocked ──┐
 *            │           │ started  │                  │ replaced    │            │ replaced
 *     absent ┤           ▼          │ unwanted         │             │ unwanted   ▼
 *            └──────▶ starting ──▶ ready ─────────▶ waiting ◀────────┘        draining ──▶ absent
 *            started     │ available   ▲               │ nowhere                   unneeded
 *                        │ expired     │ available     ▼
 *                        ▼             │            blocked
 *                    rolledBack ───────┘
 *
 *     frozen: the cluster is Unreachable; the copy stays unchanged until the cluster is back
 *
 * The table of persisted states × events is complete by type. An event is an observation of one
 * reconcile, not a change since the last one: so most of a state follows from the event alone,
 * nothing depends on having observed every step, and little is persisted between reconciles: that a
 * copy exists, that it is new, and that it was rolled back (`move-record.ts`). `step.ts` consults
 * this table before it scales a copy up or down; docs/internals/moves.md shows the same table, and
 * a test compares the two.
 */

export const moveStates = [
  "absent",
  "pending",
  "starting",
  "ready",
  "waiting",
  "disruptionBlocked",
  "draining",
  "blocked",
  "rolledBack",
  "frozen",
] as const;
export type MoveState = (typeof moveStates)[number];

/**
 * The states that a reconcile begins with: no copy, a copy, a new copy, a copy that was rolled
 * back. Every reconcile derives the other states anew.
 */
export const persistedMoveStates = ["absent", "ready", "starting", "rolledBack"] as const;
export type PersistedMoveState = (typeof persistedMoveStates)[number] & MoveState;

export const moveEvents = [
  "unneeded",
  "deferred",
  "started",
  "available",
  "unwanted",
  "nowhere",
  "disruptionBlocked",
  "replaced",
  "expired",
  "unreachable",
] as const;
export type MoveEvent = (typeof moveEvents)[number];

/** Descriptions of the states, for documentation. */
export const moveStateMeanings: Readonly<Record<MoveState, string>> = {
  absent: "there is no copy here, and none is wanted",
  pending: "a copy, or more of it, is wanted here and may not be started yet",
  starting: "replicas were started here and are not all available",
  ready: "what is wanted here is here and available",
  waiting: "replicas are to leave, when others are available in their place",
  disruptionBlocked:
    "the others are available; a soft finalizer keeps this copy until its users have moved",
  draining: "replicas are being removed",
  blocked: "replicas are to leave, and there is nowhere to go: they stay",
  rolledBack: "it did not become available in time: it is back at what it was",
  frozen: "its cluster is unreachable: it is replaced in other clusters and left as it is",
};

/** Descriptions of the events, for documentation. */
export const moveEventMeanings: Readonly<Record<MoveEvent, string>> = {
  unneeded: "no copy, none wanted",
  deferred: "more is wanted; a pause, the budget or a fence does not let it start",
  started: "more is wanted, or some of what is here is not available",
  available: "all that is wanted is here and available",
  unwanted: "less is wanted; the replacements are not available",
  nowhere: "less is wanted; no cluster takes the replacements",
  disruptionBlocked: "less is wanted, the replacements are available, a soft finalizer holds",
  replaced: "less is wanted, and enough is available without it",
  expired: "what was started is not available, and the deadline has passed",
  unreachable: "the cluster is unreachable",
};

/** The transitions that most states have in common. */
const usual = {
  unneeded: "absent",
  deferred: "pending",
  started: "starting",
  available: "ready",
  unwanted: "waiting",
  nowhere: "blocked",
  disruptionBlocked: "disruptionBlocked",
  replaced: "draining",
  unreachable: "frozen",
} as const satisfies Readonly<Record<Exclude<MoveEvent, "expired">, MoveState>>;

export const moveTransitions: Readonly<
  Record<PersistedMoveState, Readonly<Record<MoveEvent, MoveState>>>
> = {
  absent: { ...usual, expired: "absent" },
  ready: { ...usual, expired: "ready" },
  // Only a copy that was started for this move can be rolled back.
  starting: { ...usual, expired: "rolledBack" },
  // A copy stays rolled back until the request changes; its surplus replicas may stop immediately.
  rolledBack: {
    ...usual,
    deferred: "rolledBack",
    started: "rolledBack",
    available: "rolledBack",
    unwanted: "rolledBack",
    nowhere: "rolledBack",
    replaced: "rolledBack",
    expired: "rolledBack",
  },
};

/** Whether a copy in this state may scale up. */
export const mayGrow: Readonly<Record<MoveState, boolean>> = {
  absent: false,
  pending: false,
  starting: true,
  ready: false,
  waiting: false,
  disruptionBlocked: false,
  draining: false,
  blocked: false,
  // A copy that was rolled back scales up to its desired replicas, which are those from before the
  // move.
  rolledBack: true,
  frozen: false,
};

/** Whether a copy in this state may scale down; the rolling update limits define by how much. */
export const mayShrink: Readonly<Record<MoveState, boolean>> = {
  absent: false,
  pending: false,
  starting: false,
  ready: false,
  waiting: false,
  disruptionBlocked: false,
  draining: true,
  blocked: false,
  rolledBack: true,
  frozen: false,
};
