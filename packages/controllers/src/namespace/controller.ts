/**
 * The namespace controller: one watch on the namespaces of all logical clusters that are being deleted. Of the others it hears nothing, and of
 * these it remembers nothing but that there is work.
 */
import { type Clock, runTogether, systemClock } from "@kcp-ts/machinery/base";
import {
  type Client,
  Controller,
  type ControllerOptions,
  initialPriority,
  logicalClusters,
  StorelessInformer,
} from "@kcp-ts/sdk";
import { type Namespace, namespaces } from "../api/index.ts";
import type { ControlLoop } from "../control-loop.ts";
import { reconcileNamespace } from "./reconcile.ts";

export interface NamespaceControllerOptions
  extends Pick<ControllerOptions, "metrics" | "concurrency"> {
  /** Of the server, not of one cluster of it. */
  readonly client: Client;
  readonly clock?: Clock;
  /** After so many deletions a namespace waits for its next turn, behind those of other clusters. */
  readonly objectsPerTurnMax?: number;
  readonly onError: NonNullable<ControllerOptions["onError"]> & ((error: unknown) => void);
}

/** Namespaces at a time. */
const concurrencyDefault = 4;
const objectsPerTurnMaxDefault = 5000;
/** For one turn; far more than one needs, far less than forever. */
const turnTimeoutMs = 300_000;

export function namespaceController(options: NamespaceControllerOptions): ControlLoop {
  const { client, clock = systemClock, onError, metrics } = options;
  const { concurrency = concurrencyDefault } = options;
  const objectsPerTurnMax = options.objectsPerTurnMax ?? objectsPerTurnMaxDefault;
  const controller = new Controller({
    name: "namespace",
    clusters: logicalClusters({ client, clock }),
    concurrency,
    onError,
    ...(metrics === undefined ? {} : { metrics }),
    timeoutMs: turnTimeoutMs,
    clock,
    reconcile: ({ name }, context) =>
      reconcileNamespace(name, { ...context, clock, objectsPerTurnMax }),
  });
  const follower = new StorelessInformer<Namespace>({
    client,
    resource: namespaces,
    scope: "all-clusters",
    selector: { fieldSelector: "status.phase=Terminating" },
    clock,
    onError,
    handler: {
      told: (_, { key, as }) =>
        controller.enqueue(key, { priority: as === "state" ? initialPriority : 0 }),
    },
  });
  return {
    run: async (signal) => {
      await runTogether(signal, [
        (stop) => follower.run(stop),
        (stop) => controller.run({ signal: stop }),
      ]);
    },
  };
}
