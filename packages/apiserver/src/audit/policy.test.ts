import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { UserInfo } from "../request/user.ts";
import { parseRequestTarget } from "../routing/index.ts";
import { parseAuditPolicy, ruleFor } from "./policy.ts";

const user: UserInfo = { username: "eve", groups: ["dev", "system:authenticated"] };
const policy = (rules: readonly object[]) =>
  parseAuditPolicy({
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    rules: rules as unknown as JsonObject[],
  });
const levelOf = (rule: object, method: string, target: string) =>
  ruleFor(
    policy([{ level: "Metadata", ...rule }]),
    user,
    parseRequestTarget({ method, target, clusterHeader: undefined }),
  )?.level ?? "None";

const secrets = "/clusters/a/api/v1/namespaces/n/secrets";

describe("an audit policy", () => {
  for (const [rule, method, target, matches] of [
    [{ users: ["eve"] }, "GET", secrets, true],
    [{ users: ["adam"] }, "GET", secrets, false],
    [{ userGroups: ["dev"] }, "GET", secrets, true],
    [{ userGroups: ["ops"] }, "GET", secrets, false],
    [{ verbs: ["list"] }, "GET", secrets, true],
    [{ verbs: ["get"] }, "GET", secrets, false],
    [{ namespaces: ["n"] }, "GET", secrets, true],
    [{ namespaces: [""] }, "GET", secrets, false],
    [{ namespaces: [""] }, "GET", "/api/v1/secrets", true],
    [{ namespaces: ["n"] }, "GET", "/healthz", false],
    [{ resources: [{ group: "" }] }, "GET", secrets, true],
    [{ resources: [{ group: "apps" }] }, "GET", secrets, false],
    [{ resources: [{ group: "", resources: ["secrets"] }] }, "GET", secrets, true],
    [{ resources: [{ group: "", resources: ["*"] }] }, "GET", secrets, true],
    [
      { resources: [{ group: "", resources: ["secrets"], resourceNames: ["x"] }] },
      "GET",
      `${secrets}/x`,
      true,
    ],
    [
      { resources: [{ group: "", resources: ["secrets"], resourceNames: ["y"] }] },
      "GET",
      `${secrets}/x`,
      false,
    ],
    [
      { resources: [{ group: "", resources: ["namespaces"] }] },
      "PUT",
      "/api/v1/namespaces/n/status",
      false,
    ],
    [
      { resources: [{ group: "", resources: ["namespaces/*"] }] },
      "PUT",
      "/api/v1/namespaces/n/status",
      true,
    ],
    [
      { resources: [{ group: "", resources: ["*/status"] }] },
      "PUT",
      "/api/v1/namespaces/n/status",
      true,
    ],
    [{ nonResourceURLs: ["/healthz*"] }, "GET", "/healthz/etcd", true],
    [{ nonResourceURLs: ["/healthz"] }, "GET", "/healthz/etcd", false],
    [{ nonResourceURLs: ["*"] }, "GET", secrets, false],
  ] as const)
    it(`${matches ? "matches" : "passes"} ${method} ${target} by ${JSON.stringify(rule)}`, () => {
      assert.equal(levelOf(rule, method, target), matches ? "Metadata" : "None");
    });

  it("applies the first rule that matches", () => {
    const scope = parseRequestTarget({ method: "GET", target: secrets, clusterHeader: undefined });
    const rules = [{ level: "None", users: ["eve"] }, { level: "Request" }];
    assert.equal(ruleFor(policy(rules), user, scope), undefined);
    assert.equal(ruleFor(policy(rules), { ...user, username: "x" }, scope)?.level, "Request");
  });

  for (const [rule, says] of [
    [{ level: "All" }, /rules\[0\]\.level: must be one of None, Metadata/],
    [{ level: "Metadata", omitStages: ["X"] }, /omitStages: "X" is none of RequestReceived/],
    [{ level: "Metadata", users: "eve" }, /rules\[0\]\.users: must be a list/],
    [
      { level: "Metadata", resources: [{ group: "" }], nonResourceURLs: ["*"] },
      /both regular resources and non-resource URLs/,
    ],
    [{ level: "Metadata", nonResourceURLs: ["healthz"] }, /must begin with \//],
    [
      { level: "Metadata", resources: [{ group: "", resourceNames: ["x"] }] },
      /requires at least one resource/,
    ],
  ] as const)
    it(`is rejected: ${says.source}`, () => {
      assert.throws(() => policy([rule]), says);
    });

  it("is rejected without rules, and as another kind", () => {
    assert.throws(() => policy([]), /at least one is needed/);
    assert.throws(() => parseAuditPolicy({ kind: "Pod" }), /wanted is kind Policy/);
  });
});
