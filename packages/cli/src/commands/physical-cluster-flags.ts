/** The flags that say what is done with physical clusters, and which controllers run. Named as in kcp, where it had them. */

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
  readonly lostClusterToleration: number;
}

/** The server's own: namespaces, garbage, tokens, quotas. */
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
      "--lost-cluster-toleration <duration>",
      "how long a cluster may be out of reach before what it has is replaced elsewhere (default: 1m)",
      durationFlag("--lost-cluster-toleration"),
      60_000,
    );
}

export interface SelectedControllers {
  readonly controlLoops: boolean;
  readonly parts: readonly MulticlusterController[];
}

/** As kube-controller-manager reads such a list: the star first, then what is taken from it. */
export function selectedControllers(list: readonly string[]): SelectedControllers {
  const isOn = (name: string) =>
    list.includes(name) || (list.includes("*") && !list.includes(`-${name}`));
  return { controlLoops: isOn(controlLoops), parts: multiclusterControllers.filter(isOn) };
}

export function physicalClusterOptionsOf(flags: PhysicalClusterFlags): PhysicalClusterOptions {
  return {
    parts: selectedControllers(flags.controllers).parts,
    resourcesToSync: flags.resourcesToSync,
    autoPublishApis: flags.autoPublishApis,
    importPollMs: flags.discoveryPollInterval,
    agentImage: flags.syncerImage,
    patience: { graceMs: flags.lostClusterToleration },
  };
}

/** Given several times, the lists are joined; what is not asked for is not wanted, as soon as anything is. */
function controllersFlag(text: string, before: readonly string[]): readonly string[] {
  const given = text.split(",").filter((name) => name !== "");
  const unknown = given.find((name) => name !== "*" && !names.includes(name.replace(/^-/, "")));
  if (unknown !== undefined)
    throw new InvalidArgumentError(
      `there is no controller ${unknown}; there are ${names.join(", ")}.`,
    );
  return before === allControllers ? given : [...before, ...given];
}
