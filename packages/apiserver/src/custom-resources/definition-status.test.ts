/** The exact messages of the status about approval, the CA bundle of a webhook and deletion. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { conditionsOf, deletionInProgress, neverEstablished } from "./conditions.ts";
import type { ClusterDefinitions } from "./definition-index.ts";
import { nextStatus } from "./definition-status.ts";
import { cronTabs } from "./test-support/definitions.ts";

const nobodyElse = { records: new Map() } as unknown as ClusterDefinitions;

function conditions(definition: JsonObject): string[] {
  const status = nextStatus(definition, nobodyElse, [], "2026-01-01T00:00:00Z");
  return conditionsOf({ ...definition, status }).map(
    ({ type, status: is, reason, message }) =>
      `${String(type)} ${String(is)} ${String(reason)}: ${String(message)}`,
  );
}

function inGroup(group: string, annotations: JsonObject = {}): JsonObject {
  const definition = cronTabs() as unknown as { spec: JsonObject };
  return {
    ...(definition as unknown as JsonObject),
    metadata: { name: `crontabs.${group}`, annotations },
    spec: { ...definition.spec, group },
  };
}

const policy = "KubernetesAPIApprovalPolicyConformant";

describe("a definition in a group of the Kubernetes community", () => {
  const cases: readonly (readonly [string, JsonObject, string])[] = [
    [
      "that nobody has approved",
      {},
      `${policy} False MissingAnnotation: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111`,
    ],
    [
      "that says that it is not approved",
      { "api-approved.kubernetes.io": "unapproved, experimental-only" },
      `${policy} False UnapprovedAnnotation: not approved: "unapproved, experimental-only"`,
    ],
    [
      "that is approved",
      { "api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1" },
      `${policy} True ApprovedAnnotation: approved in https://github.com/kubernetes/kubernetes/pull/1`,
    ],
  ];
  for (const [title, annotations, expected] of cases)
    it(title, () => assert.equal(conditions(inGroup("x.k8s.io", annotations)).at(-1), expected));

  it("requires an approval, and definitions of other groups do not", () => {
    assert.ok(!conditions(inGroup("stable.example.com")).some((each) => each.startsWith(policy)));
  });
});

describe("the conditions of a definition", () => {
  it("report errors of the CA bundle of its webhook", () => {
    const definition = inGroup("stable.example.com");
    const clientConfig = { url: "https://a", caBundle: "bm9uZQ==" };
    const webhook = { clientConfig, conversionReviewVersions: ["v1"] };
    const spec = {
      ...(definition["spec"] as JsonObject),
      conversion: { strategy: "Webhook", webhook },
    };
    assert.ok(
      conditions({ ...definition, spec }).includes(
        "Established False InvalidCABundle: The conversion webhook CABundle is invalid",
      ),
    );
  });

  it("report the progress of its deletion", () => {
    assert.deepEqual(
      [deletionInProgress, neverEstablished].map(
        ({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`,
      ),
      [
        "Terminating True InstanceDeletionInProgress: CustomResource deletion is in progress",
        "Terminating False NeverEstablished: resource was never established",
      ],
    );
  });
});
