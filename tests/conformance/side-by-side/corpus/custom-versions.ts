/**
 * Several versions of a kind, a kind without namespaces, a kind without a schema, and definitions
 * that change under their objects.
 */
import type { CorpusRequest, CorpusTopic } from "../corpus-request.ts";
import {
  asTable,
  established,
  found,
  get,
  namespace,
  patch,
  post,
  put,
  remove,
} from "../requests.ts";
import { definition } from "./definition.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const group = "versions.example.com";
const at = (version: string) => `/apis/${group}/${version}/namespaces/versions/gears`;
const gear = (version: string, name: string, spec: object, metadata: object = {}) => ({
  apiVersion: `${group}/${version}`,
  kind: "Gear",
  metadata: { name, ...metadata },
  spec,
});
const spec = (properties: object, rest: object = {}) => ({
  openAPIV3Schema: {
    type: "object",
    properties: { spec: { type: "object", properties, ...rest } },
  },
});
/** Both versions have them: what only one has is lost on the way through the other. */
const fields = (metal: string) => ({
  teeth: { type: "integer" },
  old: { type: "string" },
  metal: { type: "string", default: metal },
});
const gears = (newDefault: string, rest: object = {}) =>
  definition(
    { group, plural: "gears", kind: "Gear" },
    {
      versions: [
        {
          name: "v1beta1",
          served: true,
          storage: true,
          deprecated: true,
          schema: spec(fields(newDefault)),
        },
        {
          name: "v1",
          served: true,
          storage: false,
          schema: spec(fields(newDefault)),
          additionalPrinterColumns: [
            { name: "Teeth", type: "integer", jsonPath: ".spec.teeth", description: "How many." },
            { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
          ],
          ...rest,
        },
      ],
    },
  );

export const customVersions: CorpusTopic = {
  name: "custom-versions",
  requests: [
    namespace("versions"),
    post("define", crds, gears("iron")),
    get("is established", `${crds}/gears.${group}`, { until: established }),
    get("the new version is served", at("v1"), { until: found }),
    get("the group", `/apis/${group}`, { until: found }),
    post("in the old version", at("v1beta1"), gear("v1beta1", "one", { teeth: 8, old: "x" })),
    get("as the new version", `${at("v1")}/one`),
    get("as the old version", `${at("v1beta1")}/one`),
    post("in the new version", at("v1"), gear("v1", "two", { teeth: 9, old: "dropped" })),
    get("as the old version, without a field", `${at("v1beta1")}/two`),
    get("the list in the new version", at("v1")),
    get("the list in the old version", at("v1beta1")),
    get("the new version as a table", at("v1"), asTable),
    get("the old version as a table", `${at("v1beta1")}/one`, asTable),
    patch("merge", "patch through the other version", `${at("v1")}/one`, { spec: { teeth: 10 } }),
    patch(
      "apply",
      "apply in one version",
      `${at("v1")}/three?fieldManager=a`,
      gear("v1", "three", { teeth: 1 }),
    ),
    patch(
      "apply",
      "apply in the other",
      `${at("v1beta1")}/three?fieldManager=b`,
      gear("v1beta1", "three", { teeth: 1, old: "y" }),
    ),
    patch(
      "apply",
      "a conflict between versions",
      `${at("v1beta1")}/three?fieldManager=b`,
      gear("v1beta1", "three", { teeth: 2 }),
    ),
    get("watch in the new version", `${at("v1")}?watch=true&fieldSelector=metadata.name%3Done`, {
      events: 1,
    }),
    remove("delete in the new version", `${at("v1")}/two`),
    ...withVersion(),
    ...withFinalizer(),
    ...withoutNamespaces(),
    ...withoutSchema(),
  ],
};

function withVersion(): CorpusRequest[] {
  return [
    get("its version", `${at("v1")}/one`, { save: { version: "metadata.resourceVersion" } }),
    put(
      "replace with a version",
      `${at("v1")}/one`,
      gear("v1", "one", { teeth: 11 }, { resourceVersion: "${version}" }),
    ),
    put(
      "replace with the old version again",
      `${at("v1")}/one`,
      gear("v1", "one", { teeth: 12 }, { resourceVersion: "${version}" }),
    ),
    put(
      "replace one that is not there",
      `${at("v1")}/none`,
      gear("v1", "none", {}, { resourceVersion: "1" }),
    ),
    put(
      "replace one that is not there, without a version",
      `${at("v1")}/none`,
      gear("v1", "none", {}),
    ),
    get("one version of generation", `${at("v1")}/one`),
  ];
}

function withFinalizer(): CorpusRequest[] {
  return [
    post(
      "with a finalizer",
      at("v1"),
      gear("v1", "kept", { teeth: 1 }, { finalizers: ["example.com/keep"] }),
    ),
    remove("delete it", `${at("v1")}/kept`),
    patch("merge", "change it on its way", `${at("v1")}/kept`, { spec: { teeth: 2 } }),
    patch("json", "take its finalizer away", `${at("v1")}/kept`, [
      { op: "remove", path: "/metadata/finalizers" },
    ]),
    get("it is gone", `${at("v1")}/kept`),
    post("with a plain finalizer", at("v1"), gear("v1", "plain", {}, { finalizers: ["plain"] })),
    post(
      "with an owner",
      at("v1"),
      gear(
        "v1",
        "owned",
        {},
        { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "u-1" }] },
      ),
    ),
    post(
      "with a generated name",
      at("v1"),
      gear("v1", "", {}, { name: undefined, generateName: "gear-" }),
    ),
  ];
}

