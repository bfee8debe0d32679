/**
 * The states of an informer's reflector, and the transition of every event in every state.
 *
 *                  start                    synced                  healthy end
 *     idle ──────────────▶ streaming/listing ──────▶ watching ──┐ ◀─────┘
 *                              ▲    │                   │
 *                      elapsed │    │ failed, ended     │ failed, short end
 *                              └── waiting ◀────────────┘
 *
 * Pure: the machine decides, the reflector acts. The table is complete by its type; an event
 * without a meaning in a state is `stay`.
 *
 * Invariants:
 * 1. Every state except `stopped`, which only `stop` leads to, has a next step: an informer never
 *    gives up.
 * 2. `resourceVersion` is only set by `synced` and `progress`, so a watch never starts from a
 *    version whose state is not in the store.
 * 3. Every path from a failure to a new request leads through `waiting`, except the one change of
 *    method that needs no backoff.
 */
export type InformerState = "idle" | "streaming" | "listing" | "watching" | "waiting" | "stopped";

/**
 * How the complete state is fetched: by a watch that begins with it, in pages, or by one list where
 * pages expire too soon.
 */
export type SyncMethod = "stream" | "pages" | "whole";

export interface InformerStep {
  readonly state: InformerState;
  readonly method: SyncMethod;
  /** The version from which a watch can resume; undefined when only a new sync is possible. */
  readonly resourceVersion: string | undefined;
  /** Failures in a row, for the backoff. */
  readonly failures: number;
  readonly command: InformerCommand;
}

export type InformerCommand =
  | { readonly do: "nothing" }
  | { readonly do: "sync"; readonly method: SyncMethod }
  | { readonly do: "watch"; readonly resourceVersion: string }
  | { readonly do: "wait"; readonly failures: number; readonly atLeastMs: number };

export type InformerEvent =
  | { readonly type: "start" }
  | { readonly type: "stop" }
  /** The store holds the state at this version. */
  | { readonly type: "synced"; readonly resourceVersion: string }
  /** The store holds all changes up to this version. */
  | { readonly type: "progress"; readonly resourceVersion: string }
  /** The server ended the stream without an error. */
  | { readonly type: "ended"; readonly healthy: boolean }
  | { readonly type: "failed"; readonly failure: Failure; readonly healthy: boolean }
  | { readonly type: "elapsed" };

export type Failure =
  /** History is compacted, or the server's state is another one: only a new sync is possible. */
  | { readonly kind: "expired" }
  /** The server does not support `sendInitialEvents`. */
  | { readonly kind: "no-initial-events" }
  | { readonly kind: "throttled"; readonly retryAfterMs: number }
  /** The server or the network is down; the cached state is still valid. */
  | { readonly kind: "unavailable" };

type EventOf<Type extends InformerEvent["type"]> = Extract<InformerEvent, { readonly type: Type }>;
type Transition<Type extends InformerEvent["type"]> = (
  step: InformerStep,
  event: EventOf<Type>,
) => InformerStep;
type Row = { readonly [Type in InformerEvent["type"]]: Transition<Type> };

const stay = (step: InformerStep): InformerStep => ({ ...step, command: { do: "nothing" } });
const stop = (step: InformerStep): InformerStep => ({ ...stay(step), state: "stopped" });

export const informerTransitions: { readonly [State in InformerState]: Row } = {
  idle: {
    start: sync,
    stop,
    synced: stay,
    progress: stay,
    ended: stay,
    failed: stay,
    elapsed: stay,
  },
  streaming: {
    start: stay,
    stop,
    // The same stream continues with changes.
    synced: (step, { resourceVersion }) => ({ ...stay(step), state: "watching", resourceVersion }),
    progress: stay,
    ended: (step) => wait(step, { atLeastMs: 0 }),
    failed: (step, { failure }) =>
      failure.kind === "no-initial-events"
        ? sync({ ...step, method: "pages" })
        : wait(step, { atLeastMs: backoffOf(failure) }),
    elapsed: stay,
  },
  listing: {
    start: stay,
    stop,
    synced: (step, { resourceVersion }) => watch({ ...step, resourceVersion }),
    progress: stay,
    ended: stay,
    failed: (step, { failure }) =>
      failure.kind === "expired" && step.method === "pages"
        ? sync({ ...step, method: "whole" })
        : wait(step, { atLeastMs: backoffOf(failure) }),
    elapsed: stay,
  },
  watching: {
    start: stay,
    stop,
    synced: stay,
    progress: (step, { resourceVersion }) => ({ ...stay(step), resourceVersion }),
    ended: (step, { healthy }) =>
      healthy ? watch({ ...step, failures: 0 }) : wait(step, { atLeastMs: 0 }),
    failed: (step, { failure, healthy }) =>
      wait(
        {
          ...step,
          failures: healthy ? 0 : step.failures,
          resourceVersion: failure.kind === "expired" ? undefined : step.resourceVersion,
          // The method that the last large list needed may not be needed for the next one.
          method: step.method === "whole" ? "pages" : step.method,
        },
        { atLeastMs: backoffOf(failure) },
      ),
    elapsed: stay,
  },
  waiting: {
    start: stay,
    stop,
    synced: stay,
    progress: stay,
    ended: stay,
    failed: stay,
    elapsed: (step) => (step.resourceVersion === undefined ? sync(step) : watch(step)),
  },
  stopped: {
    start: stay,
    stop: stay,
    synced: stay,
    progress: stay,
    ended: stay,
    failed: stay,
    elapsed: stay,
  },
};

export function initialStep(method: SyncMethod): InformerStep {
  const command = { do: "nothing" } as const;
  return { state: "idle", method, resourceVersion: undefined, failures: 0, command };
}

export function nextStep(step: InformerStep, event: InformerEvent): InformerStep {
  const transition = informerTransitions[step.state][event.type] as Transition<typeof event.type>;
  return transition(step, event as never);
}

function sync(step: InformerStep): InformerStep {
  const { method } = step;
  return {
    ...step,
    state: method === "stream" ? "streaming" : "listing",
    resourceVersion: undefined,
    command: { do: "sync", method },
  };
}

function watch(step: InformerStep): InformerStep {
  const resourceVersion = step.resourceVersion ?? "";
  return { ...step, state: "watching", command: { do: "watch", resourceVersion } };
}

function wait(step: InformerStep, { atLeastMs }: { atLeastMs: number }): InformerStep {
  const failures = step.failures + 1;
  return { ...step, state: "waiting", failures, command: { do: "wait", failures, atLeastMs } };
}

function backoffOf(failure: Failure): number {
  return failure.kind === "throttled" ? failure.retryAfterMs : 0;
}
