import { type ConsoleOptions, type TrafficLimits, trafficDefaults } from "@kcp-ts/apiserver";
import type { PhysicalClusterOptions } from "@kcp-ts/multicluster-server";
import type { AuthorizationOptions } from "./compose/authorization.ts";
import type { ClientAuthorityOptions } from "./compose/client-authority.ts";
import type { IssuerOptions } from "./compose/issuers.ts";
import type { RequestHeaderOptions } from "./compose/request-headers.ts";
import type { ServiceAccountOptions } from "./compose/service-accounts.ts";
import type { TlsOptions } from "./compose/tls.ts";

/**
 * The options of a control plane, and their defaults. Flags of `kcp start` map onto them one to
 * one.
 */
export interface ControlPlaneOptions
  extends ServiceAccountOptions,
    IssuerOptions,
    ConsoleOptions,
    RequestHeaderOptions,
    AuthorizationOptions,
    ClientAuthorityOptions,
    TlsOptions {
  /** A plain API server: no workspaces, no physical clusters; their options have no effect. */
  readonly isAlone?: boolean | undefined;
  /** The folder of state and credentials; created with mode 0700 when missing. */
  readonly rootDirectory: string;
  readonly bindAddress: string;
  /** 0 selects a free port. */
  readonly securePort: number;
  /** The name or address that clients use; by default localhost or the bind address. */
  readonly externalHostname?: string | undefined;
  /**
   * The external URL of this server in the URLs of workspaces; by default the address of its
   * listener.
   */
  readonly shardExternalUrl?: string | undefined;
  /**
   * `https://host:port` of this server for other servers on the same store, which forward requests
   * that only this server can serve. Omitted: none are forwarded.
   */
  readonly peerUrl?: string | undefined;
  readonly storage: StorageOptions;
  /** The data is a copy of a primary that is lost; without it, a server refuses to start on it. */
  readonly isTakeover?: boolean | undefined;
  /** A file with an EncryptionConfiguration of Kubernetes; nothing is encrypted if omitted. */
  readonly encryptionProviderConfig?: string | undefined;
  /** A file with a TracingConfiguration of Kubernetes; nothing is traced if omitted. */
  readonly tracingConfigFile?: string | undefined;
  /** By default `<root>/admin.kubeconfig`. */
  readonly kubeconfigPath?: string | undefined;
  readonly tokenAuthFile?: string | undefined;
  readonly clientCaFile?: string | undefined;
  readonly anonymousAuth: boolean;
  /**
   * Features for trying kcp out: of `batteryNames`, or changes of the default (`+user`, `-admin`).
   */
  readonly batteriesIncluded?: readonly string[] | undefined;
  /** `Name=true` each, of the gates of kcp and Kubernetes; none of them has an effect here. */
  readonly featureGates?: readonly string[] | undefined;
  /** The name of this shard; root if omitted. */
  readonly shardName?: string | undefined;
  /** Where root is, for another shard. */
  readonly rootShardUrl?: string | undefined;
  /** The number of shards that `kcp start` runs; a server that has no others if omitted. */
  readonly shards?: number | undefined;
  /** False: users have no home workspaces. */
  readonly homeWorkspaces?: boolean | undefined;
  /** The groups whose users may have a home workspace; all authenticated users if omitted. */
  readonly homeCreatorGroups?: readonly string[] | undefined;
  /**
   * Rejects webhooks, for admission and conversion, and kubeconfigs of SyncTargets that lead to
   * this machine, its network or link-local addresses.
   */
  readonly webhookDenyPrivateAddresses?: boolean | undefined;
  /**
   * Networks (10.96.0.0/12) that Services of webhooks may lead to, although private addresses are
   * denied, or the network is on this machine.
   */
  readonly webhookServiceNetworks?: readonly string[] | undefined;
  /**
   * The client certificate of this server for servers of mounted workspaces, which then can trust
   * the user headers; PEM files.
   */
  readonly mountProxyClientCertFile?: string | undefined;
  readonly mountProxyClientKeyFile?: string | undefined;
  /** The CA of these servers; the system's CA certificates if omitted. */
  readonly mountProxyCaFile?: string | undefined;
  /**
   * Hosts from which workspaces may be mounted, as in `mounts.example.com:6443` or `*.example.com`;
   * none if omitted. Mounts of this server's own workspaces need no entry.
   */
  readonly mountAllowedHosts?: readonly string[] | undefined;
  /**
   * Off: no controller of this process empties namespaces, collects garbage or creates default
   * objects; another process is expected to.
   */
  readonly controllers: boolean;
  /** Omitted: no controller of this process connects to physical clusters. */
  readonly physicalClusters?: PhysicalClusterOptions | undefined;
  readonly audit: AuditOptions;
  readonly traffic: TrafficLimits;
  /** How long Events live after their last write. */
  readonly eventTtlMs: number;
  /**
   * The time between the first signal and the rejection of new requests: load balancers see readyz
   * fail first.
   */
  readonly shutdownDelayMs: number;
  /** Requests that are open after this time are aborted. */
  readonly shutdownTimeoutMs: number;
}

/** The audit policy and backends; no audit without a policy. */
export interface AuditOptions {
  readonly policyFile?: string | undefined;
  /** `-` is stdout. */
  readonly logPath?: string | undefined;
  /** 0 keeps all files. */
  readonly logMaxAgeDays: number;
  /** A response waits until its audit event is in the log, as by default in Kubernetes. */
  readonly isLogBlocking: boolean;
  readonly logMaxBackups: number;
  readonly logMaxSizeMegabytes: number;
  /** A kubeconfig whose server accepts EventLists. */
  readonly webhookConfigFile?: string | undefined;
  readonly webhookBatchMaxSize: number;
  readonly webhookInitialBackoffMs: number;
}

export type StorageOptions =
  | { readonly kind: "memory" }
  | { readonly kind: "embedded" }
  | {
      readonly kind: "etcd";
      readonly servers: readonly string[];
      readonly prefix?: string | undefined;
      readonly caFile?: string | undefined;
      readonly certFile?: string | undefined;
      readonly keyFile?: string | undefined;
      readonly username?: string | undefined;
      readonly password?: string | undefined;
    };

export const controlPlaneDefaults: ControlPlaneOptions = {
  rootDirectory: ".kcp",
  bindAddress: "0.0.0.0",
  securePort: 6443,
  storage: { kind: "embedded" },
  anonymousAuth: true,
  controllers: true,
  physicalClusters: {},
  audit: {
    logMaxAgeDays: 0,
    isLogBlocking: true,
    logMaxBackups: 0,
    logMaxSizeMegabytes: 100,
    webhookBatchMaxSize: 400,
    webhookInitialBackoffMs: 10_000,
  },
  traffic: trafficDefaults,
  eventTtlMs: 3_600_000,
  shutdownDelayMs: 0,
  shutdownTimeoutMs: 30_000,
};

/** An invalid option; the message names the option and the next step. */
export class OptionsError extends Error {
  override readonly name = "OptionsError";
}
