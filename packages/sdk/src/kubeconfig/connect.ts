/** Creates a client for the cluster of a kubeconfig's context. */
import { isIP } from "node:net";
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { Client, type ClientOptions, type Transport } from "../client/index.ts";
import { NodeTransport, type PermitsAddress, type TlsSettings } from "../transport/index.ts";
import { authenticatedTransport } from "./authenticated-transport.ts";
import {
  basic,
  bearer,
  type CertificateSource,
  type Credentials,
  readNamed,
  staticCredentials,
  TokenFileCredentials,
} from "./credentials.ts";
import { type ExecPool, sharedExecPool } from "./exec-pool.ts";
import { KubeconfigError } from "./fields.ts";
import type {
  ClusterEntry,
  FileOrData,
  Impersonation,
  Kubeconfig,
  UserEntry,
} from "./kubeconfig.ts";
import { type Environment, proxyFor } from "./proxy.ts";

export interface ConnectOptions {
  /** The current context if omitted. */
  readonly context?: string | undefined;
  readonly impersonate?: Impersonation;
  readonly env?: Environment;
  readonly execPool?: ExecPool;
  /** For an untrusted kubeconfig: whether a connection to an address that it names is permitted. */
  readonly permits?: PermitsAddress | undefined;
  /** Passed on to the client. */
  readonly client?: Omit<ClientOptions, "transport" | "basePath">;
  readonly clock?: Clock;
  /**
   * The interval and timeout of the pings of a connection with requests in flight; client-go's
   * values if omitted.
   */
  readonly pings?: { readonly intervalMs: number; readonly timeoutMs: number } | undefined;
}

export interface Connection {
  readonly client: Client;
  readonly transport: Transport;
  /** The context's namespace, or `default`. */
  readonly namespace: string;
  close(): Promise<void>;
}

export interface KubeconfigConnection extends Connection {
  /**
   * A client of another server of the same installation, such as a shard: with the same
   * certificate authority and the same credentials.
   */
  readonly clientAt: (url: string) => Client;
}

export function connect(
  kubeconfig: Kubeconfig,
  options: ConnectOptions = {},
): KubeconfigConnection {
  const { cluster, user, namespace } = pickContext(kubeconfig, options.context);
  const env = options.env ?? process.env;
  const clock = options.clock ?? systemClock;
  const server = parseServer(cluster.server);
  checkTrust(cluster);
  const execPool = options.execPool ?? sharedExecPool;
  const credentials = credentialsFor({ cluster, user, env, clock, execPool });
  const impersonate = options.impersonate ?? user.impersonate;
  const opened = new Map<string, { readonly node: NodeTransport; readonly transport: Transport }>();
  const transportTo = (url: URL): Transport => {
    const known = opened.get(url.origin);
    if (known !== undefined) return known.transport;
    const node = new NodeTransport({
      url,
      ...proxyRoute(url, cluster.proxyUrl, env, options.permits),
      tls: () => tlsSettings(cluster, credentials),
      compression: !cluster.disableCompression,
      clock,
      ...(options.pings === undefined
        ? {}
        : { pingIntervalMs: options.pings.intervalMs, pingTimeoutMs: options.pings.timeoutMs }),
    });
    const transport = authenticatedTransport(node, credentials, impersonate);
    opened.set(url.origin, { node, transport });
    return transport;
  };
  const stopListening = credentials.onNewCertificate?.(() => {
    for (const { node } of opened.values()) node.retire();
  });
  const clientOf = (url: URL) =>
    new Client({ clock, ...options.client, transport: transportTo(url), basePath: url.pathname });
  return {
    client: clientOf(server),
    transport: transportTo(server),
    namespace,
    clientAt(url) {
      const other = parseServer(url);
      // Credentials do not go over a connection that is weaker than the first one.
      if (other.protocol !== server.protocol)
        throw new KubeconfigError(`server: ${url} is not an ${server.protocol.slice(0, -1)} URL`);
      return clientOf(other);
    },
    async close() {
      stopListening?.();
      for (const { transport } of opened.values()) await transport.close();
    },
  };
}

function pickContext(kubeconfig: Kubeconfig, asked: string | undefined) {
  const name = asked ?? kubeconfig.currentContext;
  const names = [...kubeconfig.contexts.keys()];
  const others = names.length === 0 ? "" : `. Next: choose one of ${names.slice(0, 10).join(", ")}`;
  if (name === undefined) throw new KubeconfigError(`no context is chosen${others}`);
  const context = kubeconfig.contexts.get(name);
  if (context === undefined) throw new KubeconfigError(`context "${name}" does not exist${others}`);
  const cluster = kubeconfig.clusters.get(context.cluster);
  if (cluster === undefined) {
    throw new KubeconfigError(`cluster "${context.cluster}" of context "${name}" does not exist`);
  }
  const user = context.user === undefined ? nobody : kubeconfig.users.get(context.user);
  if (user === undefined) {
    throw new KubeconfigError(`user "${context.user}" of context "${name}" does not exist`);
  }
  return { cluster, user, namespace: context.namespace ?? "default" };
}

