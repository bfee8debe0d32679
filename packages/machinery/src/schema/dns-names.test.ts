import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  dns1035LabelErrors,
  dns1123LabelErrors,
  dns1123SubdomainErrors,
  labelValueErrors,
  pathSegmentErrors,
  qualifiedNameErrors,
} from "./dns-names.ts";

describe("names", () => {
  const long = (length: number): string => "a".repeat(length);
  const cases: readonly (readonly [
    string,
    (name: string) => string[],
    string,
    readonly string[],
  ])[] = [
    ["a label of 63", dns1035LabelErrors, long(63), []],
    ["a label of 64", dns1035LabelErrors, long(64), ["must be no more than 63 characters"]],
    ["a DNS label of 63", dns1123LabelErrors, long(63), []],
    ["a DNS label of 64", dns1123LabelErrors, long(64), ["must be no more than 63 characters"]],
    ["a DNS label with a dot", dns1123LabelErrors, "a.b", ["must not contain dots"]],
    ["a subdomain of 253", dns1123SubdomainErrors, long(253), []],
    [
      "a subdomain of 254",
      dns1123SubdomainErrors,
      long(254),
      ["must be no more than 253 characters"],
    ],
    ["a label value of 63", labelValueErrors, long(63), []],
    ["a label value of 64", labelValueErrors, long(64), ["must be no more than 63 bytes"]],
    ["an empty label value", labelValueErrors, "", []],
    ["a key of 63", qualifiedNameErrors, `example.com/${long(63)}`, []],
    ["a key of 64", qualifiedNameErrors, long(64), ["name part must be no more than 63 bytes"]],
    [
      "a key with a long prefix",
      qualifiedNameErrors,
      `${long(254)}/a`,
      ["prefix part must be no more than 253 bytes"],
    ],
    ["a key with an empty prefix", qualifiedNameErrors, "/a", ["prefix part must be non-empty"]],
    ["a path segment", pathSegmentErrors, "a:b", []],
    ["a parent directory", pathSegmentErrors, "..", ["may not be '..'"]],
    [
      "two path segments",
      pathSegmentErrors,
      "a/b%",
      ["may not contain '/'", "may not contain '%'"],
    ],
  ];
  for (const [title, check, name, expected] of cases) {
    it(title, () => {
      assert.deepEqual(check(name), expected);
    });
  }

  it("megabytes of a name are judged at once", () => {
    for (const check of [
      dns1035LabelErrors,
      dns1123LabelErrors,
      dns1123SubdomainErrors,
      labelValueErrors,
      qualifiedNameErrors,
    ])
      assert.ok(check(`${"a-".repeat(1_500_000)}!`).length > 0);
  });
});
