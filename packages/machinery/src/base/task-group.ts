/**
 * TaskGroup: concurrent tasks as one, like Go's errgroup: the first task that fails stops the
 * others, and its failure is the group's.
 *
 * Tasks may be added while the group runs. A task that ends is no failure.
 */
import { onAbort, untilAborted } from "./on-abort.ts";

export type Task = (signal: AbortSignal) => Promise<void>;

export class TaskGroup {
  readonly #stop = new AbortController();
  readonly #tasks = new Set<Promise<void>>();
  readonly #stopListening: () => void;
  #failure: { readonly error: unknown } | undefined;

  constructor(signal: AbortSignal) {
    this.#stopListening = onAbort(signal, () => this.#stop.abort(signal.reason));
  }

  /** Aborts when the group stops, or a task has failed. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  start(task: Task): void {
    const ended = this.#run(task).finally(() => this.#tasks.delete(ended));
    this.#tasks.add(ended);
  }

  /** A dependency of the group has failed: its tasks stop, as when one of them fails. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#stop.abort(error);
  }

  /**
   * Resolves when the signal has aborted and all tasks have ended; rejects then with the first
   * failure.
   */
  async join(): Promise<void> {
    await untilAborted(this.signal);
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
    this.#stopListening();
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #run(task: Task): Promise<void> {
    try {
      await task(this.signal);
    } catch (error) {
      this.fail(error);
    }
  }
}

/**
 * Runs the tasks until the signal aborts and all have ended, or one fails, which stops the others.
 */
export async function runTogether(signal: AbortSignal, tasks: readonly Task[]): Promise<void> {
  const group = new TaskGroup(signal);
  for (const task of tasks) group.start(task);
  await group.join();
}
