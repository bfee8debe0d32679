/**
 * Texts of refusals that no other test spells out, letter by letter: clients show them, and some
 * look for them.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../json/index.ts";
import { formatFieldError } from "../status/index.ts";
import {
  validateCustomResourceDefinition,
  validateCustomResourceDefinitionUpdate,
} from "./index.ts";
import { crd, read, version } from "./test-support/crontab-definition.ts";

const at = "spec.validation.openAPIV3Schema";

function check(title: string, definition: JsonObject, expected: readonly string[]): void {
  it(title, () => {
    const errors = validateCustomResourceDefinition(read(definition)).map(formatFieldError);
    assert.deepEqual(
      errors.map((error) => error.replaceAll(at, "@")),
      expected,
    );
  });
}

const schema = (openAPIV3Schema: JsonObject, more: JsonObject = {}): JsonObject =>
  crd({ versions: [version("v1", { schema: { openAPIV3Schema }, ...more })] });

const webhook = (clientConfig: JsonObject): JsonObject =>
  crd({
    conversion: {
      strategy: "Webhook",
      webhook: { clientConfig, conversionReviewVersions: ["v1"] },
    },
  });

describe("the schema of a definition", () => {
  check(
    "with a status endpoint has no other type than object at its root",
    schema({ type: "string" }, { subresources: { status: {} } }),
    [
      '@.type: Invalid value: "string": only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      '@.type: Invalid value: "string": must be object at the root',
    ],
  );
  check(
    "has no defaults in additional properties of metadata",
    schema({
      type: "object",
      properties: {
        e: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          properties: {
            metadata: {
              type: "object",
              properties: {
                labels: { type: "object", additionalProperties: { type: "string", default: "x" } },
              },
            },
          },
        },
      },
    }),
    [
      "@.properties[e].properties[metadata].properties[labels].additionalProperties.default: Forbidden: must not be set inside additionalProperties applying to object metadata",
    ],
  );
  const unsupported: readonly (readonly [string, JsonObject])[] = [
    ["id", { id: "x" }],
    ["$ref", { $ref: "#/x" }],
    ["definitions", { definitions: { a: { type: "string" } } }],
    ["dependencies", { dependencies: { a: ["b"] } }],
    ["patternProperties", { patternProperties: { a: { type: "string" } } }],
    ["additionalItems", { additionalItems: true }],
  ];
  for (const [keyword, more] of unsupported)
    check(
      `knows no ${keyword}`,
      schema({ type: "object", properties: { x: { type: "string", ...more } } }),
      [`@.properties[x].${keyword}: Forbidden: ${keyword} is not supported`],
    );
  check(
    "has items where a list is a map",
    schema({
      type: "object",
      properties: {
        x: { type: "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"] },
      },
    }),
    [
      "@.properties[x].items: Required value: must be specified",
      "@.properties[x].items: Required value: must have a schema if x-kubernetes-list-type is map",
    ],
  );
});

const preserve =
  "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";

describe("a definition", () => {
  check(
    "that keeps unknown fields everywhere cannot have defaults",
    crd({
      preserveUnknownFields: true,
      versions: [
        version("v1", {
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: { a: { type: "string", default: "b" } },
            },
          },
        }),
      ],
    }),
    [
      "spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema",
      preserve,
    ],
  );
  check(
    "that keeps unknown fields everywhere is not converted",
    crd({
      preserveUnknownFields: true,
      conversion: {
        strategy: "Webhook",
        webhook: { clientConfig: { url: "https://a" }, conversionReviewVersions: ["v1"] },
      },
    }),
    [
      'spec.conversion.strategy: Invalid value: "Webhook": must be None if spec.preserveUnknownFields is true',
      preserve,
    ],
  );
  check(
    "finds the selector of its scale in spec or status",
    crd({
      versions: [
        version("v1", {
          subresources: {
            scale: {
              specReplicasPath: ".spec.replicas",
              statusReplicasPath: ".status.replicas",
              labelSelectorPath: ".metadata.labels",
            },
          },
        }),
      ],
    }),
    [
      'spec.subresources.scale.labelSelectorPath: Invalid value: ".metadata.labels": should be a json path under either .spec or .status',
    ],
  );
  it("remembers what it was stored in", () => {
    const stored = read({ ...crd({}), status: { storedVersions: ["v1"] } } as JsonObject);
    const forgetful = { ...stored, status: { ...stored.status, storedVersions: [] } };
    assert.deepEqual(
      validateCustomResourceDefinitionUpdate(forgetful, stored).map(formatFieldError),
      ["status.storedVersions: Invalid value: []: must have at least one stored version"],
    );
  });
  it("that had a version without a schema needs none, unless it is served", () => {
    const old = read(crd({ versions: [version("v1", { schema: {} })] }));
    assert.deepEqual(validateCustomResourceDefinitionUpdate(old, old).map(formatFieldError), [
      "spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned",
    ]);
  });
});

describe("the webhook of a definition", () => {
  const path = "spec.conversion.webhookClientConfig";
  check("has a URL that can be read", webhook({ url: "https://a b" }), [
    `${path}.url: Required value: url must be a valid URL: parse "https://a b"; desired format: https://host[/path]`,
  ]);
  check("has a URL with a host", webhook({ url: "https:///x" }), [
    `${path}.url: Invalid value: "": host must be specified; desired format: https://host[/path]`,
  ]);
  const service = (urlPath: string) =>
    webhook({ service: { name: "n", namespace: "ns", path: urlPath } });
  check("has a path from the root on", service("x"), [
    `${path}.service.path: Invalid value: "x": must start with a '/'`,
    `${path}.service.path: Invalid value: "x": segment[0] may not be empty`,
  ]);
  check("has a path without empty segments", service("//"), [
    `${path}.service.path: Invalid value: "//": segment[0] may not be empty`,
  ]);
});
