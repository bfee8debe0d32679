/**
 * Watches workloads of custom kinds that have a WorkloadStrategy, for Services: each kind is
 * watched, by its metadata and in all logical clusters, from the first strategy on that contains
 * the path of its Pod template. The watch enqueues the affected Services.
 */
import type { TaskGroup } from "@kcp-ts/machinery/base";
import type { Change, KubernetesObject, ObjectKey, ObjectSource } from "@kcp-ts/sdk";
import type { WorkloadStrategy } from "../api/index.ts";
import { metadataClusters, type WatchedClustersOptions } from "../coordination/index.ts";
import { affectsServices, type ServiceController } from "./service-controller.ts";
import { customKinds, kindId, type WorkloadKind } from "./workload-kinds.ts";

export interface CustomWorkloadsOptions extends Omit<WatchedClustersOptions, "targets"> {
  readonly strategies: ObjectSource<WorkloadStrategy>;
  readonly services: ServiceController;
}

/** Runs until the group stops; a watch that fails stops the group. */
export function watchCustomWorkloads(options: CustomWorkloadsOptions, running: TaskGroup): void {
  const { strategies, services } = options;
  const watched = new Set<string>();
  const look = (strategy: WorkloadStrategy, { key }: { readonly key: ObjectKey }) => {
    for (const kind of customKinds([strategy])) {
      if (watched.has(kindId(kind)) || running.signal.aborted) continue;
      watched.add(kindId(kind));
      running.start((stop) => watchKind(kind, options, stop));
    }
    // The path of the Pod template may have changed, or the strategy was deleted.
    for (const service of services.all(key.cluster)) services.controller.enqueue(service);
  };
  strategies.addHandler({
    added: look,
    updated: (strategy, { key, previous }) => {
      if (strategy.metadata.generation !== previous.metadata.generation) look(strategy, { key });
    },
    deleted: look,
  });
}

async function watchKind(
  { resource }: WorkloadKind,
  options: CustomWorkloadsOptions,
  signal: AbortSignal,
): Promise<void> {
  const { controller, affectedServices } = options.services;
  const clusters = metadataClusters(options);
  const tell = (change: Change<KubernetesObject>) => {
    if (!affectsServices(change)) return;
    const objects = change.type === "updated" ? [change.object, change.previous] : [change.object];
    for (const object of objects)
      for (const service of affectedServices(object, change.key)) controller.enqueue(service);
  };
  clusters
    .source<KubernetesObject>(resource)
    .addHandler({
      added: (object, { key, initial }) => tell({ type: "added", key, object, initial }),
      updated: (object, { key, previous }) => tell({ type: "updated", key, object, previous }),
      deleted: (object, { key }) => tell({ type: "deleted", key, object }),
    });
  await clusters.run(signal);
}
