/** Retries of optimistic locking: read, change and write again after a conflict. */
import { type Clock, type Random, sleep, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";

export interface RetryOptions {
  readonly attemptsMax?: number;
  readonly delayMs?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Calls `attempt` until it does not throw a conflict; the last conflict is thrown. `attempt` must
 * read the object that it changes.
 */
export async function retryOnConflict<Result>(
  attempt: () => Promise<Result>,
  options: RetryOptions = {},
): Promise<Result> {
  const { attemptsMax = 5, delayMs = 10, clock = systemClock, random = systemRandom } = options;
  for (let made = 1; ; made++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isStatusError(error, "Conflict") || made >= attemptsMax) throw error;
    }
    await sleep(clock, delayMs * made * (1 + random.next()), options.signal);
  }
}
