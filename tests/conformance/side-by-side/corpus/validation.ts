/** Dry runs, and fields that are unknown or stand twice. */
import type { CorpusTopic } from "../corpus-request.ts";
import { configMap, get, namespace, patch, post, put } from "../requests.ts";

const cm = "/api/v1/namespaces/validation/configmaps";
const unknown = (name: string) => ({
  ...configMap(name, { a: "1" }, { shade: "dark" }),
  colour: "red",
});
const twice = (name: string) =>
  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":{"a":"1","a":"2"},"data":{"b":"3"}}`;

export const validation: CorpusTopic = {
  name: "validation",
  requests: [
    namespace("validation"),
    post("dry: create", `${cm}?dryRun=All`, configMap("dry", { a: "1" })),
    get("dry: it is not there", `${cm}/dry`),
    post("dry: create something bad", `${cm}?dryRun=All`, configMap("Dry!")),
    post("dry: a generated name", `${cm}?dryRun=All`, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { generateName: "dry-" },
    }),
    post("dry: partly", `${cm}?dryRun=Partly`, configMap("dry")),
    post("dry: twice", `${cm}?dryRun=All&dryRun=All`, configMap("dry")),
    post("dry: nothing said", `${cm}?dryRun=`, configMap("wet")),
    put("dry: update", `${cm}/wet?dryRun=All`, configMap("wet", { a: "1" })),
    patch("merge", "dry: patch", `${cm}/wet?dryRun=All`, { data: { b: "2" } }),
    post("dry: one that exists", `${cm}?dryRun=All`, configMap("wet")),
    get("dry: nothing changed", `${cm}/wet`),
    post("unknown: by default", cm, unknown("by-default")),
    post("unknown: warned", `${cm}?fieldValidation=Warn`, unknown("warned")),
    post("unknown: ignored", `${cm}?fieldValidation=Ignore`, unknown("ignored")),
    post("unknown: strictly", `${cm}?fieldValidation=Strict`, unknown("strictly")),
    post("unknown: a word that is none", `${cm}?fieldValidation=Loose`, unknown("loose")),
    post("twice: by default", cm, twice("twice-1")),
    post("twice: strictly", `${cm}?fieldValidation=Strict`, twice("twice-2")),
    post("twice: ignored", `${cm}?fieldValidation=Ignore`, twice("twice-3")),
    post(
      "both, strictly",
      `${cm}?fieldValidation=Strict`,
      twice("both").replace('"kind"', '"colour":"red","kind"'),
    ),
    post("another case, strictly", `${cm}?fieldValidation=Strict`, {
      ...configMap("case"),
      Data: {},
    }),
    put("unknown: update, strictly", `${cm}/wet?fieldValidation=Strict`, unknown("wet")),
    put("unknown: update", `${cm}/wet`, unknown("wet")),
    patch("merge", "unknown: merge, strictly", `${cm}/wet?fieldValidation=Strict`, {
      colour: "red",
    }),
    patch(
      "merge",
      "twice: merge, strictly",
      `${cm}/wet?fieldValidation=Strict`,
      '{"data":{"a":"1","a":"2"}}',
    ),
    patch("json", "unknown: json, strictly", `${cm}/wet?fieldValidation=Strict`, [
      { op: "add", path: "/colour", value: "red" },
    ]),
    patch("json", "unknown: of an operation", `${cm}/wet?fieldValidation=Strict`, [
      { op: "add", path: "/data/z", value: "1", colour: "red" },
    ]),
    patch("strategic", "unknown: strategic, strictly", `${cm}/wet?fieldValidation=Strict`, {
      colour: "red",
    }),
    post(
      "unknown: in YAML, strictly",
      `${cm}?fieldValidation=Strict`,
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ncolour: red\ndata: {a: b, a: c}\n",
      { headers: { "content-type": "application/yaml" } },
    ),
    post(
      "unknown: in YAML",
      cm,
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ncolour: red\ndata: {a: b, a: c}\n",
      { headers: { "content-type": "application/yaml" } },
    ),
  ],
};
