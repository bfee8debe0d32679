/** What `request` and `namespaceObject` are to expressions of webhooks and policies: wrong member names are found when these are written. */
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

const text = declaredString();
const texts = declaredList(text);

function objectOf(name: string, members: Readonly<Record<string, DeclaredType>>): DeclaredType {
  return declaredObject(
    `kubernetes.${name}`,
    Object.entries(members).map(([member, declared]) => [member, { declared }] as const),
  );
}

const kind = objectOf("GroupVersionKind", { group: text, version: text, kind: text });
const resource = objectOf("GroupVersionResource", { group: text, version: text, resource: text });

export const requestType = objectOf("AdmissionRequest", {
  kind,
  resource,
  subResource: text,
  requestKind: kind,
  requestResource: resource,
  requestSubResource: text,
  name: text,
  namespace: text,
  operation: text,
  userInfo: objectOf("UserInfo", {
    username: text,
    uid: text,
    groups: texts,
    extra: declaredMap(texts),
  }),
  dryRun: declaredBool,
  options: declaredDynamic,
});

export const namespaceType = objectOf("Namespace", {
  metadata: objectOf("NamespaceMetadata", {
    name: text,
    generateName: text,
    namespace: text,
    labels: declaredMap(text),
    annotations: declaredMap(text),
    UID: text,
    creationTimestamp: declaredDateTime,
    deletionGracePeriodSeconds: declaredInt,
    deletionTimestamp: declaredDateTime,
    generation: declaredInt,
    resourceVersion: text,
    finalizers: texts,
  }),
  spec: objectOf("NamespaceSpec", { finalizers: texts }),
  status: objectOf("NamespaceStatus", {
    conditions: declaredList(
      objectOf("NamespaceCondition", {
        status: text,
        type: text,
        lastTransitionTime: declaredDateTime,
        message: text,
        reason: text,
      }),
    ),
    phase: text,
  }),
});
