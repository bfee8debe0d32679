/** The state of the demo at one moment, and its rendering. */
import colors from "picocolors";

export interface DemoView {
  readonly clusters: readonly ClusterRow[];
  /** Undefined while the control plane does not serve the type. */
  readonly deployments: readonly DeploymentRow[] | undefined;
}

export interface ClusterRow {
  readonly name: string;
  readonly ready: string;
  readonly reason: string;
}

export interface DeploymentRow {
  readonly name: string;
  readonly replicas: number;
  readonly ready: number;
  readonly updated: number;
  readonly available: number;
  /** The cluster of a per-cluster object. */
  readonly cluster: string | undefined;
  readonly isUnreachable: boolean;
  readonly isObserved: boolean;
}

export function drawDemoView({ clusters, deployments }: DemoView): string {
  const lines: string[] = [];
  if (clusters.length > 0) {
    const rows = clusters.map(({ name, ready, reason }) => [name, ready, reason]);
    lines.push(...columns([["SYNCTARGET", "READY", "REASON"], ...rows]), "");
  }
  if (deployments === undefined) lines.push(colors.dim("no resource type deployments"));
  else if (deployments.length === 0) lines.push(colors.dim("no deployments"));
  else {
    const rows = deployments.map((one) => [
      one.name,
      `${one.ready}/${one.replicas}`,
      String(one.updated),
      String(one.available),
      bar(one),
    ]);
    lines.push(...columns([["DEPLOYMENT", "READY", "UP-TO-DATE", "AVAILABLE", ""], ...rows]));
  }
  return lines.map((line) => `    ${line}`.trimEnd()).join("\n");
}

const barCharactersMax = 60;

function bar({ ready, replicas, isUnreachable }: DeploymentRow): string {
  if (isUnreachable) return colors.red("lost");
  const full = colors.green("■".repeat(Math.min(ready, barCharactersMax)));
  return full + colors.dim("·".repeat(Math.min(Math.max(0, replicas - ready), barCharactersMax)));
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
