/** The services that the subresources of Pods need from their cluster: evictions and logs. */
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { StatusError } from "@kcp-ts/machinery/status";
import type { Client } from "@kcp-ts/sdk";
import { type Pod, podDisruptionBudgets, pods, writeStatus } from "./api/index.ts";
import { containerEnvironment } from "./container-environment.ts";
import { disruptionRefused, type LogRequest, type PodEndpointsOptions } from "./kinds/index.ts";
import { bulkLog, logsOf } from "./nodes/index.ts";
import { covers } from "./workloads/index.ts";

export interface PodServices extends PodEndpointsOptions {
  /** The server is created first, its client second. */
  connectCluster(client: Client): void;
  /** Throws while there is no client. */
  readonly client: () => Client;
}

const followMs = 1000;

export function podServices(clock: Clock): PodServices {
  let client: Client | undefined;
  const attached = () => {
    if (client !== undefined) return client;
    const message = "the cluster is starting";
    throw new StatusError({ code: 503, reason: "ServiceUnavailable", message });
  };
  return {
    clock,
    client: attached,
    connectCluster: (given) => {
      client = given;
    },
    async evict(pod, deleteOptions) {
      const { name, namespace = "", uid = "" } = (pod as unknown as Pod).metadata;
      await spendBudget(pod as unknown as Pod, attached());
      const { gracePeriodSeconds } = deleteOptions as { gracePeriodSeconds?: number };
      await attached()
        .resource(pods)
        .delete(
          { name, namespace },
          {
            preconditions: { uid },
            ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
          },
        );
    },
    environmentOf: (pod, container) =>
      containerEnvironment(attached(), pod as unknown as Pod, container),
    logs: (pod, request) => {
      const bulk = bulkLog(pod as unknown as Pod);
      if (bulk !== undefined) return streamed(bulk);
      return request.isFollowed
        ? followed(pod, request, clock, attached())
        : bytes(linesOf(pod, request, clock.now(), undefined));
    },
  };
}

async function* streamed(parts: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* parts;
}

/** Decrements the permitted disruptions, until the budget is reconciled. */
async function spendBudget(pod: Pod, client: Client): Promise<void> {
  const { namespace = "" } = pod.metadata;
  const { items } = await client.resource(podDisruptionBudgets).list({ namespace });
  for (const budget of items.filter((one) => covers(one, pod))) {
    const { status } = budget;
    const allowed = status?.disruptionsAllowed ?? 0;
    if (status === undefined || allowed < 1) {
      const { desiredHealthy = 0, currentHealthy = 0 } = status ?? {};
      const why = `needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
      throw disruptionRefused(budget.metadata.name, why);
    }
    const left = { ...status, disruptionsAllowed: allowed - 1 };
    await writeStatus(client, podDisruptionBudgets, budget, left);
  }
}

function linesOf(
  pod: JsonObject,
  request: LogRequest,
  nowMs: number,
  afterMs: number | undefined,
): string[] {
  const { sinceSeconds, tailLines } = request;
  return logsOf(
    pod as unknown as Pod,
    {
      ...request,
      tailLines: afterMs === undefined ? tailLines : undefined,
      sinceMs: sinceSeconds === undefined ? undefined : nowMs - sinceSeconds * 1000,
      afterMs,
    },
    nowMs,
  );
}

/** Runs until the client disconnects, or the Pod is deleted or completed. */
async function* followed(
  pod: JsonObject,
  request: LogRequest,
  clock: Clock,
  client: Client,
): AsyncGenerator<Uint8Array> {
  const { name, namespace = "", uid } = (pod as unknown as Pod).metadata;
  let current: Pod | undefined = pod as unknown as Pod;
  let afterMs: number | undefined;
  while (current !== undefined && current.metadata.uid === uid) {
    const nowMs = clock.now();
    const lines = linesOf(current as unknown as JsonObject, request, nowMs, afterMs);
    if (lines.length > 0) yield bytes(lines);
    afterMs = nowMs;
    const { phase } = current.status ?? {};
    if (phase === "Succeeded" || phase === "Failed" || request.signal.aborted) return;
    await sleep(clock, followMs);
    current = await client.resource(pods).find({ name, namespace });
  }
}

function bytes(lines: readonly string[]): Uint8Array {
  return new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
}
