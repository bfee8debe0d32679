/**
 * The states of a candidate, and the transition of every event in every state.
 *
 *     idle ─▶ campaigning ◀─▶ standby
 *                 │ won          ▲
 *                 ▼              │ lost, expired
 *              leading ◀─▶ renewing
 *                 │ stop         │ stop
 *                 ▼              ▼
 *              releasing ─▶ stopped
 *
 * Pure: the machine decides, the elector acts. The table is complete by its type.
 *
 * Invariants:
 * 1. `leading` and `renewing` are entered only by `won`, and left for good by `lost` and `expired`:
 *    doubt ends leadership.
 * 2. Only a state that holds the lease can lead to `releasing`.
 */
export type ElectionState =
  | "idle"
  | "campaigning"
  | "standby"
  | "leading"
  | "renewing"
  | "releasing"
  | "stopped";

export type ElectionEvent =
  | "start"
  /** Stop competing, or step down. */
  | "stop"
  /** This candidate acquired or renewed the lease. */
  | "won"
  /** Another candidate holds the lease. */
  | "lost"
  /** The request failed, so the holder is unknown. */
  | "failed"
  /** A wait is over. */
  | "elapsed"
  /** The renew deadline is over, so the lease is no longer certain. */
  | "expired"
  | "released";

export type ElectionCommand = "nothing" | "try" | "wait" | "renew" | "release";

export interface ElectionStep {
  readonly state: ElectionState;
  readonly command: ElectionCommand;
}

type Row = { readonly [Event in ElectionEvent]: ElectionStep };

const go = (state: ElectionState, command: ElectionCommand): ElectionStep => ({ state, command });
const stopped = go("stopped", "nothing");

/** An event without a meaning in a state leaves the state unchanged, with no command. */
const rest = (state: ElectionState): Row => ({
  start: go(state, "nothing"),
  stop: go(state, "nothing"),
  won: go(state, "nothing"),
  lost: go(state, "nothing"),
  failed: go(state, "nothing"),
  elapsed: go(state, "nothing"),
  expired: go(state, "nothing"),
  released: go(state, "nothing"),
});

export const electionTransitions: { readonly [State in ElectionState]: Row } = {
  idle: { ...rest("idle"), start: go("campaigning", "try"), stop: stopped },
  campaigning: {
    ...rest("campaigning"),
    won: go("leading", "wait"),
    lost: go("standby", "wait"),
    failed: go("standby", "wait"),
    stop: stopped,
  },
  standby: { ...rest("standby"), elapsed: go("campaigning", "try"), stop: stopped },
  leading: {
    ...rest("leading"),
    elapsed: go("renewing", "renew"),
    lost: go("standby", "wait"),
    expired: go("standby", "wait"),
    stop: go("releasing", "release"),
  },
  renewing: {
    ...rest("renewing"),
    won: go("leading", "wait"),
    failed: go("leading", "wait"),
    lost: go("standby", "wait"),
    expired: go("standby", "wait"),
    stop: go("releasing", "release"),
  },
  releasing: {
    ...rest("releasing"),
    released: stopped,
    failed: stopped,
    lost: stopped,
    expired: stopped,
    stop: stopped,
  },
  stopped: rest("stopped"),
};

export const initialElectionStep: ElectionStep = go("idle", "nothing");

export function nextElectionStep(step: ElectionStep, event: ElectionEvent): ElectionStep {
  return electionTransitions[step.state][event];
}

export function holdsLease(state: ElectionState): boolean {
  return state === "leading" || state === "renewing";
}
