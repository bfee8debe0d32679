/** Custom resources: defaults, pruning, validation, rules, subresources, forms, every verb. */
import type { CorpusTopic } from "../corpus-request.ts";
import {
  asMetadata,
  asMetadataList,
  asTable,
  established,
  found,
  get,
  namespace,
  patch,
  post,
  put,
  remove,
  sortedCauses,
} from "../requests.ts";
import { definition } from "./definition.ts";

const group = "custom.example.com";
const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const at = `/apis/${group}/v1/namespaces/custom/widgets`;
const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      required: ["size"],
      properties: {
        size: { type: "integer", minimum: 1, maximum: 10 },
        colour: { type: "string", enum: ["red", "blue"], default: "red" },
        name: { type: "string", pattern: "^[a-z]+$", maxLength: 5 },
        replicas: { type: "integer", format: "int32" },
        tags: {
          type: "array",
          maxItems: 2,
          items: { type: "string" },
          "x-kubernetes-list-type": "set",
        },
        ports: {
          type: "array",
          items: {
            type: "object",
            required: ["port"],
            properties: {
              port: { type: "integer" },
              name: { type: "string" },
              protocol: { type: "string", default: "TCP" },
            },
          },
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["port"],
        },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        either: { "x-kubernetes-int-or-string": true },
        fixed: {
          type: "string",
          maxLength: 9,
          "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "is fixed" }],
        },
      },
      "x-kubernetes-validations": [
        {
          rule: "!has(self.replicas) || self.replicas <= self.size",
          message: "more replicas than size",
        },
        {
          rule: "self.size != 7",
          messageExpression: "'not seven'",
          reason: "FieldValueForbidden",
          fieldPath: ".size",
        },
      ],
    },
    status: {
      type: "object",
      properties: {
        replicas: { type: "integer" },
        phase: { type: "string" },
        selector: { type: "string" },
      },
    },
  },
};
const widget = (name: string, spec: unknown, rest: object = {}) => ({
  apiVersion: `${group}/v1`,
  kind: "Widget",
  metadata: { name },
  spec,
  ...rest,
});

