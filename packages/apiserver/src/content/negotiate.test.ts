import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isStatusError } from "@kcp-ts/machinery/status";
import { negotiate, type SupportedFormats } from "./negotiate.ts";

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const oldTable = "application/json;as=Table;v=v1beta1;g=meta.k8s.io";
const partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const partialList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const oldDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
const protobuf = "application/vnd.kubernetes.protobuf";

const objects: SupportedFormats = { table: true, partial: "PartialObjectMetadata" };
const lists: SupportedFormats = { table: true, partial: "PartialObjectMetadataList" };
const roots: SupportedFormats = { discovery: true };

function outcome(accept: string | undefined, offers: SupportedFormats): string {
  try {
    const { mediaType, as, version } = negotiate(accept, offers);
    return `${mediaType === "application/json" ? "json" : "yaml"} ${as}${version && ` ${version}`}`;
  } catch (error) {
    assert.ok(isStatusError(error, "NotAcceptable"));
    assert.equal(error.code, 406);
    assert.match(
      error.message,
      /^only the following media types are accepted: application\/json, application\/yaml, application\/vnd\.kubernetes\.protobuf$|^you requested PartialObjectMetadata(?:List, but the requested object is not a list|, but the requested object is a list)$/,
    );
    return "406";
  }
}

describe("negotiate", () => {
  const rows: [accept: string | undefined, offers: SupportedFormats, expected: string][] = [
    [undefined, objects, "json object"],
    ["", objects, "json object"],
    ["*/*", objects, "json object"],
    ["application/*", objects, "json object"],
    ["application/json", objects, "json object"],
    ["APPLICATION/JSON", objects, "json object"],
    ["application/json; charset=utf-8", objects, "json object"],
    ["application/json;pretty=1;profile=x", objects, "json object"],
    ["application/yaml", objects, "yaml object"],
    [`${protobuf},application/json`, objects, "json object"],
    [`${protobuf}, */*`, objects, "json object"],
    [protobuf, objects, "406"],
    ["text/html", objects, "406"],
    ["text/html, application/json;q=0.1", objects, "json object"],
    ["application/json;q=0", objects, "406"],
    ["application/json;q=0.5,application/yaml", objects, "yaml object"],
    ["application/json;q=0.5,application/yaml;q=0.4", objects, "json object"],
    ["application/yaml,application/json", objects, "yaml object"],
    ["application/json,application/yaml", objects, "json object"],
    ["application/json;q=x", objects, "406"],
    // Tables.
    [`${table},${oldTable},application/json`, lists, "json table v1"],
    [`${oldTable},application/json`, lists, "json table v1beta1"],
    [`${table.replace("v1", "v7")},application/json`, lists, "json object"],
    [table, lists, "json table v1"],
    [table, {}, "406"],
    [`${table},application/json`, {}, "json object"],
    [table.replace("meta.k8s.io", "other.io"), lists, "406"],
    [table.replace("json", "yaml"), lists, "yaml table v1"],
    [`application/json;q=0.9,${table};q=0.8`, lists, "json object"],
    // Metadata.
    [
      `${protobuf};as=PartialObjectMetadata;v=v1;g=meta.k8s.io,${partial},application/json`,
      objects,
      "json partial v1",
    ],
    [partialList, lists, "json partial v1"],
    [partialList, objects, "406"],
    [partial, lists, "406"],
    [partial.replace("v1", "v1beta1"), objects, "json partial v1beta1"],
    // Discovery.
    [`${discovery},${oldDiscovery},application/json`, roots, "json discovery v2"],
    [`${oldDiscovery},application/json`, roots, "json object"],
    [discovery, objects, "406"],
    [oldDiscovery, roots, "406"],
  ];
  for (const [accept, offers, expected] of rows) {
    it(`${accept} for ${Object.values(offers).join()} gives ${expected}`, () => {
      assert.equal(outcome(accept, offers), expected);
      // The cached result is the same.
      assert.equal(outcome(accept, offers), expected);
    });
  }

  it("parses a hostile header in less than quadratic time", () => {
    const clauses = (count: number) =>
      Array.from({ length: count }, (_, i) => `a/b;q=0.${i};x${i}=${i}`).join(",");
    assert.equal(outcome(clauses(5_000), objects), "406");
    assert.equal(outcome(`${";".repeat(60_000)},application/json`, objects), "json object");
  });
});
