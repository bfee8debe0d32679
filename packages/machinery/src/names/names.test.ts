import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { systemRandom } from "../base/index.ts";
import {
  configMapKeyErrors,
  dns1035LabelErrors,
  dnsLabelErrors,
  dnsSubdomainErrors,
  generateName,
  labelValueErrors,
  pathSegmentErrors,
  qualifiedNameErrors,
  utf8Length,
} from "./index.ts";
import { checkedLengthMax } from "./name-errors.ts";

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const dns1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const qualified =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValue =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const configKey =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

type Row = readonly [name: string, ...errors: string[]];

function table(title: string, errorsOf: (name: string) => string[], rows: readonly Row[]): void {
  describe(title, () => {
    for (const [name, ...errors] of rows) {
      const shown = name.length > 40 ? `${name.slice(0, 8)}… (${name.length})` : name;
      it(`finds ${errors.length} errors in ${JSON.stringify(shown)}`, () => {
        assert.deepEqual(errorsOf(name), errors);
      });
    }
  });
}

const asPrefix = { isPrefix: true };

table("dnsSubdomainErrors", dnsSubdomainErrors, [
  ["a"],
  ["0.a-b.c"],
  ["a".repeat(253)],
  ["a".repeat(254), "must be no more than 253 characters"],
  ["", subdomain],
  ["A", subdomain],
  ["a-", subdomain],
  ["a..b", subdomain],
  ["a.-b", subdomain],
  ["a\n", subdomain],
  ["é".repeat(127), "must be no more than 253 characters", subdomain],
]);
table("dnsSubdomainErrors of a prefix", (name) => dnsSubdomainErrors(name, asPrefix), [
  ["my-app-"],
  ["a-"],
  ["my-app"],
  ["-", subdomain],
  ["a_b-c-", subdomain],
]);
table("dnsLabelErrors", dnsLabelErrors, [
  ["my-name"],
  ["a".repeat(63)],
  ["a".repeat(64), "must be no more than 63 characters"],
  ["a.b", "must not contain dots"],
  ["a.", label],
  ["-a", label],
  ["", label],
]);
table("dnsLabelErrors of a prefix", (name) => dnsLabelErrors(name, asPrefix), [["ns-"], ["ns"]]);
table("dns1035LabelErrors", dns1035LabelErrors, [
  ["a1"],
  ["1a", dns1035],
  ["a.b", dns1035],
  ["a".repeat(64), "must be no more than 63 characters"],
]);
table("dns1035LabelErrors of a prefix", (name) => dns1035LabelErrors(name, asPrefix), [["svc-"]]);
table("pathSegmentErrors", pathSegmentErrors, [
  ["system:admin"],
  ["Ünïcode name"],
  [".", "may not be '.'"],
  ["..", "may not be '..'"],
  ["a/b%c", "may not contain '/'", "may not contain '%'"],
]);
table("pathSegmentErrors of a prefix", (name) => pathSegmentErrors(name, asPrefix), [
  ["."],
  [".."],
  ["a/", "may not contain '/'"],
]);
table("qualifiedNameErrors", qualifiedNameErrors, [
  ["a"],
  ["example.com/My_Name.1"],
  ["a".repeat(63)],
  ["a".repeat(64), "name part must be no more than 63 bytes"],
  [`${"a".repeat(253)}/b`],
  [`${"a".repeat(254)}/b`, "prefix part must be no more than 253 bytes"],
  ["", "name part must be non-empty", `name part ${qualified}`],
  ["/a", "prefix part must be non-empty"],
  ["a/", "name part must be non-empty", `name part ${qualified}`],
  ["A/b", `prefix part ${subdomain}`],
  ["a_", `name part ${qualified}`],
  [
    "a/b/c",
    `a valid label key ${qualified} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
  ],
]);
table("labelValueErrors", labelValueErrors, [
  [""],
  ["My_value.1"],
  ["a".repeat(63)],
  ["a".repeat(64), "must be no more than 63 bytes"],
  ["-a", labelValue],
  ["a b", labelValue],
]);
table("configMapKeyErrors", configMapKeyErrors, [
  ["tls.crt"],
  [".hidden"],
  ["a".repeat(253)],
  ["a".repeat(254), "must be no more than 253 characters"],
  ["", configKey],
  ["a/b", configKey],
  [".", "must not be '.'"],
  ["..", "must not be '..'"],
  ["..a", "must not start with '..'"],
]);

describe("name checks", () => {
  const checks = [dnsSubdomainErrors, dnsLabelErrors, qualifiedNameErrors, labelValueErrors];
  const hostile = (length: number) => "-".repeat(length);

  it(`compare a name of ${checkedLengthMax} characters with its pattern`, () => {
    for (const errorsOf of checks) assert.equal(errorsOf(hostile(checkedLengthMax)).length, 2);
  });

  it("reject a longer name for its length alone", () => {
    for (const errorsOf of checks) assert.equal(errorsOf(hostile(checkedLengthMax + 1)).length, 1);
  });
});

describe("generateName", () => {
  const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,80}$/);
  const random = fc
    .array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 5 })
    .map((numbers) => ({ next: () => numbers.shift() as number }));

  it("makes a valid label of at most 63 characters from any valid prefix", () => {
    fc.assert(
      fc.property(label, random, (base, source) => {
        const name = generateName(base, source);
        assert.deepEqual(dnsLabelErrors(name), []);
        assert.equal(name.length, Math.min(base.length, 58) + 5);
        assert.ok(name.startsWith(base.slice(0, 58)));
        assert.match(name.slice(-5), /^[bcdfghjklmnpqrstvwxz2456789]{5}$/);
      }),
    );
  });

  it("uses the whole alphabet", () => {
    let step = 0;
    const source = { next: () => (step++ % 27) / 27 };
    const names = Array.from({ length: 27 }, () => generateName("", source));
    assert.equal(new Set(names.join("")).size, 27);
  });

  it("cuts between characters, not inside them", () => {
    assert.equal(generateName("é".repeat(40), systemRandom).slice(0, -5), "é".repeat(29));
    assert.equal(generateName(`a${"é".repeat(40)}`, systemRandom).slice(0, -5).length, 29);
  });
});

describe("utf8Length", () => {
  it("agrees with the encoder for any text, lone surrogates included", () => {
    const encoder = new TextEncoder();
    const text = fc.oneof(fc.string({ unit: "binary" }), fc.array(fc.nat(0xffff)).map(fromUnits));
    fc.assert(
      fc.property(text, (it) => assert.equal(utf8Length(it), encoder.encode(it).length)),
      { examples: [["\ud83d\ude00"], ["\ude00\ud83d"], ["\ud83d\ud83d\ude00"]] },
    );
  });
});

function fromUnits(units: number[]): string {
  return String.fromCharCode(...units);
}
