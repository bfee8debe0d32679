/** Creating objects: what is filled in, what is refused, and in which words. */
import type { CorpusTopic } from "../corpus-request.ts";
import { configMap, get, namespace, post } from "../requests.ts";

const cm = "/api/v1/namespaces/creation/configmaps";

export const creation: CorpusTopic = {
  name: "creation",
  requests: [
    namespace("creation"),
    post("a plain one", cm, configMap("plain", { a: "1" })),
    get("and read it", `${cm}/plain`),
    post("the same name again", cm, configMap("plain")),
    post("without apiVersion and kind", cm, { metadata: { name: "bare" }, data: { a: "1" } }),
    post("with a generated name", cm, configMap("", {}, { generateName: "gen-", name: undefined })),
    post("with a name and a generateName", cm, configMap("both", {}, { generateName: "gen-" })),
    post("without a name", cm, { apiVersion: "v1", kind: "ConfigMap", metadata: {} }),
    post("without metadata", cm, { apiVersion: "v1", kind: "ConfigMap" }),
    post("with labels and annotations", cm, {
      ...configMap("labelled", undefined, {
        labels: { app: "x", "example.com/tier": "front" },
        annotations: { "example.com/note": "hello\nworld" },
      }),
      binaryData: { bytes: "AAEC" },
      immutable: true,
    }),
    post("with a bad name", cm, configMap("Not_Valid")),
    post("with a long name", cm, configMap("a".repeat(254))),
    post("with a bad label", cm, configMap("bad-label", {}, { labels: { "a b": "c d" } })),
    post("with a bad annotation", cm, configMap("bad-note", {}, { annotations: { "a/b/c": "" } })),
    post("with a bad key", cm, configMap("bad-key", { "a/b": "1" })),
    post("with an empty key", cm, configMap("empty-key", { "": "1" })),
    post("with a key in both maps", cm, {
      ...configMap("twice", { a: "1" }),
      binaryData: { a: "AA==" },
    }),
    post(
      "with several things wrong",
      cm,
      configMap("Bad!", { "a b": "" }, { labels: { "-": "" } }),
    ),
    post("of another namespace", cm, configMap("elsewhere", {}, { namespace: "default" })),
    post("of another kind", cm, { apiVersion: "v1", kind: "Secret", metadata: { name: "a" } }),
    post("of another version", cm, {
      apiVersion: "v2",
      kind: "ConfigMap",
      metadata: { name: "a" },
    }),
    post("of an unknown group", cm, {
      apiVersion: "nowhere.example.com/v1",
      kind: "ConfigMap",
      metadata: { name: "a" },
    }),
    post("with a number for a string", cm, configMap("number", { a: 1 })),
    post("with a string for an object", cm, { ...configMap("string"), data: "x" }),
    post("with a list for the labels", cm, configMap("list", {}, { labels: ["a"] })),
    post("with broken base64", cm, { ...configMap("base64"), binaryData: { a: "%%%" } }),
    post("not JSON", cm, "{"),
    post("empty", cm, ""),
    post("a list for an object", cm, "[]"),
    post("a number for an object", cm, "42"),
    post("null", cm, "null"),
    post(
      "in a namespace that is not there",
      "/api/v1/namespaces/nowhere/configmaps",
      configMap("a"),
    ),
    post("without a namespace", "/api/v1/configmaps", configMap("a")),
    post("to a name", `${cm}/plain`, configMap("plain")),
    post("with a resourceVersion", cm, configMap("rv", {}, { resourceVersion: "5" })),
    post("with a uid of its own", cm, configMap("uid", {}, { uid: "mine" })),
    post("with a creationTimestamp of its own", cm, {
      ...configMap("time", {}, { creationTimestamp: "2001-01-01T00:00:00Z", generation: 7 }),
    }),
    post("with a deletionTimestamp of its own", cm, {
      ...configMap(
        "leaving",
        {},
        { deletionTimestamp: "2001-01-01T00:00:00Z", deletionGracePeriodSeconds: 30 },
      ),
    }),
    post("with a selfLink", cm, configMap("link", {}, { selfLink: "/a" })),
    post("with a bad time", cm, configMap("bad-time", {}, { creationTimestamp: "yesterday" })),
    post("with finalizers", cm, configMap("kept", {}, { finalizers: ["example.com/keep"] })),
    post("with a bad finalizer", cm, configMap("bad-keep", {}, { finalizers: ["not valid"] })),
    post("with an owner", cm, {
      ...configMap(
        "owned",
        {},
        {
          ownerReferences: [
            { apiVersion: "v1", kind: "ConfigMap", name: "plain", uid: "u-1", controller: true },
          ],
        },
      ),
    }),
    post("with two controllers", cm, {
      ...configMap(
        "two",
        {},
        {
          ownerReferences: [
            { apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "u-1", controller: true },
            { apiVersion: "v1", kind: "ConfigMap", name: "b", uid: "u-2", controller: true },
          ],
        },
      ),
    }),
    post("with half an owner", cm, {
      ...configMap("half", {}, { ownerReferences: [{ apiVersion: "a/b/c", kind: "", uid: "" }] }),
    }),
    post("with a field manager", `${cm}?fieldManager=tool`, configMap("managed", { a: "1" })),
    post("with a long field manager", `${cm}?fieldManager=${"m".repeat(129)}`, configMap("m")),
    post("with a field manager that does not print", `${cm}?fieldManager=%07`, configMap("m")),
    post("with an unknown parameter", `${cm}?colour=red`, configMap("parameter")),
    post("with a bad timeout", `${cm}?timeout=soon`, configMap("timeout")),
    post("too long in its annotations", cm, {
      ...configMap("annotated", {}, { annotations: { a: "x".repeat(262_144) } }),
    }),
    post(
      "in YAML",
      cm,
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {a: 'b'}\n",
      { headers: { "content-type": "application/yaml" } },
    ),
    post("in an unknown format", cm, "<a/>", { headers: { "content-type": "text/xml" } }),
    post("in something that only looks like protobuf", cm, "k8s nothing", {
      headers: { "content-type": "application/vnd.kubernetes.protobuf" },
    }),
  ],
};
