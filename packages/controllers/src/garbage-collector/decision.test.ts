import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { OwnerReference } from "@kcp-ts/sdk";
import fc from "fast-check";
import { type Decision, decide, type OwnerState } from "./decision.ts";
import type { GraphNode } from "./graph-node.ts";

const alone = { count: 0, someDeletingDependents: false };
const states: readonly OwnerState[] = ["solid", "dangling", "waiting", "unknown"];

describe("decision about a dependent", () => {
  const rows: readonly [
    string,
    readonly OwnerState[],
    Partial<typeof alone>,
    string[],
    Decision,
  ][] = [
    ["no owners", [], {}, [], { do: "nothing" }],
    ["a living owner", ["solid"], {}, [], { do: "nothing" }],
    ["owners gone", ["dangling", "dangling"], {}, [], deletion("Background")],
    ["owners gone, to orphan", ["dangling"], {}, ["orphan"], deletion("Orphan")],
    ["owners gone, to wait", ["dangling"], {}, ["foregroundDeletion"], deletion("Foreground")],
    ["an owner waits", ["waiting"], {}, [], deletion("Background")],
    ["an owner waits, dependents", ["waiting"], { count: 1 }, [], deletion("Foreground")],
    [
      "an owner waits, in a circle",
      ["waiting", "dangling"],
      { count: 1, someDeletingDependents: true },
      [],
      { ...deletion("Foreground"), unblock: true },
    ],
    [
      "some owners live",
      ["solid", "dangling", "waiting"],
      {},
      [],
      { do: "release", owners: [reference(0)] },
    ],
  ];
  for (const [title, owners, dependents, finalizers, expected] of rows) {
    it(`${title}: ${expected.do}`, () => {
      const state = owners.map((one, i) => ({ reference: reference(i), standing: one }));
      const made = decide({ ...node(), finalizers }, state, { ...alone, ...dependents });
      assert.deepEqual(made, expected);
    });
  }

  it("a dependent with a living owner, or with an owner whose existence is unknown, is never deleted", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...states), { minLength: 1, maxLength: 5 }),
        fc.nat(3),
        fc.boolean(),
        (owners, count, someDeletingDependents) => {
          const state = owners.map((one, i) => ({ reference: reference(i), standing: one }));
          const made = decide(node(), state, { count, someDeletingDependents });
          const isKept = owners.includes("solid") || owners.includes("unknown");
          assert.equal(made.do === "delete", !isKept);
          if (owners.includes("unknown")) assert.equal(made.do, "nothing");
        },
      ),
    );
  });
});

function deletion(policy: "Background" | "Foreground" | "Orphan") {
  return { do: "delete", policy, unblock: false } as const;
}

function reference(i: number): OwnerReference {
  return { apiVersion: "v1", kind: "ConfigMap", name: `owner-${i}`, uid: `uid-${i}` };
}

function node(): GraphNode {
  return {
    cluster: "a" as ClusterName,
    resource: {
      group: "",
      version: "v1",
      resource: "configmaps",
      kind: "ConfigMap",
      namespaced: true,
    },
    namespace: "default",
    name: "x",
    uid: "uid-x",
    resourceVersion: "1",
    owners: [],
    finalizers: [],
    isDeleting: false,
  };
}
