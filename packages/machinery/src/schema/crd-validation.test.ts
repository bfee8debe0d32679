import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject, JsonValue } from "../json/index.ts";
import { formatFieldError } from "../status/index.ts";
import {
  type CrdValidationOptions,
  readCustomResourceDefinition,
  readSchema,
  unrecognizedFormats,
  validateCustomResourceDefinition,
} from "./index.ts";
import { crd, names, read, version } from "./test-support/crontab-definition.ts";

function create(json: JsonObject, options?: CrdValidationOptions): string[] {
  return validateCustomResourceDefinition(read(json), options).map(formatFieldError);
}

const label1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

describe("a new definition", () => {
  const two = (a: JsonObject, b: JsonObject): JsonObject => ({
    versions: [version("v1", a), version("v2", { storage: false, ...b })],
  });
  const typed = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
    schema: { openAPIV3Schema: { type: "object", properties, ...more } },
  });

  const cases: readonly (readonly [string, JsonObject, readonly string[]])[] = [
    ["is accepted", crd({}), []],
    [
      "is named after plural and group",
      crd({}, { metadata: { name: "tabs" } }),
      ['metadata.name: Invalid value: "tabs": must be spec.names.plural+"."+spec.group'],
    ],
    [
      "has a group with a dot",
      crd({ group: "apps" }, { metadata: { name: "crontabs.apps" } }),
      ['spec.group: Invalid value: "apps": should be a domain with at least one dot'],
    ],
    [
      "has a group",
      crd({ group: "" }, { metadata: { name: "crontabs." } }),
      [`metadata.name: Invalid value: "crontabs.": ${subdomain}`, "spec.group: Required value"],
    ],
    [
      "has a group that is a domain",
      crd({ group: "A.b" }, { metadata: { name: "crontabs.A.b" } }),
      [
        `metadata.name: Invalid value: "crontabs.A.b": ${subdomain}`,
        `spec.group: Invalid value: "A.b": ${subdomain}`,
      ],
    ],
    [
      "has a scope",
      crd({ scope: "Global" }),
      ['spec.scope: Unsupported value: "Global": supported values: "Cluster", "Namespaced"'],
    ],
    ["needs a scope", crd({ scope: "" }), ["spec.scope: Required value"]],
    [
      "has versions with good names",
      crd({ versions: [version("V1")] }, { status: { storedVersions: ["V1"] } }),
      [`spec.versions[0].name: Invalid value: "V1": ${label1035}`],
    ],
    [
      "has versions with different names",
      crd({ versions: [version("v1"), version("v1", { storage: false })] }),
      [
        'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":true},{"Name":"v1","Served":true,"Storage":false}]: must contain unique version names',
      ],
    ],
    [
      "has one storage version",
      crd(two({ storage: false }, {}), { status: { storedVersions: ["v1"] } }),
      [
        'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false},{"Name":"v2","Served":true,"Storage":false}]: must have exactly one version marked as storage version',
      ],
    ],
    [
      "has a schema for each version",
      crd(two({ schema: null }, {})),
      ["spec.versions[0].schema.openAPIV3Schema: Required value"],
    ],
    [
      "does not preserve unknown fields as a whole",
      crd({ preserveUnknownFields: true }),
      [
        "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
      ],
    ],
    [
      "has names of the right form",
      crd({
        names: {
          ...names,
          singular: "Cron",
          kind: "Cron Tab",
          listKind: "L!",
          shortNames: ["ct", "C"],
          categories: ["All"],
        },
      }),
      [
        `spec.names.singular: Invalid value: "Cron": ${label1035}`,
        `spec.names.kind: Invalid value: "Cron Tab": may have mixed case, but should otherwise match: ${label1035}`,
        `spec.names.listKind: Invalid value: "L!": may have mixed case, but should otherwise match: ${label1035}`,
        `spec.names.shortNames[1]: Invalid value: "C": ${label1035}`,
        `spec.names.categories[0]: Invalid value: "All": ${label1035}`,
      ],
    ],
    [
      "does not name its list like itself",
      crd({ names: { ...names, listKind: "CronTab" } }),
      ['spec.names.listKind: Invalid value: "CronTab": kind and listKind may not be the same'],
    ],
    [
      "has names",
      crd({ names: {} }, { metadata: { name: "x.stable.example.com" } }),
      [
        'metadata.name: Invalid value: "x.stable.example.com": must be spec.names.plural+"."+spec.group',
        "spec.names.plural: Required value",
        "spec.names.singular: Required value",
        "spec.names.kind: Required value",
        "spec.names.listKind: Required value",
      ],
    ],
    [
      "has good printer columns",
      crd({
        versions: [
          version("v1", {
            additionalPrinterColumns: [
              {},
              { name: "A", type: "text", format: "hex", jsonPath: "spec.a" },
              { name: "B", type: "date", format: "date-time", jsonPath: ".spec.b" },
            ],
          }),
        ],
      }),
      [
        "spec.additionalPrinterColumns[0].name: Required value",
        "spec.additionalPrinterColumns[0].type: Required value: must be one of boolean,date,integer,number,string",
        "spec.additionalPrinterColumns[0].JSONPath: Required value",
        'spec.additionalPrinterColumns[1].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
        'spec.additionalPrinterColumns[1].format: Invalid value: "hex": must be one of byte,date,date-time,double,float,int32,int64,password',
        'spec.additionalPrinterColumns[1].JSONPath: Invalid value: "spec.a": must be a simple json path starting with .',
      ],
    ],
    [
      "has scale paths under spec and status",
      crd({
        versions: [
          version("v1", {
            subresources: {
              scale: {
                specReplicasPath: ".status.replicas",
                statusReplicasPath: "",
                labelSelectorPath: "selector",
              },
            },
          }),
        ],
      }),
      [
        'spec.subresources.scale.specReplicasPath: Invalid value: ".status.replicas": should be a json path under .spec',
        "spec.subresources.scale.statusReplicasPath: Required value",
        'spec.subresources.scale.labelSelectorPath: Invalid value: "selector": must be a simple json path starting with .',
      ],
    ],
    [
      "has selectable fields that exist and are scalars",
      crd({
        versions: [
          version("v1", {
            ...typed({
              metadata: { type: "object", properties: { name: { type: "string" } } },
              spec: {
                type: "object",
                properties: { a: { type: "string" }, o: { type: "object" } },
              },
            }),
            selectableFields: [
              {},
              { jsonPath: ".spec.b" },
              { jsonPath: ".spec.o" },
              { jsonPath: ".spec['a']" },
              { jsonPath: ".metadata.name" },
              { jsonPath: ".spec.a" },
              { jsonPath: ".spec.a" },
              { jsonPath: "spec" },
              { jsonPath: ".spec." },
            ],
          }),
        ],
      }),
      [
        "spec.selectableFields[0].jsonPath: Required value",
        'spec.selectableFields[1].jsonPath: Invalid value: ".spec.b": is an invalid path: does not refer to a valid field',
        'spec.selectableFields[2].jsonPath: Invalid value: ".spec.o": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
        "spec.selectableFields[3].jsonPath: Invalid value: \".spec['a']\": is an invalid path: array notation is not allowed",
        'spec.selectableFields[4].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata',
        'spec.selectableFields[6].jsonPath: Duplicate value: ".spec.a"',
        'spec.selectableFields[7].jsonPath: Invalid value: "spec": is an invalid path: expected [ or . but got: spec',
        'spec.selectableFields[8].jsonPath: Invalid value: ".spec.": is an invalid path: unexpected end of JSON path',
      ],
    ],
    [
      "warns of deprecation only where there is one",
      crd(
        two(
          { deprecationWarning: "old" },
          { deprecated: true, deprecationWarning: `${"x".repeat(257)}\u0007` },
        ),
      ),
      [
        'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
        `spec.versions[1].deprecationWarning: Invalid value: "${"x".repeat(257)}\\a": must be <= 256 characters long`,
        `spec.versions[1].deprecationWarning: Invalid value: "${"x".repeat(257)}\\a": must only contain printable UTF-8 characters; non-printable character found at index 257`,
      ],
    ],
    [
      "has an empty deprecation warning nowhere",
      crd({ versions: [version("v1", { deprecated: true, deprecationWarning: "" })] }),
      ['spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string'],
    ],
    [
      "needs approval in community groups",
      crd({ group: "x.k8s.io" }, { metadata: { name: "crontabs.x.k8s.io" } }),
      [
        'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
      ],
    ],
    [
      "needs a real approval",
      crd(
        { group: "kubernetes.io" },
        {
          metadata: {
            name: "crontabs.kubernetes.io",
            annotations: { "api-approved.kubernetes.io": "yes" },
          },
        },
      ),
      [
        'metadata.annotations[api-approved.kubernetes.io]: Invalid value: "yes": protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111',
      ],
    ],
    [
      "takes a URL for an approval",
      crd(
        { group: "x.k8s.io" },
        {
          metadata: {
            name: "crontabs.x.k8s.io",
            annotations: { "api-approved.kubernetes.io": "https://example.com/pull/1" },
          },
        },
      ),
      [],
    ],
    [
      "reports the schema of its only version at the top",
      crd({ versions: [version("v1", typed({ a: {} }))] }),
      [
        "spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields",
      ],
    ],
    [
      "reports schemas that differ at their versions",
      crd(two(typed({ a: {} }), typed({ b: { type: "array" } }))),
      [
        "spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields",
        "spec.versions[1].schema.openAPIV3Schema.properties[b].items: Required value: must be specified",
      ],
    ],
    [
      "keeps the root plain where the status is validated apart",
      crd({
        versions: [
          version("v1", { ...typed({}, { maxProperties: 3 }), subresources: { status: {} } }),
        ],
      }),
      [
        'spec.validation.openAPIV3Schema: Invalid value: {"type":"object"}: only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource is enabled',
      ],
    ],
    [
      "stores at least its storage version",
      crd({}, { status: { storedVersions: ["v0"] } }),
      [
        'status.storedVersions: Invalid value: ["v0"]: must have the storage version v1',
        'status.storedVersions[0]: Invalid value: "v0": missing from spec.versions; v0 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v0 and removes v0 from status.storedVersions',
      ],
    ],
  ];
  for (const [title, json, expected] of cases) {
    it(title, () => {
      assert.deepEqual(create(json), expected);
    });
  }

  it("may live in built-in groups when that is allowed", () => {
    const options = { allowBuiltInGroups: true };
    const apps = crd({ group: "apps" }, { metadata: { name: "crontabs.apps" } });
    const core = crd({ group: "" }, { metadata: { name: "crontabs.core" } });
    assert.deepEqual(create(apps, options), []);
    assert.deepEqual(create(core, options), []);
    assert.deepEqual(
      create(crd({ group: "" }, { metadata: { name: "crontabs." } }), options).length,
      2,
    );
  });

  it("can be reported version by version", () => {
    assert.deepEqual(
      create(crd({ versions: [version("v1", typed({ a: {} }))] }), { perVersionPaths: true }),
      [
        "spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields",
      ],
    );
  });

  it("takes eight selectable fields and not nine", () => {
    const properties: { [key: string]: JsonValue } = {};
    for (let i = 0; i < 9; i++) properties[`f${i}`] = { type: "string" };
    const selectable = (count: number): JsonObject =>
      crd({
        versions: [
          version("v1", {
            ...typed(properties),
            selectableFields: Object.keys(properties)
              .slice(0, count)
              .map((name) => ({ jsonPath: `.${name}` })),
          }),
        ],
      });
    assert.deepEqual(create(selectable(8)), []);
    assert.deepEqual(create(selectable(9)), [
      "spec.selectableFields: Too many: 9: must have at most 8 items",
    ]);
  });

  it("gets its defaults", () => {
    const json = crd({
      conversion: {
        strategy: "Webhook",
        webhook: { clientConfig: { service: { name: "a", namespace: "b" } } },
      },
    });
    const definition = read(json);
    assert.deepEqual(
      [
        definition.spec.names.singular,
        definition.spec.names.listKind,
        definition.status.storedVersions,
      ],
      ["crontab", "CronTabList", ["v1"]],
    );
    assert.equal(definition.spec.conversion?.clientConfig?.service?.port, 443);
    assert.equal(read(crd({})).spec.conversion?.strategy, "None");
  });

  it("of the wrong types is a problem, not an error", () => {
    const { problems } = readCustomResourceDefinition({
      spec: { group: 1, versions: [{ served: "yes" }, 5] },
    });
    assert.deepEqual(problems, [
      "spec.group: must be a string",
      "spec.versions[0].served: must be a boolean",
      "spec.versions[1]: must be an object",
    ]);
  });

  it("with unknown formats is worth a warning", () => {
    const { schema } = readSchema({
      type: "object",
      properties: {
        a: { type: "string", format: "colour" },
        b: { type: "integer", format: "int8" },
        c: { type: "string", format: "date-time" },
      },
    });
    assert.ok(schema);
    assert.deepEqual(unrecognizedFormats(schema), ["colour", "int8"]);
  });
});
