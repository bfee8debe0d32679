import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { rootCluster } from "@kcp-ts/machinery/names";
import type { Attributes } from "../request/index.ts";
import { forbidden, forbiddenMessage } from "./index.ts";

const pods: Attributes = {
  user: { username: "alice", groups: [] },
  verb: "list",
  cluster: rootCluster,
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "",
  name: "",
  path: "/api/v1/pods",
  isResourceRequest: true,
};

const deployment: Attributes = {
  ...pods,
  verb: "patch",
  group: "apps",
  resource: "deployments",
  subresource: "scale",
  namespace: "default",
  name: "web",
};

const metrics: Attributes = {
  ...pods,
  verb: "get",
  version: "",
  resource: "",
  path: "/metrics",
  isResourceRequest: false,
};

describe("a forbidden request", () => {
  const cases: readonly (readonly [Attributes, string, string])[] = [
    [
      pods,
      "",
      'pods is forbidden: User "alice" cannot list resource "pods" in API group "" at the cluster scope',
    ],
    [
      { ...pods, namespace: "default" },
      "",
      'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default"',
    ],
    [
      deployment,
      "",
      'deployments.apps "web" is forbidden: User "alice" cannot patch resource "deployments/scale" in API group "apps" in the namespace "default"',
    ],
    [
      deployment,
      "access denied",
      'deployments.apps "web" is forbidden: User "alice" cannot patch resource "deployments/scale" in API group "apps" in the namespace "default": access denied',
    ],
    [metrics, "", 'forbidden: User "alice" cannot get path "/metrics"'],
    [
      { ...metrics, user: { username: '<b>"&', groups: [] }, path: "/<script>" },
      "",
      'forbidden: User "&lt;b&gt;\\"&amp;" cannot get path "/&lt;script&gt;"',
    ],
  ];
  for (const [attributes, reason, message] of cases) {
    it(`says: ${message}`, () => {
      const { status } = forbidden(attributes, reason);
      assert.equal(status.message, message);
      assert.equal(status.code, 403);
      assert.equal(status.reason, "Forbidden");
    });
  }

  it("names the resource in its details", () => {
    assert.deepEqual(forbidden(deployment).status.details, {
      name: "web",
      group: "apps",
      kind: "deployments",
    });
  });

  it("provides the message after the colon for callers with their own prefix", () => {
    assert.equal(forbiddenMessage(metrics), 'User "alice" cannot get path "/metrics"');
  });
});
