/** The metrics of this process, and of all queues and controllers in it. */
import { ProcessMetrics } from "@kcp-ts/apiserver";
import { leaderStatusMetric, processMetrics } from "@kcp-ts/sdk";
import type { ControlPlaneOptions } from "../options.ts";
import { controlLoopsLease } from "./controllers.ts";
import type { Started } from "./started.ts";

export function startProcessMetrics(options: ControlPlaneOptions, started: Started) {
  const { traffic, audit, storage } = options;
  const own = new ProcessMetrics({
    backend: storage.kind,
    features: {
      audit: audit.policyFile !== undefined,
      "encryption-at-rest": options.encryptionProviderConfig !== undefined,
      "durable-storage": storage.kind !== "memory",
      "limits-per-cluster": traffic.watchesPerClusterMax > 0 && traffic.objectsPerClusterMax > 0,
      "priority-and-fairness": traffic.fairness,
      "private-webhook-addresses-denied": options.webhookDenyPrivateAddresses === true,
    },
  });
  started.endsBy(() => own.stop());
  // Servers of one etcd elect one of them, which overwrites the value.
  processMetrics
    .gauge(leaderStatusMetric)
    .with(controlLoopsLease)
    .set(storage.kind === "etcd" ? 0 : 1);
  return [own, { render: () => processMetrics.text() }];
}
