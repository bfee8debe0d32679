/**
 * Goal: rejections by Kubernetes are classified, whatever the objects are named. The messages are
 * those of release 1.36.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StatusError, type StatusReason } from "@kcp-ts/machinery/status";
import { syncErrorOf } from "./sync-error.ts";

const resource = {
  group: "",
  version: "v1",
  resource: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};

const answers: readonly (readonly [
  what: string,
  code: number,
  reason: StatusReason,
  message: string,
  expected: string,
])[] = [
  [
    "a quota that is used up",
    403,
    "Forbidden",
    'configmaps "a" is forbidden: exceeded quota: small, requested: count/configmaps=1, used: count/configmaps=2, limited: count/configmaps=1',
    "QuotaExceeded object",
  ],
  [
    "a quota that wants limits",
    403,
    "Forbidden",
    'pods "a" is forbidden: failed quota: small: must specify limits.cpu for: web',
    "QuotaExceeded object",
  ],
  [
    "a missing right on something that is called quota",
    403,
    "Forbidden",
    'configmaps "quota" is forbidden: User "system:serviceaccount:a:b" cannot patch resource "configmaps" in API group "" in the namespace "kcp-a"',
    "Forbidden kind",
  ],
  [
    "a policy that says no to something that is called quota",
    403,
    "Forbidden",
    'pods "quota" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true (pod must not set runAsNonRoot=false)',
    "AdmissionRefused object",
  ],
  [
    "a webhook that says no, in its own way",
    400,
    "BadRequest",
    'admission webhook "policy.acme.io" denied the request: no red',
    "AdmissionRefused object",
  ],
  [
    "a ValidatingAdmissionPolicy",
    422,
    "Invalid",
    "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'no-red' with binding 'no-red' denied request: no red",
    "AdmissionRefused object",
  ],
  [
    "a webhook that cannot be asked",
    500,
    "InternalError",
    'Internal error occurred: failed calling webhook "policy.acme.io": failed to call webhook: Post "https://127.0.0.1:1/?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused',
    "AdmissionRefused object",
  ],
  [
    "a selector that is changed",
    422,
    "Invalid",
    'Deployment.apps "a" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable',
    "ImmutableField object",
  ],
  [
    "an address that is changed",
    422,
    "Invalid",
    'Service "a" is invalid: spec.clusterIPs[0]: Invalid value: ["10.0.0.9"]: may not change once set',
    "ImmutableField object",
  ],
  [
    "a StatefulSet that is changed",
    422,
    "Invalid",
    "StatefulSet.apps \"a\" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template' are forbidden",
    "ImmutableField object",
  ],
  [
    "more than etcd takes",
    500,
    "InternalError",
    "etcdserver: request is too large",
    "TooLarge object",
  ],
  [
    "more than the server takes",
    413,
    "RequestEntityTooLarge",
    "Request entity too large: limit is 3145728",
    "TooLarge object",
  ],
  [
    "a server in trouble",
    500,
    "InternalError",
    "Internal error occurred: oops",
    "Unreachable connection",
  ],
];

describe("rejection by Kubernetes", () => {
  for (const [what, code, reason, message, expected] of answers)
    it(`is classified: ${what}`, () => {
      const syncError = syncErrorOf(new StatusError({ code, reason, message }), {
        resource,
        target: "east",
      });
      assert.equal(`${syncError?.reason} ${syncError?.scope}`, expected, syncError?.message);
    });
});
