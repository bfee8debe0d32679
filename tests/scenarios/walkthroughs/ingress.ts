/**
 * The ingress demo of 2021: an application in one cluster, an Ingress that follows it, and a move
 * by a label. What differs:
 *
 * - Then an Envoy in front of all clusters answered, and its name was the Ingress's address. Here
 *   the addresses of the clusters are the Ingress's own, for DNS or a load balancer; so where
 *   `curl` was, the address is looked at.
 * - Then the old leaf was deleted when the new one was made. Here it stays until the new one has an
 *   address.
 * - I5: the same application, assigned to nobody, is in both clusters.
 */
const labels = { app: "httpecho" };
const metadata = { name: "httpecho", labels: { ...labels, "kcp.dev/cluster": "us-east1" } };

const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata,
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { containers: [{ name: "echo", image: "example.io/http-echo:1.0" }] },
    },
  },
};
const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata,
  spec: { selector: labels, ports: [{ name: "http", port: 80, targetPort: 5678 }] },
};
const backend = { service: { name: "httpecho", port: { name: "http" } } };
const ingress = {
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: { name: "httpecho" },
  spec: {
    rules: [
      { host: "echo.example.io", http: { paths: [{ path: "/", pathType: "Prefix", backend }] } },
    ],
  },
};

export const httpecho = { apiVersion: "v1", kind: "List", items: [deployment, service, ingress] };

export const ingressScenario = `
I1  two clusters lend their Services and Ingresses
$ kubectl apply -f us-east1-default.yaml -f us-west1-default.yaml
synctarget.workload.kcp.io/us-east1 created
synctarget.workload.kcp.io/us-west1 created
$ kubectl wait cluster us-east1 us-west1 --for condition=Ready --timeout=100s
synctarget.workload.kcp.io/us-east1 condition met
synctarget.workload.kcp.io/us-west1 condition met
~ kubectl api-resources -o name | grep -E '^(services|ingresses.networking.k8s.io|endpointslices.discovery.k8s.io)$'
services
endpointslices.discovery.k8s.io
ingresses.networking.k8s.io
@ us-east1 gets nodes
@ us-west1 gets nodes

I2  an application is applied that a label assigns to one of them
$ kubectl apply -f httpecho.yaml
deployment.apps/httpecho created
service/httpecho created
ingress.networking.k8s.io/httpecho created
$ kubectl wait deployment/httpecho --for=condition=Available --timeout=100s
deployment.apps/httpecho condition met

I3  its Ingress is there too, and has the address that the cluster gave it
~ kubectl get ingresses --no-headers
httpecho <none> echo.example.io 198.18.* 80 *
httpecho--us-east1 <none> echo.example.io 198.18.* 80 *
$ kubectl get ingress httpecho--us-east1 -o jsonpath='{.metadata.labels}'
*"workload.kcp.io/ingress-root-cluster":"root"*"workload.kcp.io/ingress-root-name":"httpecho"*"workload.kcp.io/ingress-root-namespace":"default"*
$ kubectl --kubeconfig us-east1.kubeconfig get ingresses -A --no-headers
kcp-* httpecho--us-east1 <none> echo.example.io 198.18.* 80 *

I4  a label moves it, and the Ingress goes along
$ kubectl label deployment/httpecho service/httpecho kcp.dev/cluster=us-west1 --overwrite
deployment.apps/httpecho labeled
service/httpecho labeled
~ kubectl get ingresses --no-headers
httpecho <none> echo.example.io 198.18.* 80 *
httpecho--us-west1 <none> echo.example.io 198.18.* 80 *
~ kubectl --kubeconfig us-west1.kubeconfig get deployments,ingresses -A --no-headers
kcp-* deployment.apps/httpecho 2/2 2 2 *
kcp-* ingress.networking.k8s.io/httpecho--us-west1 <none> echo.example.io 198.18.* 80 *
~ kubectl --kubeconfig us-east1.kubeconfig get deployments,ingresses -A --no-headers
$ kubectl wait deployment/httpecho --for=condition=Available --timeout=100s
deployment.apps/httpecho condition met

I5  assigned to nobody, it is in both, and reached at either
$ kubectl label deployment/httpecho service/httpecho kcp.dev/cluster-
deployment.apps/httpecho unlabeled
service/httpecho unlabeled
~ kubectl get deployments,ingresses --no-headers
deployment.apps/httpecho 2/2 2 2 *
deployment.apps/httpecho--us-east1 1/1 1 1 *
deployment.apps/httpecho--us-west1 1/1 1 1 *
ingress.networking.k8s.io/httpecho <none> echo.example.io 198.18.*,198.18.* 80 *
ingress.networking.k8s.io/httpecho--us-east1 <none> echo.example.io 198.18.* 80 *
ingress.networking.k8s.io/httpecho--us-west1 <none> echo.example.io 198.18.* 80 *
~ kubectl get serviceimports --no-headers
httpecho ClusterSetIP *

I6  deleted, it is nowhere
$ kubectl delete -f httpecho.yaml --timeout=100s
deployment.apps "httpecho" deleted*
service "httpecho" deleted*
ingress.networking.k8s.io "httpecho" deleted*
~ kubectl get deployments,services,ingresses,serviceexports,serviceimports,endpointslices -o name
`;
