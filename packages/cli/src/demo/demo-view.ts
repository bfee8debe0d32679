/** The state of the demo at one moment, and its rendering. */
import colors from "picocolors";
import type { TrafficCounts } from "./demo-traffic.ts";

export interface DemoView {
  readonly clusters: readonly ClusterRow[];
  /** Undefined while the control plane does not serve the type. */
  readonly deployments: readonly DeploymentRow[] | undefined;
  /** Undefined before the client knows an endpoint. */
  readonly traffic: TrafficCounts | undefined;
}

export interface ClusterRow {
  readonly name: string;
  readonly ready: string;
  readonly reason: string;
  /** The seconds until the replicas of a cluster that is not ready are replaced. */
  readonly failoverInSeconds: number | undefined;
}

export interface DeploymentRow {
  readonly name: string;
  readonly replicas: number;
  readonly ready: number;
  readonly updated: number;
  readonly image: string;
  /** The cluster of a per-cluster object. */
  readonly cluster: string | undefined;
  readonly isUnreachable: boolean;
  readonly isObserved: boolean;
}

export function drawDemoView({ clusters, deployments, traffic }: DemoView): string {
  const lines: string[] = [];
  if (clusters.length > 0) {
    const rows = clusters.map(({ name, ready, reason, failoverInSeconds }) => [
      name,
      ready,
      failoverInSeconds === undefined ? reason : `${reason}, ${countdown(failoverInSeconds)}`,
    ]);
    lines.push(...columns([["CLUSTER", "READY", "REASON"], ...rows]), "");
  }
  if (deployments === undefined) lines.push(colors.dim("no resource type deployments"));
  else if (deployments.length === 0) lines.push(colors.dim("no deployments"));
  else {
    const rows = deployments.map((one) => [
      one.name,
      `${one.ready}/${one.replicas}`,
      String(one.updated),
      one.image,
      bar(one),
    ]);
    lines.push(...columns([["DEPLOYMENT", "READY", "UP-TO-DATE", "IMAGE", ""], ...rows]));
  }
  if (traffic !== undefined) lines.push("", ...trafficLines(traffic));
  return lines.map((line) => `    ${line}`.trimEnd()).join("\n");
}

function countdown(seconds: number): string {
  return seconds > 0 ? `failover in ${seconds} s` : "failed over";
}

function trafficLines({ from, answered, retried, failed, endpoints }: TrafficCounts) {
  const known = Object.entries(endpoints).map(([cluster, count]) => `${cluster} ${count}`);
  const misses = `${failed} failed`;
  return [
    `TRAFFIC from ${from}: ${answered} answered (${retried} after a retry), ${failed > 0 ? colors.red(misses) : misses}`,
    `endpoints: ${known.sort().join(", ") || "none"}`,
  ];
}

const barCharactersMax = 15;

function bar({ ready, replicas, isUnreachable }: DeploymentRow): string {
  if (isUnreachable) return colors.red("lost");
  const full = Math.min(ready, barCharactersMax);
  const empty = Math.min(Math.max(0, replicas - ready), barCharactersMax - full);
  return colors.green("■".repeat(full)) + colors.dim("·".repeat(empty));
}

/** The first row is the header; the last column may have any width. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, index) =>
    Math.max(...rows.map((row) => (row[index] ?? "").length)),
  );
  return rows.map((row, index) => {
    const cells = row.map((cell, column) =>
      column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0),
    );
    const line = cells.join("   ").trimEnd();
    return index === 0 ? colors.bold(line) : line;
  });
}
