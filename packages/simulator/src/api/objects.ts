/**
 * The fields of the kinds that controllers read and write. The shapes in `shapes/` have all fields.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { LabelSelectorObject } from "@kcp-ts/machinery/selectors";
import type { KubernetesObject, StringMap } from "@kcp-ts/sdk";

export type LabelSelector = LabelSelectorObject;

export interface TemplateMeta {
  readonly labels?: StringMap;
  readonly annotations?: StringMap;
  readonly name?: string;
}

export interface PodTemplate {
  readonly metadata?: TemplateMeta;
  readonly spec: PodSpec;
}

export interface ContainerPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly protocol?: string;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly ports?: readonly ContainerPort[];
  readonly readinessProbe?: JsonObject;
  readonly restartPolicy?: string;
  readonly resources?: { readonly requests?: StringMap; readonly limits?: StringMap };
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly ephemeralContainers?: readonly Container[];
  readonly nodeName?: string;
  readonly nodeSelector?: StringMap;
  readonly affinity?: JsonObject;
  readonly tolerations?: readonly Toleration[];
  readonly restartPolicy?: string;
  readonly schedulerName?: string;
  readonly hostNetwork?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly activeDeadlineSeconds?: number;
  readonly volumes?: readonly JsonObject[];
  readonly schedulingGates?: readonly JsonObject[];
  readonly readinessGates?: readonly { readonly conditionType: string }[];
  readonly [member: string]: unknown;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastUpdateTime?: string;
  readonly lastProbeTime?: string | null;
}

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: {
    readonly exitCode: number;
    readonly reason?: string;
    readonly startedAt?: string;
    readonly finishedAt?: string;
    readonly containerID?: string;
  };
}

export interface ContainerStatus {
  readonly name: string;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly image: string;
  readonly imageID: string;
  readonly containerID?: string;
  readonly started?: boolean;
}

export interface PodStatus {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly Condition[];
  readonly hostIP?: string;
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
  readonly hostIPs?: readonly { readonly ip: string }[];
  readonly startTime?: string;
  readonly qosClass?: string;
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly ephemeralContainerStatuses?: readonly ContainerStatus[];
}

export interface Pod extends KubernetesObject {
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

export interface Node extends KubernetesObject {
  readonly spec?: {
    readonly podCIDR?: string;
    readonly providerID?: string;
    readonly unschedulable?: boolean;
    readonly taints?: readonly Taint[];
  };
  readonly status?: {
    readonly capacity?: StringMap;
    readonly allocatable?: StringMap;
    readonly conditions?: readonly Condition[];
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly nodeInfo?: StringMap;
    readonly daemonEndpoints?: JsonObject;
  };
}

export interface ReplicaSet extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
  };
  readonly status?: {
    readonly replicas: number;
    readonly fullyLabeledReplicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly terminatingReplicas?: number;
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
  };
}

export interface Deployment extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: {
        readonly maxSurge?: number | string;
        readonly maxUnavailable?: number | string;
      };
    };
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly progressDeadlineSeconds?: number;
    readonly paused?: boolean;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly unavailableReplicas?: number;
    readonly terminatingReplicas?: number;
    readonly collisionCount?: number;
    readonly conditions?: readonly Condition[];
  };
}
