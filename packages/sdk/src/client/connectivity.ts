/**
 * Whether a server answers, as all clients of one connection see it. Whoever waits before it tries
 * again, because there was no answer, waits no longer when there is one: after a long outage, each
 * wait by itself has grown to a minute.
 */
import { type Clock, onAbort, sleep } from "@kcp-ts/machinery/base";
import { isStatusError, type StatusError } from "@kcp-ts/machinery/status";
import { isTransportError } from "./transport.ts";

/** What each request of the connection meets, whichever resource it is for. */
export function concernsConnection(error: unknown): boolean {
  if (isTransportError(error)) return true;
  if (isStatusError(error)) return error.code === 401 || isMissingWorkspace(error);
  return error instanceof Error && error.name === "KubeconfigError";
}

/** Of a request for anything in it. */
export function isMissingWorkspace({ code, status: { details } }: StatusError): boolean {
  return code === 404 && details?.kind === "workspaces" && details.group === "tenancy.kcp.io";
}

/** A single request that fails among others that succeed is no outage. */
const outageMsMin = 3000;
/** All watches of a connection break together: one of them says so. */
const reportPauseMs = 10_000;

export class Connectivity {
  readonly #clock: Clock;
  /** Since when there has been no answer. */
  #lostAtMs: number | undefined;
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  answered(): void {
    if (this.#lostAtMs === undefined) return;
    const isOver = this.#clock.monotonic() - this.#lostAtMs >= outageMsMin;
    this.#lostAtMs = undefined;
    if (!isOver) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  failed(): void {
    this.#lostAtMs ??= this.#clock.monotonic();
  }

  /** Whether a failure of the connection is reported now: at most once in ten seconds. */
  takeReport(): boolean {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#reportedAtMs < reportPauseMs) return false;
    this.#reportedAtMs = nowMs;
    return true;
  }

  /** Waits for this time, or until an outage ends. Throws the signal's reason when that aborts. */
  async pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    const early = new AbortController();
    const wake = () => early.abort();
    this.#waiting.add(wake);
    const stopListening = onAbort(signal, wake);
    try {
      await sleep(clock, ms, early.signal);
    } catch (error) {
      if (!early.signal.aborted) throw error;
      signal.throwIfAborted();
    } finally {
      this.#waiting.delete(wake);
      stopListening();
    }
  }
}
