/** `kcp start`: the control plane in this process, until a signal ends it. */
import {
  type ControlPlane,
  type ControlPlaneOptions,
  createLog,
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
import { booleanFlag, commaSeparated, durationFlag, integerFlag, repeated } from "./flags.ts";
import {
  addControllersFlag,
  addPhysicalClusterFlags,
  chosenControllers,
  type PhysicalClusterFlags,
  physicalClusterOptionsOf,
} from "./physical-cluster-flags.ts";
import { addStorageFlags, type StorageFlags, storageOptionsOf } from "./storage-flags.ts";
import { addTenancyFlags, type TenancyFlags, tenancyOptionsOf } from "./tenancy-flags.ts";
import {
  addTrafficFlags,
  auditOptionsOf,
  type TrafficFlags,
  trafficLimitsOf,
} from "./traffic-flags.ts";

interface StartFlags
  extends StorageFlags,
    AuthenticationFlags,
    AuthorizationFlags,
    TenancyFlags,
    TrafficFlags,
    PhysicalClusterFlags {
  readonly rootDirectory: string;
  readonly bindAddress: string;
  readonly securePort: number;
  readonly externalHostname?: string;
  readonly shardExternalUrl?: string;
  readonly peerUrl?: string;
  readonly kubeconfigPath?: string;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly tlsSniCertKey: readonly string[];
  readonly tlsMinVersion: string;
  readonly runControllers: boolean;
  readonly webhookDenyPrivateAddresses: boolean;
  readonly webhookServiceNetworks: readonly string[];
  readonly mountProxyClientCertFile?: string;
  readonly mountProxyClientKeyFile?: string;
  readonly mountProxyCaFile?: string;
  readonly mountAllowedHosts: readonly string[];
  readonly eventTtl: number;
  readonly shutdownDelayDuration: number;
  readonly shutdownTimeout: number;
  readonly v: number;
  readonly logFormat?: "json" | "pretty";
}

export function addStart(program: Command): void {
  const command = program
    .command("start")
    .description("Serve: a control plane in this process.")
    .optionsGroup("Where it lives:")
    .option("--root-directory <path>", "state and credentials", ".kcp")
    .option(
      "--kubeconfig-path <path>",
      "where to write the admin kubeconfig (default: <root>/admin.kubeconfig)",
    )
    .optionsGroup("Where it listens:")
    .option("--bind-address <address>", "address to listen on", "0.0.0.0")
    .option(
      "--secure-port <port>",
      "port to listen on; 0 takes a free one",
      integerFlag("--secure-port", 0, 65535),
      6443,
    )
    .option("--external-hostname <name>", "name or address that clients use (default: localhost)")
    .option("--shard-external-url <url>", "where workspaces say they are (default: this server)")
    .option(
      "--peer-url <url>",
      "https://host:port where other servers on the same etcd reach this one: for logs and sessions of Pods that only this server has a way to",
    )
    .option("--tls-cert-file <path>", "serving certificate (default: made and renewed by kcp)")
    .option("--tls-private-key-file <path>", "its private key")
    .option(
      "--tls-sni-cert-key <files>",
      "certificate,key[:name,name] for clients that ask for these names; repeatable",
      repeated,
      [],
    )
    .option("--tls-min-version <version>", "VersionTLS12 or VersionTLS13", "VersionTLS12");
  addStorageFlags(command);
  addAuthenticationFlags(command);
  addAuthorizationFlags(command);
  addTenancyFlags(command);
  addWebhookFlags(command);
  addControllerFlags(command);
  addTrafficFlags(command);
  addStopFlags(command);
  command
    .optionsGroup("What it says:")
    .option(
      "-v <level>",
      "verbosity: 0 problems, 2 events, 4 every request",
      integerFlag("-v", 0, 10),
      2,
    )
    .option("--log-format <format>", "json or pretty (default: pretty on a terminal)")
    .action((flags: StartFlags) => start(flags));
}

function addStopFlags(command: Command): void {
  command
    .optionsGroup("How it stops:")
    .option(
      "--shutdown-delay-duration <seconds>",
      "keep serving this long with readyz failing",
      integerFlag("--shutdown-delay-duration", 0, 3600),
      0,
    )
    .option(
      "--shutdown-timeout <seconds>",
      "cut off requests after this long",
      integerFlag("--shutdown-timeout", 1, 3600),
      30,
    );
}

function addControllerFlags(command: Command): void {
  command
    .optionsGroup("What it does by itself:")
    .option(
      "--run-controllers <bool>",
      "empty deleted namespaces, collect garbage, fill new namespaces, count for quotas; connect to physical clusters",
      booleanFlag("--run-controllers"),
      true,
    );
  addControllersFlag(command).option(
    "--event-ttl <duration>",
    "how long Events are kept after they were last written (default: 1h)",
    durationFlag("--event-ttl"),
    3_600_000,
  );
  addPhysicalClusterFlags(command.optionsGroup("What it does with physical clusters:"));
}

function addWebhookFlags(command: Command): void {
  command
    .optionsGroup("Where it calls out to:")
    .option(
      "--webhook-deny-private-addresses <bool>",
      "refuse webhooks, mounts and SyncTargets on this machine, in its network and at link-local addresses",
      booleanFlag("--webhook-deny-private-addresses"),
      false,
    )
    .option(
      "--webhook-service-networks <networks>",
      "comma-separated networks (10.96.0.0/12) that Services of webhooks may lead to, although they are private or on this machine",
      commaSeparated,
      [],
    )
    .option(
      "--mount-proxy-client-cert-file <path>",
      "certificate that this server shows to where workspaces are mounted from",
    )
    .option("--mount-proxy-client-key-file <path>", "its private key")
    .option(
      "--mount-proxy-ca-file <path>",
      "authorities that must have signed such places (default: those of the system)",
    )
    .option(
      "--mount-allowed-hosts <hosts>",
      "comma-separated hosts (mounts.example.com:6443, *.example.com) that workspaces may be mounted from: requests to them say who asks",
      commaSeparated,
      [],
    );
}

async function start(flags: StartFlags): Promise<void> {
  const isTerminal = process.stderr.isTTY === true;
  const log = createLog({
    format: flags.logFormat ?? (isTerminal ? "pretty" : "json"),
    verbosity: flags.v,
  });
  // From the first moment on: a signal that comes during the start is not lost, nor one on the heels of "ready".
  const signalled = untilSignal((message) => log.info({}, message));
  const plane = await startControlPlane(optionsOf(flags), { log });
  log.info({ url: plane.url, kubeconfig: plane.kubeconfigPath }, "kcp is ready");
  if (isTerminal) banner(plane);
  await signalled;
  await plane.stop();
  log.info({}, "stopped");
}

function optionsOf(flags: StartFlags): ControlPlaneOptions {
  const isRunning = flags.runControllers;
  return {
    rootDirectory: flags.rootDirectory,
    bindAddress: flags.bindAddress,
    securePort: flags.securePort,
    externalHostname: flags.externalHostname,
    shardExternalUrl: flags.shardExternalUrl,
    peerUrl: flags.peerUrl,
    kubeconfigPath: flags.kubeconfigPath,
    tlsCertFile: flags.tlsCertFile,
    tlsPrivateKeyFile: flags.tlsPrivateKeyFile,
    tlsSniCertKeys: flags.tlsSniCertKey,
    tlsMinVersion: flags.tlsMinVersion,
    controllers: isRunning && chosenControllers(flags.controllers).controlLoops,
    physicalClusters: isRunning ? physicalClusterOptionsOf(flags) : undefined,
    webhookDenyPrivateAddresses: flags.webhookDenyPrivateAddresses,
    webhookServiceNetworks: flags.webhookServiceNetworks,
    mountProxyClientCertFile: flags.mountProxyClientCertFile,
    mountProxyClientKeyFile: flags.mountProxyClientKeyFile,
    mountProxyCaFile: flags.mountProxyCaFile,
    mountAllowedHosts: flags.mountAllowedHosts,
    ...authenticationOptionsOf(flags),
    ...authorizationOptionsOf(flags),
    ...tenancyOptionsOf(flags),
    eventTtlMs: flags.eventTtl,
    storage: storageOptionsOf(flags),
    audit: auditOptionsOf(flags),
    traffic: trafficLimitsOf(flags),
    shutdownDelayMs: flags.shutdownDelayDuration * 1000,
    shutdownTimeoutMs: flags.shutdownTimeout * 1000,
  };
}

function banner({ url, kubeconfigPath }: ControlPlane): void {
  const { bold, cyan, dim } = colors;
  process.stderr.write(
    [
      "",
      `  ${bold("kcp is ready")} at ${cyan(url)}`,
      "",
      `  ${dim("Talk to it from another terminal:")}`,
      `    export KUBECONFIG=${kubeconfigPath}`,
      "    kubectl create configmap hello --from-literal=who=world",
      "    kubectl get configmaps",
      "",
      `  ${dim("A logical cluster of its own is one path away:")}`,
      `    kubectl --server ${url}/clusters/my-team get namespaces`,
      "",
      `  ${dim("Ctrl-C stops it.")}`,
      "",
      "",
    ].join("\n"),
  );
}

/** The first signal stops in good order, the second at once. */
function untilSignal(say: (message: string) => void): Promise<void> {
  return new Promise<void>((resolve) => {
    let signals = 0;
    const onSignal = () => {
      if (++signals > 1) process.exit(130);
      say("stopping; a second signal stops at once");
      resolve();
    };
    process.on("SIGINT", onSignal);
    process.on("SIGTERM", onSignal);
  });
}
