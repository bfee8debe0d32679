/**
 * The flags for concurrency, for the limits of one tenant, and for audit logs. They have the names
 * of Kubernetes and kcp.
 */
import { type AuditOptions, controlPlaneDefaults, type TrafficLimits } from "@kcp-ts/controlplane";
import { type Command, Option } from "commander";
import { booleanFlag, integerFlag } from "./flags.ts";

export interface TrafficFlags {
  readonly enablePriorityAndFairness: boolean;
  readonly maxRequestsInflight: number;
  readonly maxMutatingRequestsInflight: number;
  readonly maxWatchesPerCluster: number;
  readonly maxWatchesPerUser: number;
  readonly maxUnreadWatchBytesPerCluster: number;
  readonly maxUnreadWatchBytes: number;
  readonly maxConnections: number;
  readonly http2MaxStreamsPerConnection: number;
  readonly logicalClusterTotalObjectLimit: number;
  readonly logicalClusterTotalBytesLimit: number;
  readonly logicalClusterObjectCountScanInterval: number;
  readonly auditPolicyFile?: string;
  readonly auditLogPath?: string;
  readonly auditLogMode: string;
  readonly auditLogMaxage: number;
  readonly auditLogMaxbackup: number;
  readonly auditLogMaxsize: number;
  readonly auditWebhookConfigFile?: string;
  readonly auditWebhookBatchMaxSize: number;
  readonly auditWebhookInitialBackoff: number;
}

export function addTrafficFlags(command: Command): Command {
  const count = (flags: string, description: string, initial: number) =>
    command.option(
      `${flags} <number>`,
      description,
      integerFlag(flags, 0, Number.MAX_SAFE_INTEGER),
      initial,
    );
  command
    .optionsGroup("API priority and fairness flags:")
    .option(
      "--enable-priority-and-fairness <bool>",
      "queue requests fairly among tenants",
      booleanFlag("--enable-priority-and-fairness"),
      true,
    );
  count("--max-requests-inflight", "with the next one: requests at work at once", 400);
  count("--max-mutating-requests-inflight", "see above", 200);
  count("--max-watches-per-cluster", "open watches of one logical cluster; 0 is no limit", 0);
  count("--max-watches-per-user", "open watches of one user in one logical cluster", 0);
  count(
    "--max-unread-watch-bytes-per-cluster",
    "what watches of one logical cluster hold for clients that do not read; 0 is no limit",
    controlPlaneDefaults.traffic.unreadBytesPerClusterMax,
  );
  count(
    "--max-unread-watch-bytes",
    "the same of all logical clusters",
    controlPlaneDefaults.traffic.unreadBytesMax,
  );
  count(
    "--max-connections",
    "open connections; 0 is as many as there are file descriptors for",
    controlPlaneDefaults.traffic.connectionsMax,
  );
  count(
    "--http2-max-streams-per-connection",
    "requests at once on one connection over HTTP/2; 0 is the default",
    controlPlaneDefaults.traffic.streamsPerConnectionMax,
  );
  count("--logical-cluster-total-object-limit", "objects in one logical cluster; 0 is no limit", 0);
  count("--logical-cluster-total-bytes-limit", "bytes of them; 0 is no limit", 0);
  count("--logical-cluster-object-count-scan-interval", "seconds between countings", 60);
  command
    .optionsGroup("Auditing flags:")
    .option("--audit-policy-file <path>", "audit.k8s.io/v1 Policy: which requests, and how much")
    .option("--audit-log-path <path>", "events as lines of JSON; - is stdout");
  count("--audit-log-maxage", "days to keep old log files; 0 keeps all", 0);
  count("--audit-log-maxbackup", "old log files to keep; 0 keeps all", 0);
  count("--audit-log-maxsize", "megabytes of a log file before it is put aside", 100);
  command
    .addOption(
      new Option("--audit-log-mode <mode>", "blocking: an answer waits until its event is written")
        .choices(["batch", "blocking", "blocking-strict"])
        .default("blocking"),
    )
    .option("--audit-webhook-config-file <path>", "kubeconfig of a server that takes events");
  command.addOption(batchOnly("--audit-webhook-mode <mode>"));
  count("--audit-webhook-batch-max-size", "events in one batch", 400);
  count("--audit-webhook-initial-backoff", "seconds before a failed batch is sent again", 10);
  return command;
}

/** Requests never wait for an audit webhook: the blocking modes of Kubernetes are not supported. */
function batchOnly(flags: string): Option {
  return new Option(flags, "batch: requests never wait for it").choices(["batch"]).default("batch");
}

export function trafficLimitsOf(flags: TrafficFlags): TrafficLimits {
  return {
    fairness: flags.enablePriorityAndFairness,
    requestsInFlightMax: flags.maxRequestsInflight,
    mutatingRequestsInFlightMax: flags.maxMutatingRequestsInflight,
    watchesPerClusterMax: flags.maxWatchesPerCluster,
    watchesPerUserMax: flags.maxWatchesPerUser,
    unreadBytesPerClusterMax: flags.maxUnreadWatchBytesPerCluster,
    unreadBytesMax: flags.maxUnreadWatchBytes,
    connectionsMax: flags.maxConnections,
    streamsPerConnectionMax: flags.http2MaxStreamsPerConnection,
    objectsPerClusterMax: flags.logicalClusterTotalObjectLimit,
    bytesPerClusterMax: flags.logicalClusterTotalBytesLimit,
    objectCountIntervalMs: flags.logicalClusterObjectCountScanInterval * 1000,
  };
}

export function auditOptionsOf(flags: TrafficFlags): AuditOptions {
  return {
    policyFile: flags.auditPolicyFile,
    logPath: flags.auditLogPath,
    isLogBlocking: flags.auditLogMode !== "batch",
    logMaxAgeDays: flags.auditLogMaxage,
    logMaxBackups: flags.auditLogMaxbackup,
    logMaxSizeMegabytes: flags.auditLogMaxsize,
    webhookConfigFile: flags.auditWebhookConfigFile,
    webhookBatchMaxSize: flags.auditWebhookBatchMaxSize,
    webhookInitialBackoffMs: flags.auditWebhookInitialBackoff * 1000,
  };
}
