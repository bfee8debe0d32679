/**
 * The CEL types of `request` and `namespaceObject` in expressions of webhooks and policies: wrong
 * member names are rejected on write.
 */
import {
  type DeclaredType,
  declaredBool,
  declaredDateTime,
  declaredDynamic,
  declaredInt,
  declaredList,
  declaredMap,
  declaredObject,
  declaredString,
} from "@kcp-ts/machinery/cel";

const reason = declaredString();
const texts = declaredList(reason);

function objectOf(name: string, members: Readonly<Record<string, DeclaredType>>): DeclaredType {
  return declaredObject(
    `kubernetes.${name}`,
    Object.entries(members).map(([member, declared]) => [member, { declared }] as const),
  );
}

const kind = objectOf("GroupVersionKind", { group: reason, version: reason, kind: reason });
const resource = objectOf("GroupVersionResource", {
  group: reason,
  version: reason,
  resource: reason,
});

export const requestType = objectOf("AdmissionRequest", {
  kind,
  resource,
  subResource: reason,
  requestKind: kind,
  requestResource: resource,
  requestSubResource: reason,
  name: reason,
  namespace: reason,
  operation: reason,
  userInfo: objectOf("UserInfo", {
    username: reason,
    uid: reason,
    groups: texts,
    extra: declaredMap(texts),
  }),
  dryRun: declaredBool,
  options: declaredDynamic,
});

export const namespaceType = objectOf("Namespace", {
  metadata: objectOf("NamespaceMetadata", {
    name: reason,
    generateName: reason,
    namespace: reason,
    labels: declaredMap(reason),
    annotations: declaredMap(reason),
    UID: reason,
    creationTimestamp: declaredDateTime,
    deletionGracePeriodSeconds: declaredInt,
    deletionTimestamp: declaredDateTime,
    generation: declaredInt,
    resourceVersion: reason,
    finalizers: texts,
  }),
  spec: objectOf("NamespaceSpec", { finalizers: texts }),
  status: objectOf("NamespaceStatus", {
    conditions: declaredList(
      objectOf("NamespaceCondition", {
        status: reason,
        type: reason,
        lastTransitionTime: declaredDateTime,
        message: reason,
        reason,
      }),
    ),
    phase: reason,
  }),
});
