/**
 * CustomResourceDefinitions: what is defaulted, what is refused, conditions, discovery, the end.
 */
import type { CorpusTopic } from "../corpus-request.ts";
import {
  asTable,
  established,
  found,
  get,
  isNotFound,
  patch,
  post,
  put,
  remove,
} from "../requests.ts";
import { definition } from "./definition.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const group = "definitions.example.com";
const toys = definition({ group, plural: "toys", kind: "Toy" });
/** A definition with something changed in its only version's schema. */
const withSchema = (plural: string, schema: object) =>
  definition({ group, plural, kind: "Bad", schema });

export const definitions: CorpusTopic = {
  name: "definitions",
  requests: [
    post("a plain one", crds, toys),
    get("is established", `${crds}/toys.${group}`, { until: established }),
    get("as a table", `${crds}/toys.${group}`, asTable),
    get("its objects", `/apis/${group}/v1/toys`, { until: found }),
    get("its group", `/apis/${group}`, { until: found }),
    get("its resources", `/apis/${group}/v1`, { until: found }),
    post("the same again", crds, toys),
    post("with another name", crds, { ...toys, metadata: { name: "other.example.com" } }),
    post("with a bad group", crds, definition({ group: "Not Valid", plural: "toys", kind: "Toy" })),
    post(
      "with a group of one word",
      crds,
      definition({ group: "toys", plural: "toys", kind: "Toy" }),
    ),
    post("with bad names", crds, definition({ group, plural: "Toys_", kind: "toy toy" })),
    post(
      "in a protected group",
      crds,
      definition({ group: "x.k8s.io", plural: "toys", kind: "Toy" }),
    ),
    post("without versions", crds, {
      ...toys,
      metadata: { name: `none.${group}` },
      spec: { group, scope: "Namespaced", names: { plural: "none", kind: "None" }, versions: [] },
    }),
    post("without a spec", crds, { ...toys, metadata: { name: `none.${group}` }, spec: undefined }),
    post("with a scope that is none", crds, {
      ...definition({ group, plural: "scopes", kind: "Scope" }, { scope: "Everywhere" }),
    }),
    post("with two storage versions", crds, {
      ...definition(
        { group, plural: "stores", kind: "Store" },
        { versions: [version("v1", {}), version("v2", {})] },
      ),
    }),
    post("with the same version twice", crds, {
      ...definition(
        { group, plural: "stores", kind: "Store" },
        { versions: [version("v1", {}), version("v1", { storage: false })] },
      ),
    }),
    post("with a version that is no label", crds, {
      ...definition({ group, plural: "stores", kind: "Store" }, { versions: [version("V_1", {})] }),
    }),
    post("without a schema", crds, {
      ...definition(
        { group, plural: "stores", kind: "Store" },
        { versions: [{ name: "v1", served: true, storage: true }] },
      ),
    }),
    post("with a conversion that is none", crds, {
      ...definition(
        { group, plural: "stores", kind: "Store" },
        { conversion: { strategy: "Magic" } },
      ),
    }),
    post("with a webhook without a client", crds, {
      ...definition(
        { group, plural: "stores", kind: "Store" },
        { conversion: { strategy: "Webhook" } },
      ),
    }),
    post("with unknown fields preserved the old way", crds, {
      ...definition({ group, plural: "stores", kind: "Store" }, { preserveUnknownFields: true }),
    }),
    post("with a schema of no object", crds, withSchema("bads", { type: "string" })),
    post("with a schema of no type", crds, withSchema("bads", { properties: {} })),
    post(
      "with a property of no type",
      crds,
      withSchema("bads", { type: "object", properties: { a: { description: "x" } } }),
    ),
    post(
      "with a property of an odd type",
      crds,
      withSchema("bads", { type: "object", properties: { a: { type: "date" } } }),
    ),
    post(
      "with a list of anything",
      crds,
      withSchema("bads", { type: "object", properties: { a: { type: "array" } } }),
    ),
    post(
      "with a bad pattern",
      crds,
      withSchema("bads", { type: "object", properties: { a: { type: "string", pattern: "(" } } }),
    ),
    post(
      "with a bad default",
      crds,
      withSchema("bads", { type: "object", properties: { a: { type: "integer", default: "x" } } }),
    ),
    post(
      "with a reference",
      crds,
      withSchema("bads", { type: "object", properties: { a: { $ref: "#/a" } } }),
    ),
    post(
      "with unique items",
      crds,
      withSchema("bads", {
        type: "object",
        properties: { a: { type: "array", items: { type: "string" }, uniqueItems: true } },
      }),
    ),
    post(
      "with additional properties and properties",
      crds,
      withSchema("bads", {
        type: "object",
        properties: {
          a: {
            type: "object",
            properties: { b: { type: "string" } },
            additionalProperties: { type: "string" },
          },
        },
      }),
    ),
    post(
      "with no additional properties",
      crds,
      withSchema("bads", {
        type: "object",
        properties: { a: { type: "object", additionalProperties: false } },
      }),
    ),
    post(
      "with a list by a key that is not there",
      crds,
      withSchema("bads", {
        type: "object",
        properties: {
          a: {
            type: "array",
            items: { type: "object", properties: { k: { type: "string" } } },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
          },
        },
      }),
    ),
    post(
      "with a type of list that is none",
      crds,
      withSchema("bads", {
        type: "object",
        properties: {
          a: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "pile" },
        },
      }),
    ),
    post(
      "with restricted metadata",
      crds,
      withSchema("bads", {
        type: "object",
        properties: { metadata: { type: "object", properties: { labels: { type: "object" } } } },
      }),
    ),
    post(
      "with a rule that does not parse",
      crds,
      withSchema("bads", {
        type: "object",
        "x-kubernetes-validations": [{ rule: "self.a ==" }],
        properties: { a: { type: "string" } },
      }),
    ),
    post(
      "with a rule about nothing",
      crds,
      withSchema("bads", {
        type: "object",
        "x-kubernetes-validations": [{ rule: "self.b == 'x'" }],
        properties: { a: { type: "string" } },
      }),
    ),
    post(
      "with a rule that is no condition",
      crds,
      withSchema("bads", {
        type: "object",
        "x-kubernetes-validations": [{ rule: "self.a" }],
        properties: { a: { type: "string" } },
      }),
    ),
    post(
      "with an empty rule",
      crds,
      withSchema("bads", {
        type: "object",
        "x-kubernetes-validations": [{ rule: "" }],
        properties: { a: { type: "string" } },
      }),
    ),
    post(
      "with a rule that costs too much",
      crds,
      withSchema("bads", {
        type: "object",
        properties: {
          a: {
            type: "array",
            items: {
              type: "array",
              items: { type: "string" },
              "x-kubernetes-validations": [{ rule: "self.all(x, self.all(y, x == y))" }],
            },
          },
        },
      }),
    ),
    post("with a bad column", crds, {
      ...definition(
        { group, plural: "bads", kind: "Bad" },
        {
          versions: [
            version("v1", {
              additionalPrinterColumns: [{ name: "", type: "word", jsonPath: "spec" }],
            }),
          ],
        },
      ),
    }),
    post("with a bad scale", crds, {
      ...definition(
        { group, plural: "bads", kind: "Bad" },
        {
          versions: [
            version("v1", {
              subresources: { scale: { specReplicasPath: ".replicas", statusReplicasPath: "" } },
            }),
          ],
        },
      ),
    }),
    post("with a selectable field that is not there", crds, {
      ...definition(
        { group, plural: "bads", kind: "Bad" },
        { versions: [version("v1", { selectableFields: [{ jsonPath: ".spec.nothing" }] })] },
      ),
    }),
    post("with an unknown field, strictly", `${crds}?fieldValidation=Strict`, {
      ...definition({ group, plural: "bads", kind: "Bad" }, { colour: "red" }),
    }),
    post("for nothing", `${crds}?dryRun=All`, definition({ group, plural: "dries", kind: "Dry" })),
    post("with names that are taken", crds, {
      ...definition(
        { group, plural: "games", kind: "Game" },
        { names: { plural: "games", singular: "toy", kind: "Game" } },
      ),
    }),
    get("is not accepted", `${crds}/games.${group}`, {
      until: ({ body }) => JSON.stringify(body).includes("Conflict"),
    }),
    get("its objects are not there", `/apis/${group}/v1/games`),
    put("with another scope", `${crds}/toys.${group}`, {
      ...definition({ group, plural: "toys", kind: "Toy" }, { scope: "Cluster" }),
    }),
    patch("merge", "with one more short name", `${crds}/toys.${group}`, {
      spec: { names: { shortNames: ["ty"], categories: ["playthings"] } },
    }),
    get("the new name is accepted", `${crds}/toys.${group}`, {
      until: ({ body }) =>
        JSON.stringify(body).includes(
          '"acceptedNames":{"plural":"toys","singular":"toy","shortNames"',
        ),
    }),
    get("its status", `${crds}/toys.${group}/status`),
    patch("merge", "change its status", `${crds}/toys.${group}/status`, {
      status: { storedVersions: ["v1", "v0"] },
    }),
    remove("delete the second", `${crds}/games.${group}`),
    remove("delete the first", `${crds}/toys.${group}`),
    get("is gone", `${crds}/toys.${group}`, { until: isNotFound }),
    get("and so are its objects", `/apis/${group}/v1/toys`, { until: isNotFound }),
    get("one that is not there", `${crds}/nothing.example.com`),
  ],
};

function version(name: string, rest: object): object {
  return {
    name,
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    ...rest,
  };
}
