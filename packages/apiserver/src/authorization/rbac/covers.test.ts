/** The coverage of rules: by example, and against a model that checks every single permission. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { comparisonsMax, covers } from "./covers.ts";
import { allowsPath, allowsResource, type PolicyRule } from "./policy-rule.ts";
import { describeRules, rulesShownMax } from "./rule-text.ts";

function rule(parts: Partial<PolicyRule>): PolicyRule {
  return {
    verbs: [],
    apiGroups: [],
    resources: [],
    resourceNames: [],
    nonResourceURLs: [],
    ...parts,
  };
}

const pods = rule({ verbs: ["get"], apiGroups: [""], resources: ["pods"] });
const everything = rule({ verbs: ["*"], apiGroups: ["*"], resources: ["*"] });

describe("covering rules", () => {
  const cases: readonly (readonly [string, Partial<PolicyRule>, Partial<PolicyRule>, boolean])[] = [
    ["the same", {}, {}, true],
    ["a verb more", {}, { verbs: ["get", "list"] }, false],
    ["all verbs by all", { verbs: ["*"] }, { verbs: ["*"] }, true],
    ["all verbs by many", { verbs: ["get", "list", "watch"] }, { verbs: ["*"] }, false],
    ["all groups by one", {}, { apiGroups: ["*"] }, false],
    ["a subresource by its resource", {}, { resources: ["pods/log"] }, false],
    [
      "a subresource by that of all",
      { resources: ["*/log"] },
      { resources: ["pods/log", "x/log"] },
      true,
    ],
    ["a subresource of all by one", { resources: ["pods/log"] }, { resources: ["*/log"] }, false],
    ["a subresource of all by everything", { resources: ["*"] }, { resources: ["*/log"] }, true],
    ["a name by all names", {}, { resourceNames: ["x"] }, true],
    ["all names by one", { resourceNames: ["x"] }, {}, false],
    ["a name by another", { resourceNames: ["x"] }, { resourceNames: ["y"] }, false],
    ["the empty name by one", { resourceNames: ["x"] }, { resourceNames: [""] }, false],
  ];
  for (const [title, held, wanted, expected] of cases) {
    it(`${title}: ${expected ? "yes" : "no"}`, () => {
      const result = covers([{ ...pods, ...held }], [{ ...pods, ...wanted }]);
      assert.equal(result.kind === "covered", expected);
    });
  }

  it("combines several rules", () => {
    const held = [pods, { ...pods, verbs: ["list"], resources: ["secrets"] }];
    const wanted = [{ ...pods, verbs: ["get", "list"], resources: ["pods", "secrets"] }];
    const result = covers(held, wanted);
    assert.equal(result.kind, "missing");
    assert.equal(
      describeRules(result.kind === "missing" ? result.rules : []),
      '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
    );
  });

  it("covers paths by prefixes", () => {
    const at = (...nonResourceURLs: string[]) => rule({ verbs: ["get"], nonResourceURLs });
    assert.equal(covers([at("/a/*")], [at("/a/b", "/a/*", "/a/b/*")]).kind, "covered");
    assert.equal(covers([at("/a/*")], [at("/a")]).kind, "missing");
    assert.equal(covers([at("/a/*")], [at("*")]).kind, "missing");
    assert.equal(covers([everything], [at("/a")]).kind, "missing");
  });

  it("never covers a rule that permits more", () => {
    const some = (values: readonly string[]) =>
      fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
    const verbs = ["get", "list", "*"];
    const resourceRule = fc
      .record({
        verbs: some(verbs),
        apiGroups: some(["", "apps", "*"]),
        resources: some(["pods", "pods/log", "x", "x/log", "*/log", "*"]),
        resourceNames: fc.uniqueArray(fc.constantFrom("n", "m"), { maxLength: 2 }),
      })
      .map(rule);
    const pathRule = fc
      .record({ verbs: some(verbs), nonResourceURLs: some(["/a", "/a/*", "/b", "*"]) })
      .map(rule);
    const rules = fc.array(fc.oneof(resourceRule, pathRule), { maxLength: 4 });
    fc.assert(
      fc.property(rules, rules, (held, wanted) => {
        if (covers(held, wanted).kind !== "covered") return;
        for (const verb of ["get", "list", "other"]) {
          for (const path of ["/a", "/a/b", "/b", "/c"]) {
            if (wanted.some((each) => allowsPath(each, verb, path)))
              assert.ok(held.some((each) => allowsPath(each, verb, path)));
          }
          for (const group of ["", "apps", "other"])
            for (const [target, anyTarget] of [
              ["pods", ""],
              ["pods/log", "*/log"],
              ["x/log", "*/log"],
              ["y/log", "*/log"],
              ["y", ""],
            ] as const)
              for (const name of ["n", "m", "o", ""]) {
                const asked = { verb, group, target, anyTarget, name };
                if (wanted.some((each) => allowsResource(each, asked)))
                  assert.ok(held.some((each) => allowsResource(each, asked)));
              }
        }
      }),
      { numRuns: 500 },
    );
  });

  it("stops when the expanded rules are too many, whatever is held", () => {
    const names = (count: number) => Array.from({ length: count }, (_, i) => `n${i}`);
    const wide = (count: number) => ({ ...pods, resourceNames: names(count) });
    const held = [rule({ ...pods, resources: ["other"] })];
    // Each expanded rule is compared with the one rule and counted once itself, and so is the
    // complete rule, with a tenth for each item.
    const cost = (count: number) => 2 * count + 2 + Math.ceil((count + 3) / 10);
    const most = 95_237;
    assert.deepEqual([cost(most) <= comparisonsMax, cost(most + 1) > comparisonsMax], [true, true]);
    assert.equal(covers(held, [wide(most)]).kind, "missing");
    assert.equal(covers(held, [wide(most + 1)]).kind, "too-many");
    const paths = (count: number) =>
      rule({ verbs: ["get"], nonResourceURLs: names(count).map((name) => `/${name}/*`) });
    assert.equal(covers([paths(20_000)], [paths(20_001)]).kind, "too-many");
    const huge = { ...wide(1000), verbs: names(1000), resources: names(1000) };
    assert.equal(covers(held, [huge]).kind, "too-many");
    assert.equal(covers([everything], [huge]).kind, "covered", "one look is enough");
  });
});

describe("rules in messages", () => {
  it("are combined by verb, ordered, and limited in number", () => {
    const lines = (count: number) =>
      describeRules(
        Array.from({ length: count }, (_, i) => ({ ...pods, resources: [`r${i}`] })),
      ).split("\n");
    assert.equal(lines(rulesShownMax).length, rulesShownMax);
    assert.equal(lines(rulesShownMax + 5).at(-1), "... and 5 more");
    const verbs = [
      pods,
      { ...pods, verbs: ["list"] },
      rule({ verbs: ["x"], nonResourceURLs: ["/"] }),
    ];
    assert.equal(
      describeRules(verbs),
      '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}\n{NonResourceURLs:["/"], Verbs:["x"]}',
    );
  });
});
