/** Requests the version and the health of a cluster. */
import type { Clock } from "@kcp-ts/machinery/base";
import { isJsonObject } from "@kcp-ts/machinery/json";
import { isStatusError, StatusError } from "@kcp-ts/machinery/status";
import { type Client, headerText, startDeadline } from "@kcp-ts/sdk";
import { diagnose } from "./diagnose.ts";
import { boundedMessage, type Problem, problem } from "./problem.ts";

export interface ProbeResult {
  /** The Kubernetes version, such as v1.36.0. */
  readonly version: string;
  /**
   * How far the cluster's clock is ahead of the local clock; undefined when the response has no
   * date.
   */
  readonly skewMs: number | undefined;
}

export interface ProbeOptions {
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const versionCharactersMax = 100;

export async function probe(client: Client, options: ProbeOptions): Promise<ProbeResult | Problem> {
  const deadline = startDeadline({ ...options, what: "asking the cluster how it does" });
  const { signal } = deadline;
  try {
    const request = { method: "GET", path: "/version", signal, retriesMax: 0 } as const;
    const { headers, text: body } = await client.read(request);
    const version = await client.parse(body);
    const skewMs = aheadOf(options.clock, headerText(headers, "date"));
    const text = isJsonObject(version) ? version["gitVersion"] : undefined;
    if (typeof text !== "string")
      return problem(
        "UnexpectedResponse",
        "the server in the kubeconfig does not say which version of Kubernetes it is: check its address",
      );
    await checkReadyz(client, signal);
    return { version: boundedMessage(text, versionCharactersMax), skewMs };
  } catch (error) {
    return diagnose(error);
  } finally {
    deadline.cancel();
  }
}

function aheadOf(clock: Clock, date: string | undefined): number | undefined {
  const atMs = Date.parse(date ?? "");
  return Number.isNaN(atMs) ? undefined : atMs - clock.now();
}

/**
 * Clusters before 1.16 serve only healthz; for a user without permission for either, any response
 * counts.
 */
async function checkReadyz(client: Client, signal: AbortSignal): Promise<void> {
  for (const path of ["/readyz", "/healthz"]) {
    try {
      await client.read({ method: "GET", path, signal, retriesMax: 0 });
      return;
    } catch (error) {
      if (isStatusError(error, "Forbidden")) return;
      if (!(error instanceof StatusError) || error.code !== 404) throw error;
    }
  }
}
