/** Namespaces: their labels, phases, finalizers, status and end. */
import type { CorpusTopic } from "../corpus-request.ts";
import { asTable, configMap, get, patch, post, put, remove } from "../requests.ts";

const ns = "/api/v1/namespaces";
const space = (name: string, metadata: object = {}, rest: object = {}) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, ...metadata },
  ...rest,
});

export const namespaces: CorpusTopic = {
  name: "namespaces",
  requests: [
    get("the default one", `${ns}/default`, {
      view: (body) => ({ ...(body as object), metadata: "differs by who made it" }),
    }),
    post("make one", ns, space("space-1", { labels: { a: "b" } })),
    post("the same again", ns, space("space-1")),
    post("with a bad name", ns, space("Space.1")),
    post("with a long name", ns, space("s".repeat(64))),
    post("with another label of its name", ns, {
      ...space("space-2", { labels: { "kubernetes.io/metadata.name": "other" } }),
    }),
    post("with a phase and finalizers", ns, {
      ...space(
        "space-3",
        {},
        { spec: { finalizers: ["example.com/a"] }, status: { phase: "Terminating" } },
      ),
    }),
    post("with a bad finalizer", ns, space("space-4", {}, { spec: { finalizers: ["bad"] } })),
    post("inside a namespace", `${ns}/space-1/namespaces`, space("space-5")),
    get("one", `${ns}/space-1`),
    get("as a table", `${ns}/space-1`, asTable),
    get("by phase", `${ns}?fieldSelector=status.phase%3DNothing`),
    get("by name", `${ns}?fieldSelector=metadata.name%3Dspace-1`),
    get("by a field that is no selector", `${ns}?fieldSelector=spec.finalizers%3Da`),
    patch("strategic", "label it", `${ns}/space-1`, { metadata: { labels: { c: "d" } } }),
    patch("merge", "take its own label away", `${ns}/space-1`, {
      metadata: { labels: { "kubernetes.io/metadata.name": null } },
    }),
    put("update it", `${ns}/space-1`, space("space-1", { labels: { e: "f" } })),
    patch("merge", "its status by the main path", `${ns}/space-1`, {
      status: { phase: "Terminating" },
    }),
    get("read its status", `${ns}/space-1/status`),
    patch("merge", "its status", `${ns}/space-1/status`, {
      metadata: { annotations: { a: "b" } },
      status: {
        conditions: [
          {
            type: "Example",
            status: "True",
            reason: "Because",
            message: "so",
            lastTransitionTime: "2001-01-01T00:00:00Z",
          },
        ],
      },
    }),
    patch("merge", "a phase that is none", `${ns}/space-1/status`, {
      status: { phase: "Terminating" },
    }),
    patch("strategic", "one more condition", `${ns}/space-1/status`, {
      status: {
        conditions: [
          { type: "Second", status: "False", lastTransitionTime: "2001-01-01T00:00:00Z" },
        ],
      },
    }),
    put(
      "its finalizers",
      `${ns}/space-1/finalize`,
      space("space-1", {}, { spec: { finalizers: ["kubernetes", "example.com/b"] } }),
    ),
    put(
      "its finalizers, bad ones",
      `${ns}/space-1/finalize`,
      space("space-1", {}, { spec: { finalizers: ["bad"] } }),
    ),
    patch("merge", "its finalizers by patch", `${ns}/space-1/finalize`, {}),
    get("its finalizers by get", `${ns}/space-1/finalize`),
    remove("delete it", `${ns}/space-1`),
    get("is terminating", `${ns}/space-1`),
    remove("delete it again", `${ns}/space-1`),
    post("create in it", `${ns}/space-1/configmaps`, configMap("late")),
    post("create it again", ns, space("space-1")),
    put(
      "its last finalizer",
      `${ns}/space-1/finalize`,
      space("space-1", {}, { spec: { finalizers: [] } }),
    ),
    get("is gone", `${ns}/space-1`),
    remove("default", `${ns}/default`),
    remove("kube-system", `${ns}/kube-system?dryRun=All`),
    remove("one that is not there", `${ns}/nowhere`),
  ],
};
