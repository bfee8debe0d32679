/**
 * `kcp apiserver`: a plain API server in this process, without workspaces and physical clusters,
 * until a signal stops it.
 */
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from "@kcp-ts/controlplane";
import type { Command } from "commander";
import colors from "picocolors";
import {
  type AuthenticationFlags,
  addAuthenticationFlags,
  authenticationOptionsOf,
} from "./authentication-flags.ts";
import {
  type AuthorizationFlags,
  addAuthorizationFlags,
  authorizationOptionsOf,
} from "./authorization-flags.ts";
import { booleanFlag, durationFlag } from "./flags.ts";
import { serve } from "./serve.ts";
import {
  addLogFlags,
  addServingFlags,
  addStopFlags,
  addTlsFlags,
  addWebhookFlags,
  logOf,
  type ServerFlags,
  serverOptionsOf,
} from "./server-flags.ts";
import { addStorageFlags, type StorageFlags, storageOptionsOf } from "./storage-flags.ts";
import {
  addTrafficFlags,
  auditOptionsOf,
  type TrafficFlags,
  trafficLimitsOf,
} from "./traffic-flags.ts";

interface ApiServerFlags
  extends ServerFlags,
    StorageFlags,
    AuthenticationFlags,
    AuthorizationFlags,
    TrafficFlags {
  readonly runControllers: boolean;
  readonly eventTtl: number;
}

export function addApiServer(program: Command): void {
  const command = program
    .command("apiserver")
    .description("Start a Kubernetes API server alone: no workspaces, no physical clusters.");
  addTlsFlags(addServingFlags(command));
  addStorageFlags(command);
  addAuthenticationFlags(command);
  addAuthorizationFlags(command);
  addWebhookFlags(command, "webhooks");
  command
    .optionsGroup("Controller flags:")
    .option(
      "--run-controllers <bool>",
      "run the controllers: namespace lifecycle, garbage collection, service accounts, quota",
      booleanFlag("--run-controllers"),
      true,
    )
    .option(
      "--event-ttl <duration>",
      "amount of time to retain Events (default: 1h)",
      durationFlag("--event-ttl"),
      3_600_000,
    );
  addTrafficFlags(command);
  addLogFlags(addStopFlags(command)).action((flags: ApiServerFlags) => {
    const log = logOf(flags);
    const start = () => startControlPlane(optionsOf(flags), { log });
    return serve({ name: "the API server", log, start, banner });
  });
}

function optionsOf(flags: ApiServerFlags): ControlPlaneOptions {
  return {
    isAlone: true,
    ...serverOptionsOf(flags),
    ...authenticationOptionsOf(flags),
    ...authorizationOptionsOf(flags),
    controllers: flags.runControllers,
    eventTtlMs: flags.eventTtl,
    storage: storageOptionsOf(flags),
    audit: auditOptionsOf(flags),
    traffic: trafficLimitsOf(flags),
  };
}

function banner({ url, kubeconfigPath }: ControlPlane): readonly string[] {
  const { bold, cyan, dim } = colors;
  return [
    "",
    `  ${bold("The API server is ready")} at ${cyan(url)}`,
    "",
    `  ${dim("Talk to it from another terminal:")}`,
    `    export KUBECONFIG=${kubeconfigPath}`,
    "    kubectl create configmap hello --from-literal=who=world",
    "    kubectl get configmaps",
    "",
    `  ${dim("Ctrl-C stops it.")}`,
    "",
    "",
  ];
}
