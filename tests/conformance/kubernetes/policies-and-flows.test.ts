/**
 * Conformance tests of Kubernetes that live through the operations of one kind, under the names
 * that they have there.
 */
import { after, before, describe, it } from "node:test";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { Api } from "./api.ts";
import { type ApiOperationsOptions, exerciseApiOperations } from "./api-operations.ts";

let plane: TestControlPlane;
before(async () => {
  plane = await startTestControlPlane({ physicalClusters: false });
});
after(() => plane.close());

const flows = "/apis/flowcontrol.apiserver.k8s.io/v1";
const admission = "/apis/admissionregistration.k8s.io/v1";
const condition = (type: string) => ({
  conditions: [
    {
      type,
      status: "True",
      reason: "Tested",
      message: "set by a test",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ],
});
const subject = { kind: "User", user: { name: "example-user" } };
const rule = {
  subjects: [subject],
  resourceRules: [
    { verbs: ["get"], apiGroups: ["example.com"], resources: ["foos"], namespaces: ["*"] },
  ],
};
const resourceRules = [
  { apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["deployments"] },
];
const validating: ApiOperationsOptions = {
  root: admission,
  collection: "validatingadmissionpolicies",
  kind: "ValidatingAdmissionPolicy",
  object: {
    spec: {
      matchConstraints: { resourceRules },
      validations: [{ expression: "object.spec.replicas <= 100" }],
    },
  },
  status: condition("StatusPatched"),
  isObserved: true,
};
const mutating: ApiOperationsOptions = {
  root: admission,
  collection: "mutatingadmissionpolicies",
  kind: "MutatingAdmissionPolicy",
  object: {
    spec: {
      matchConstraints: { resourceRules },
      reinvocationPolicy: "Never",
      mutations: [
        {
          patchType: "ApplyConfiguration",
          applyConfiguration: {
            expression: "Object{metadata: Object.metadata{labels: {'a': 'b'}}}",
          },
        },
      ],
    },
  },
};

const lives: Readonly<Record<string, ApiOperationsOptions>> = {
  "API priority and fairness should support FlowSchema API operations": {
    root: flows,
    collection: "flowschemas",
    kind: "FlowSchema",
    object: {
      spec: {
        matchingPrecedence: 10_000,
        priorityLevelConfiguration: { name: "global-default" },
        distinguisherMethod: { type: "ByUser" },
        rules: [rule],
      },
    },
    status: condition("Dangling"),
  },
  "API priority and fairness should support PriorityLevelConfiguration API operations": {
    root: flows,
    collection: "prioritylevelconfigurations",
    kind: "PriorityLevelConfiguration",
    object: {
      spec: {
        type: "Limited",
        limited: { nominalConcurrencyShares: 2, limitResponse: { type: "Reject" } },
      },
    },
    status: condition("Tested"),
  },
  "ValidatingAdmissionPolicy should support ValidatingAdmissionPolicy API operations": validating,
  "ValidatingAdmissionPolicy should support ValidatingAdmissionPolicyBinding API operations": {
    root: admission,
    collection: "validatingadmissionpolicybindings",
    kind: "ValidatingAdmissionPolicyBinding",
    object: { spec: { policyName: "replicalimit-policy", validationActions: ["Deny"] } },
  },
  "MutatingAdmissionPolicy should support MutatingAdmissionPolicy API operations": mutating,
  "MutatingAdmissionPolicy should support MutatingAdmissionPolicyBinding API operations": {
    root: admission,
    collection: "mutatingadmissionpolicybindings",
    kind: "MutatingAdmissionPolicyBinding",
    object: { spec: { policyName: "label-policy" } },
  },
};

describe("conformance: policies and flow control", () => {
  let clusters = 0;
  for (const [title, options] of Object.entries(lives)) {
    it(title, () =>
      exerciseApiOperations(
        new Api(plane.client.transport, `/clusters/life${clusters++}`),
        options,
      ),
    );
  }
});
