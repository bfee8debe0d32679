/** Custom resources where clients of other kinds stumble: scales, applies, bodies, documents. */
import type { CorpusTopic } from "../corpus-request.ts";
import { accept, established, get, namespace, patch, post, put, remove } from "../requests.ts";
import { definition } from "./definition.ts";

const group = "edges.example.com";
const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const at = `/apis/${group}/v1/namespaces/custom-edges/gadgets`;
const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        replicas: { type: "integer" },
        mode: { type: "string", default: "" },
        tags: { type: "array", items: { type: "string" }, default: [] },
        atom: {
          type: "object",
          "x-kubernetes-map-type": "atomic",
          properties: { a: { type: "string" }, b: { type: "string", default: "x" } },
        },
        plain: { type: "object", properties: { a: { type: "string" } } },
        items: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: {
            type: "object",
            required: ["name"],
            properties: { name: { type: "string" }, size: { type: "integer", maximum: 5 } },
          },
        },
      },
    },
    status: { type: "object", properties: { replicas: { type: "integer" } } },
  },
};
const versions = [
  {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schema },
    subresources: {
      status: {},
      scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
    },
  },
];
const gadget = (name: string, spec: object = {}): object => ({
  apiVersion: `${group}/v1`,
  kind: "Gadget",
  metadata: { name },
  spec,
});
const by = (manager: string, rest = "") => `?fieldManager=${manager}${rest}`;
const scaleOf = (replicas: number): object => ({
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  metadata: { name: "one" },
  spec: { replicas },
});
const statusOnly = { view: (body: unknown) => (body as { reason?: string } | undefined)?.reason };

export const customEdges: CorpusTopic = {
  name: "custom-edges",
  requests: [
    namespace("custom-edges"),
    post(
      "the definition",
      crds,
      definition({ group, plural: "gadgets", kind: "Gadget" }, { versions }),
      statusOnly,
    ),
    get("the definition is served", `${crds}/gadgets.${group}`, {
      until: established,
      ...statusOnly,
    }),
    post("with defaults that are empty", at, gadget("one", { replicas: 1 })),
    post("without a kind", at, { apiVersion: `${group}/v1`, metadata: { name: "kindless" } }),
    post("without a version", at, { kind: "Gadget", metadata: { name: "versionless" } }),
    patch("merge", "scaled to two billion", `${at}/one/scale`, { spec: { replicas: 2147483648 } }),
    patch("merge", "scaled below zero", `${at}/one/scale`, { spec: { replicas: -1 } }),
    put("a scale above the limit", `${at}/one/scale`, scaleOf(2147483648)),
    put("a scale", `${at}/one/scale`, scaleOf(3)),
    patch("apply", "a scale is applied", `${at}/one/scale${by("scaler")}`, scaleOf(4)),
    patch("apply", "a scale is applied by another", `${at}/one/scale${by("other")}`, scaleOf(5)),
    patch(
      "apply",
      "a scale is applied by force",
      `${at}/one/scale${by("other", "&force=true")}`,
      scaleOf(5),
    ),
    get("who owns the replicas", `${at}/one`),
    patch("apply", "applied", `${at}/two${by("a")}`, gadget("two", { atom: { a: "1" } }), {
      save: { version: "metadata.resourceVersion" },
    }),
    patch(
      "apply",
      "applied again, which changes nothing",
      `${at}/two${by("a")}`,
      gadget("two", { atom: { a: "1" } }),
    ),
    post("null for an object", `${at}`, gadget("nullish", { plain: null })),
    patch(
      "apply",
      "null for an object is applied",
      `${at}/three${by("a")}`,
      gadget("three", { plain: null }),
    ),
    post(
      "items",
      at,
      gadget("four", {
        items: [
          { name: "a", size: 1 },
          { name: "b", size: 2 },
        ],
      }),
    ),
    get("discovery as YAML", `/apis/${group}/v1`, accept("application/yaml")),
    get("a Status as YAML", `${at}/missing`, accept("application/yaml")),
    get("a status without a namespace", `/apis/${group}/v1/gadgets/one/status`),
    get("one without a namespace", `/apis/${group}/v1/gadgets/one`),
    get("a scale without a namespace", `/apis/${group}/v1/gadgets/one/scale`),
    get("an unknown subresource", `${at}/one/nothing`),
    post("with a finalizer without a domain", at, {
      ...gadget("final"),
      metadata: { name: "final", finalizers: ["plain"] },
    }),
    remove("the definition is deleted", `${crds}/gadgets.${group}`, undefined, statusOnly),
    patch("apply", "applied while its definition goes", `${at}/late${by("a")}`, gadget("late"), {
      view: (body) => (body as { message?: string }).message,
    }),
  ],
};
