import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type GraphNode, graphId, isRelevant } from "./graph-node.ts";
import { OwnershipGraph } from "./ownership-graph.ts";

const a = "a" as ClusterName;
const b = "b" as ClusterName;
const at = { group: "", kind: "ConfigMap", namespace: "default", name: "owner" };

function node(uid: string, owners: readonly string[] = [], changes: Partial<GraphNode> = {}) {
  return {
    cluster: a,
    resource: {
      group: "",
      version: "v1",
      resource: "configmaps",
      kind: "ConfigMap",
      namespaced: true,
    },
    namespace: "default",
    name: uid,
    uid,
    resourceVersion: "1",
    owners: owners.map((one) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      name: one,
      uid: one,
      blockOwnerDeletion: true,
    })),
    finalizers: [],
    isDeleting: false,
    ...changes,
  } satisfies GraphNode;
}

const foreground = { isDeleting: true, finalizers: ["foregroundDeletion"] };

describe("ownership graph", () => {
  it("a deletion enqueues the dependents, in the same cluster only", () => {
    const graph = new OwnershipGraph();
    graph.put(node("child", ["owner"]));
    graph.put(node("other", ["owner"], { cluster: b }));
    assert.deepEqual(graph.remove(graphId(a, "owner")), [graphId(a, "child")]);
    assert.deepEqual(graph.remove(graphId(b, "owner")), [graphId(b, "other")]);
    assert.deepEqual(graph.remove(graphId(a, "stranger")), []);
  });

  it("an owner that begins to wait enqueues its dependents once", () => {
    const graph = new OwnershipGraph();
    graph.put(node("child", ["owner"]));
    const owner = node("owner", [], foreground);
    assert.deepEqual(graph.put(owner), [graphId(a, "owner"), graphId(a, "child")]);
    assert.deepEqual(graph.put({ ...owner, resourceVersion: "2" }), [graphId(a, "owner")]);
  });

  it("a waiting owner is enqueued when a dependent is deleted, drops its reference, or no longer blocks it", () => {
    const blocks = node("child", ["owner"]);
    const releases: ((graph: OwnershipGraph) => string[])[] = [
      (graph) => graph.remove(graphId(a, "child")),
      (graph) => graph.put({ ...blocks, resourceVersion: "2", owners: [] }),
      (graph) =>
        graph.put({
          ...blocks,
          resourceVersion: "2",
          owners: blocks.owners.map((one) => ({ ...one, blockOwnerDeletion: false })),
        }),
    ];
    for (const release of releases) {
      const graph = new OwnershipGraph();
      graph.put(blocks);
      graph.put(node("owner", [], foreground));
      assert.ok(release(graph).includes(graphId(a, "owner")));
    }
  });

  it("the cached state of an owner is dropped when the owner changes, except its absence", () => {
    const graph = new OwnershipGraph();
    graph.put(node("child", ["owner"]));
    graph.ask(a, "owner", at)("present");
    assert.equal(graph.existence(a, "owner", at), "present");
    assert.equal(graph.existence(a, "owner", { ...at, namespace: "other" }), undefined);
    assert.equal(graph.existence(b, "owner", at), undefined);
    graph.remove(graphId(a, "owner"));
    assert.equal(graph.existence(a, "owner", at), undefined);
    graph.ask(a, "owner", at)("absent");
    graph.remove(graphId(a, "owner"));
    assert.equal(graph.existence(a, "owner", at), "absent");
  });

  it("a lookup from before a change is not cached", () => {
    const graph = new OwnershipGraph();
    graph.put(node("child", ["owner"]));
    const remember = graph.ask(a, "owner", at);
    graph.remove(graphId(a, "owner"));
    remember("present");
    assert.equal(graph.existence(a, "owner", at), undefined);
  });

  it("the cached state of an owner outlives the changes of its only dependent", () => {
    const graph = new OwnershipGraph();
    graph.put(node("child", ["owner"]));
    graph.ask(a, "owner", at)("present");
    graph.put(node("child", ["owner"], { resourceVersion: "2" }));
    assert.equal(graph.existence(a, "owner", at), "present");
    graph.put(node("child", [], { resourceVersion: "3" }));
    assert.equal(graph.existence(a, "owner", at), undefined);
  });

  it("a gap in the watch of one kind drops the cached states of its owners, and of no others", () => {
    const graph = new OwnershipGraph();
    graph.put(node("child", ["owner"]));
    graph.put(node("child-of-secret", ["secret"]));
    graph.ask(a, "owner", at)("present");
    graph.ask(a, "secret", { ...at, kind: "Secret" })("present");
    assert.deepEqual(graph.distrust({ group: "apps", kind: "", isCustom: true }), []);
    assert.deepEqual(graph.distrust(at), [graphId(a, "child")]);
    assert.equal(graph.existence(a, "secret", { ...at, kind: "Secret" }), "present");
  });

  it("after a gap in a custom resource, owners are dropped by their group", () => {
    const graph = new OwnershipGraph();
    graph.put(node("child", ["owner"]));
    graph.ask(a, "owner", { ...at, group: "example.com", kind: "Widget" })("present");
    const widgets = { group: "example.com", kind: "", isCustom: true };
    assert.deepEqual(graph.distrust(widgets), [graphId(a, "child")]);
  });

  it("an unchanged object that a watch delivers again enqueues nothing", () => {
    const graph = new OwnershipGraph();
    const child = node("child", ["owner"]);
    assert.deepEqual(graph.put(child), [graphId(a, "child")]);
    assert.deepEqual(graph.put({ ...child }), []);
    assert.deepEqual(graph.idsOf(child.resource), [graphId(a, "child")]);
  });

  it("keeps only objects that have owners, or wait for dependents", () => {
    const object = (metadata: object) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "x", ...metadata },
    });
    assert.equal(isRelevant(object({})), false);
    assert.equal(isRelevant(object({ ownerReferences: [], finalizers: ["example.com/x"] })), false);
    assert.equal(isRelevant(object({ finalizers: ["orphan"] })), true);
    assert.equal(isRelevant(object({ finalizers: ["foregroundDeletion"] })), true);
    assert.equal(isRelevant(object({ ownerReferences: node("x", ["y"]).owners })), true);
  });
});
