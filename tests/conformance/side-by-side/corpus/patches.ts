/** JSON patches, merge patches and strategic merge patches. */
import type { CorpusTopic } from "../corpus-request.ts";
import { configMap, get, namespace, patch, post } from "../requests.ts";

const cm = "/api/v1/namespaces/patches/configmaps";
const sa = "/api/v1/namespaces/patches/serviceaccounts";

export const patches: CorpusTopic = {
  name: "patches",
  requests: [
    namespace("patches"),
    post("one", cm, configMap("one", { a: "1", b: "2" }, { labels: { app: "x" } })),
    patch("merge", "merge: set and remove", `${cm}/one`, { data: { a: null, c: "3" } }),
    patch("merge", "merge: nothing", `${cm}/one`, {}),
    patch("merge", "merge: into metadata", `${cm}/one`, {
      metadata: { labels: { app: null, z: "1" } },
    }),
    patch("merge", "merge: with a manager", `${cm}/one?fieldManager=tool`, { data: { d: "4" } }),
    patch("merge", "merge: a bad value", `${cm}/one`, { data: { d: 4 } }),
    patch("merge", "merge: a bad key", `${cm}/one`, { data: { "d/e": "4" } }),
    patch("merge", "merge: not JSON", `${cm}/one`, "{"),
    patch("merge", "merge: a list", `${cm}/one`, "[]"),
    patch("merge", "merge: null", `${cm}/one`, "null"),
    patch("merge", "merge: another name", `${cm}/one`, { metadata: { name: "two" } }),
    patch("merge", "merge: another namespace", `${cm}/one`, { metadata: { namespace: "default" } }),
    patch("merge", "merge: another uid", `${cm}/one`, { metadata: { uid: "other" } }),
    patch("merge", "merge: another kind", `${cm}/one`, { kind: "Secret" }),
    patch("merge", "merge: another apiVersion", `${cm}/one`, { apiVersion: "v2" }),
    patch("merge", "merge: an old version", `${cm}/one`, {
      metadata: { resourceVersion: "1" },
      data: { a: "old" },
    }),
    patch("merge", "merge: a version that is no number", `${cm}/one`, {
      metadata: { resourceVersion: "x" },
    }),
    patch("merge", "merge: an unknown field", `${cm}/one`, { colour: "red" }),
    patch("merge", "merge: one that is not there", `${cm}/none`, { data: {} }),
    patch("merge", "merge: force", `${cm}/one?force=true`, { data: {} }),
    patch("json", "json: add, replace, remove", `${cm}/one`, [
      { op: "add", path: "/data/e", value: "5" },
      { op: "replace", path: "/data/b", value: "20" },
      { op: "remove", path: "/data/d" },
    ]),
    patch("json", "json: test, copy, move", `${cm}/one`, [
      { op: "test", path: "/data/b", value: "20" },
      { op: "copy", from: "/data/b", path: "/data/f" },
      { op: "move", from: "/data/e", path: "/data/g" },
    ]),
    patch("json", "json: a test that fails", `${cm}/one`, [
      { op: "test", path: "/data/b", value: "21" },
    ]),
    patch("json", "json: remove what is not there", `${cm}/one`, [
      { op: "remove", path: "/data/nothing" },
    ]),
    patch("json", "json: replace what is not there", `${cm}/one`, [
      { op: "replace", path: "/data/nothing", value: "1" },
    ]),
    patch("json", "json: add below what is not there", `${cm}/one`, [
      { op: "add", path: "/binaryData/a", value: "AA==" },
    ]),
    patch("json", "json: an unknown operation", `${cm}/one`, [{ op: "spin", path: "/data" }]),
    patch("json", "json: an object", `${cm}/one`, { op: "add" }),
    patch("json", "json: not JSON", `${cm}/one`, "["),
    patch("json", "json: no operations", `${cm}/one`, []),
    patch("json", "json: a slash in a key", `${cm}/one`, [
      { op: "add", path: "/metadata/annotations", value: {} },
      { op: "add", path: "/metadata/annotations/example.com~1a", value: "b" },
    ]),
    patch("json", "json: the name", `${cm}/one`, [
      { op: "replace", path: "/metadata/name", value: "two" },
    ]),
    patch("json", "json: too many operations", `${cm}/one`, [
      ...Array.from({ length: 10_001 }, () => ({ op: "test", path: "/kind", value: "ConfigMap" })),
    ]),
    post("an account", sa, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "robot" },
      secrets: [{ name: "s-1" }, { name: "s-2" }],
      imagePullSecrets: [{ name: "p-1" }],
    }),
    patch("strategic", "strategic: into a list by key", `${sa}/robot`, {
      secrets: [{ name: "s-3" }],
      imagePullSecrets: [{ name: "p-2" }],
    }),
    patch("strategic", "strategic: delete from a list", `${sa}/robot`, {
      secrets: [{ $patch: "delete", name: "s-1" }],
    }),
    patch("strategic", "strategic: replace a list", `${sa}/robot`, {
      secrets: [{ $patch: "replace" }, { name: "s-9" }],
    }),
    patch("strategic", "strategic: order a list", `${sa}/robot`, {
      "$setElementOrder/secrets": [{ name: "s-4" }, { name: "s-9" }, { name: "s-5" }],
      secrets: [{ name: "s-4" }, { name: "s-5" }],
    }),
    patch("strategic", "strategic: order without a list", `${sa}/robot`, {
      "$setElementOrder/secrets": [{ name: "s-9" }, { name: "s-5" }, { name: "s-4" }],
    }),
    patch("strategic", "strategic: without a key", `${sa}/robot`, {
      secrets: [{ kind: "Secret" }],
    }),
    patch("strategic", "strategic: an unknown directive", `${sa}/robot`, {
      metadata: { $patch: "explode" },
    }),
    patch("strategic", "strategic: delete a map", `${cm}/one`, { data: { $patch: "delete" } }),
    patch("strategic", "strategic: replace a map", `${cm}/one`, {
      data: { $patch: "replace", only: "this" },
    }),
    patch("strategic", "strategic: finalizers are a set", `${cm}/one`, {
      metadata: { finalizers: ["example.com/a"] },
    }),
    patch("strategic", "strategic: one more finalizer", `${cm}/one`, {
      metadata: { finalizers: ["example.com/b"] },
    }),
    patch("strategic", "strategic: one finalizer less", `${cm}/one`, {
      metadata: { "$deleteFromPrimitiveList/finalizers": ["example.com/a"] },
    }),
    patch("strategic", "strategic: not JSON", `${cm}/one`, "nonsense"),
    patch(
      "merge",
      "a type of patch that is none",
      `${cm}/one`,
      {},
      { headers: { "content-type": "application/json" } },
    ),
    patch(
      "merge",
      "a type of patch with a parameter",
      `${cm}/one`,
      { data: { q: "1" } },
      { headers: { "content-type": "application/merge-patch+json; charset=utf-8" } },
    ),
    patch("merge", "of a collection", cm, {}),
    get("what is left", `${cm}/one`),
    patch("strategic", "strategic: retain keys", `${cm}/one`, {
      data: { $retainKeys: ["kept"], kept: "yes" },
    }),
  ],
};
