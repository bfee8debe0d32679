/**
 * Node heartbeats: every kubelet that is up renews its node's Lease every ten seconds, as real
 * kubelets do.
 */
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client } from "@kcp-ts/sdk";
import { leases } from "../api/index.ts";
import type { DownNodes } from "./down-nodes.ts";

export const leaseNamespace = "kube-node-lease";
const renewMs = 10_000;
const leaseSeconds = 40;

export interface HeartbeatOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly names: () => readonly string[];
  readonly down: DownNodes;
  readonly onError: (error: unknown) => void;
}

/** Runs until the signal aborts. */
export async function runHeartbeats(options: HeartbeatOptions, signal: AbortSignal): Promise<void> {
  const { clock, names, down, onError } = options;
  const beats = new Set<Promise<void>>();
  const beat = (name: string) => {
    const sent = renew(options, name)
      .catch(onError)
      .finally(() => beats.delete(sent));
    beats.add(sent);
  };
  down.onUp(beat);
  while (!signal.aborted) {
    for (const name of names()) if (!down.has(name)) beat(name);
    await Promise.all(beats);
    await sleep(clock, renewMs, signal).catch(() => {
      // Only the signal ends the sleep early, which the loop checks.
    });
  }
  await Promise.all(beats);
}

async function renew({ client, clock }: HeartbeatOptions, name: string): Promise<void> {
  const resource = client.resource(leases);
  const renewTime = new Date(clock.now()).toISOString().replace("Z", "000Z");
  const spec = { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime };
  const target = { name, namespace: leaseNamespace };
  try {
    await resource.patch(target, { type: "merge", patch: { spec } });
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
    await resource.create({ metadata: target, spec });
  }
}
