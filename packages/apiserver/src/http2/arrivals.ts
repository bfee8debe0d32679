/** Requests of a connection whose bodies are waited for, in the order of their numbers: each as long as it may, by one timer for all. */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { eventLoopLimits, type InboundBudget } from "../event-loop/index.ts";
import type { ServerStream } from "./server-stream.ts";

export class Arrivals {
  readonly #clock: Clock;
  readonly #inbound: InboundBudget;
  readonly #streams = new Set<ServerStream>();
  #timer: Timer | undefined;
  /** The newest stream that was waited for. */
  #newestId = 0;

  constructor(clock: Clock, inbound: InboundBudget) {
    this.#clock = clock;
    this.#inbound = inbound;
  }

  /** False when too many are waited for. */
  add(stream: ServerStream): boolean {
    if (!this.#inbound.arriving()) return false;
    this.#streams.add(stream);
    this.#newestId = Math.max(this.#newestId, stream.id);
    if (this.#timer === undefined) this.#wait();
    return true;
  }

  delete(stream: ServerStream): void {
    if (this.#streams.delete(stream)) this.#inbound.arrived();
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  /** Those that were there when the timer was set have waited long enough when it goes off. */
  #wait(): void {
    const newestId = this.#newestId;
    this.#timer = this.#clock.schedule(eventLoopLimits.inbound.arrivalMaxMs, () => {
      this.#timer = undefined;
      for (const stream of this.#streams) {
        if (stream.id > newestId) break;
        stream.waitNoLonger();
      }
      if (this.#streams.size > 0) this.#wait();
    });
  }
}
