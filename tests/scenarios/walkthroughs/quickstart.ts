/**
 * The quickstart of the second stage, with one workspace that has the clusters and another one that
 * uses them. The plugin's half of it, in Pull mode, is typed from docs/guides/compute.md.
 */
import { computeExportAnnotation, computeExportName } from "@kcp-ts/multicluster";

export const computeExport: object = {
  apiVersion: "apis.kcp.io/v1alpha2",
  kind: "APIExport",
  metadata: { name: computeExportName, annotations: { [computeExportAnnotation]: "true" } },
};

export const binding: object = {
  apiVersion: "apis.kcp.io/v1alpha2",
  kind: "APIBinding",
  metadata: { name: computeExportName },
  spec: { reference: { export: { path: "root", name: computeExportName } } },
};

export const quickstartScenario = `
Q1  clusters are registered, and offered
@ us-east1 gets nodes
$ kubectl apply -f us-east1.yaml -f offer.yaml
synctarget.workload.kcp.io/us-east1 created
apiexport.apis.kcp.io/kubernetes created
$ kubectl wait cluster/us-east1 --for condition=Ready --timeout=100s
synctarget.workload.kcp.io/us-east1 condition met
~ kubectl get apiexport kubernetes -o 'jsonpath={.spec.resources[*].name}'
deployments

Q2  another workspace has none of it until it is bound
$ kubectl config use-context user
Switched to context "user".
$ kubectl get deployments
! error: the server doesn't have a resource type "deployments"
$ kubectl apply -f binding.yaml
apibinding.apis.kcp.io/kubernetes created
~ kubectl get apibinding kubernetes -o 'jsonpath={.status.phase}'
Bound
$ kubectl get clusters 2>&1
No resources found

Q3  what is applied there runs in the clusters of the first
$ kubectl create deployment kuard --image=gcr.io/kuar-demo/kuard-amd64:blue --port=8080
deployment.apps/kuard created
~ kubectl rollout status deployment/kuard --timeout=100s
...
deployment "kuard" successfully rolled out
$ kubectl get deployments
NAME READY UP-TO-DATE AVAILABLE AGE
kuard 1/1 1 1 *
kuard--us-east1-* 1/1 1 1 *
$ kubectl --kubeconfig us-east1.kubeconfig get pods -A --no-headers
kcp-* kuard--us-east1-* 1/1 Running 0 *
# The first workspace does not have it.
$ kubectl get deployments --context admin 2>&1
No resources found in default namespace.

Q4  the same name in the first workspace is another one
$ kubectl create deployment kuard --image=nginx:1.27 --replicas=2 --context admin
deployment.apps/kuard created
~ kubectl rollout status deployment/kuard --timeout=100s --context admin
...
deployment "kuard" successfully rolled out
$ kubectl get deployment kuard -o 'jsonpath={..image} {.status.readyReplicas}'
gcr.io/kuar-demo/kuard-amd64:blue 1

Q5  who leaves takes everything along
$ kubectl delete apibinding kubernetes --timeout=100s
apibinding.apis.kcp.io "kubernetes" deleted*
$ kubectl get deployments
! error: the server doesn't have a resource type "deployments"
$ kubectl --kubeconfig us-east1.kubeconfig get deployments -A --no-headers
kcp-* kuard--us-east1 2/2 2 2 *
`;
