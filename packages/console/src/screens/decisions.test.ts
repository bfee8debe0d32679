import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  claimsOf,
  decide,
  negotiationState,
  parseLabelChanges,
  parseWeights,
} from "./decisions.ts";

describe("permission claims of a binding", () => {
  const asked = { resource: "configmaps", verbs: ["*"] };
  const foreign = { group: "a.example", resource: "things", identityHash: "f00", verbs: ["get"] };
  const rejected = { ...foreign, state: "Rejected" as const, selector: { matchAll: true } };
  const binding = {
    apiVersion: "apis.kcp.io/v1alpha2",
    kind: "APIBinding",
    metadata: { name: "b" },
    spec: { reference: {}, permissionClaims: [rejected] },
    status: { exportPermissionClaims: [asked, foreign] },
  };

  it("are what the export claims, each with its decision", () => {
    const claims = claimsOf(binding);
    assert.deepEqual(
      claims.map(({ resource, decided }) => [resource, decided?.state]),
      [
        ["configmaps", undefined],
        ["things", "Rejected"],
      ],
    );
  });

  it("are decided one by one, and other decisions stay", () => {
    const [maps, things] = claimsOf(binding);
    assert.ok(maps !== undefined && things !== undefined);
    const selector = { matchLabels: { app: "web" } };
    const accepted = { ...asked, state: "Accepted", selector };
    assert.deepEqual(decide(binding, maps, "Accepted", selector), [rejected, accepted]);
    const [changed, ...others] = decide(binding, things, "Accepted", { matchAll: true });
    assert.deepEqual(changed, { ...rejected, state: "Accepted" });
    assert.deepEqual(others, []);
  });
});

describe("the negotiation of an API", () => {
  const compatible = { type: "Compatible", status: "True", reason: "Compatible" };
  it("is well only when a condition says so", () => {
    assert.equal(negotiationState([compatible]).isWell, true);
    assert.deepEqual(negotiationState([]), { isWell: false, state: "Negotiating", message: "" });
    const bad = { ...compatible, status: "False", reason: "IncompatibleSchema", message: "spec.a" };
    const expected = { isWell: false, state: "IncompatibleSchema", message: "spec.a" };
    assert.deepEqual(negotiationState([bad]), expected);
  });
});

describe("what a user types", () => {
  it("is read as weights, or as none", () => {
    assert.deepEqual(parseWeights("us-east1=2, us-west1 = 1"), { "us-east1": 2, "us-west1": 1 });
    for (const text of ["", "us-east1", "us-east1=-1", "us-east1=1,"])
      assert.equal(parseWeights(text), undefined, text);
  });

  it("is read as changes of labels, as kubectl label reads them", () => {
    const changes = { tier: "web", "a.example/b": "", old: null };
    assert.deepEqual(parseLabelChanges("tier=web a.example/b= old-"), changes);
    for (const text of ["", "tier", "=web"]) assert.equal(parseLabelChanges(text), undefined, text);
  });
});
