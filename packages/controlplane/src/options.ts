import { listenerLimits, unreadLimits } from "@kcp-ts/apiserver";
import type { PhysicalClusterOptions } from "@kcp-ts/multicluster-server";
import type { AuthorizationOptions } from "./compose/authorization.ts";
import type { ClientAuthorityOptions } from "./compose/client-authority.ts";
import type { IssuerOptions } from "./compose/issuers.ts";
import type { RequestHeaderOptions } from "./compose/request-headers.ts";
import type { ServiceAccountOptions } from "./compose/service-accounts.ts";
import type { TlsOptions } from "./compose/tls.ts";

/** What a control plane can be told, and what it does when it is not told. Flags of `kcp start` map onto this one to one. */
export interface ControlPlaneOptions
  extends ServiceAccountOptions,
    IssuerOptions,
    RequestHeaderOptions,
    AuthorizationOptions,
    ClientAuthorityOptions,
    TlsOptions {
  /** An API server by itself: no workspaces, no physical clusters, and what is said of them means nothing. */
  readonly isAlone?: boolean | undefined;
  /** Where state and credentials live; made with mode 0700 when missing. */
  readonly rootDirectory: string;
  readonly bindAddress: string;
  /** 0 takes a free port. */
  readonly securePort: number;
  /** The name or address that clients use; by default localhost or the bind address. */
  readonly externalHostname?: string | undefined;
  /** Where clients reach this server, for what is said of where workspaces are; by default the address that it listens on. */
  readonly shardExternalUrl?: string | undefined;
  /** `https://host:port`, where other servers on the same store reach this one: what only it can do, they ask it for. Nobody asks if left out. */
  readonly peerUrl?: string | undefined;
  readonly storage: StorageOptions;
  /** By default `<root>/admin.kubeconfig`. */
  readonly kubeconfigPath?: string | undefined;
  readonly tokenAuthFile?: string | undefined;
  readonly clientCaFile?: string | undefined;
  readonly anonymousAuth: boolean;
  /** What helps trying things out: of `batteryNames`, or changes of what is there by default (`+user`, `-admin`). */
  readonly batteriesIncluded?: readonly string[] | undefined;
  /** `Name=true` each, of those that kcp and Kubernetes know; none of them switches anything here. */
  readonly featureGates?: readonly string[] | undefined;
  /** Must be `root`, if it is given: there is one shard. */
  readonly shardName?: string | undefined;
  /** False: users have no homes. */
  readonly homeWorkspaces?: boolean | undefined;
  /** Who may have a home made; everybody who is known if left out. */
  readonly homeCreatorGroups?: readonly string[] | undefined;
  /** Refuses webhooks, for admission and conversion, and kubeconfigs of SyncTargets that lead to this machine, its network or link-local addresses. */
  readonly webhookDenyPrivateAddresses?: boolean | undefined;
  /** Networks (10.96.0.0/12) that Services of webhooks may lead to, although they are private and that is denied, or on this machine. */
  readonly webhookServiceNetworks?: readonly string[] | undefined;
  /** What this server proves itself by to where workspaces are mounted from, which then can believe what it says of users; PEM files. */
  readonly mountProxyClientCertFile?: string | undefined;
  readonly mountProxyClientKeyFile?: string | undefined;
  /** What such places must be signed by; the system's authorities if left out. */
  readonly mountProxyCaFile?: string | undefined;
  /** Hosts that workspaces may be mounted from, as in `mounts.example.com:6443` or `*.example.com`; none if left out. Mounts of this server's own workspaces need no entry. */
  readonly mountAllowedHosts?: readonly string[] | undefined;
  /** Off: nobody empties namespaces, collects garbage or makes what new namespaces get; another process is expected to. */
  readonly controllers: boolean;
  /** Left out: nobody connects to physical clusters from this process. */
  readonly physicalClusters?: PhysicalClusterOptions | undefined;
  readonly audit: AuditOptions;
  readonly traffic: TrafficLimits;
  /** How long Events live after they were last written. */
  readonly eventTtlMs: number;
  /** Time between the first signal and the moment new requests are refused: load balancers see readyz fail first. */
  readonly shutdownDelayMs: number;
  /** Requests still open after this are cut off. */
  readonly shutdownTimeoutMs: number;
}

/** What is written down of requests, and where; nothing without a policy. */
export interface AuditOptions {
  readonly policyFile?: string | undefined;
  /** `-` is stdout. */
  readonly logPath?: string | undefined;
  /** 0 keeps all. */
  readonly logMaxAgeDays: number;
  /** An answer waits until its event is in the log, as by default in Kubernetes. */
  readonly isLogBlocking: boolean;
  readonly logMaxBackups: number;
  readonly logMaxSizeMegabytes: number;
  /** A kubeconfig whose server takes EventLists. */
  readonly webhookConfigFile?: string | undefined;
  readonly webhookBatchMaxSize: number;
  readonly webhookInitialBackoffMs: number;
}

/** How much is done at once, and what one tenant may hold. 0 is no limit, but for the first two and where another is named. */
export interface TrafficLimits {
  readonly fairness: boolean;
  /** Together they are the seats that fairness deals out. */
  readonly requestsInFlightMax: number;
  readonly mutatingRequestsInFlightMax: number;
  readonly watchesPerClusterMax: number;
  readonly watchesPerUserMax: number;
  /** What watches hold for clients that have not read it yet. */
  readonly unreadBytesPerClusterMax: number;
  readonly unreadBytesMax: number;
  /** 0: as many as there are file descriptors for. */
  readonly connectionsMax: number;
  /** Of HTTP/2; 0 is the default. */
  readonly streamsPerConnectionMax: number;
  readonly objectsPerClusterMax: number;
  readonly bytesPerClusterMax: number;
  readonly objectCountIntervalMs: number;
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
  traffic: {
    fairness: true,
    requestsInFlightMax: 400,
    mutatingRequestsInFlightMax: 200,
    watchesPerClusterMax: 0,
    watchesPerUserMax: 0,
    unreadBytesPerClusterMax: unreadLimits.bytesPerTenantMax,
    unreadBytesMax: unreadLimits.bytesMax,
    connectionsMax: listenerLimits.connectionsMax,
    streamsPerConnectionMax: listenerLimits.streamsPerConnectionMax,
    objectsPerClusterMax: 0,
    bytesPerClusterMax: 0,
    objectCountIntervalMs: 60_000,
  },
  eventTtlMs: 3_600_000,
  shutdownDelayMs: 0,
  shutdownTimeoutMs: 30_000,
};

/** A setting that cannot be used, in words that say which and what to do. */
export class OptionsError extends Error {
  override readonly name = "OptionsError";
}