function withoutNamespaces(): CorpusRequest[] {
  const all = `/apis/${group}/v1/wheels`;
  const wheel = (name: string, rest: object = {}) => ({
    apiVersion: `${group}/v1`,
    kind: "Wheel",
    metadata: { name },
    ...rest,
  });
  return [
    post(
      "define wheels",
      crds,
      definition({ group, plural: "wheels", kind: "Wheel" }, { scope: "Cluster" }),
    ),
    get("wheels are established", `${crds}/wheels.${group}`, { until: established }),
    get("no wheels", all, { until: found }),
    post("a wheel", all, wheel("one", { spoke: [1, 2.5, "x", null, true], big: 9007199254740991 })),
    post(
      "a wheel with a namespace",
      all,
      wheel("two", { metadata: { name: "two", namespace: "versions" } }),
    ),
    post("a wheel in a namespace", `/apis/${group}/v1/namespaces/versions/wheels`, wheel("three")),
    get("the wheel", `${all}/one`),
    get("the wheel in a namespace", `/apis/${group}/v1/namespaces/versions/wheels/one`),
    patch("merge", "a null in a patch", `${all}/one`, { spoke: null, rim: { a: null, b: 1 } }),
    patch("merge", "a status without its endpoint", `${all}/one`, { status: { round: true } }),
    get("status has no endpoint", `${all}/one/status`),
    remove("all wheels", all, undefined, { view: (body) => (body as { kind: string }).kind }),
  ];
}

function withoutSchema(): CorpusRequest[] {
  return [
    get("the definition", `${crds}/gears.${group}`, {
      save: { definition: "metadata.resourceVersion" },
    }),
    patch("merge", "a required field", `${crds}/gears.${group}`, { spec: gearsRequiring("metal") }),
    get("an object that lacks it is shown", `${at("v1beta1")}/one`, { until: found }),
    patch("json", "unserve a version that is stored", `${crds}/gears.${group}`, [
      { op: "replace", path: "/spec/versions/0/served", value: false },
    ]),
    get("it is not served", at("v1beta1"), { until: ({ status }) => status === 404 }),
    patch("json", "remove a version that is stored", `${crds}/gears.${group}`, [
      { op: "replace", path: "/spec/versions/1/storage", value: true },
      { op: "remove", path: "/spec/versions/0" },
    ]),
    get("the list is as before", at("v1"), {
      until: found,
      view: (body) => (body as { kind: string }).kind,
    }),
  ];
}

function gearsRequiring(field: string): object {
  const { spec: changed } = gears("iron", {
    schema: spec(fields("tin"), { required: [field] }),
  }) as { spec: object };
  return changed;
}
