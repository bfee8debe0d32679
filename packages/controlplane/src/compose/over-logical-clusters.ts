/** A controller over all logical clusters, as a program that a control plane runs: the short way, for those with one controller. */
import {
  Controller,
  type ControllerOptions,
  logicalClusters,
  Manager,
  type Resource,
} from "@kcp-ts/sdk";
import type { ControllerProgram } from "./extensions.ts";

export interface LogicalClustersController extends Omit<ControllerOptions, "clusters"> {
  /** A change to an object of any of these reconciles its key. */
  readonly watch: readonly Resource[];
}

export function overLogicalClusters(options: LogicalClustersController): ControllerProgram {
  const { watch, ...rest } = options;
  return ({ client, clock, log, signal }) => {
    const onError = (error: unknown) =>
      log.warn({ err: error, controller: options.name }, "a reconcile failed and is tried again");
    const clusters = logicalClusters({ client, clock, onError });
    const controller = new Controller({ onError, clock, ...rest, clusters });
    for (const resource of watch) controller.watch(resource);
    return new Manager({ clusters: [clusters], controllers: [controller] }).run(signal);
  };
}