export const customResources: CorpusTopic = {
  name: "custom-resources",
  requests: [
    namespace("custom"),
    post("the definition", crds, {
      ...definition(
        { group, plural: "widgets", kind: "Widget" },
        {
          names: { plural: "widgets", kind: "Widget", shortNames: ["wd"], categories: ["all"] },
          versions: [
            {
              name: "v1",
              served: true,
              storage: true,
              schema: { openAPIV3Schema: schema },
              subresources: {
                status: {},
                scale: {
                  specReplicasPath: ".spec.replicas",
                  statusReplicasPath: ".status.replicas",
                  labelSelectorPath: ".status.selector",
                },
              },
              additionalPrinterColumns: [
                { name: "Size", type: "integer", jsonPath: ".spec.size" },
                { name: "Colour", type: "string", jsonPath: ".spec.colour", priority: 1 },
              ],
              selectableFields: [{ jsonPath: ".spec.colour" }],
            },
          ],
        },
      ),
    }),
    get("is established", `${crds}/widgets.${group}`, { until: established }),
    get("an empty list", at, { until: found }),
    get("its discovery", `/apis/${group}/v1`, { until: found }),
    post("one", at, widget("one", { size: 3 }), { save: { version: "metadata.resourceVersion" } }),
    post("the same again", at, widget("one", { size: 3 })),
    post("with a status", at, widget("two", { size: 3 }, { status: { phase: "New" } })),
    post(
      "with lists",
      at,
      widget("three", { size: 3, ports: [{ port: 1 }], tags: ["a"], either: "x" }),
    ),
    post(
      "with unknown fields",
      at,
      widget("four", { size: 3, weight: 5, free: { any: [1, null] } }, { more: 1 }),
    ),
    post("with unknown fields, strictly", `${at}?fieldValidation=Strict`, {
      ...widget("five", { size: 3, weight: 5 }, { more: 1, metadata: { name: "five", shade: 1 } }),
    }),
    post(
      "with a field twice, strictly",
      `${at}?fieldValidation=Strict`,
      `{"apiVersion":"${group}/v1","kind":"Widget","metadata":{"name":"five"},"spec":{"size":1,"size":2}}`,
    ),
    post(
      "with a field twice",
      at,
      `{"apiVersion":"${group}/v1","kind":"Widget","metadata":{"name":"five"},"spec":{"size":1,"size":2}}`,
    ),
    post("without what is required", at, widget("bad", {})),
    post("without a spec", at, { ...widget("bare", {}), spec: undefined }),
    post("too large", at, widget("bad", { size: 11 })),
    post("of a wrong type", at, widget("bad", { size: "3" })),
    post("of a fraction", at, widget("bad", { size: 1.5 })),
    post("of a whole fraction", at, widget("fraction", { size: 2.0 })),
    post(
      "with much wrong",
      at,
      widget("bad", { size: 0, colour: "green", name: "ABCDEFG", tags: ["a", "a", "b"] }),
      { view: sortedCauses },
    ),
    post("with ports twice", at, widget("bad", { size: 1, ports: [{ port: 1 }, { port: 1 }] })),
    post("with a port without a number", at, widget("bad", { size: 1, ports: [{ name: "a" }] })),
    post("against a rule", at, widget("bad", { size: 1, replicas: 2 })),
    post("against a rule with a reason", at, widget("bad", { size: 7 })),
    post("with null", at, widget("null", { size: 1, colour: null, name: null })),
    post("a number for an object", at, widget("bad", 5)),
    post("without a kind", `${at}?dryRun=All`, { metadata: { name: "bad" }, spec: { size: 1 } }),
    post("of another kind", at, { ...widget("bad", { size: 1 }), kind: "Gadget" }),
    post("of another version", at, { ...widget("bad", { size: 1 }), apiVersion: `${group}/v2` }),
    post("of another group", at, { ...widget("bad", { size: 1 }), apiVersion: "v1" }),
    post("with a bad name", at, widget("Bad_", { size: 1 })),
    post(
      "with a bad label",
      at,
      widget("bad", { size: 1 }, { metadata: { name: "bad", labels: { "a b": 1 } } }),
    ),
    post(
      "with a label that is no string",
      at,
      widget("bad", { size: 1 }, { metadata: { name: "bad", labels: { a: 1 } } }),
    ),
    post("not JSON", at, "{"),
    post(
      "in YAML",
      at,
      `apiVersion: ${group}/v1\nkind: Widget\nmetadata: {name: yaml}\nspec: {size: 2}\n`,
      { headers: { "content-type": "application/yaml" } },
    ),
    post(
      "in a namespace that is not there",
      `/apis/${group}/v1/namespaces/nowhere/widgets`,
      widget("a", { size: 1 }),
    ),
    post("for nothing", `${at}?dryRun=All`, widget("dry", { size: 1 })),
    post("to a name", `${at}/one`, widget("one", { size: 1 })),
    post("without a namespace", `/apis/${group}/v1/widgets`, widget("one", { size: 1 })),
    get("one by get", `${at}/one`),
    get("one that is not there", `${at}/none`),
    get("the list", `${at}?labelSelector=none`),
    get("by a selectable field", `${at}?fieldSelector=spec.colour%3Dred&limit=1`),
    get("by another field", `${at}?fieldSelector=spec.size%3D3`),
    get("as a table", `${at}/one`, asTable),
    get("the list as a table", `${at}?limit=1`, asTable),
    get("as metadata", `${at}/one`, asMetadata),
    get("the list as metadata", `${at}?limit=1`, asMetadataList),
    get("of all namespaces", `/apis/${group}/v1/widgets?limit=1`),
    get("in a format that is none", `${at}/one`, { headers: { accept: "text/xml" } }),
    get("in protobuf only", `${at}/one`, {
      headers: { accept: "application/vnd.kubernetes.protobuf" },
    }),
    get("a version that is not there", `/apis/${group}/v9/widgets`),
    get("a resource that is not there", `/apis/${group}/v1/gadgets`),
    put("without a version", `${at}/one`, widget("one", { size: 4 })),
    put(
      "with an old version",
      `${at}/one`,
      widget("one", { size: 4 }, { metadata: { name: "one", resourceVersion: "${version}" } }),
    ),
    patch("merge", "merge: size", `${at}/one`, { spec: { size: 4 } }),
    patch("merge", "merge: the same", `${at}/one`, { spec: { size: 4 } }),
    patch("merge", "merge: a label", `${at}/one`, { metadata: { labels: { a: "b" } } }),
    patch("merge", "merge: its status by the main path", `${at}/one`, { status: { phase: "Odd" } }),
    patch("merge", "merge: something bad", `${at}/one`, { spec: { size: 40 } }),
    patch("merge", "merge: an unknown field", `${at}/one`, { spec: { weight: 1 } }),
    patch("merge", "merge: an unknown field, strictly", `${at}/one?fieldValidation=Strict`, {
      spec: { weight: 1 },
    }),
    patch("merge", "merge: a fixed field, first", `${at}/one`, { spec: { fixed: "a" } }),
    patch("merge", "merge: a fixed field, changed", `${at}/one`, { spec: { fixed: "b" } }),
    patch("json", "json: size", `${at}/one`, [{ op: "replace", path: "/spec/size", value: 5 }]),
    patch("json", "json: a test that fails", `${at}/one`, [
      { op: "test", path: "/spec/size", value: 6 },
    ]),
    patch("strategic", "strategic: not for these", `${at}/one`, { spec: { size: 5 } }),
    patch(
      "merge",
      "a type of patch that is none",
      `${at}/one`,
      {},
      { headers: { "content-type": "application/json" } },
    ),
    patch(
      "apply",
      "apply: a new one",
      `${at}/applied?fieldManager=a`,
      widget("applied", { size: 1, ports: [{ port: 1 }], tags: ["x"] }),
    ),
    patch(
      "apply",
      "apply: by another",
      `${at}/applied?fieldManager=b`,
      widget("applied", { size: 1, ports: [{ port: 2, name: "two" }], tags: ["y"] }),
    ),
    patch(
      "apply",
      "apply: a conflict",
      `${at}/applied?fieldManager=b`,
      widget("applied", { size: 2 }),
    ),
    patch(
      "apply",
      "apply: by force",
      `${at}/applied?fieldManager=b&force=true`,
      widget("applied", { size: 2 }),
    ),
    patch(
      "apply",
      "apply: an unknown field",
      `${at}/applied?fieldManager=a`,
      widget("applied", { size: 2, weight: 1 }),
    ),
    patch(
      "apply",
      "apply: something bad",
      `${at}/applied?fieldManager=a&force=true`,
      widget("applied", { size: 20 }),
    ),
    get("status", `${at}/one/status`),
    put(
      "status: put",
      `${at}/one/status`,
      widget("one", { size: 9 }, { status: { phase: "Up", replicas: 1, selector: "a=b" } }),
    ),
    patch("merge", "status: patch", `${at}/one/status`, {
      status: { replicas: 2 },
      spec: { size: 1 },
      metadata: { labels: { c: "d" } },
    }),
    patch("merge", "status: something bad", `${at}/one/status`, { status: { replicas: "many" } }),
    patch("apply", "status: apply", `${at}/one/status?fieldManager=s`, {
      apiVersion: `${group}/v1`,
      kind: "Widget",
      metadata: { name: "one" },
      status: { phase: "Down" },
    }),
    get("scale: without replicas", `${at}/two/scale`),
    patch("merge", "scale: with replicas", `${at}/one/scale`, { spec: { replicas: 2 } }),
    get("scale", `${at}/one/scale`),
    put("scale: put", `${at}/one/scale`, {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "one" },
      spec: { replicas: 3 },
    }),
    put("scale: less than nothing", `${at}/one/scale`, {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "one" },
      spec: { replicas: -1 },
    }),
    put("scale: against a rule", `${at}/one/scale`, {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "one" },
      spec: { replicas: 9 },
    }),
    get("a subresource that is not there", `${at}/one/logs`),
    get(
      "watch",
      `${at}?watch=true&resourceVersion=${"${version}"}&fieldSelector=metadata.name%3Done`,
      { events: 2 },
    ),
    remove("delete for nothing", `${at}/one?dryRun=All`),
    remove("delete", `${at}/one`),
    remove("delete again", `${at}/one`),
    remove("delete many", `${at}?fieldSelector=spec.colour%3Dred`, undefined, {
      view: (body) => (body as { kind: string }).kind,
    }),
    remove("delete of all namespaces", `/apis/${group}/v1/widgets`),
    get("none are left", at),
  ],
};
