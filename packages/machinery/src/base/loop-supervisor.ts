/**
 * LoopSupervisor: the long-running loops of a process. A loop that ends or fails before its signal
 * aborts is restarted with growing backoff.
 *
 * The supervisor knows which loops are down, and why, so that the process can report that it is not
 * ready.
 */
import { type Clock, sleep } from "./clock.ts";
import { onAbort } from "./on-abort.ts";
import type { Random } from "./random.ts";
import type { Task } from "./task-group.ts";

export interface Supervisor {
  /**
   * Runs a loop under its name until the signal aborts. The function is called for each start, and
   * creates its state again.
   */
  runLoop(name: string, signal: AbortSignal, loop: Task): Promise<void>;
  /** Runs a task to its end, or until the signal aborts: a failed task is restarted. */
  runTask(name: string, signal: AbortSignal, task: Task): Promise<void>;
}

export interface LoopSupervisorOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly onDown: (failure: LoopFailure) => void;
}

export interface LoopFailure {
  readonly loop: string;
  readonly error: unknown;
  readonly restartMs: number;
}

export interface LoopState {
  readonly name: string;
  /** Why the loop is down; undefined while it runs. */
  readonly down: string | undefined;
}

interface MutableState extends LoopState {
  down: string | undefined;
}

export const restartMinMs = 1000;
export const restartMaxMs = 60_000;
/** A loop that ran for this long is restarted as after a first failure. */
export const healthyMs = 300_000;

export class LoopSupervisor implements Supervisor {
  readonly #options: LoopSupervisorOptions;
  readonly #loops = new Set<MutableState>();

  constructor(options: LoopSupervisorOptions) {
    this.#options = options;
  }

  /** Loops, and tasks that have failed and are not running again yet. */
  get loops(): Iterable<LoopState> {
    return this.#loops;
  }

  async runLoop(name: string, signal: AbortSignal, loop: Task): Promise<void> {
    const state = { name, down: undefined };
    this.#loops.add(state);
    await this.#run(state, signal, async (stop) => {
      await loop(stop);
      if (!signal.aborted) throw new Error("the loop ended");
    });
    this.#loops.delete(state);
  }

  runTask(name: string, signal: AbortSignal, task: Task): Promise<void> {
    return this.#run({ name, down: undefined }, signal, task);
  }

  async #run(state: MutableState, signal: AbortSignal, task: Task): Promise<void> {
    const { clock } = this.#options;
    for (let failures = 0; !signal.aborted; failures++) {
      const startedAtMs = clock.monotonic();
      const failed = await failureOf(task, signal);
      if (failed === undefined || signal.aborted) break;
      if (clock.monotonic() - startedAtMs >= healthyMs) failures = 0;
      const { error } = failed;
      const isListed = this.#loops.has(state);
      state.down = error instanceof Error ? error.message : String(error);
      this.#loops.add(state);
      await this.#pause({ loop: state.name, error, restartMs: this.#restartMs(failures) }, signal);
      state.down = undefined;
      if (!isListed) this.#loops.delete(state);
    }
  }

  async #pause(failure: LoopFailure, signal: AbortSignal): Promise<void> {
    this.#options.onDown(failure);
    await sleep(this.#options.clock, failure.restartMs, signal).catch(() => {
      // Only the signal ends the wait early, and the surrounding loop checks the signal.
    });
  }

  #restartMs(failures: number): number {
    const delayMs = Math.min(restartMaxMs, restartMinMs * 2 ** failures);
    return delayMs * (0.75 + this.#options.random.next() / 4);
  }
}

/** Undefined when the task has ended. Work that a failed task leaves running is stopped. */
async function failureOf(
  task: Task,
  signal: AbortSignal,
): Promise<{ readonly error: unknown } | undefined> {
  const attempt = new AbortController();
  const stopListening = onAbort(signal, () => attempt.abort(signal.reason));
  try {
    await task(attempt.signal);
    return undefined;
  } catch (error) {
    attempt.abort(error);
    return { error };
  } finally {
    stopListening();
  }
}
