/** A single controller as a program that a control plane runs: the short form. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Clusters,
  type ClustersOptions,
  Controller,
  type ControllerOptions,
  logicalClusters,
  Manager,
  type Resource,
  singleCluster,
} from "@kcp-ts/sdk";
import type { ControllerProgram } from "./extensions.ts";

export interface SimpleController extends Omit<ControllerOptions, "clusters"> {
  /** A change of an object of any of these resources reconciles its key. */
  readonly watch: readonly Resource[];
}

/** Over all logical clusters, including later ones. For built-in types, which all of them serve. */
export function overLogicalClusters(options: SimpleController): ControllerProgram {
  return simpleController(options, (given) => logicalClusters(given));
}

/** In one logical cluster; also for types that only this cluster has. */
export function inLogicalCluster(
  cluster: ClusterName,
  options: SimpleController,
): ControllerProgram {
  return simpleController(options, ({ client, ...given }) =>
    singleCluster({ ...given, client: client.inCluster(cluster), cluster }),
  );
}

function simpleController(
  options: SimpleController,
  clustersOf: (given: ClustersOptions) => Clusters,
): ControllerProgram {
  const { watch, ...rest } = options;
  const program: ControllerProgram = ({ client, clock, log, signal }) => {
    const onError = (error: unknown) =>
      log.warn({ err: error, controller: options.name }, "a reconcile failed and is tried again");
    const clusters = clustersOf({ client, clock, onError });
    const controller = new Controller({ onError, clock, ...rest, clusters });
    for (const resource of watch) controller.watch(resource);
    return new Manager({ clusters: [clusters], controllers: [controller] }).run(signal);
  };
  // The controller has the name of its program.
  return Object.defineProperty(program, "name", { value: options.name });
}
