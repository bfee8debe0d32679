/**
 * The kinds other than Pods, Nodes and Deployments: the fields that their controllers read and
 * write.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { KubernetesObject, StringMap } from "@kcp-ts/sdk";
import type { Condition, LabelSelector, PodTemplate } from "./objects.ts";

export interface ControllerRevision extends KubernetesObject {
  readonly data?: JsonObject;
  readonly revision: number;
}

export interface ClaimTemplate {
  readonly metadata: { readonly name: string; readonly labels?: StringMap };
  readonly spec: JsonObject;
}

export interface StatefulSet extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly serviceName?: string;
    readonly podManagementPolicy?: string;
    readonly minReadySeconds?: number;
    readonly ordinals?: { readonly start?: number };
    readonly revisionHistoryLimit?: number;
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly partition?: number };
    };
    readonly volumeClaimTemplates?: readonly ClaimTemplate[];
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas: number;
    readonly readyReplicas?: number;
    readonly currentReplicas?: number;
    readonly updatedReplicas?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
    readonly collisionCount?: number;
    readonly availableReplicas?: number;
  };
}

export interface DaemonSet extends KubernetesObject {
  readonly spec: {
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxUnavailable?: number | string };
    };
  };
  readonly status?: {
    readonly currentNumberScheduled: number;
    readonly numberMisscheduled: number;
    readonly desiredNumberScheduled: number;
    readonly numberReady: number;
    readonly observedGeneration?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberAvailable?: number;
    readonly numberUnavailable?: number;
  };
}

export interface Job extends KubernetesObject {
  readonly spec: {
    readonly parallelism?: number;
    readonly completions?: number;
    readonly backoffLimit?: number;
    readonly activeDeadlineSeconds?: number;
    readonly completionMode?: string;
    readonly suspend?: boolean;
    readonly ttlSecondsAfterFinished?: number;
    readonly template: PodTemplate;
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly startTime?: string;
    readonly completionTime?: string;
    readonly active?: number;
    readonly succeeded?: number;
    readonly failed?: number;
    readonly ready?: number;
    readonly terminating?: number;
    readonly completedIndexes?: string;
    readonly uncountedTerminatedPods?: JsonObject;
  };
}

export interface CronJob extends KubernetesObject {
  readonly spec: {
    readonly schedule: string;
    readonly startingDeadlineSeconds?: number;
    readonly concurrencyPolicy?: string;
    readonly suspend?: boolean;
    readonly successfulJobsHistoryLimit?: number;
    readonly failedJobsHistoryLimit?: number;
    readonly jobTemplate: {
      readonly metadata?: { readonly labels?: StringMap; readonly annotations?: StringMap };
      readonly spec: Job["spec"];
    };
  };
  readonly status?: {
    readonly active?: readonly JsonObject[];
    readonly lastScheduleTime?: string;
    readonly lastSuccessfulTime?: string;
  };
}

export interface ServicePort {
  readonly name?: string;
  readonly protocol?: string;
  readonly port: number;
  readonly targetPort?: number | string;
}

export interface Service extends KubernetesObject {
  readonly spec: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly selector?: StringMap;
    readonly ports?: readonly ServicePort[];
    readonly publishNotReadyAddresses?: boolean;
  };
  readonly status?: {
    readonly loadBalancer?: {
      readonly ingress?: readonly { readonly ip: string; readonly ipMode?: string }[];
    };
  };
}

export interface Ingress extends KubernetesObject {
  readonly spec: JsonObject;
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly JsonObject[] } };
}

export interface EndpointSlice extends KubernetesObject {
  readonly addressType: string;
  readonly endpoints: readonly JsonObject[];
  readonly ports: readonly JsonObject[];
}

export interface Endpoints extends KubernetesObject {
  readonly subsets?: readonly JsonObject[];
}

export interface PersistentVolumeClaim extends KubernetesObject {
  readonly spec: {
    readonly volumeName?: string;
    readonly accessModes?: readonly string[];
    readonly storageClassName?: string;
    readonly volumeMode?: string;
    readonly dataSource?: { readonly kind: string; readonly name: string };
    readonly resources?: { readonly requests?: StringMap };
  };
  readonly status?: {
    readonly phase?: string;
    readonly accessModes?: readonly string[];
    readonly capacity?: StringMap;
  };
}

export interface PersistentVolume extends KubernetesObject {
  readonly spec: JsonObject;
  readonly status?: { readonly phase?: string };
}

export interface StorageClass extends KubernetesObject {
  readonly provisioner: string;
  readonly reclaimPolicy?: string;
  readonly volumeBindingMode?: string;
}

export interface HorizontalPodAutoscaler extends KubernetesObject {
  readonly spec: {
    readonly scaleTargetRef: {
      readonly apiVersion?: string;
      readonly kind: string;
      readonly name: string;
    };
    readonly minReplicas?: number;
    readonly maxReplicas: number;
  };
  readonly status?: {
    readonly currentReplicas?: number;
    readonly desiredReplicas: number;
    readonly observedGeneration?: number;
    readonly lastScaleTime?: string;
    readonly conditions?: readonly Condition[];
    readonly currentMetrics?: readonly JsonObject[] | null;
  };
}

export interface PodDisruptionBudget extends KubernetesObject {
  readonly spec: {
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
    readonly selector?: LabelSelector;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly disruptionsAllowed: number;
    readonly currentHealthy: number;
    readonly desiredHealthy: number;
    readonly expectedPods: number;
    readonly conditions?: readonly Condition[];
  };
}

export interface Lease extends KubernetesObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly renewTime?: string;
  };
}
