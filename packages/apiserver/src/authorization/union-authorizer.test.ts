import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { rootCluster } from "@kcp-ts/machinery/names";
import { type Attributes, anonymousUser } from "../request/index.ts";
import { type Authorizer, type Decision, unionAuthorizer } from "./index.ts";

const attributes: Attributes = {
  user: anonymousUser,
  verb: "get",
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

function answering(decision: Decision): Authorizer {
  return { authorize: () => decision };
}

function later(authorizer: Authorizer): Authorizer {
  return { authorize: async (asked) => authorizer.authorize(asked) };
}

const yes = answering({ allowed: true, reason: "because" });
const no = answering({ allowed: false, reason: "not here" });
const neither = answering({ allowed: false, reason: "nor here" });
const silent = answering({ allowed: false, reason: "" });
const breaks: Authorizer = {
  authorize() {
    throw new TypeError("a bug");
  },
};

describe("the union of authorizers", () => {
  const cases: readonly (readonly [string, readonly Authorizer[], Decision])[] = [
    ["nobody allows what nobody was asked", [], { allowed: false, reason: "" }],
    ["the first yes counts", [no, yes, breaks], { allowed: true, reason: "because" }],
    [
      "reasons of refusals add up",
      [no, silent, neither],
      { allowed: false, reason: "not here, nor here" },
    ],
  ];
  for (const [title, authorizers, expected] of cases) {
    it(`${title}, at once and later`, async () => {
      assert.deepEqual(unionAuthorizer(authorizers).authorize(attributes), expected);
      assert.deepEqual(
        await unionAuthorizer(authorizers.map(later)).authorize(attributes),
        expected,
      );
    });
  }

  it("does not treat a failure as a denial", async () => {
    assert.throws(() => unionAuthorizer([breaks, yes]).authorize(attributes), TypeError);
    await assert.rejects(
      async () => unionAuthorizer([later(breaks), no]).authorize(attributes),
      TypeError,
    );
    const allBreak = unionAuthorizer([no, later(breaks), later(neither)]);
    await assert.rejects(async () => allBreak.authorize(attributes), TypeError);
  });

  it("permits a request that another authorizer permits when one fails", async () => {
    const decision = await unionAuthorizer([later(breaks), later(no), yes]).authorize(attributes);
    assert.deepEqual(decision, { allowed: true, reason: "because" });
  });

  it("runs no authorizer after a final denial", async () => {
    const final = answering({ allowed: false, reason: "never", isFinal: true });
    for (const first of [final, later(final)]) {
      const decision = await unionAuthorizer([no, first, breaks]).authorize(attributes);
      assert.deepEqual(decision, { allowed: false, reason: "never", isFinal: true });
    }
  });
});
