/**
 * Manager: runs clusters and controllers together, the controllers only while this process leads, if leading is asked for.
 *
 * Sources are kept true also while another process leads, so that taking over takes no time.
 */
import { onAbort } from "../client/index.ts";
import type { LeaderElector } from "../leader-election/index.ts";
import type { Clusters } from "./clusters.ts";
import type { Controller } from "./controller.ts";

export interface ManagerOptions {
  readonly clusters: readonly Clusters[];
  readonly controllers: readonly Controller[];
  readonly elector?: LeaderElector;
}

export class LeadershipLost extends Error {
  override readonly name = "LeadershipLost";
}

export class Manager {
  readonly #options: ManagerOptions;

  constructor(options: ManagerOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the signal has aborted and all work is finished. Rejects with LeadershipLost when another process took over:
   * the program should end then and be started anew.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clusters, controllers, elector } = this.#options;
    // Sources outlive the controllers: a reconcile under way still reads them.
    const sources = new AbortController();
    const running = Promise.all(clusters.map((one) => one.run(sources.signal)));
    try {
      if (elector === undefined) {
        await Promise.all(controllers.map((one) => one.run({ signal })));
        return;
      }
      let isLost = false;
      const ended = new AbortController();
      const stop = () => ended.abort();
      onAbort(signal, stop);
      await elector.run(ended.signal, async (leadership) => {
        const workSignal = leadership.signal;
        await Promise.all(controllers.map((one) => one.run({ signal, workSignal })));
        isLost = leadership.signal.aborted;
        stop();
      });
      if (isLost) throw new LeadershipLost("another process leads now");
    } finally {
      sources.abort();
      await running;
    }
  }
}
