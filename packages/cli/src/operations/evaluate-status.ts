/** What is wrong with a control plane, and the next step: pure rules over what was read. */
import { certificateFinding } from "./certificate.ts";
import { type Finding, failure, ok, warning } from "./finding.ts";
import type { ClusterStatus, ShardStatus, Status } from "./read-status.ts";
import { versionSkew } from "./version-skew.ts";

/** A record of a server that is older is not asked any more. */
const peerExpiryMs = 70_000;
const electionExpiryMs = 60_000;
const clockSkewMaxMs = 5000;

export interface EvaluationOptions {
  readonly nowMs: number;
  /** The version of this command. */
  readonly version: string;
}

export function evaluateStatus(status: Status, options: EvaluationOptions): readonly Finding[] {
  const { server, store, certificate } = status;
  return [
    serverFinding(server),
    versionFinding(server.version, options.version),
    clockFinding(server.clockSkewMs),
    ok("store", storeText(store)),
    certificateFinding("certificate", certificate, options.nowMs),
    ...(status.shards.length > 1 ? status.shards.map(shardFinding) : []),
    ...serverFindings(status, options.nowMs),
    ...status.clusters.map((cluster) => clusterFinding(cluster, server.version)),
    ...(status.clusters.length === 0 ? [noCluster] : []),
  ];
}

const noCluster: Finding = {
  check: "clusters",
  severity: "ok",
  message: "none is registered",
  next: "kcp join <name> --cluster-kubeconfig <file>, or kcp sim --clusters 2 --join for a trial",
};

function serverFinding({ url, isReady, failedChecks }: Status["server"]): Finding {
  if (isReady) return ok("server", `${url} is ready`);
  const checks = failedChecks.join(", ");
  const next = failedChecks.includes("etcd")
    ? "look at the store: disk space with kcp doctor, or the health of etcd"
    : "the server's log says why a check fails";
  return failure("server", `${url} is not ready: ${checks}`, next);
}

function versionFinding(server: string, own: string): Finding {
  const skew = versionSkew(own, server);
  const message = `server v${server}, this command v${own}`;
  return skew === undefined || skew.isSupported
    ? ok("version", message)
    : warning("version", message, "use a command at most one minor version from the server");
}

function clockFinding(skewMs: number | undefined): Finding {
  if (skewMs === undefined) return ok("clock", "the server sends no time");
  const seconds = Math.round(skewMs / 1000);
  return Math.abs(skewMs) <= clockSkewMaxMs
    ? ok("clock", "server and this machine agree")
    : failure(
        "clock",
        `the server's clock is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} this machine's`,
        "synchronize both clocks (chrony, systemd-timesyncd): tokens and Leases depend on them",
      );
}

function storeText({ backend, revision, objects }: Status["store"]): string {
  const counted = objects === undefined ? "" : `, ${objects} objects of built-in kinds`;
  return `${backend ?? "store"} at revision ${revision ?? "?"}${counted}`;
}

function shardFinding({ name, url, isReady, message }: ShardStatus): Finding {
  const check = `shard ${name}`;
  return isReady
    ? ok(check, `${url} reports to root`)
    : failure(
        check,
        `${url} does not report to root${message === "" ? "" : `: ${message}`}`,
        "look at the log of that server; its workspaces answer 503 until it is back",
      );
}

function serverFindings({ servers, controllers }: Status, nowMs: number): readonly Finding[] {
  const peers = servers.map(({ url, renewedAt }) =>
    nowMs - Date.parse(renewedAt) <= peerExpiryMs
      ? ok("peer", `${url} reported at ${renewedAt}`)
      : warning(
          "peer",
          `${url} last reported at ${renewedAt}`,
          "start that server again; its record is ignored meanwhile",
        ),
  );
  if (controllers === undefined) return peers;
  const { holder, renewedAt } = controllers;
  const isHeld = nowMs - Date.parse(renewedAt) <= electionExpiryMs;
  const leading = isHeld
    ? ok("controllers", `run by ${holder}, Lease renewed at ${renewedAt}`)
    : failure(
        "controllers",
        `no server runs them: the Lease of ${holder} was renewed at ${renewedAt}`,
        "start a server without --run-controllers=false, and look at its log",
      );
  return [...peers, leading];
}

function clusterFinding(cluster: ClusterStatus, serverVersion: string): Finding {
  const { workspace, name, mode, state, syncerVersion } = cluster;
  const check = `cluster ${workspace}/${name}`;
  const kubernetes = cluster.kubernetesVersion === "" ? "" : `, ${cluster.kubernetesVersion}`;
  const syncer = syncerVersion === "" ? "" : `, syncer v${syncerVersion}`;
  const text = `${state}, ${mode} mode${kubernetes}${syncer}`;
  if (!cluster.isReady) {
    const { reason, message } = cluster;
    return failure(
      check,
      `${text}: ${reason === "" ? "not connected yet" : reason}${message === "" ? "" : `: ${message}`}`,
      `kubectl ws :${workspace} && kubectl describe synctarget ${name}`,
    );
  }
  const skew = versionSkew(serverVersion, syncerVersion);
  return skew === undefined || skew.isSupported
    ? ok(check, text)
    : warning(check, text, "update the agent: at most one minor version from the server");
}
