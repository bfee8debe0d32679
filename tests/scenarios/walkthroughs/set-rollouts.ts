/**
 * Rollouts of StatefulSets and DaemonSets, of which a whole is in two clusters. kubectl finds their
 * revisions as ControllerRevisions.
 */
export const setRolloutsScenario = `
S1  clusters lend ControllerRevisions along with sets, if nobody says otherwise
@ us-east1 gets nodes
@ us-west1 gets nodes
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
# Both take part from the beginning.
~ kubectl get clusters -o 'custom-columns=:.metadata.name,:.status.syncedResources'
us-east1 *statefulsets.apps*
us-west1 *statefulsets.apps*
~ kubectl get clusters -o 'custom-columns=:.metadata.name,:.status.syncedResources'
us-east1 *daemonsets.apps*
us-west1 *daemonsets.apps*

S2  StatefulSets have a history
$ kubectl apply -f db.yaml
statefulset.apps/db created
~ kubectl rollout status statefulset/db --timeout=100s
...
partitioned roll out complete: 2 new pods have been updated...
$ kubectl set image statefulset/db db=postgres:18
statefulset.apps/db image updated
$ kubectl rollout status statefulset/db --timeout=100s
...
partitioned roll out complete: 2 new pods have been updated...
$ kubectl annotate statefulset/db kubernetes.io/change-cause='a newer postgres'
statefulset.apps/db annotated
~ kubectl rollout history statefulset/db
statefulset.apps/db
REVISION CHANGE-CAUSE
1 <none>
2 a newer postgres
$ kubectl rollout undo statefulset/db
statefulset.apps/db rolled back
$ kubectl rollout status statefulset/db --timeout=100s
...
partitioned roll out complete: 2 new pods have been updated...
$ kubectl get statefulsets -o 'custom-columns=:.metadata.name,:..image,:.status.updatedReplicas'
db postgres:17 2
db--us-east1 postgres:17 1
db--us-west1 postgres:17 1
~ kubectl rollout history statefulset/db
statefulset.apps/db
REVISION CHANGE-CAUSE
2 a newer postgres
3 *
$ kubectl rollout history statefulset/db --revision=2
statefulset.apps/db with revision #2
...
Image: postgres:18
...
$ kubectl rollout restart statefulset/db
statefulset.apps/db restarted
$ kubectl rollout status statefulset/db --timeout=100s
...
partitioned roll out complete: 2 new pods have been updated...
$ kubectl rollout undo statefulset/db --to-revision=9
! error: unable to find specified revision 9 in history

S3  and so have DaemonSets
$ kubectl apply -f log.yaml
daemonset.apps/log created
~ kubectl rollout status daemonset/log --timeout=100s
...
daemon set "log" successfully rolled out
$ kubectl set image daemonset/log log=fluentd:2
daemonset.apps/log image updated
$ kubectl rollout status daemonset/log --timeout=100s
...
daemon set "log" successfully rolled out
$ kubectl rollout undo daemonset/log
daemonset.apps/log rolled back
$ kubectl rollout status daemonset/log --timeout=100s
...
daemon set "log" successfully rolled out
$ kubectl get daemonsets -o 'custom-columns=:.metadata.name,:..image'
log fluentd:1
log--us-east1 fluentd:1
log--us-west1 fluentd:1
~ kubectl rollout history daemonset/log
daemonset.apps/log
REVISION CHANGE-CAUSE
2 <none>
3 <none>
$ kubectl delete statefulset/db daemonset/log
statefulset.apps "db" deleted*
daemonset.apps "log" deleted*
~ kubectl get controllerrevisions 2>&1
No resources found in default namespace.
`;

/** Without claims: what it would need of storage is another story. */
export const databaseStatefulSet = {
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "db" },
  spec: {
    replicas: 2,
    serviceName: "db",
    selector: { matchLabels: { app: "db" } },
    template: {
      metadata: { labels: { app: "db" } },
      spec: { containers: [{ name: "db", image: "postgres:17" }] },
    },
  },
};

export const logDaemonSet = {
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name: "log" },
  spec: {
    selector: { matchLabels: { app: "log" } },
    template: {
      metadata: { labels: { app: "log" } },
      spec: { containers: [{ name: "log", image: "fluentd:1" }] },
    },
  },
};
