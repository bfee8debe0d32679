/**
 * For the test of applications: every write that a control plane is asked for, by whomever, whether
 * or not it changes anything.
 */
import type { Middleware } from "@kcp-ts/controlplane";
import { sleep, systemClock } from "@kcp-ts/machinery/base";

/** Syncers renew their Leases. */
const renewal = /\/leases\/[^/]+/;

export class WriteRecorder {
  readonly #writes: string[] = [];

  readonly middleware: Middleware = (request, next) => {
    const { method, target } = request;
    if (method !== "GET" && !renewal.test(target)) this.#writes.push(`${method} ${target}`);
    return next(request);
  };

  get count(): number {
    return this.#writes.length;
  }

  /** What is asked for in the next so many milliseconds. */
  async within(durationMs: number): Promise<readonly string[]> {
    const before = this.#writes.length;
    await sleep(systemClock, durationMs);
    return this.#writes.slice(before);
  }
}
