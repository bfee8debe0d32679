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
    `which of them: * for all, name for one, -name for not that one (${names.join(", ")})`,
    controllersFlag,
    allControllers,
  );
}

export function addPhysicalClusterFlags(command: Command): Command {
  return command
    .option(
      "--resources-to-sync <names>",
      'what is imported and synced where a SyncTarget does not say; * is everything (default: "deployments.apps,pods,replicasets.apps,statefulsets.apps,daemonsets.apps,controllerrevisions.apps,jobs.batch,cronjobs.batch,horizontalpodautoscalers.autoscaling,poddisruptionbudgets.policy,configmaps,secrets,serviceaccounts,persistentvolumeclaims,services,ingresses.networking.k8s.io,endpointslices.discovery.k8s.io,serviceimports.multicluster.x-k8s.io")',
      (text: string, before: readonly string[] | undefined) => commaSeparated(text, before ?? []),
    )
    .option(
      "--auto-publish-apis <bool>",
      "serve what was negotiated without being asked to",
      booleanFlag("--auto-publish-apis"),
      true,
    )
    .option(
      "--discovery-poll-interval <duration>",
      "how often clusters are asked whether their APIs have changed (default: 1m)",
      durationFlag("--discovery-poll-interval"),
      60_000,
    )
    .option(
      "--syncer-image <image>",
      "what agents are run from, where they are installed from here",
    )
    .option(
      "--default-unreachable-toleration <duration>",
      "how long a cluster may be unreachable before its replicas are rescheduled (default: 1m)",
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
