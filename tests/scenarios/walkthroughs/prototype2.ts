/**
 * The second prototype, of early 2022: a user's own logical cluster, a workload that is there
 * before any cluster is, and one that is lost. What differs:
 *
 * - Then a namespace was assigned to a cluster and its objects followed; here the parts of the
 *   Deployment say where it is, and the part in a lost cluster stays.
 * - Where `curl` was, the address of the Ingress is looked at (see `ingress.ts`).
 * - What followed about access to workspaces and APIs that they inherit is in the tests of
 *   workspaces.
 */
export const prototype2Scenario = `
P1  a Deployment is there before any cluster, and waits
$ kubectl config use-context user
Switched to context "user".
$ kubectl apply --server-side -f deployments.apps.yaml
customresourcedefinition.apiextensions.k8s.io/deployments.apps serverside-applied
~ kubectl api-resources --api-group=apps --no-headers
deployments deploy apps/v1 true Deployment
$ kubectl create deployment httpecho --image=example.io/http-echo:1.0 --port=5678
deployment.apps/httpecho created
$ kubectl get deployments --no-headers
httpecho 0/1 0 0 *
$ kubectl get clusters -o name
@ us-east1 gets nodes
@ us-west1 gets nodes

P2  with the first cluster it runs
$ kubectl apply -f us-east1-default.yaml
synctarget.workload.kcp.io/us-east1 created
$ kubectl wait cluster/us-east1 --for condition=Ready --timeout=100s
synctarget.workload.kcp.io/us-east1 condition met
~ kubectl get deployments --no-headers
httpecho 1/1 1 1 *
httpecho--us-east1 1/1 1 1 *
$ kubectl --kubeconfig us-east1.kubeconfig get deployments -A -l workload.kcp.io/cluster=us-east1 --no-headers
kcp-* httpecho--us-east1 1/1 1 1 *

P3  Services are there now, and Ingresses: it is reached from outside
~ kubectl api-resources -o name | grep -E '^(services|ingresses.networking.k8s.io)$'
services
ingresses.networking.k8s.io
$ kubectl expose deployment httpecho --port=80 --target-port=5678
service/httpecho exposed
$ kubectl create ingress httpecho --rule='echo.example.io/*=httpecho:80'
ingress.networking.k8s.io/httpecho created
~ kubectl get ingresses --no-headers
httpecho <none> echo.example.io 198.18.* 80 *
httpecho--us-east1 <none> echo.example.io 198.18.* 80 *
~ kubectl get endpointslices -l multicluster.kubernetes.io/service-name=httpecho -o jsonpath='{.items[*].endpoints[*].conditions.ready}'
true

P4  a second cluster joins, the first is lost, and the workload is in the second
$ kubectl apply -f us-west1-default.yaml
synctarget.workload.kcp.io/us-west1 created
$ kubectl wait cluster/us-west1 --for condition=Ready --timeout=100s
synctarget.workload.kcp.io/us-west1 condition met
@ us-east1 is lost
~ kubectl get clusters --no-headers
us-east1 False *
us-west1 True *
~ kubectl get deployments --no-headers
httpecho 1/1 1 1 *
httpecho--us-east1 1/1 1 1 *
httpecho--us-west1 1/1 1 1 *

P5  it is reached there, and no longer where it was
~ kubectl get endpointslices -l multicluster.kubernetes.io/source-cluster=us-west1 -o jsonpath='{.items[*].endpoints[*].conditions.ready}'
true
~ kubectl get endpointslices -l multicluster.kubernetes.io/source-cluster=us-east1 -o jsonpath='{.items[*].endpoints[*].conditions.ready}'
~ test "$(kubectl get ingress httpecho -o jsonpath='{.status.loadBalancer.ingress[*].ip}')" = "$(kubectl get ingress httpecho--us-west1 -o jsonpath='{.status.loadBalancer.ingress[*].ip}')" && echo reached in us-west1 alone
reached in us-west1 alone
`;
