import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../json/index.ts";
import { formatFieldError } from "../status/index.ts";
import {
  schemaNodesMax,
  validateCustomResourceDefinition,
  validateCustomResourceDefinitionUpdate,
} from "./index.ts";
import { crd, read, version } from "./test-support/crontab-definition.ts";

const create = (json: JsonObject): string[] =>
  validateCustomResourceDefinition(read(json)).map(formatFieldError);

const update = (json: JsonObject, old: JsonObject): string[] =>
  validateCustomResourceDefinitionUpdate(read(json), read(old)).map(formatFieldError);

describe("a changed definition", () => {
  const established = {
    status: { storedVersions: ["v1"], conditions: [{ type: "Established", status: "True" }] },
  };

  it("keeps group and plural always, scope and kind once established", () => {
    const changed = crd({
      scope: "Cluster",
      group: "other.example.com",
      names: { plural: "tabs", kind: "Tab" },
    });
    assert.deepEqual(update(changed, crd({})), [
      'spec.group: Invalid value: "other.example.com": field is immutable',
      'spec.names.plural: Invalid value: "tabs": field is immutable',
    ]);
    assert.deepEqual(update(changed, crd({}, established)), [
      'spec.scope: Invalid value: "Cluster": field is immutable',
      'spec.names.kind: Invalid value: "Tab": field is immutable',
      'spec.group: Invalid value: "other.example.com": field is immutable',
      'spec.names.plural: Invalid value: "tabs": field is immutable',
    ]);
  });

  it("may keep a schema that was stored under larger limits, and make it smaller, but not change it otherwise", () => {
    const wide = (fields: number): JsonObject =>
      crd({
        versions: [
          version("v1", {
            schema: {
              openAPIV3Schema: {
                type: "object",
                properties: Object.fromEntries(
                  Array.from({ length: fields }, (_, i) => [`f${i}`, { type: "string" }]),
                ),
              },
            },
          }),
        ],
      });
    const stored = wide(schemaNodesMax + 1_000);
    assert.match(create(stored).join(), /must not have more than 12000 sub-schemas/);
    const renamed = { ...stored, metadata: { ...(stored["metadata"] as JsonObject), labels: {} } };
    assert.deepEqual(update(renamed, stored), []);
    assert.deepEqual(update(wide(schemaNodesMax - 1), stored), []);
    assert.match(
      update(wide(schemaNodesMax + 999), stored).join(),
      /must not have more than 12000 sub-schemas/,
    );
  });

  it("may keep what the stored one got away with, and add nothing of the kind", () => {
    const withSet = (items: JsonObject): JsonObject =>
      crd({
        versions: [
          version("v1", {
            schema: {
              openAPIV3Schema: {
                type: "object",
                properties: { x: { type: "array", "x-kubernetes-list-type": "set", items } },
              },
            },
          }),
        ],
      });
    const loose = withSet({ type: "object" });
    const strict = withSet({ type: "string" });
    assert.equal(create(loose).length, 1);
    assert.deepEqual(update(loose, loose), []);
    assert.equal(update(loose, strict).length, 1);
  });

  it("may keep an approval that is missing", () => {
    const json = crd({ group: "x.k8s.io" }, { metadata: { name: "crontabs.x.k8s.io" } });
    assert.deepEqual(update(json, json), []);
  });

  it("may not turn to preserving unknown fields", () => {
    const preserving = crd({ preserveUnknownFields: true });
    assert.equal(update(preserving, crd({})).length, 1);
    assert.deepEqual(update(preserving, preserving), []);
  });

  it("may not drop a stored version", () => {
    const json = crd({ versions: [version("v2")] }, { status: { storedVersions: ["v1", "v2"] } });
    assert.deepEqual(update(json, crd({})), [
      'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions',
    ]);
  });

  it("once established keeps a CA bundle that can be read", () => {
    const withBundle = (caBundle: string, more: JsonObject): JsonObject =>
      crd(
        {
          conversion: {
            strategy: "Webhook",
            webhook: {
              clientConfig: { url: "https://a", caBundle },
              conversionReviewVersions: ["v1"],
            },
          },
        },
        more,
      );
    const pem = btoa("-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n");
    const broken = withBundle("YQ==", established);
    assert.deepEqual(update(broken, withBundle(pem, established)), [
      'spec.conversion.webhookClientConfig.caBundle: Invalid value: "YQ==": unable to load root certificates: unable to parse bytes as PEM block',
    ]);
    assert.deepEqual(update(withBundle(pem, established), withBundle(pem, established)), []);
    assert.deepEqual(update(broken, broken), []);
    assert.deepEqual(update(broken, withBundle(pem, {})), []);
  });
});
