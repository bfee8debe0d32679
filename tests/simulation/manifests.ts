/** The objects that users of a system create. */
import type { KubernetesObject, ObjectInput, Resource } from "@kcp-ts/sdk";
import { cronJobs, daemonSets, deployments, jobs, pods, statefulSets } from "@kcp-ts/sdk/kinds";
import { namespace } from "./base-image.ts";
import { tenantLabel, workloadLabel } from "./cluster-observer.ts";
import type { Step, WorkloadKind } from "./scenario.ts";

export type AnyResource = Resource<KubernetesObject>;

export const resourceOfKind: Readonly<Record<WorkloadKind, AnyResource>> = {
  Deployment: deployments as unknown as AnyResource,
  StatefulSet: statefulSets as unknown as AnyResource,
  DaemonSet: daemonSets as unknown as AnyResource,
  Job: jobs as unknown as AnyResource,
  Pod: pods as unknown as AnyResource,
  CronJob: cronJobs as unknown as AnyResource,
};

/** In the Pod template: when it was edited last. */
export const editedAtAnnotation = "simulation/edited-at";

export function manifestOf(
  step: Extract<Step, { readonly do: "create" }>,
): ObjectInput<KubernetesObject> {
  const { tenant, name, kind, replicas, isStopBeforeStart, hasVolume, pinnedTo } = step;
  const labels = { [tenantLabel]: tenant, [workloadLabel]: name };
  const selector = { matchLabels: { app: name } };
  const template = {
    metadata: { labels: { app: name, ...labels } },
    spec: {
      containers: [{ name: "main", image: "image:1" }],
      // The clusters of a system decide how long a Pod takes to end.
      terminationGracePeriodSeconds: 3600,
    },
  };
  const metadata = {
    name,
    namespace,
    labels: {
      ...labels,
      ...(pinnedTo === undefined ? {} : { "workload.kcp.io/cluster": pinnedTo }),
    },
    annotations:
      isStopBeforeStart === true ? { "workload.kcp.io/failover-strategy": "StopBeforeStart" } : {},
  };
  const claims = [
    {
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    },
  ];
  const specs: Readonly<Record<WorkloadKind, object>> = {
    Deployment: { replicas, selector, template },
    StatefulSet: {
      replicas,
      selector,
      template,
      serviceName: name,
      ...(hasVolume === true ? { volumeClaimTemplates: claims } : {}),
    },
    DaemonSet: { selector, template },
    Pod: template.spec,
    // It runs nothing while a scenario lasts: the laws are about where its schedule is.
    CronJob: {
      schedule: "0 0 1 1 *",
      jobTemplate: {
        spec: { template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } } },
      },
    },
    Job: {
      parallelism: replicas,
      completions: replicas,
      template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } },
    },
  };
  return { metadata, spec: specs[kind] } as ObjectInput<KubernetesObject>;
}
