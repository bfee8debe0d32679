import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Node, Pod } from "../api/index.ts";
import { capacityOf, requestsOf, unfitReason } from "./node-fit.ts";
import { unschedulableMessage } from "./scheduler.ts";

const node: Node = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n1", labels: { zone: "a", cores: "4" } },
  spec: {},
  status: { allocatable: { cpu: "4", memory: "8Gi", pods: "2" } },
};

function pod(spec: object = {}, cpu = "100m", memory = "128Mi"): Pod {
  const containers = [{ name: "c", resources: { requests: { cpu, memory } } }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { containers, ...spec } };
}

function why(one: Pod, on: Node = node, load = { cpu: 0, memory: 0, pods: 0 }) {
  return unfitReason(one, requestsOf(one), on, capacityOf(on), load);
}

const tainted: Node = {
  ...node,
  spec: { taints: [{ key: "gpu", value: "yes", effect: "NoSchedule" }] },
};

function affinity(key: string, operator: string, values: readonly string[]) {
  const terms = [{ matchExpressions: [{ key, operator, values }] }];
  const required = { nodeSelectorTerms: terms };
  return {
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
  };
}

describe("fit of a Pod and a node", () => {
  it("a Pod fits up to the last millicore, byte and Pod of the node's capacity", () => {
    assert.equal(why(pod({}, "4", "8Gi")), undefined);
    assert.equal(why(pod({}, "4001m")), "Insufficient cpu");
    assert.equal(why(pod({}, "1", "8193Mi")), "Insufficient memory");
    assert.equal(why(pod(), node, { cpu: 0, memory: 0, pods: 1 }), undefined);
    assert.equal(why(pod(), node, { cpu: 0, memory: 0, pods: 2 }), "Too many pods");
  });

  it("labels, affinity and tolerations must match", () => {
    const unmatched = "node(s) didn't match Pod's node affinity/selector";
    assert.equal(why(pod({ nodeSelector: { zone: "b" } })), unmatched);
    assert.equal(why(pod({ nodeSelector: { zone: "a" } })), undefined);
    assert.equal(why(pod(affinity("zone", "NotIn", ["a"]))), unmatched);
    assert.equal(why(pod(affinity("cores", "Gt", ["3"]))), undefined);
    assert.equal(why(pod(), tainted), "node(s) had untolerated taint {gpu: yes}");
    const tolerations = [{ key: "gpu", operator: "Equal", value: "yes", effect: "NoSchedule" }];
    assert.equal(why(pod({ tolerations }), tainted), undefined);
    const cordoned = { ...node, spec: { unschedulable: true } };
    assert.equal(why(pod(), cordoned), "node(s) were unschedulable");
  });

  it("the reasons are in kube-scheduler's words", () => {
    const reasons = ["Too many pods", "Insufficient cpu", "Too many pods"];
    const text = "0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods.";
    assert.equal(unschedulableMessage(reasons), text);
    assert.equal(unschedulableMessage([]), "no nodes available to schedule pods");
  });
});
