/** The health of etcd for reads and writes, from the outcomes of calls and from periodic probes. */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { GrpcError, grpcCode } from "../../grpc/index.ts";
import type { StorageFault } from "../storage.ts";
import { isNoSpace, toStorageError } from "./etcd-error.ts";
import type { StatusResponse } from "./generated/etcd_pb.ts";

export interface EtcdHealthOptions {
  readonly clock: Clock;
  readonly intervalMs: number;
  readonly endpoints: string;
  /** A read that requires a quorum. */
  readonly probe: () => Promise<unknown>;
  readonly status: () => Promise<StatusResponse>;
  /** The reason why there is no connection. */
  readonly connectionProblem: () => string | undefined;
}

export class EtcdHealth {
  readonly #options: EtcdHealthOptions;
  #callProblem: string | undefined;
  #alarm: string | undefined;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(options: EtcdHealthOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#stopped) return;
    this.#timer = this.#options.clock.schedule(this.#options.intervalMs, () => {
      void this.#probe().finally(() => this.start());
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Records the outcome of a call. Errors that only concern the caller are ignored. */
  recordOutcome(error: GrpcError | undefined): void {
    if (error === undefined) this.#callProblem = undefined;
    else if (isNoSpace(error)) this.#alarm = toStorageError(error, "alarm").message;
    else if (clusterCodes.has(error.code))
      this.#callProblem = toStorageError(error, "call").message;
  }

  fault(): StorageFault | undefined {
    const problem = this.#options.connectionProblem() ?? this.#callProblem ?? this.#alarm;
    if (problem === undefined) return undefined;
    return { message: `etcd at ${this.#options.endpoints}: ${problem}` };
  }

  async #probe(): Promise<void> {
    try {
      await this.#options.probe();
      const { errors } = await this.#options.status();
      const alarms = errors.filter((text) => text.includes("alarm"));
      this.#alarm =
        alarms.length === 0
          ? undefined
          : toStorageError(
              new GrpcError(
                grpcCode.resourceExhausted,
                alarms.some((text) => text.includes("NOSPACE"))
                  ? "database space exceeded (NOSPACE alarm)"
                  : alarms.join(", "),
                "answered",
              ),
              "alarm",
            ).message;
    } catch {
      // The calls themselves have recorded the error.
      return;
    }
  }
}

const clusterCodes = new Set<number>([
  grpcCode.unavailable,
  grpcCode.deadlineExceeded,
  grpcCode.unauthenticated,
  grpcCode.permissionDenied,
  grpcCode.internal,
  grpcCode.unknown,
  grpcCode.dataLoss,
]);
