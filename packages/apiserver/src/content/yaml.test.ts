/**
 * YAML's plain scalars, parsed as go-yaml v2 parses them for Kubernetes, and written so that
 * go-yaml parses them as the same values.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { SeededRandom, TestServer } from "../testing/index.ts";
import { parseYaml, toYaml } from "./yaml.ts";

const read = (text: string) => {
  const parsed = parseYaml(text);
  return "error" in parsed ? parsed : parsed.value;
};

describe("plain scalars of YAML", () => {
  const cases: [source: string, value: JsonValue][] = [
    ["0644", 420],
    ["-0644", -420],
    ["0o17", 15],
    ["0O17", 15],
    ["0x1A", 26],
    ["-0x1a", -26],
    ["0b101", 5],
    ["-0b101", -5],
    ["+12", 12],
    ["1_000", 1000],
    ["0x_ff", 255],
    ["08", 8],
    ["09.5", 9.5],
    ["1_0.5", 10.5],
    [".5", 0.5],
    ["+.5", 0.5],
    ["1.", 1],
    ["1e3", 1000],
    ["1e+3", 1000],
    ["1e999", "1e999"],
    ["9007199254740993", 9007199254740993n],
    ["9223372036854775807", 9223372036854775807n],
    ["18446744073709551615", 2 ** 64],
    ["0xffffffffffffffffff", "0xffffffffffffffffff"],
    ["1:30", "1:30"],
    ["190:20:30", "190:20:30"],
    ["2001-01-01", "2001-01-01"],
    ["2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"],
    ["1.2.3", "1.2.3"],
    ["0b2", "0b2"],
    ["0x", "0x"],
    ["_1", "_1"],
    [".", "."],
    ["y", true],
    ["N", false],
    ["Off", false],
    ["oN", "oN"],
    ["~", null],
    ["Null", null],
    ["nULL", "nULL"],
    ["'0644'", "0644"],
    ["!!str 0644", "0644"],
    ["!!int '0644'", 420],
  ];
  for (const [source, value] of cases)
    it(`${source} is ${typeof value} ${String(value)}`, () => {
      assert.deepEqual(read(`a: ${source}\n`), { a: value });
    });

  it("are parsed as keys, too", () => {
    assert.deepEqual(read("0644: a\ny: b\n1.5: c\n"), { "420": "a", true: "b", "1.5": "c" });
  });

  it("without a JSON number are rejected", () => {
    assert.deepEqual(read("a: .inf\n"), { error: "json: unsupported value: +Inf" });
    assert.deepEqual(read("a: -.INF\n"), { error: "json: unsupported value: -Inf" });
    assert.deepEqual(read("a: .NaN\n"), { error: "json: unsupported value: NaN" });
  });
});

describe("duplicate keys in YAML", () => {
  it("are all reported, with the lines of their values", () => {
    const text =
      "a: 1\nb:\n  c: 1\n  'c': 2\nl:\n- {d: 1, d: 2}\n1: x\n1: y\na:\n  z: 1\na: {<<: {q: 1}, <<: {q: 2}}\n";
    const parsed = parseYaml(text);
    assert.deepEqual("duplicates" in parsed && parsed.duplicates, [
      'line 4: key "c" already set in map',
      'line 6: key "d" already set in map',
      "line 8: key 1 already set in map",
      'line 10: key "a" already set in map',
      'line 11: key "a" already set in map',
    ]);
  });
});

describe("YAML output", () => {
  it("quotes strings that parsers of YAML 1.1 or 1.2 interpret as other values", () => {
    for (const text of [
      ...["0644", "1_000", "0b1", "0o17", "0x1f", "1:30", "1:30.5", "2001-01-01", "2001-1-1"],
      ...["2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43", "y", "no", "~", "null", ".inf"],
      ...["1e3", ".5", "<<", "-1", "+1", "", " ", "- a", "a: b", "#", "true", "Off"],
    ])
      assert.doesNotMatch(toYaml({ a: text }), /^a: [^'"]/, text);
  });

  it("is parsed as the original value, for any value", () => {
    const random = new SeededRandom(2);
    const alphabet = [..."0123456789_.:-+eExXbBoOnNyYtTfFaAlLuUrRsSiI~<#'\"!&*,[]{}|>%@` \n\té"];
    const someText = () =>
      Array.from(
        { length: random.below(6) },
        () => alphabet[random.below(alphabet.length)] as string,
      ).join("");
    for (let i = 0; i < 20_000; i++) {
      const value: JsonObject = { [someText()]: someText(), list: [someText(), { a: someText() }] };
      assert.deepEqual(read(toYaml(value)), value, JSON.stringify(value));
    }
  });

  it("keeps numbers, also those beyond 2^53", () => {
    for (const number of [0, -1, 420, 1.5, 1e21, 1e-7, -1.5e300, 2 ** 53 - 1, 9007199254740993n])
      assert.deepEqual(read(toYaml({ a: number })), { a: number });
  });
});

describe("YAML bodies", () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start();
  });
  after(() => server.close());

  it("have the numbers that Kubernetes parses, and are returned with them", async () => {
    const leases = "/clusters/a/apis/coordination.k8s.io/v1/namespaces/default/leases";
    const body =
      "metadata: {name: octal, annotations: {mode: '0644', time: '1:30'}}\nspec: {leaseDurationSeconds: 0644, leaseTransitions: 1_000}\n";
    const headers = { "content-type": "application/yaml", accept: "application/yaml" };
    const { status, text } = await server.request("POST", leases, { headers, body });
    assert.equal(status, 201, text);
    assert.match(text, /leaseDurationSeconds: 420\n {2}leaseTransitions: 1000\n/);
    assert.match(text, /mode: ['"]0644['"]\n {4}time: ['"]1:30['"]\n/);
  });
});
