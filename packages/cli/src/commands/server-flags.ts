/**
 * The common flags of all servers: storage, listeners, outgoing connections, shutdown and logging.
 */
import { type ControlPlaneOptions, createLog } from "@kcp-ts/controlplane";
import type { Command } from "commander";
import { booleanFlag, commaSeparated, integerFlag, repeated } from "./flags.ts";

export interface ServerFlags {
  readonly rootDirectory: string;
  readonly bindAddress: string;
  readonly securePort: number;
  readonly externalHostname?: string;
  readonly kubeconfigPath?: string;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly tlsSniCertKey: readonly string[];
  readonly tlsMinVersion: string;
  readonly webhookDenyPrivateAddresses: boolean;
  readonly webhookServiceNetworks: readonly string[];
  readonly shutdownDelayDuration: number;
  readonly shutdownTimeout: number;
  readonly v: number;
  readonly logFormat?: "json" | "pretty";
}

export function addPlaceFlags(command: Command): Command {
  return command
    .optionsGroup("Generic flags:")
    .option("--root-directory <path>", "state and credentials", ".kcp")
    .option(
      "--kubeconfig-path <path>",
      "where to write the admin kubeconfig (default: <root>/admin.kubeconfig)",
    )
    .optionsGroup("Secure serving flags:")
    .option("--bind-address <address>", "address to listen on", "0.0.0.0")
    .option(
      "--secure-port <port>",
      "port to listen on; 0 takes a free one",
      integerFlag("--secure-port", 0, 65535),
      6443,
    )
    .option("--external-hostname <name>", "name or address that clients use (default: localhost)");
}

export function addTlsFlags(command: Command): Command {
  return command
    .option("--tls-cert-file <path>", "serving certificate (default: made and renewed by kcp)")
    .option("--tls-private-key-file <path>", "its private key")
    .option(
      "--tls-sni-cert-key <files>",
      "certificate,key[:name,name] for clients that ask for these names; repeatable",
      repeated,
      [],
    )
    .option("--tls-min-version <version>", "VersionTLS12 or VersionTLS13", "VersionTLS12");
}

/** `callees`: the outgoing connections that are rejected at private addresses. */
export function addWebhookFlags(command: Command, callees: string): Command {
  return command
    .optionsGroup("Egress and webhook flags:")
    .option(
      "--webhook-deny-private-addresses <bool>",
      `refuse ${callees} on this machine, in its network and at link-local addresses`,
      booleanFlag("--webhook-deny-private-addresses"),
      false,
    )
    .option(
      "--webhook-service-networks <networks>",
      "comma-separated networks (10.96.0.0/12) that Services of webhooks may lead to, although they are private or on this machine",
      commaSeparated,
      [],
    );
}

export function addStopFlags(command: Command): Command {
  return command
    .optionsGroup("Shutdown flags:")
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

export function addLogFlags(command: Command): Command {
  return command
    .optionsGroup("Logging flags:")
    .option(
      "-v <level>",
      "verbosity: 0 problems, 2 events, 4 every request",
      integerFlag("-v", 0, 10),
      2,
    )
    .option("--log-format <format>", "json or pretty (default: pretty on a terminal)");
}

export function serverOptionsOf(flags: ServerFlags) {
  return {
    rootDirectory: flags.rootDirectory,
    bindAddress: flags.bindAddress,
    securePort: flags.securePort,
    externalHostname: flags.externalHostname,
    kubeconfigPath: flags.kubeconfigPath,
    tlsCertFile: flags.tlsCertFile,
    tlsPrivateKeyFile: flags.tlsPrivateKeyFile,
    tlsSniCertKeys: flags.tlsSniCertKey,
    tlsMinVersion: flags.tlsMinVersion,
    webhookDenyPrivateAddresses: flags.webhookDenyPrivateAddresses,
    webhookServiceNetworks: flags.webhookServiceNetworks,
    shutdownDelayMs: flags.shutdownDelayDuration * 1000,
    shutdownTimeoutMs: flags.shutdownTimeout * 1000,
  } satisfies Partial<ControlPlaneOptions>;
}

export function logOf({ logFormat, v }: ServerFlags): ReturnType<typeof createLog> {
  const format = logFormat ?? (process.stderr.isTTY === true ? "pretty" : "json");
  return createLog({ format, verbosity: v });
}
