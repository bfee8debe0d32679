/** Server-side apply: owners, conflicts, giving up fields, lists by key. */
import type { CorpusTopic } from "../corpus-request.ts";
import { configMap, get, namespace, patch, post, put, sortedCauses } from "../requests.ts";

const cm = "/api/v1/namespaces/applies/configmaps";
const sa = "/api/v1/namespaces/applies/serviceaccounts";
const account = (rest: object) => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name: "robot" },
  ...rest,
});
const by = (manager: string, force = false) =>
  `?fieldManager=${manager}${force ? "&force=true" : ""}`;

export const applies: CorpusTopic = {
  name: "applies",
  requests: [
    namespace("applies"),
    patch("apply", "a new one", `${cm}/one${by("a")}`, configMap("one", { x: "1", y: "1" })),
    patch("apply", "the same again", `${cm}/one${by("a")}`, configMap("one", { x: "1", y: "1" })),
    patch(
      "apply",
      "by another, the same value",
      `${cm}/one${by("b")}`,
      configMap("one", { x: "1" }),
    ),
    patch(
      "apply",
      "by another, another value",
      `${cm}/one${by("b")}`,
      configMap("one", { x: "2" }),
    ),
    patch("apply", "two conflicts", `${cm}/one${by("c")}`, configMap("one", { x: "2", y: "2" }), {
      view: sortedCauses,
    }),
    patch("apply", "by force", `${cm}/one${by("b", true)}`, configMap("one", { x: "2" })),
    patch("apply", "give up a field", `${cm}/one${by("a")}`, configMap("one", {})),
    patch("apply", "give up all", `${cm}/one${by("b")}`, configMap("one")),
    get("what is left", `${cm}/one`),
    patch("apply", "without a manager", `${cm}/one`, configMap("one", { x: "1" })),
    patch("apply", "without a name", `${cm}/one${by("a")}`, {
      apiVersion: "v1",
      kind: "ConfigMap",
      data: { z: "1" },
    }),
    patch("apply", "with another name", `${cm}/one${by("a")}`, configMap("two", {})),
    patch("apply", "with another namespace", `${cm}/one${by("a")}`, {
      ...configMap("one", {}, { namespace: "default" }),
    }),
    patch("apply", "without a kind", `${cm}/one${by("a")}`, { metadata: { name: "one" } }),
    patch("apply", "of another kind", `${cm}/one${by("a")}`, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "one" },
    }),
    patch("apply", "of another version", `${cm}/one${by("a")}`, {
      apiVersion: "v2",
      kind: "ConfigMap",
      metadata: { name: "one" },
    }),
    patch("apply", "with managed fields", `${cm}/one${by("a")}`, {
      ...configMap("one", {}, { managedFields: [{ manager: "a", operation: "Apply" }] }),
    }),
    patch("apply", "with an old version", `${cm}/one${by("a")}`, {
      ...configMap("one", { z: "1" }, { resourceVersion: "1" }),
    }),
    patch("apply", "a new one with a version", `${cm}/new${by("a")}`, {
      ...configMap("new", { z: "1" }, { resourceVersion: "1" }),
    }),
    patch("apply", "with a uid", `${cm}/new${by("a")}`, configMap("new", {}, { uid: "u" })),
    patch("apply", "an unknown field", `${cm}/one${by("a")}`, {
      ...configMap("one"),
      colour: "red",
    }),
    patch("apply", "an unknown field, strictly", `${cm}/one${by("a")}&fieldValidation=Strict`, {
      ...configMap("one"),
      colour: "red",
    }),
    patch("apply", "a wrong type", `${cm}/one${by("a")}`, configMap("one", { x: 1 })),
    patch("apply", "a wrong type of a map", `${cm}/one${by("a")}`, {
      ...configMap("one"),
      data: [],
    }),
    patch("apply", "bad keys", `${cm}/one${by("a")}`, configMap("one", { "a/b": "1" })),
    patch(
      "apply",
      "in YAML",
      `${cm}/yaml${by("a")}`,
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata: {a: b}\n",
    ),
    patch("apply", "YAML that is none", `${cm}/yaml${by("a")}`, "a: [1"),
    patch(
      "apply",
      "YAML with a key twice",
      `${cm}/yaml${by("a")}`,
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata: {a: b, a: c}\n",
    ),
    patch("apply", "a list", `${cm}/yaml${by("a")}`, "[]"),
    patch("apply", "nothing", `${cm}/yaml${by("a")}`, ""),
    patch("apply", "for nothing", `${cm}/dry${by("a")}&dryRun=All`, configMap("dry", { a: "1" })),
    get("is not there", `${cm}/dry`),
    post("one by update", cm, configMap("mixed", { x: "1" })),
    patch("apply", "against an update", `${cm}/mixed${by("a")}`, configMap("mixed", { x: "2" })),
    patch("apply", "against an update, by force", `${cm}/mixed${by("a", true)}`, {
      ...configMap("mixed", { x: "2" }),
    }),
    put("an update takes it over", `${cm}/mixed?fieldManager=b`, configMap("mixed", { x: "3" })),
    patch("apply", "and conflicts again", `${cm}/mixed${by("a")}`, configMap("mixed", { x: "2" })),
    patch("merge", "a patch by the same name is another owner", `${cm}/mixed${by("a")}`, {
      data: { w: "1" },
    }),
    patch(
      "apply",
      "lists by key",
      `${sa}/robot${by("a")}`,
      account({ secrets: [{ name: "s-1" }] }),
    ),
    patch("apply", "lists by key, another's", `${sa}/robot${by("b")}`, {
      ...account({ secrets: [{ name: "s-2" }], imagePullSecrets: [{ name: "p" }] }),
    }),
    patch("apply", "lists by key, given up", `${sa}/robot${by("a")}`, account({ secrets: [] })),
    patch("apply", "lists by key, twice", `${sa}/robot${by("a")}`, {
      ...account({ secrets: [{ name: "s-1" }, { name: "s-1" }] }),
    }),
    patch("apply", "a list that is atomic", `${sa}/robot${by("a")}`, {
      ...account({ imagePullSecrets: [{ name: "q" }] }),
    }),
    patch("apply", "labels and finalizers", `${cm}/meta${by("a")}`, {
      ...configMap("meta", undefined, { labels: { a: "1" }, finalizers: ["example.com/a"] }),
    }),
    patch("apply", "one more finalizer by another", `${cm}/meta${by("b")}`, {
      ...configMap("meta", undefined, { finalizers: ["example.com/b"] }),
    }),
    patch("apply", "an owner", `${cm}/meta${by("a")}`, {
      ...configMap("meta", undefined, {
        ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "one", uid: "u-1" }],
      }),
    }),
    patch("apply", "a namespace", `/api/v1/namespaces/applied${by("a")}`, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "applied", labels: { a: "b" } },
    }),
    patch(
      "apply",
      "in a namespace that is not there",
      `/api/v1/namespaces/nowhere/configmaps/a${by("a")}`,
      { ...configMap("a") },
    ),
  ],
};
