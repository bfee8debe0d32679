/** `kcp start`: the control plane in this process, until a signal stops it. */
import { resolve } from "node:path";
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from "@kcp-ts/controlplane";
import { kcpVersion, systemClock } from "@kcp-ts/machinery/base";
import { loadKubeconfig } from "@kcp-ts/sdk";
import type { Command } from "commander";
import colors from "picocolors";
import { startShardProcesses } from "../operations/index.ts";
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
import { booleanFlag, commaSeparated, durationFlag } from "./flags.ts";
import {
  addControllersFlag,
  addPhysicalClusterFlags,
  type PhysicalClusterFlags,
  physicalClusterOptionsOf,
  selectedControllers,
} from "./physical-cluster-flags.ts";
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
import { addTenancyFlags, type TenancyFlags, tenancyOptionsOf } from "./tenancy-flags.ts";
import {
  addTrafficFlags,
  auditOptionsOf,
  type TrafficFlags,
  trafficLimitsOf,
} from "./traffic-flags.ts";

export interface StartFlags
  extends ServerFlags,
    StorageFlags,
    AuthenticationFlags,
    AuthorizationFlags,
    TenancyFlags,
    TrafficFlags,
    PhysicalClusterFlags {
  readonly shardExternalUrl?: string;
  readonly peerUrl?: string;
  readonly runControllers: boolean;
  readonly mountProxyClientCertFile?: string;
  readonly mountProxyClientKeyFile?: string;
  readonly mountProxyCaFile?: string;
  readonly mountAllowedHosts: readonly string[];
  readonly eventTtl: number;
  readonly console: boolean;
  readonly consoleOidcIssuerUrl?: string;
  readonly consoleOidcClientId?: string;
  readonly consoleOidcScopes?: readonly string[];
}

export function addStart(program: Command): void {
  const command = program
    .command("start")
    .description("Start the control plane: API server, workspaces and multi-cluster controllers.");
  addStartFlags(command).action((flags: StartFlags) => {
    const log = logOf(flags);
    const options = optionsOf(flags);
    const start = async () => {
      const rootShardUrl = await rootShardUrlOf(flags);
      const root = await startControlPlane({ ...options, rootShardUrl }, { log });
      return flags.shards === undefined || flags.shards === 1 ? root : withShards(root, flags, log);
    };
    // The process that has started a shard tells users when all is ready.
    const name = process.send === undefined ? "kcp" : `the shard ${flags.shardName}`;
    return serve({ name, log, start, banner: (server) => banner(server, options) });
  });
}

/** The flags of a control plane; a standby has them, too. */
export function addStartFlags(command: Command): Command {
  addServingFlags(command)
    .option(
      "--shard-external-url <url>",
      "base URL of workspaces in status.URL of the Shard (default: this server)",
    )
    .option(
      "--peer-url <url>",
      "https://host:port at which the other servers on the same etcd reach this server, for logs and exec of Pods whose agent is connected to this server",
    );
  addTlsFlags(command);
  addStorageFlags(command);
  addAuthenticationFlags(command);
  addAuthorizationFlags(command);
  addTenancyFlags(command);
  addMountFlags(addWebhookFlags(command, "webhooks, mounts and SyncTargets"));
  addControllerFlags(command);
  addConsoleFlags(command);
  addTrafficFlags(command);
  return addLogFlags(addStopFlags(command));
}

/** Starts the other shards; they stop before root does. */
async function withShards(
  root: ControlPlane,
  { rootDirectory, shards = 1, shardExternalUrl }: StartFlags,
  log: ReturnType<typeof logOf>,
): Promise<ControlPlane> {
  const { kubeconfigPath } = root;
  try {
    const others = await startShardProcesses({
      count: shards,
      rootDirectory: resolve(rootDirectory),
      kubeconfigPath: resolve(kubeconfigPath),
      url: shardExternalUrl ?? root.url,
      flags: process.argv.slice(process.argv.indexOf("start") + 1),
      clock: systemClock,
      log,
    });
    const stop = async () => {
      await others.stop();
      await root.stop();
    };
    return { ...root, stop };
  } catch (error) {
    await root.stop();
    throw error;
  }
}

async function rootShardUrlOf({
  rootShardKubeconfigFile: path,
}: StartFlags): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const { clusters, contexts, currentContext = "" } = await loadKubeconfig({ path });
  const cluster = clusters.get(contexts.get(currentContext)?.cluster ?? "");
  if (cluster === undefined) throw new Error(`the kubeconfig ${path} names no server`);
  return new URL(cluster.server).origin;
}

