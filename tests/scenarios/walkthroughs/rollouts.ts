/**
 * Rollouts of a Deployment over clusters. The demo of 2021 had none: its splitter did not reconcile
 * updates.
 *
 * kubectl finds revisions as ReplicaSets. Where they are not served it reports so; a SyncTarget
 * that does not list its resources serves them.
 */
export const rolloutsScenario = `
R1  without ReplicaSets there is no history, and kubectl says what it misses
@ us-east1 gets nodes
@ us-west1 gets nodes
$ kubectl apply -f us-east1.yaml
synctarget.workload.kcp.io/us-east1 created
~ kubectl api-resources --api-group=apps --no-headers
deployments deploy apps/v1 true Deployment
$ kubectl create deployment plain --image=nginx:1.27
deployment.apps/plain created
~ kubectl rollout status deployment/plain --timeout=100s
...
deployment "plain" successfully rolled out
$ kubectl rollout history deployment/plain
! error: failed to retrieve replica sets from deployment plain: *the server could not find the requested resource
$ kubectl rollout undo deployment/plain
! error: failed to retrieve replica sets from deployment plain: *the server could not find the requested resource
$ kubectl rollout restart deployment/plain
deployment.apps/plain restarted
$ kubectl rollout status deployment/plain --timeout=100s
...
deployment "plain" successfully rolled out

R2  clusters lend ReplicaSets along with Deployments, if nobody says otherwise
$ kubectl config use-context history
Switched to context "history".
$ kubectl apply -f us-east1-default.yaml -f us-west1-default.yaml
synctarget.workload.kcp.io/us-east1 created
synctarget.workload.kcp.io/us-west1 created
$ kubectl wait clusters --all --for condition=Ready --timeout=100s
synctarget.workload.kcp.io/us-east1 condition met
synctarget.workload.kcp.io/us-west1 condition met
~ kubectl api-resources --api-group=apps --no-headers
controllerrevisions apps/v1 true ControllerRevision
daemonsets ds apps/v1 true DaemonSet
deployments deploy apps/v1 true Deployment
replicasets rs apps/v1 true ReplicaSet
statefulsets sts apps/v1 true StatefulSet
# The same clusters lend to each logical cluster what its own SyncTargets say.
$ kubectl get replicasets --context admin
! error: the server doesn't have a resource type "replicasets"

R3  every template is a revision
$ kubectl create deployment web --image=nginx:1.27 --replicas=4
deployment.apps/web created
~ kubectl rollout status deployment/web --timeout=100s
...
deployment "web" successfully rolled out
$ kubectl rollout history deployment/web
deployment.apps/web
REVISION CHANGE-CAUSE
1 <none>
$ kubectl set image deployment/web nginx=nginx:1.28
deployment.apps/web image updated
$ kubectl rollout status deployment/web --timeout=100s
...
deployment "web" successfully rolled out
$ kubectl annotate deployment/web kubernetes.io/change-cause='a newer nginx'
deployment.apps/web annotated
~ kubectl rollout history deployment/web
deployment.apps/web
REVISION CHANGE-CAUSE
1 <none>
2 a newer nginx
$ kubectl get deployments -o 'custom-columns=:.metadata.name,:..image,:.spec.replicas'
web nginx:1.28 4
web--us-east1 nginx:1.28 2
web--us-west1 nginx:1.28 2

R4  an undo brings the first back, everywhere
$ kubectl rollout undo deployment/web
deployment.apps/web rolled back
$ kubectl rollout status deployment/web --timeout=100s
...
deployment "web" successfully rolled out
$ kubectl get deployments -o 'custom-columns=:.metadata.name,:..image,:.status.updatedReplicas'
web nginx:1.27 4
web--us-east1 nginx:1.27 2
web--us-west1 nginx:1.27 2
$ kubectl rollout history deployment/web
deployment.apps/web
REVISION CHANGE-CAUSE
2 a newer nginx
3 <none>
$ kubectl rollout history deployment/web --revision=2
deployment.apps/web with revision #2
...
Image: nginx:1.28
...
$ kubectl rollout undo deployment/web --to-revision=9
! error: unable to find specified revision 9 in history

R5  a restart is a revision, too, and there are no more than asked for
$ kubectl rollout restart deployment/web
deployment.apps/web restarted
$ kubectl rollout status deployment/web --timeout=100s
...
deployment "web" successfully rolled out
$ kubectl rollout history deployment/web
deployment.apps/web
REVISION CHANGE-CAUSE
2 a newer nginx
3 <none>
4 <none>
$ kubectl patch deployment web -p '{"spec":{"revisionHistoryLimit":1}}'
deployment.apps/web patched
~ kubectl rollout history deployment/web
deployment.apps/web
REVISION CHANGE-CAUSE
3 <none>
4 <none>
# They are a record: none of them runs anything, here or in a cluster.
$ kubectl get replicasets --no-headers
web-* 0 0 0 *
web-* 0 0 0 *

R6  with the Deployment goes its history
$ kubectl delete deployment web
deployment.apps "web" deleted*
~ kubectl get deployments,replicasets 2>&1
No resources found in default namespace.

R7  what may not be recorded is run all the same
$ kubectl create quota none --hard=count/replicasets.apps=0
resourcequota/none created
~ kubectl get quota none -o 'jsonpath={.status.used}'
{"count/replicasets.apps":"0"}
$ kubectl create deployment web --image=nginx:1.27 --replicas=2
deployment.apps/web created
~ kubectl rollout status deployment/web --timeout=100s
...
deployment "web" successfully rolled out
~ kubectl get events --field-selector reason=RevisionNotRecorded -o 'custom-columns=:.type,:.involvedObject.name,:.message'
Warning web revision 1 is not recorded, and cannot be undone to: *exceeded quota*
$ kubectl rollout undo deployment/web
! error: no rollout history found for deployment "web"
`;
