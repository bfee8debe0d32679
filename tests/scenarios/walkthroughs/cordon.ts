/**
 * Cordon and evict, as in the third prototype of 2021, after K13 on the same clusters. There a
 * label on the Deployment said where it was, and was emptied by an eviction; here the parts say it,
 * and replicas leave a cluster only when they are replaced.
 */
export const cordonScenario = `
C1  a cluster that is cordoned keeps what it has, and gets nothing more
$ kubectl patch cluster us-west1 --type=merge -p '{"spec":{"unschedulable":true}}'
synctarget.workload.kcp.io/us-west1 patched
$ kubectl scale deployment my-deployment -n demo --replicas=20
deployment.apps/my-deployment scaled
~ kubectl get deployments -n demo --no-headers
my-deployment 20/20 20 20 *
my-deployment--us-east1 13/13 13 13 *
my-deployment--us-west1 7/7 7 7 *

C2  one that is drained is emptied
$ kubectl patch cluster us-west1 --type=merge -p '{"spec":{"drain":{}}}'
synctarget.workload.kcp.io/us-west1 patched
~ kubectl get deployments -n demo --no-headers
my-deployment 20/20 20 20 *
my-deployment--us-east1 20/20 20 20 *

C3  and used again when it may be
$ kubectl patch cluster us-west1 --type=merge -p '{"spec":{"drain":null,"unschedulable":false}}'
synctarget.workload.kcp.io/us-west1 patched
~ kubectl get deployments -n demo --no-headers
my-deployment 20/20 20 20 *
my-deployment--us-east1 10/10 10 10 *
my-deployment--us-west1 10/10 10 10 *

C4  one that leaves is emptied first
$ kubectl delete cluster us-west1 --timeout=100s
synctarget.workload.kcp.io "us-west1" deleted*
~ kubectl get deployments -n demo --no-headers
my-deployment 20/20 20 20 *
my-deployment--us-east1 20/20 20 20 *
`;
