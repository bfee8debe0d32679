/**
 * The flags for physical clusters, and for the selection of controllers. They have kcp's names,
 * where kcp has them.
 */
import type { PhysicalClusterOptions } from "@kcp-ts/controlplane";
import { type MulticlusterController, multiclusterControllers } from "@kcp-ts/multicluster";
import { type Command, InvalidArgumentError } from "commander";
import { booleanFlag, commaSeparated, durationFlag } from "./flags.ts";

export interface PhysicalClusterFlags {
  readonly controllers: readonly string[];
  readonly resourcesToSync?: readonly string[];
  readonly autoPublishApis: boolean;
  readonly discoveryPollInterval: number;
  readonly syncerImage?: string;
  readonly defaultUnreachableToleration: number;
}

/** The server's own controllers: namespaces, garbage collection, tokens, quotas. */
const controlLoops = "control-loops";
const allControllers: readonly string[] = ["*"];
const names: readonly string[] = [controlLoops, ...multiclusterControllers];

export function addControllersFlag(command: Command): Command {
  return command.option(
    "--controllers <names>",
    `controllers to enable: * enables all, foo enables foo, -foo disables foo (${names.join(", ")})`,
    controllersFlag,
    allControllers,
  );
}

export function addPhysicalClusterFlags(command: Command): Command {
  return command
    .option(
      "--resources-to-sync <names>",
      'comma-separated resources to import and sync for SyncTargets without their own list; * is all (default: "deployments.apps,pods,replicasets.apps,statefulsets.apps,daemonsets.apps,controllerrevisions.apps,jobs.batch,cronjobs.batch,horizontalpodautoscalers.autoscaling,poddisruptionbudgets.policy,configmaps,secrets,serviceaccounts,persistentvolumeclaims,services,ingresses.networking.k8s.io,endpointslices.discovery.k8s.io,serviceimports.multicluster.x-k8s.io")',
      (text: string, before: readonly string[] | undefined) => commaSeparated(text, before ?? []),
    )
    .option(
      "--auto-publish-apis <bool>",
      "publish negotiated APIs without approval",
      booleanFlag("--auto-publish-apis"),
      true,
    )
    .option(
      "--discovery-poll-interval <duration>",
      "interval between discoveries of the APIs of clusters (default: 1m)",
      durationFlag("--discovery-poll-interval"),
      60_000,
    )
    .option(
      "--syncer-image <image>",
      "container image of the syncer, for clusters into which the control plane installs it",
    )
    .option(
      "--default-unreachable-toleration <duration>",
      "duration for which a cluster is unreachable before its replicas are rescheduled (default: 1m)",
      durationFlag("--default-unreachable-toleration"),
      60_000,
    );
}

export interface SelectedControllers {
  readonly controlLoops: boolean;
  readonly multicluster: readonly MulticlusterController[];
}

/** Parses the list as kube-controller-manager does: the star first, then the exclusions from it. */
export function selectedControllers(list: readonly string[]): SelectedControllers {
  const isOn = (name: string) =>
    list.includes(name) || (list.includes("*") && !list.includes(`-${name}`));
  return { controlLoops: isOn(controlLoops), multicluster: multiclusterControllers.filter(isOn) };
}

export function physicalClusterOptionsOf(flags: PhysicalClusterFlags): PhysicalClusterOptions {
  return {
    controllers: selectedControllers(flags.controllers).multicluster,
    resourcesToSync: flags.resourcesToSync,
    autoPublishApis: flags.autoPublishApis,
    importPollMs: flags.discoveryPollInterval,
    agentImage: flags.syncerImage,
    gracePeriods: { unreachableAfterMs: flags.defaultUnreachableToleration },
  };
}

/**
 * Repeated flags are joined; as soon as a resource is named, resources that are not named are not
 * synced.
 */
function controllersFlag(text: string, before: readonly string[]): readonly string[] {
  const given = text.split(",").filter((name) => name !== "");
  const unknown = given.find((name) => name !== "*" && !names.includes(name.replace(/^-/, "")));
  if (unknown !== undefined)
    throw new InvalidArgumentError(
      `there is no controller ${unknown}; there are ${names.join(", ")}.`,
    );
  return before === allControllers ? given : [...before, ...given];
}
