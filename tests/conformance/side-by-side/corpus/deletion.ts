/** Deleting one and many: preconditions, finalizers, propagation, options that are none. */
import type { CorpusTopic } from "../corpus-request.ts";
import { asTable, configMap, get, namespace, patch, post, put, remove } from "../requests.ts";

const cm = "/api/v1/namespaces/deletion/configmaps";
const options = (rest: object) => ({ apiVersion: "v1", kind: "DeleteOptions", ...rest });
const fresh = (name: string, metadata: object = {}) =>
  post(`make ${name}`, cm, configMap(name, {}, metadata), {
    save: { uid: "metadata.uid", version: "metadata.resourceVersion" },
  });

export const deletion: CorpusTopic = {
  name: "deletion",
  requests: [
    namespace("deletion"),
    fresh("plain"),
    remove("plain", `${cm}/plain`),
    remove("plain again", `${cm}/plain`),
    fresh("with-options"),
    remove("with options", `${cm}/with-options`, options({ gracePeriodSeconds: 0 })),
    fresh("by-uid"),
    remove("with another uid", `${cm}/by-uid`, options({ preconditions: { uid: "other" } })),
    remove("with another version", `${cm}/by-uid`, {
      ...options({ preconditions: { resourceVersion: "1" } }),
    }),
    remove("with its uid and version", `${cm}/by-uid`, {
      ...options({ preconditions: { uid: "${uid}", resourceVersion: "${version}" } }),
    }),
    fresh("for-nothing"),
    remove("for nothing", `${cm}/for-nothing?dryRun=All`),
    remove("for nothing, in the body", `${cm}/for-nothing`, options({ dryRun: ["All"] })),
    remove("for half nothing", `${cm}/for-nothing`, options({ dryRun: ["Half"] })),
    get("is still there", `${cm}/for-nothing`),
    remove("with a policy that is none", `${cm}/for-nothing?propagationPolicy=Sideways`),
    remove("with two policies", `${cm}/for-nothing`, {
      ...options({ propagationPolicy: "Background", orphanDependents: true }),
    }),
    remove("with a grace that is none", `${cm}/for-nothing?gracePeriodSeconds=soon`),
    remove(
      "with a grace of less than nothing",
      `${cm}/for-nothing`,
      options({ gracePeriodSeconds: -1 }),
    ),
    remove("with a body that is no options", `${cm}/for-nothing`, {
      apiVersion: "v1",
      kind: "ConfigMap",
    }),
    remove("with a body that is no JSON", `${cm}/for-nothing`, "{"),
    remove("with an unknown option", `${cm}/for-nothing`, options({ colour: "red" })),
    fresh("foreground"),
    remove("in the foreground", `${cm}/foreground?propagationPolicy=Foreground`),
    get("stays for its dependents", `${cm}/foreground`),
    fresh("orphan"),
    remove("leaving orphans", `${cm}/orphan`, options({ propagationPolicy: "Orphan" })),
    get("stays for its orphans", `${cm}/orphan`),
    fresh("old-orphan"),
    remove("leaving orphans, the old way", `${cm}/old-orphan?orphanDependents=true`),
    fresh("background"),
    remove("in the background", `${cm}/background`, options({ propagationPolicy: "Background" })),
    fresh("kept", { finalizers: ["example.com/keep"], labels: { a: "b" } }),
    remove("one with a finalizer", `${cm}/kept`),
    remove("one with a finalizer, again", `${cm}/kept`),
    get("is on its way", `${cm}/kept`),
    post("its name is taken", cm, configMap("kept")),
    put("change it on its way", `${cm}/kept`, {
      ...configMap("kept", { a: "1" }, { finalizers: ["example.com/keep"] }),
    }),
    put("add a finalizer on its way", `${cm}/kept`, {
      ...configMap("kept", { a: "1" }, { finalizers: ["example.com/keep", "example.com/more"] }),
    }),
    patch("merge", "take its finalizer away", `${cm}/kept`, { metadata: { finalizers: null } }),
    get("is gone", `${cm}/kept`),
    fresh("many-1", { labels: { many: "1" } }),
    fresh("many-2", { labels: { many: "1" } }),
    fresh("many-3", { labels: { many: "2" }, finalizers: ["example.com/keep"] }),
    remove("many, for nothing", `${cm}?labelSelector=many%3D1&dryRun=All`),
    remove("many by label", `${cm}?labelSelector=many%3D1`),
    remove("many by field", `${cm}?fieldSelector=metadata.name%3Dmany-3`),
    remove("many by a selector that is none", `${cm}?labelSelector=%3D`),
    remove(
      "many with options",
      `${cm}?labelSelector=none%3Dnone`,
      options({ gracePeriodSeconds: 0 }),
    ),
    remove("many of all namespaces", "/api/v1/configmaps"),
    remove("a namespace's collection", "/api/v1/namespaces"),
    remove("one as a table", `${cm}/for-nothing`, undefined, asTable),
    remove("in a namespace that is not there", "/api/v1/namespaces/nowhere/configmaps/a"),
    get("what is left", `${cm}?labelSelector=many`),
  ],
};
