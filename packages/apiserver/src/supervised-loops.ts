/** Wiring of the loops of the process with the log, /metrics and /readyz. */
import { type Clock, LoopSupervisor, type Random } from "@kcp-ts/machinery/base";
import type { HealthCheck } from "./health/index.ts";
import { Counter } from "./metrics/index.ts";
import type { ServerLog } from "./server-log.ts";

export interface SupervisedLoopsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Pick<ServerLog, "error">;
}

export class SupervisedLoops extends LoopSupervisor {
  readonly restarts: Counter;

  constructor({ clock, random, log }: SupervisedLoopsOptions) {
    const restarts = new Counter({
      name: "kcp_control_loop_restarts_total",
      help: "Control loops that ended or failed while the server ran, and were started again.",
      labels: ["loop"],
    });
    super({
      clock,
      random,
      onDown: ({ loop, error, restartMs }) => {
        restarts.add([loop]);
        log.error({ err: error, loop, restartMs }, "a control loop failed and is started again");
      },
    });
    this.restarts = restarts;
  }

  /** One health check for each loop that runs, or should run. */
  get checks(): HealthCheck[] {
    return Array.from(this.loops, ({ name, down }) => ({
      name: `loop/${name}`,
      check: () => down,
    }));
  }
}
