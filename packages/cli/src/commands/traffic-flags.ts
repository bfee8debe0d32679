/**
 * The flags for concurrency, for the limits of one tenant, and for audit logs. They have the names
 * of Kubernetes and kcp.
 */
import {
  type AuditOptions,
  type ControlPlaneOptions,
  controlPlaneDefaults,
} from "@kcp-ts/controlplane";
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
  readonly maxCacheBytes: number;
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
  command
    .optionsGroup("API priority and fairness flags:")
    .option(
      "--enable-priority-and-fairness <bool>",
      "queue requests by priority level and tenant",
      booleanFlag("--enable-priority-and-fairness"),
      true,
    );
  const { traffic } = controlPlaneDefaults;
  const count = countFlags(command);
  count("--max-requests-inflight", "maximum read requests in flight, together with the next", 400);
  count("--max-mutating-requests-inflight", "maximum mutating requests in flight", 200);
  count(
    "--max-watches-per-cluster",
    "maximum watches of a logical cluster; 0 is unlimited",
    traffic.watchesPerClusterMax,
  );
  count("--max-watches-per-user", "the same, of one user in it; 0 is unlimited", 0);
  count(
    "--max-unread-watch-bytes-per-cluster",
    "maximum bytes that the watches of a logical cluster buffer for slow clients; 0 is unlimited",
    traffic.unreadBytesPerClusterMax,
  );
  count(
    "--max-unread-watch-bytes",
    "maximum bytes that all watches buffer for slow clients; 0 is unlimited",
    traffic.unreadBytesMax,
  );
  count(
    "--max-cache-bytes",
    "maximum bytes of stored objects that are cached for gets and lists",
    traffic.cacheBytesMax,
  );
  count(
    "--max-connections",
    "maximum open connections; 0 derives it from the limit of file descriptors",
    traffic.connectionsMax,
  );
  count(
    "--http2-max-streams-per-connection",
    "maximum streams of an HTTP/2 connection; 0 is the default",
    traffic.streamsPerConnectionMax,
  );
  count(
    "--logical-cluster-total-object-limit",
    "maximum objects in a logical cluster; 0 is unlimited",
    0,
  );
  count("--logical-cluster-total-bytes-limit", "maximum bytes of them; 0 is unlimited", 0);
  count(
    "--logical-cluster-object-count-scan-interval",
    "seconds between two counts of the objects of logical clusters",
    60,
  );
  return addAuditFlags(command);
}

type AddCount = (flags: string, description: string, initial: number) => void;

function countFlags(command: Command): AddCount {
  return (flags, description, initial) => {
    const read = integerFlag(flags, 0, Number.MAX_SAFE_INTEGER);
    command.option(`${flags} <number>`, description, read, initial);
  };
}

function addAuditFlags(command: Command): Command {
  const count = countFlags(command);
  command
    .optionsGroup("Auditing flags:")
    .option("--audit-policy-file <path>", "file with the audit policy (audit.k8s.io/v1 Policy)")
    .option("--audit-log-path <path>", "file of audit events, as lines of JSON; - is stdout");
  count("--audit-log-maxage", "maximum days to retain old audit log files; 0 retains all", 0);
  count("--audit-log-maxbackup", "maximum old audit log files to retain; 0 retains all", 0);
  count("--audit-log-maxsize", "maximum megabytes of the audit log file before it is rotated", 100);
  command
    .addOption(
      new Option("--audit-log-mode <mode>", "blocking: a response waits until its event is written")
        .choices(["batch", "blocking", "blocking-strict"])
        .default("blocking"),
    )
    .option("--audit-webhook-config-file <path>", "kubeconfig file of the audit webhook");
  command.addOption(batchOnly("--audit-webhook-mode <mode>"));
  count("--audit-webhook-batch-max-size", "maximum events in a batch", 400);
  count("--audit-webhook-initial-backoff", "seconds to wait before a failed batch is retried", 10);
  return command;
}

/** Requests never wait for an audit webhook: the blocking modes of Kubernetes are not supported. */
function batchOnly(flags: string): Option {
  return new Option(flags, "batch: requests do not wait for the webhook")
    .choices(["batch"])
    .default("batch");
}

export function trafficLimitsOf(flags: TrafficFlags): ControlPlaneOptions["traffic"] {
  return {
    fairness: flags.enablePriorityAndFairness,
    requestsInFlightMax: flags.maxRequestsInflight,
    mutatingRequestsInFlightMax: flags.maxMutatingRequestsInflight,
    watchesPerClusterMax: flags.maxWatchesPerCluster,
    watchesPerUserMax: flags.maxWatchesPerUser,
    unreadBytesPerClusterMax: flags.maxUnreadWatchBytesPerCluster,
    unreadBytesMax: flags.maxUnreadWatchBytes,
    cacheBytesMax: flags.maxCacheBytes,
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
