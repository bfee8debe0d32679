/**
 * The namespace controller: one watch on the terminating namespaces of all logical clusters. It
 * receives no other namespaces, and keeps only the keys of its queue.
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
  /** The server's client, not that of one cluster. */
  readonly client: Client;
  readonly clock?: Clock;
  /** After this number of deletions a namespace is requeued, behind those of other clusters. */
  readonly objectsPerTurnMax?: number;
  readonly onError: NonNullable<ControllerOptions["onError"]> & ((error: unknown) => void);
}

/** Concurrently reconciled namespaces. */
const concurrencyDefault = 4;
const objectsPerTurnMaxDefault = 5000;
/** The timeout of one pass; far more than a pass needs, far less than forever. */
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
      observed: (_, { key, origin }) =>
        controller.enqueue(key, { priority: origin === "state" ? initialPriority : 0 }),
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
