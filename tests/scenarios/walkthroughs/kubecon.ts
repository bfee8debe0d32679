/**
 * The demo of KubeCon 2021, K1 to K13, with our names. What differs from it, and why:
 *
 * - K2 was an exact list of 23 kinds. Ours has 21 of them: limitranges are about Pods, and
 *   apiservices about servers behind this one. It has others (workspaces, admission, what shares
 *   APIs); what counts is that none is a workload's.
 * - K3: twelve pretend integrations, as then, with names of our own.
 * - K5: logical clusters are contexts of one kubeconfig there as here.
 * - K6 applied three definitions. Ours are built in: there is nothing to apply.
 * - K7: a Cluster is a SyncTarget; `cluster` is its short name, so that the commands are the same.
 * - K10: Pods do not start before the transcript says so, which is how 0/10 can be waited for.
 */
const integrations = [
  "databases.postgresql.example.io",
  "databases.mongodb.example.io",
  "buckets.storage.example.io",
  "caches.memory.example.io",
  "channels.chat.example.io",
  "dashboards.metrics.example.io",
  "functions.lambda.example.io",
  "pipelines.build.example.io",
  "queues.messages.example.io",
  "repos.code.example.io",
  "topics.messages.example.io",
  "websites.hosting.example.io",
];

export const kubeconScenario = `
K1  there are no Pods to get
$ kubectl get pods
! error: the server doesn't have a resource type "pods"

K2  no kind of a workload is served
$ kubectl api-resources -o name --sort-by=name
...
certificatesigningrequests.certificates.k8s.io
clustercachedresourceendpointslices.cache.kcp.io
clustercachedresources.cache.kcp.io
clusterdaemonsets.workload.kcp.io
clusterrolebindings.rbac.authorization.k8s.io
clusterroles.rbac.authorization.k8s.io
configmaps
customresourcedefinitions.apiextensions.k8s.io
events
events.events.k8s.io
flowschemas.flowcontrol.apiserver.k8s.io
leases.coordination.k8s.io
...
localsubjectaccessreviews.authorization.k8s.io
...
namespaces
...
prioritylevelconfigurations.flowcontrol.apiserver.k8s.io
resourcequotas
rolebindings.rbac.authorization.k8s.io
roles.rbac.authorization.k8s.io
secrets
selfsubjectaccessreviews.authorization.k8s.io
...
selfsubjectrulesreviews.authorization.k8s.io
serviceaccounts
...
subjectaccessreviews.authorization.k8s.io
...
tokenreviews.authentication.k8s.io
...
$ kubectl api-resources -o name | grep -E '^(pods|services|nodes|endpoints)$|[.](apps|batch|autoscaling|policy|networking.k8s.io|storage.k8s.io)$'
!

K3  anything can be defined
$ kubectl apply -f integrations.yaml
${integrations.map((name) => `customresourcedefinition.apiextensions.k8s.io/${name} created`).join("\n")}

K4  what is defined is explained
~ kubectl explain databases.postgresql.example.io
...
KIND: Database
VERSION: *v1alpha1
DESCRIPTION:
A database that somebody else runs.
FIELDS:
...
spec <Object> -required-
...

K5  another logical cluster knows nothing of it
$ kubectl config view --minify -o 'jsonpath={.clusters[0].cluster.server}'
https://127.0.0.1:*/clusters/root
$ kubectl config use-context user
Switched to context "user".
$ kubectl config view --minify -o 'jsonpath={.clusters[0].cluster.server}'
https://127.0.0.1:*/clusters/user
$ kubectl get databases
! error: the server doesn't have a resource type "databases"
$ kubectl get crds 2>&1
No resources found
$ kubectl config use-context admin
Switched to context "admin".

K6  the kinds of physical clusters are there
$ kubectl api-resources -o name --sort-by=name | grep -E 'workload.kcp.io|apiresource.kcp.io'
apiresourceimports.apiresource.kcp.io
clusterdaemonsets.workload.kcp.io
negotiatedapiresources.apiresource.kcp.io
placementreviews.workload.kcp.io
syncpolicies.workload.kcp.io
synctargets.workload.kcp.io
workloadstrategies.workload.kcp.io

K7  clusters are registered, and become ready
$ kubectl apply -f us-west1.yaml
synctarget.workload.kcp.io/us-west1 created
$ kubectl apply -f us-east1.yaml
synctarget.workload.kcp.io/us-east1 created
$ kubectl wait cluster/us-west1 --for condition=Ready --timeout=100s
synctarget.workload.kcp.io/us-west1 condition met
$ kubectl wait cluster/us-east1 --for condition=Ready --timeout=100s
synctarget.workload.kcp.io/us-east1 condition met

K8  Deployments are served
~ kubectl api-resources --api-group=apps --no-headers
deployments deploy apps/v1 true Deployment

K9  a Deployment is applied
$ kubectl create namespace demo
namespace/demo created
$ kubectl apply -f my-deployment.yaml
deployment.apps/my-deployment created

K10  it is split over the clusters
~ kubectl get deployments -n demo --no-headers
my-deployment 0/10 10 0 *
my-deployment--us-east1 0/5 5 0 *
my-deployment--us-west1 0/5 5 0 *

K11  all of them become available
@ us-east1 gets nodes
~ kubectl get deployments -n demo --no-headers
my-deployment 5/10 10 5 *
my-deployment--us-east1 5/5 5 5 *
my-deployment--us-west1 0/5 5 0 *
@ us-west1 gets nodes
$ kubectl wait deployments -n demo --all --for=condition=Available --timeout=100s
deployment.apps/my-deployment condition met
deployment.apps/my-deployment--us-east1 condition met
deployment.apps/my-deployment--us-west1 condition met

K12  the counts of the parts add up
~ kubectl get deployments -n demo --no-headers
my-deployment 10/10 10 10 *
my-deployment--us-east1 5/5 5 5 *
my-deployment--us-west1 5/5 5 5 *
# The seed's own figure: 15, which cannot be halved.
$ kubectl scale deployment my-deployment -n demo --replicas=15
deployment.apps/my-deployment scaled
~ kubectl get deployments -n demo --no-headers
my-deployment 15/15 15 15 *
my-deployment--us-east1 8/8 8 8 *
my-deployment--us-west1 7/7 7 7 *

K13  Pods stay where they run
$ kubectl get pods -n demo
! error: the server doesn't have a resource type "pods"
`;

const definition = (name: string, at: number) => {
  const [plural = "", ...group] = name.split(".");
  const singular = plural.replace(/s$/, "");
  const kind = singular.replace(/^./, (letter) => letter.toUpperCase());
  const openAPIV3Schema = {
    type: "object",
    description: `A ${singular} that somebody else runs.`,
    required: ["spec"],
    properties: { spec: { type: "object", properties: { size: { type: "string" } } } },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec: {
      group: group.join("."),
      scope: at < 2 ? "Namespaced" : "Cluster",
      names: { plural, singular, kind },
      versions: [{ name: "v1alpha1", served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
};

export const integrationDefinitions = {
  apiVersion: "v1",
  kind: "List",
  items: integrations.map(definition),
};

export const myDeployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "my-deployment", namespace: "demo", labels: { app: "my-app" } },
  spec: {
    replicas: 10,
    selector: { matchLabels: { app: "my-app" } },
    strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0 } },
    template: {
      metadata: { labels: { app: "my-app" } },
      spec: { containers: [{ name: "web", image: "nginx:1.27" }] },
    },
  },
};
