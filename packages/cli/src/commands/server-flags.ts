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
  readonly encryptionProviderConfig?: string;
  readonly tracingConfigFile?: string;
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

export function addServingFlags(command: Command): Command {
  return command
    .optionsGroup("Generic flags:")
    .option("--root-directory <path>", "directory of the data and the credentials", ".kcp")
    .option(
      "--kubeconfig-path <path>",
      "path of the admin kubeconfig to write (default: <root>/admin.kubeconfig)",
    )
    .optionsGroup("Secure serving flags:")
    .option("--bind-address <address>", "the IP address on which to listen", "0.0.0.0")
    .option(
      "--secure-port <port>",
      "the port on which to serve HTTPS; 0 selects a free port",
      integerFlag("--secure-port", 0, 65535),
      6443,
    )
    .option(
      "--external-hostname <name>",
      "the hostname or address of this server in generated URLs (default: localhost)",
    );
}

export function addTlsFlags(command: Command): Command {
  return command
    .option(
      "--encryption-provider-config <path>",
      "file with an EncryptionConfiguration: which resources are encrypted in the store, by which keys",
    )
    .option(
      "--tls-cert-file <path>",
      "file with the x509 certificate for HTTPS (default: generated and renewed in <root>)",
    )
    .option("--tls-private-key-file <path>", "its private key")
    .option(
      "--tls-sni-cert-key <files>",
      "x509 certificate and private key file pair for these domain names, as cert,key[:name,name]; repeatable",
      repeated,
      [],
    )
    .option(
      "--tls-min-version <version>",
      "minimum TLS version supported: VersionTLS12 or VersionTLS13",
      "VersionTLS12",
    );
}

/** `callees`: the outgoing connections that are rejected at private addresses. */
export function addWebhookFlags(command: Command, callees: string): Command {
  return command
    .optionsGroup("Egress and webhook flags:")
    .option(
      "--webhook-deny-private-addresses <bool>",
      `reject ${callees} at loopback, private and link-local addresses`,
      booleanFlag("--webhook-deny-private-addresses"),
      false,
    )
    .option(
      "--webhook-service-networks <networks>",
      "comma-separated CIDRs (10.96.0.0/12) to which Services of webhooks may resolve, although their addresses are private or loopback",
      commaSeparated,
      [],
    );
}

export function addStopFlags(command: Command): Command {
  return command
    .optionsGroup("Shutdown flags:")
    .option(
      "--shutdown-delay-duration <seconds>",
      "seconds to delay the termination; until then the server serves requests, and /readyz fails",
      integerFlag("--shutdown-delay-duration", 0, 3600),
      0,
    )
    .option(
      "--shutdown-timeout <seconds>",
      "seconds after which requests in flight are aborted",
      integerFlag("--shutdown-timeout", 1, 3600),
      30,
    );
}

export function addLogFlags(command: Command): Command {
  return command
    .optionsGroup("Logging flags:")
    .option(
      "-v <level>",
      "number for the log level verbosity: 0 errors and warnings, 2 events, 4 each request",
      integerFlag("-v", 0, 10),
      2,
    )
    .option("--log-format <format>", "log format: json or pretty (default: pretty on a terminal)")
    .option(
      "--tracing-config-file <path>",
      "file with a TracingConfiguration: where OpenTelemetry traces of requests go (default: none)",
    );
}

export function serverOptionsOf(flags: ServerFlags) {
  return {
    rootDirectory: flags.rootDirectory,
    bindAddress: flags.bindAddress,
    securePort: flags.securePort,
    externalHostname: flags.externalHostname,
    kubeconfigPath: flags.kubeconfigPath,
    encryptionProviderConfig: flags.encryptionProviderConfig,
    tracingConfigFile: flags.tracingConfigFile,
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
