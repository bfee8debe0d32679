import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { conditionsOf, isEmptied, messageCharactersMax, withFindings } from "./conditions.ts";

const nothing = {
  discoveryFailures: new Map<string, unknown>(),
  contentFailures: new Map<string, unknown>(),
  remaining: new Map<string, number>(),
  finalizers: new Map<string, number>(),
};
const saying = (findings: Partial<typeof nothing>) =>
  conditionsOf({ ...nothing, ...findings })
    .filter(({ status }) => status === "True")
    .map(({ type, reason, message }) => [type, reason, message]);

describe("conditions of a terminating namespace", () => {
  it("report no failure without findings", () => {
    assert.deepEqual(saying({}), []);
    assert.deepEqual(
      conditionsOf(nothing).map(({ reason, message }) => [reason, message]),
      [
        ["ResourcesDiscovered", "All resources successfully discovered"],
        ["ParsedGroupVersions", "All legacy kube types successfully parsed"],
        ["ContentDeleted", "All content successfully deleted, may be waiting on finalization"],
        ["ContentRemoved", "All content successfully removed"],
        ["ContentHasNoFinalizers", "All content-preserving finalizers finished"],
      ],
    );
    assert.equal(isEmptied(nothing), true);
  });

  it("the remaining content is listed in alphabetical order, in whatever order it was found", () => {
    const remaining = new Map([
      ["secrets.", 1],
      ["deployments.apps", 12],
      ["configmaps.", 2],
    ]);
    assert.deepEqual(saying({ remaining }), [
      [
        "NamespaceContentRemaining",
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 2 resource instances, deployments.apps has 12 resource instances, secrets. has 1 resource instances",
      ],
    ]);
    assert.equal(isEmptied({ ...nothing, remaining }), false);
  });

  it("finalizers, failed deletions and failed discoveries are reported in conditions", () => {
    assert.deepEqual(
      saying({
        finalizers: new Map([["example.com/a", 3]]),
        contentFailures: new Map([["secrets.", new Error("no")]]),
        discoveryFailures: new Map([["apps/v1", new Error("down")]]),
      }),
      [
        [
          "NamespaceDeletionDiscoveryFailure",
          "DiscoveryFailed",
          "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: apps/v1: down",
        ],
        [
          "NamespaceDeletionContentFailure",
          "ContentDeletionFailed",
          "Failed to delete all resource types, 1 remaining: no",
        ],
        [
          "NamespaceFinalizersRemaining",
          "SomeFinalizersRemain",
          "Some content in the namespace has finalizers remaining: example.com/a in 3 resource instances",
        ],
      ],
    );
  });

  it("each failure alone keeps the namespace", () => {
    const one = new Map([["x", new Error("x")]]);
    assert.equal(isEmptied({ ...nothing, discoveryFailures: one }), false);
    assert.equal(isEmptied({ ...nothing, contentFailures: one }), false);
  });

  it("a message is bounded so that it fits into a status", () => {
    const prefix = "Some resources are remaining: ".length;
    const suffix = " has 1 resource instances".length;
    const ofLength = (length: number) => "x".repeat(length - prefix - suffix);
    const messageFor = (name: string) =>
      String(saying({ remaining: new Map([[name, 1]]) })[0]?.[2]);
    const longest = messageFor(ofLength(messageCharactersMax));
    assert.equal(longest.length, messageCharactersMax);
    assert.ok(longest.endsWith("instances"));
    const shortened = messageFor(ofLength(messageCharactersMax + 1));
    assert.equal(shortened.length, messageCharactersMax);
    assert.ok(shortened.endsWith("…"));
  });

  it("the same findings change nothing, and transition times change only with a status", () => {
    const first = withFindings(undefined, nothing, Date.UTC(2026, 0, 1));
    assert.equal(withFindings(first, nothing, Date.UTC(2026, 0, 2)), first);
    const remaining = new Map([["secrets.", 1]]);
    const second = withFindings(first, { ...nothing, remaining }, Date.UTC(2026, 0, 3));
    assert.deepEqual(
      second.map(({ lastTransitionTime }) => lastTransitionTime.slice(0, 10)),
      ["2026-01-01", "2026-01-01", "2026-01-01", "2026-01-03", "2026-01-01"],
    );
  });
});
