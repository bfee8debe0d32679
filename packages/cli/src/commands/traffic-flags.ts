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
      "queue requests by priority level and tenant",
      booleanFlag("--enable-priority-and-fairness"),
      true,
    );
  count(
    "--max-requests-inflight",
    "maximum number of non-mutating requests in flight; added to the next for priority and fairness",
    400,
  );
  count(
    "--max-mutating-requests-inflight",
    "maximum number of mutating requests in flight; added to the previous for priority and fairness",
    200,
  );
  count(
    "--max-watches-per-cluster",
    "maximum number of watches of one logical cluster; 0 is unlimited",
    0,
  );
  count(
    "--max-watches-per-user",
    "maximum number of watches of one user in one logical cluster; 0 is unlimited",
    0,
  );
  count(
    "--max-unread-watch-bytes-per-cluster",
    "maximum number of bytes that watches of one logical cluster buffer for slow clients; 0 is unlimited",
    controlPlaneDefaults.traffic.unreadBytesPerClusterMax,
  );
  count(
    "--max-unread-watch-bytes",
    "maximum number of bytes that all watches buffer for slow clients; 0 is unlimited",
    controlPlaneDefaults.traffic.unreadBytesMax,
  );
  count(
    "--max-connections",
    "maximum number of open connections; 0 derives it from the limit of file descriptors",
    controlPlaneDefaults.traffic.connectionsMax,
  );
  count(
    "--http2-max-streams-per-connection",
    "maximum number of streams of an HTTP/2 connection; 0 is the default",
    controlPlaneDefaults.traffic.streamsPerConnectionMax,
  );
  count(
    "--logical-cluster-total-object-limit",
    "maximum number of objects in one logical cluster; 0 is unlimited",
    0,
  );
  count(
    "--logical-cluster-total-bytes-limit",
    "maximum number of bytes of the objects in one logical cluster; 0 is unlimited",
    0,
  );
  count(
    "--logical-cluster-object-count-scan-interval",
    "seconds between two counts of the objects of logical clusters",
    60,
  );
  command
    .optionsGroup("Auditing flags:")
    .option(
      "--audit-policy-file <path>",
      "file that defines the audit policy (audit.k8s.io/v1 Policy)",
    )
    .option(
      "--audit-log-path <path>",
      "if set, events are written to this file, one line of JSON each; - is standard output",
    );
  count(
    "--audit-log-maxage",
    "maximum number of days to retain old audit log files; 0 retains all",
    0,
  );
  count(
    "--audit-log-maxbackup",
    "maximum number of old audit log files to retain; 0 retains all",
    0,
  );
  count(
    "--audit-log-maxsize",
    "maximum size in megabytes of the audit log file before it is rotated",
    100,
  );
  command
    .addOption(
      new Option(
        "--audit-log-mode <mode>",
        "strategy for sending audit events: with blocking, responses wait until their event is written",
      )
        .choices(["batch", "blocking", "blocking-strict"])
        .default("blocking"),
    )
    .option("--audit-webhook-config-file <path>", "kubeconfig file of the audit webhook");
  command.addOption(batchOnly("--audit-webhook-mode <mode>"));
  count("--audit-webhook-batch-max-size", "maximum number of events in a batch", 400);
  count("--audit-webhook-initial-backoff", "seconds to wait before a failed batch is retried", 10);
  return command;
}

/** Requests never wait for an audit webhook: the blocking modes of Kubernetes are not supported. */
function batchOnly(flags: string): Option {
  return new Option(
    flags,
    "strategy for sending audit events: batch, requests do not wait for the webhook",
  )
    .choices(["batch"])
    .default("batch");
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
