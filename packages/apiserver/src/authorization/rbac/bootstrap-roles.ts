/**
 * The ClusterRoles that every logical cluster can refer to without storing them, as data. Names and
 * rules are those of Kubernetes and kcp: charts, manifests and users rely on them.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";

const read = ["get", "list", "watch"];
const write = ["create", "delete", "deletecollection", "patch", "update"];
const everything = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

const rbac = "rbac.authorization.k8s.io";
const authorization = "authorization.k8s.io";
const authentication = "authentication.k8s.io";
const certificates = "certificates.k8s.io";
const tenancy = "tenancy.kcp.io";
const core = "core.kcp.io";

/**
 * The content of a namespace that reveals no secrets and grants no permissions: neither Secrets nor
 * roles.
 */
const viewing = [
  on(
    read,
    "",
    "bindings configmaps endpoints events limitranges namespaces namespaces/status persistentvolumeclaims persistentvolumeclaims/status pods pods/log pods/status replicationcontrollers replicationcontrollers/scale replicationcontrollers/status resourcequotas resourcequotas/status serviceaccounts services services/status",
  ),
  on(
    read,
    "apps",
    "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
  ),
  on(read, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
  on(read, "batch", "cronjobs cronjobs/status jobs jobs/status"),
  on(read, "discovery.k8s.io", "endpointslices"),
  // As metrics-server adds it to a cluster.
  on(["get", "list"], "metrics.k8s.io", "pods"),
  on(read, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
  on(read, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
];

/**
 * The content of a namespace that its users work with, including Secrets and the identities of its
 * service accounts.
 */
const editing = [
  on(read, "", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
  on(["impersonate"], "", "serviceaccounts"),
  on(
    write,
    "",
    "configmaps events persistentvolumeclaims pods pods/attach pods/exec pods/portforward pods/proxy replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy",
  ),
  on(["create"], "", "pods/eviction serviceaccounts/token"),
  on(
    write,
    "apps",
    "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale",
  ),
  on(write, "autoscaling", "horizontalpodautoscalers"),
  on(write, "batch", "cronjobs jobs"),
  on([...read, ...write], "coordination.k8s.io", "leases"),
  on(write, "networking.k8s.io", "ingresses networkpolicies"),
  on(write, "policy", "poddisruptionbudgets"),
];

/** The permission to grant permissions: roles and their bindings within the namespace. */
const administering = [
  on(["create"], authorization, "localsubjectaccessreviews"),
  on([...read, ...write], rbac, "rolebindings roles"),
];

const publicPaths = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

const roles: Readonly<Record<string, readonly JsonObject[]>> = {
  "cluster-admin": everything,
  "system:basic-user": [
    on(["create"], authorization, "selfsubjectaccessreviews selfsubjectrulesreviews"),
    on(["create"], authentication, "selfsubjectreviews"),
  ],
  "system:discovery": [
    at(["get"], ...publicPaths, "/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"),
  ],
  "system:public-info-viewer": [at(["get"], ...publicPaths)],
  "system:monitoring": [
    at(["get"], "/metrics", "/metrics/slis", "/healthz", "/healthz/*", "/livez", "/livez/*"),
    at(["get"], "/readyz", "/readyz/*"),
  ],
  "system:service-account-issuer-discovery": [
    at(["get"], "/.well-known/openid-configuration", "/.well-known/openid-configuration/"),
    at(["get"], "/openid/v1/jwks", "/openid/v1/jwks/"),
  ],
  "system:auth-delegator": [
    on(["create"], authentication, "tokenreviews"),
    on(["create"], authorization, "subjectaccessreviews"),
  ],
  [`system:${certificates}:certificatesigningrequests:nodeclient`]: [
    on(["create"], certificates, "certificatesigningrequests/nodeclient"),
  ],
  [`system:${certificates}:certificatesigningrequests:selfnodeclient`]: [
    on(["create"], certificates, "certificatesigningrequests/selfnodeclient"),
  ],
  ...approver("kube-apiserver-client"),
  ...approver("kube-apiserver-client-kubelet"),
  ...approver("kubelet-serving"),
  ...approver("legacy-unknown"),
  "system:kcp:tenancy:reader": [
    on(read, tenancy, "workspaces workspacetypes"),
    on(read, core, "logicalclusters"),
  ],
  "system:kcp:tenancy:workspace-bootstrapper": everything,
  "system:kcp:logical-cluster-admin": [
    on(["*"], core, "logicalclusters logicalclusters/status"),
    on(["delete", "update", "get"], tenancy, "workspaces"),
  ],
  "system:kcp:external-logical-cluster-admin": [
    on(["delete", "update", "get"], core, "logicalclusters logicalclusters/status"),
    on(["delete", "update", "get"], tenancy, "workspaces"),
    on(["get"], "", "secrets serviceaccounts"),
    on(["get", "patch", "update"], "apis.kcp.io", "apiexportendpointslices/status"),
    on(read, "apis.kcp.io", "apiexportendpointslices"),
    on(["get", "patch", "update"], "cache.kcp.io", "cachedresourceendpointslices/status"),
    on(read, "cache.kcp.io", "cachedresourceendpointslices"),
    at(["access"], "/"),
  ],
  "system:kcp:workspace:access": [at(["access"], "/")],
  "system:kcp:metrics-reader": [at(["get"], "/metrics")],
};

const label = (role: string) => ({ [`${rbac}/aggregate-to-${role}`]: "true" });

export const bootstrapClusterRoles: readonly JsonObject[] = [
  ...Object.entries(roles).map(([name, rules]) => clusterRole(name, { rules })),
  clusterRole("admin", aggregated("admin")),
  clusterRole("edit", aggregated("edit"), label("admin")),
  clusterRole("view", aggregated("view"), label("edit")),
  clusterRole("system:aggregate-to-admin", { rules: administering }, label("admin")),
  clusterRole("system:aggregate-to-edit", { rules: editing }, label("edit")),
  clusterRole("system:aggregate-to-view", { rules: viewing }, label("view")),
];

function on(verbs: readonly string[], group: string, resources: string): JsonObject {
  return { verbs, apiGroups: [group], resources: resources.split(" ").sort() };
}

function at(verbs: readonly string[], ...nonResourceURLs: readonly string[]): JsonObject {
  return { verbs, nonResourceURLs: nonResourceURLs.toSorted() };
}

function approver(signer: string): Readonly<Record<string, readonly JsonObject[]>> {
  const rule = {
    ...on(["approve"], certificates, "signers"),
    resourceNames: [`kubernetes.io/${signer}`],
  };
  return { [`system:${certificates}:${signer}-approver`]: [rule] };
}

function aggregated(role: string): JsonObject {
  return { rules: [], aggregationRule: { clusterRoleSelectors: [{ matchLabels: label(role) }] } };
}

function clusterRole(name: string, content: JsonObject, labels: JsonObject = {}): JsonObject {
  const metadata = { name, labels: { "kubernetes.io/bootstrapping": "rbac-defaults", ...labels } };
  return { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata, ...content };
}
