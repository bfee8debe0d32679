/** The namespace controller: one watch on the namespaces of all logical clusters, work only for those that are being deleted. */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { type Clusters, Controller, type ControllerOptions } from "@kcp-ts/sdk";
import { type Namespace, type NamespacePhase, namespaces, phaseOf } from "../api/index.ts";
import { reconcileNamespace } from "./reconcile.ts";

export interface NamespaceControllerOptions
  extends Pick<ControllerOptions, "metrics" | "onError" | "concurrency"> {
  readonly clusters: Clusters;
  readonly clock?: Clock;
  /** After so many deletions a namespace waits for its next turn, behind those of other clusters. */
  readonly objectsPerTurnMax?: number;
}

/** Namespaces at a time. */
const concurrencyDefault = 4;
const objectsPerTurnMaxDefault = 5000;
/** For one turn; far more than one needs, far less than forever. */
const turnTimeoutMs = 300_000;

export function namespaceController(options: NamespaceControllerOptions): Controller {
  const { clock = systemClock, objectsPerTurnMax = objectsPerTurnMaxDefault, ...rest } = options;
  return new Controller({
    concurrency: concurrencyDefault,
    ...rest,
    name: "namespace",
    timeoutMs: turnTimeoutMs,
    clock,
    reconcile: ({ name }, { client, signal }) =>
      reconcileNamespace(name, { client, clock, signal, objectsPerTurnMax }),
  }).watch<Namespace, NamespacePhase>(namespaces, {
    transform: phaseOf,
    predicate: ({ type, object }) => type !== "deleted" && object === "Terminating",
  });
}
