/**
 * The life of a copy: what a cluster has of a whole, and how it comes and goes when replicas move.
 *
 *                    deferred                                       held
 *          ┌──────▶ pending ◀─────┐                    ┌────────▶ shifting ───┐
 *          │           │ started  │                    │ replaced    │        │ replaced
 *     gone ┤           ▼          │ unwanted           │             │unwanted▼
 *          └──────▶ starting ──▶ ready ──────────▶ waiting ◀─────────┘     draining ──▶ gone
 *          started     │ available   ▲                 │ nowhere                unneeded
 *                      │ expired     │ available       ▼
 *                      ▼             │              blocked
 *                  rolledBack ───────┘
 *
 *     frozen: the cluster is lost; whatever it was before, nothing is done to it until it is back
 *
 * What is remembered × events, complete by type. An event is what is found when one looks, not what has happened since: so most of a state follows from the event alone,
 * nothing depends on having seen every step, and what is remembered between looks is little: that there is a copy, that it is new, and that it was given up (`move-record.ts`).
 * `plan-moves.ts` asks here before it lets a copy grow or shrink; docs/internals/moves.md shows the same table, compared by a test.
 */

export const moveStates = [
  "gone",
  "pending",
  "starting",
  "ready",
  "waiting",
  "shifting",
  "draining",
  "blocked",
  "rolledBack",
  "frozen",
] as const;
export type MoveState = (typeof moveStates)[number];

/** Those that a look begins with: there is no copy; there is one; a new one; one that was given up. The others are found anew by every look. */
export const persistedMoveStates = ["gone", "ready", "starting", "rolledBack"] as const;
export type PersistedMoveState = (typeof persistedMoveStates)[number] & MoveState;

export const moveEvents = [
  "unneeded",
  "deferred",
  "started",
  "available",
  "unwanted",
  "nowhere",
  "held",
  "replaced",
  "expired",
  "lost",
] as const;
export type MoveEvent = (typeof moveEvents)[number];

/** What each state means, for people. */
export const moveStateMeanings: Readonly<Record<MoveState, string>> = {
  gone: "there is no copy here, and none is wanted",
  pending: "a copy, or more of it, is wanted here and may not be started yet",
  starting: "replicas were started here and are not all available",
  ready: "what is wanted here is here and available",
  waiting: "replicas are to leave, when others are available in their place",
  shifting: "the others are available; somebody holds this copy until what uses it has shifted",
  draining: "replicas are being removed",
  blocked: "replicas are to leave, and there is nowhere to go: they stay",
  rolledBack: "it did not become available in time: it is back at what it was",
  frozen: "its cluster is lost: it is replaced elsewhere and left as it is",
};

/** What is found, for people. */
export const moveEventMeanings: Readonly<Record<MoveEvent, string>> = {
  unneeded: "no copy, none wanted",
  deferred: "more is wanted; a pause, the budget or a fence does not let it start",
  started: "more is wanted, or some of what is here is not available",
  available: "all that is wanted is here and available",
  unwanted: "less is wanted; the replacements are not available",
  nowhere: "less is wanted; no cluster takes the replacements",
  held: "less is wanted, the replacements are available, a soft finalizer holds",
  replaced: "less is wanted, and enough is available without it",
  expired: "what was started is not available, and the deadline has passed",
  lost: "the cluster is lost",
};

/** Where most lead; those that differ say so. */
const usual = {
  unneeded: "gone",
  deferred: "pending",
  started: "starting",
  available: "ready",
  unwanted: "waiting",
  nowhere: "blocked",
  held: "shifting",
  replaced: "draining",
  lost: "frozen",
} as const satisfies Readonly<Record<Exclude<MoveEvent, "expired">, MoveState>>;

export const moveTransitions: Readonly<
  Record<PersistedMoveState, Readonly<Record<MoveEvent, MoveState>>>
> = {
  gone: { ...usual, expired: "gone" },
  ready: { ...usual, expired: "ready" },
  // Only what was started here for this move can be given up.
  starting: { ...usual, expired: "rolledBack" },
  // Given up is given up, until what is asked for changes; what it has too much of may go at once.
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

/** Whether a copy in this state gets more replicas. */
export const mayGrow: Readonly<Record<MoveState, boolean>> = {
  gone: false,
  pending: false,
  starting: true,
  ready: false,
  waiting: false,
  shifting: false,
  draining: false,
  blocked: false,
  // As far as the goal goes, which is what it had before.
  rolledBack: true,
  frozen: false,
};

/** Whether replicas of a copy in this state are taken away; how many, the budget says. */
export const mayShrink: Readonly<Record<MoveState, boolean>> = {
  gone: false,
  pending: false,
  starting: false,
  ready: false,
  waiting: false,
  shifting: false,
  draining: true,
  blocked: false,
  rolledBack: true,
  frozen: false,
};
