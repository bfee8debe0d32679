/** The resources of Kubernetes and kcp that programs use most, by name. */
import type { KubernetesObject } from "./object.ts";
import type { Resource } from "./resource.ts";

const namespacedKinds = {
  configmaps: "v1 ConfigMap",
  endpoints: "v1 Endpoints",
  events: "v1 Event",
  persistentvolumeclaims: "v1 PersistentVolumeClaim",
  pods: "v1 Pod",
  resourcequotas: "v1 ResourceQuota",
  secrets: "v1 Secret",
  serviceaccounts: "v1 ServiceAccount",
  services: "v1 Service",
  "controllerrevisions.apps": "v1 ControllerRevision",
  "daemonsets.apps": "v1 DaemonSet",
  "deployments.apps": "v1 Deployment",
  "replicasets.apps": "v1 ReplicaSet",
  "statefulsets.apps": "v1 StatefulSet",
  "horizontalpodautoscalers.autoscaling": "v2 HorizontalPodAutoscaler",
  "cronjobs.batch": "v1 CronJob",
  "jobs.batch": "v1 Job",
  "leases.coordination.k8s.io": "v1 Lease",
  "endpointslices.discovery.k8s.io": "v1 EndpointSlice",
  "events.events.k8s.io": "v1 Event",
  "ingresses.networking.k8s.io": "v1 Ingress",
  "poddisruptionbudgets.policy": "v1 PodDisruptionBudget",
  "volumesnapshots.snapshot.storage.k8s.io": "v1 VolumeSnapshot",
} as const;

const clusterKinds = {
  namespaces: "v1 Namespace",
  nodes: "v1 Node",
  persistentvolumes: "v1 PersistentVolume",
  "customresourcedefinitions.apiextensions.k8s.io": "v1 CustomResourceDefinition",
  "apiservices.apiregistration.k8s.io": "v1 APIService",
  "selfsubjectaccessreviews.authorization.k8s.io": "v1 SelfSubjectAccessReview",
  "certificatesigningrequests.certificates.k8s.io": "v1 CertificateSigningRequest",
  "clusterrolebindings.rbac.authorization.k8s.io": "v1 ClusterRoleBinding",
  "clusterroles.rbac.authorization.k8s.io": "v1 ClusterRole",
  "volumesnapshotclasses.snapshot.storage.k8s.io": "v1 VolumeSnapshotClass",
  "volumesnapshotcontents.snapshot.storage.k8s.io": "v1 VolumeSnapshotContent",
  "storageclasses.storage.k8s.io": "v1 StorageClass",
  "apibindings.apis.kcp.io": "v1alpha2 APIBinding",
  "apiexportendpointslices.apis.kcp.io": "v1alpha1 APIExportEndpointSlice",
  "apiexports.apis.kcp.io": "v1alpha2 APIExport",
  "apiresourceschemas.apis.kcp.io": "v1alpha1 APIResourceSchema",
  "logicalclusters.core.kcp.io": "v1alpha1 LogicalCluster",
  "workspaceauthenticationconfigurations.tenancy.kcp.io":
    "v1alpha1 WorkspaceAuthenticationConfiguration",
  "workspaces.tenancy.kcp.io": "v1alpha1 Workspace",
} as const;

const kinds = { ...namespacedKinds, ...clusterKinds };

/** As `kubectl get` takes it: `configmaps`, `deployments.apps`. */
export type BuiltInResourceName = keyof typeof kinds;

export function builtInResource<Object extends KubernetesObject>(
  name: BuiltInResourceName,
): Resource<Object> {
  const [resource = "", ...group] = name.split(".");
  const [version = "", kind = ""] = kinds[name].split(" ");
  return { group: group.join("."), version, resource, kind, namespaced: name in namespacedKinds };
}