function addControllerFlags(command: Command): void {
  command
    .optionsGroup("Controller flags:")
    .option(
      "--run-controllers <bool>",
      "run the controllers: namespace lifecycle, garbage collection, service accounts, quota, and physical clusters",
      booleanFlag("--run-controllers"),
      true,
    );
  addControllersFlag(command).option(
    "--event-ttl <duration>",
    "amount of time to retain Events (default: 1h)",
    durationFlag("--event-ttl"),
    3_600_000,
  );
  addPhysicalClusterFlags(command.optionsGroup("Multi-cluster flags:"));
}

function addConsoleFlags(command: Command): void {
  command
    .optionsGroup("Console flags:")
    .option("--console <bool>", "serve the console at /console/", booleanFlag("--console"), true)
    .option(
      "--console-oidc-issuer-url <url>",
      "OIDC issuer of the console's login (default: --oidc-issuer-url)",
    )
    .option(
      "--console-oidc-client-id <id>",
      "public OIDC client of the console, with PKCE and the redirect URI <server>/console/ (default: --oidc-client-id)",
    )
    .option(
      "--console-oidc-scopes <scopes>",
      "comma-separated scopes that the console requests (default: openid,profile,email)",
      commaSeparated,
    );
}

function addMountFlags(command: Command): void {
  command
    .option(
      "--mount-proxy-client-cert-file <path>",
      "client certificate file for requests to mounted workspaces",
    )
    .option("--mount-proxy-client-key-file <path>", "its private key")
    .option(
      "--mount-proxy-ca-file <path>",
      "certificate authorities of the servers of mounted workspaces (default: the root CAs of the host)",
    )
    .option(
      "--mount-allowed-hosts <hosts>",
      "comma-separated hosts (mounts.example.com:6443, *.example.com) from which workspaces may be mounted; requests to them carry the identity of the user",
      commaSeparated,
      [],
    );
}

export function optionsOf(flags: StartFlags): ControlPlaneOptions {
  const isRunning = flags.runControllers;
  return {
    ...serverOptionsOf(flags),
    shardExternalUrl: flags.shardExternalUrl,
    peerUrl: flags.peerUrl,
    controllers: isRunning && selectedControllers(flags.controllers).controlLoops,
    physicalClusters: isRunning ? physicalClusterOptionsOf(flags) : undefined,
    mountProxyClientCertFile: flags.mountProxyClientCertFile,
    mountProxyClientKeyFile: flags.mountProxyClientKeyFile,
    mountProxyCaFile: flags.mountProxyCaFile,
    mountAllowedHosts: flags.mountAllowedHosts,
    ...authenticationOptionsOf(flags),
    ...authorizationOptionsOf(flags),
    ...tenancyOptionsOf(flags),
    eventTtlMs: flags.eventTtl,
    console: flags.console,
    consoleOidcIssuerUrl: flags.consoleOidcIssuerUrl,
    consoleOidcClientId: flags.consoleOidcClientId,
    consoleOidcScopes: flags.consoleOidcScopes,
    storage: storageOptionsOf(flags),
    audit: auditOptionsOf(flags),
    traffic: trafficLimitsOf(flags),
  };
}

/** The three next lines lead from an empty control plane to a first Deployment. */
export function banner(
  { url, kubeconfigPath }: Pick<ControlPlane, "url" | "kubeconfigPath">,
  { rootDirectory, storage }: Pick<ControlPlaneOptions, "rootDirectory" | "storage">,
): readonly string[] {
  const { bold, cyan, dim } = colors;
  const data = storage.kind === "embedded" ? resolve(rootDirectory, "data") : storage.kind;
  const root = rootDirectory === ".kcp" ? "" : ` --root-directory ${rootDirectory}`;
  return [
    "",
    `  ${bold(`kcp v${kcpVersion} is ready`)} at ${cyan(url)}`,
    `  ${dim("data:")} ${data}`,
    "",
    `  ${dim("Next, in another terminal:")}`,
    `    export KUBECONFIG=${kubeconfigPath}`,
    `    kcp sim --clusters 2 --join${root} &`,
    "    kubectl create deployment web --image=nginx --replicas=6",
    "",
    `  ${dim("Ctrl-C stops it.")}`,
    "",
    "",
  ];
}
