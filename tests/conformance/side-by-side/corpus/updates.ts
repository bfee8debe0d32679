/** PUT: versions, preconditions, what may not change. */
import type { CorpusTopic } from "../corpus-request.ts";
import { configMap, get, namespace, post, put } from "../requests.ts";

const cm = "/api/v1/namespaces/updates/configmaps";
const secrets = "/api/v1/namespaces/updates/secrets";
const secret = (name: string, rest: object) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  ...rest,
});

export const updates: CorpusTopic = {
  name: "updates",
  requests: [
    namespace("updates"),
    post("one", cm, configMap("one", { a: "1" }, { labels: { app: "x" } }), {
      save: { version: "metadata.resourceVersion", uid: "metadata.uid" },
    }),
    put("without a version", `${cm}/one`, configMap("one", { a: "2" })),
    put("with an old version", `${cm}/one`, {
      ...configMap("one", { a: "3" }, { resourceVersion: "${version}" }),
    }),
    put("with a version that is no number", `${cm}/one`, {
      ...configMap("one", { a: "3" }, { resourceVersion: "new" }),
    }),
    put("with its uid", `${cm}/one`, configMap("one", { a: "3" }, { uid: "${uid}" })),
    put("with another uid", `${cm}/one`, {
      ...configMap("one", { a: "4" }, { uid: "11111111-2222-3333-4444-555555555555" }),
    }),
    put("with another name", `${cm}/one`, configMap("two", { a: "4" })),
    put("without a name", `${cm}/one`, { apiVersion: "v1", kind: "ConfigMap", data: {} }),
    put("with another namespace", `${cm}/one`, configMap("one", {}, { namespace: "default" })),
    put("of another kind", `${cm}/one`, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "one" },
    }),
    put("with another creationTimestamp", `${cm}/one`, {
      ...configMap("one", { a: "5" }, { creationTimestamp: "2001-01-01T00:00:00Z" }),
    }),
    put("with a deletionTimestamp", `${cm}/one`, {
      ...configMap("one", { a: "5" }, { deletionTimestamp: "2001-01-01T00:00:00Z" }),
    }),
    put("with bad keys", `${cm}/one`, configMap("one", { "a/b": "5" })),
    put("one that is not there", `${cm}/none`, configMap("none", { a: "1" })),
    put("one that is not there, with a version", `${cm}/none`, {
      ...configMap("none", {}, { resourceVersion: "5" }),
    }),
    put("the collection", cm, configMap("one")),
    put("nothing new", `${cm}/one`, configMap("one", { a: "5" }), {
      save: { same: "metadata.resourceVersion" },
    }),
    get("and read it", `${cm}/one`),
    put("by another manager", `${cm}/one?fieldManager=other`, configMap("one", { a: "6", b: "1" })),
    put("with managed fields of its own", `${cm}/one`, {
      ...configMap("one", { a: "6", b: "1" }, { managedFields: [] }),
    }),
    put("with broken managed fields", `${cm}/one`, {
      ...configMap(
        "one",
        { a: "6", b: "1" },
        { managedFields: [{ manager: "x", operation: "No" }] },
      ),
    }),
    post("a frozen one", cm, { ...configMap("frozen", { a: "1" }), immutable: true }),
    put("change a frozen one", `${cm}/frozen`, {
      ...configMap("frozen", { a: "2" }),
      immutable: true,
    }),
    put("thaw a frozen one", `${cm}/frozen`, configMap("frozen", { a: "1" })),
    put("label a frozen one", `${cm}/frozen`, {
      ...configMap("frozen", { a: "1" }, { labels: { a: "b" } }),
      immutable: true,
    }),
    post("a secret", secrets, secret("plain", { stringData: { a: "b" }, data: { c: "ZA==" } })),
    put(
      "another type of secret",
      `${secrets}/plain`,
      secret("plain", { type: "example.com/other" }),
    ),
    put("a secret in words", `${secrets}/plain`, secret("plain", { stringData: { a: "c" } })),
    post("a secret of no type", secrets, secret("typed", { type: "" })),
    post("a secret for docker", secrets, {
      ...secret("docker", { type: "kubernetes.io/dockerconfigjson" }),
      data: { ".dockerconfigjson": "e30=" },
    }),
    post("a secret for docker, without", secrets, {
      ...secret("docker-2", { type: "kubernetes.io/dockerconfigjson", data: {} }),
    }),
    post("a secret for docker, not JSON", secrets, {
      ...secret("docker-3", { type: "kubernetes.io/dockerconfigjson" }),
      data: { ".dockerconfigjson": "e30" },
    }),
    post("a secret for docker, not an object", secrets, {
      ...secret("docker-4", { type: "kubernetes.io/dockercfg" }),
      data: { ".dockercfg": "eA==" },
    }),
    post("a secret for TLS, without a key", secrets, {
      ...secret("tls", { type: "kubernetes.io/tls", data: { "tls.crt": "" } }),
    }),
    post("a secret for basic authentication", secrets, {
      ...secret("basic", { type: "kubernetes.io/basic-auth" }),
    }),
    post("a secret for ssh", secrets, secret("ssh", { type: "kubernetes.io/ssh-auth" })),
    post("a secret for an account", secrets, {
      ...secret("account", { type: "kubernetes.io/service-account-token" }),
    }),
    post("a secret with an empty key", secrets, secret("empty", { data: { "": "" } })),
    post("a secret with a key of dots", secrets, secret("dots", { data: { "..": "" } })),
    post("a secret that is too large", secrets, {
      ...secret("large", { stringData: { a: "x".repeat(1_048_577) } }),
    }),
    post("a secret with broken base64", secrets, secret("base64", { data: { a: "a" } })),
  ],
};