const nobody: UserEntry = {
  clientCertificate: undefined,
  clientKey: undefined,
  token: undefined,
  tokenFile: undefined,
  username: undefined,
  password: undefined,
  impersonate: undefined,
  exec: undefined,
};

/** A server without a scheme is a host, as in kubectl. */
function parseServer(text: string): URL {
  const full = text.includes("://") ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new KubeconfigError(`server: ${text} is not an http or https URL`);
  }
  return url;
}

/**
 * The route to the server. The check of addresses applies to what the kubeconfig names: the server,
 * or the proxy in front of it. A proxy of this process's own environment is trusted, and resolves
 * names itself: there only a literal address can be rejected.
 */
function proxyRoute(
  server: URL,
  proxyUrl: string | undefined,
  env: Environment,
  permits: PermitsAddress | undefined,
): { readonly proxy: URL | undefined; readonly permits: PermitsAddress | undefined } {
  const proxy = proxyFor(server, proxyUrl, env);
  if (permits === undefined || proxy === undefined || proxyUrl !== undefined)
    return { proxy, permits };
  const host = server.hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(host) !== 0 && !permits(host))
    throw new KubeconfigError(`server: ${host} is an address that is not allowed here`);
  return { proxy, permits: undefined };
}

function checkTrust(cluster: ClusterEntry): void {
  if (cluster.insecureSkipTlsVerify && cluster.certificateAuthority !== undefined) {
    throw new KubeconfigError(
      "specifying a root certificates file with the insecure flag is not allowed",
    );
  }
}

async function tlsSettings(cluster: ClusterEntry, credentials: Credentials): Promise<TlsSettings> {
  const { certificateAuthority: authority, tlsServerName } = cluster;
  return {
    ...(authority === undefined ? {} : { ca: await readAuthority(authority) }),
    ...(await credentials.certificate()),
    ...(tlsServerName === undefined ? {} : { serverName: tlsServerName }),
    insecureSkipVerify: cluster.insecureSkipTlsVerify,
  };
}

interface CredentialInputs {
  readonly cluster: ClusterEntry;
  readonly user: UserEntry;
  readonly env: Environment;
  readonly clock: Clock;
  readonly execPool: ExecPool;
}

/** Of several kinds of credentials one is used, in kubectl's order; a certificate goes with any. */
function credentialsFor({ cluster, user, env, clock, execPool }: CredentialInputs): Credentials {
  const certificate = certificateOf(user);
  if (user.tokenFile !== undefined) {
    return new TokenFileCredentials({
      file: user.tokenFile,
      fallbackToken: user.token,
      certificate,
      clock,
    });
  }
  if (user.token !== undefined) return staticCredentials(bearer(user.token), certificate);
  if (user.username !== undefined) {
    return staticCredentials(basic(user.username, user.password ?? ""), certificate);
  }
  if (user.exec === undefined) return staticCredentials({}, certificate);
  return execPool.get({
    exec: user.exec,
    cluster: clusterInfo(cluster),
    env,
    hasTerminal: process.stdin.isTTY === true,
    clock,
  });
}

function certificateOf({ clientCertificate, clientKey }: UserEntry): CertificateSource {
  if (clientCertificate === undefined && clientKey === undefined) return async () => undefined;
  if (clientCertificate === undefined || clientKey === undefined) {
    throw new KubeconfigError("client-certificate and client-key go together");
  }
  return async () => ({ cert: await readText(clientCertificate), key: await readText(clientKey) });
}

/** The cluster information for a plugin that requests it: `ExecCredential.spec.cluster`. */
function clusterInfo(cluster: ClusterEntry): JsonObject {
  const { certificateAuthority: authority, tlsServerName, proxyUrl, execConfig } = cluster;
  return {
    server: cluster.server,
    "insecure-skip-tls-verify": cluster.insecureSkipTlsVerify,
    ...(tlsServerName === undefined ? {} : { "tls-server-name": tlsServerName }),
    ...(proxyUrl === undefined ? {} : { "proxy-url": proxyUrl }),
    ...(cluster.disableCompression ? { "disable-compression": true } : {}),
    ...(authority !== undefined && "data" in authority
      ? { "certificate-authority-data": Buffer.from(authority.data).toString("base64") }
      : {}),
    ...(execConfig === undefined ? {} : { config: execConfig }),
  };
}

async function readText(source: FileOrData): Promise<string> {
  return "data" in source ? source.data : await readNamed(source.file);
}

async function readAuthority(source: FileOrData): Promise<string> {
  const text = await readText(source);
  if (text.includes("-----BEGIN")) return text;
  const place = "data" in source ? "certificate-authority-data" : source.file;
  throw new KubeconfigError(`${place} has no certificate in PEM`);
}
