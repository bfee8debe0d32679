/** /livez, /readyz, /healthz: named checks, with Kubernetes' texts. */
import { statusError } from "@kcp-ts/machinery/status";
import { textResponse } from "../content/index.ts";
import type { ApiResponse } from "../request/api-request.ts";

export interface HealthCheck {
  readonly name: string;
  /** The failure, or undefined. The text is for the log, not for the client. */
  check(): string | undefined;
}

export interface HealthChecks {
  readonly livez: readonly HealthCheck[];
  readonly readyz: readonly HealthCheck[];
}

export const pingCheck: HealthCheck = { name: "ping", check: () => undefined };

export function isHealthPath(path: string): boolean {
  return /^\/(livez|readyz|healthz)(\/|$)/.test(path);
}

export function serveHealth(
  path: string,
  query: URLSearchParams,
  checks: HealthChecks,
): ApiResponse {
  const [endpoint, ...names] = path.split("/").filter((segment) => segment !== "") as [
    string,
    ...string[],
  ];
  const all = endpoint === "livez" ? checks.livez : checks.readyz;
  // Names contain slashes: loop/garbage-collector.
  if (names.length > 0) return serveOne(names.join("/"), all);
  const excluded = new Set(query.getAll("exclude"));
  const lines: string[] = [];
  let hasFailed = false;
  for (const check of all) {
    if (excluded.delete(check.name)) {
      lines.push(`[+]${check.name} excluded: ok`);
    } else if (check.check() === undefined) {
      lines.push(`[+]${check.name} ok`);
    } else {
      hasFailed = true;
      lines.push(`[-]${check.name} failed: reason withheld`);
    }
  }
  if (excluded.size > 0) {
    const names = [...excluded].map((each) => JSON.stringify(each)).join(",");
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (hasFailed) return textResponse(500, `${lines.join("\n")}\n${endpoint} check failed\n`);
  if (!query.has("verbose")) return textResponse(200, "ok");
  return textResponse(200, `${lines.join("\n")}\n${endpoint} check passed\n`);
}

function serveOne(name: string, checks: readonly HealthCheck[]): ApiResponse {
  const check = checks.find((each) => each.name === name);
  if (check === undefined) throw statusError.pathNotFound();
  return check.check() === undefined
    ? textResponse(200, "ok")
    : textResponse(500, "internal server error: reason withheld\n");
}
