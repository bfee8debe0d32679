/** Events, leases, quotas and accounts. */
import type { CorpusTopic } from "../corpus-request.ts";
import { asTable, get, namespace, patch, post, put, remove } from "../requests.ts";

const at = "/api/v1/namespaces/records";
const leases = "/apis/coordination.k8s.io/v1/namespaces/records/leases";
const newEvents = "/apis/events.k8s.io/v1/namespaces/records/events";
const event = (name: string, rest: object = {}) => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name, namespace: "records" },
  involvedObject: { kind: "ConfigMap", namespace: "records", name: "a", uid: "u" },
  reason: "Tried",
  message: "it went well",
  type: "Normal",
  count: 2,
  firstTimestamp: "2001-01-01T00:00:00Z",
  lastTimestamp: "2001-01-01T00:01:00Z",
  source: { component: "corpus" },
  ...rest,
});
const newEvent = (name: string, rest: object = {}) => ({
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: { name, namespace: "records" },
  eventTime: "2001-01-01T00:00:00.000000Z",
  reportingController: "example.com/corpus",
  reportingInstance: "one",
  action: "Try",
  reason: "Tried",
  type: "Normal",
  regarding: { kind: "ConfigMap", namespace: "records", name: "a" },
  ...rest,
});
const lease = (name: string, spec: object) => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name },
  spec,
});
const quota = (name: string, spec: object) => ({
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name },
  spec,
});

export const records: CorpusTopic = {
  name: "records",
  requests: [
    namespace("records"),
    post("event", `${at}/events`, event("one")),
    get("event as events.k8s.io", `${newEvents}/one`),
    get("event as a table", `${at}/events`, { ...asTable, view: withoutRowCells }),
    get("event by reason", `${at}/events?fieldSelector=reason%3DTried,involvedObject.name%3Da`),
    get("event by another reason", `${at}/events?fieldSelector=reason%3DOther`),
    get("event by type", `${at}/events?fieldSelector=type!%3DNormal`),
    get("event by a field that is no selector", `${at}/events?fieldSelector=count%3D2`),
    post("event about another namespace", `${at}/events`, {
      ...event("two", { involvedObject: { kind: "ConfigMap", namespace: "default", name: "a" } }),
    }),
    post("event about nothing", `${at}/events`, event("three", { involvedObject: {} })),
    patch("strategic", "event counted", `${at}/events/one`, { count: 3 }),
    post("new event", newEvents, newEvent("new")),
    get("new event as v1", `${at}/events/new`),
    post("new event without a controller", newEvents, newEvent("bad", { reportingController: "" })),
    post("new event with much wrong", newEvents, {
      ...newEvent("bad", {
        reportingController: "a b",
        reportingInstance: "",
        action: "",
        reason: "",
      }),
    }),
    post("new event of no type", newEvents, newEvent("bad", { type: "Odd" })),
    post("new event with old fields", newEvents, newEvent("bad", { deprecatedCount: 2 })),
    post("new event with a series", newEvents, {
      ...newEvent("series", { series: { count: 2, lastObservedTime: "2001-01-01T00:00:01.5Z" } }),
    }),
    post("new event with a short series", newEvents, {
      ...newEvent("bad", { series: { count: 1, lastObservedTime: "2001-01-01T00:00:01.000000Z" } }),
    }),
    put("new event changed", `${newEvents}/new`, newEvent("new", { note: "changed" })),
    remove("events", newEvents),
    post("lease", leases, {
      ...lease("one", {
        holderIdentity: "me",
        leaseDurationSeconds: 15,
        acquireTime: "2001-01-01T00:00:00.123456Z",
        renewTime: "2001-01-01T00:00:01Z",
        leaseTransitions: 0,
      }),
    }),
    post(
      "lease of no time",
      leases,
      lease("bad", { leaseDurationSeconds: 0, leaseTransitions: -1 }),
    ),
    post("lease with a strategy", leases, lease("bad", { strategy: "Nothing" })),
    post("lease that prefers", leases, lease("bad", { preferredHolder: "you" })),
    post("lease of a bad time", leases, lease("bad", { renewTime: "now" })),
    post("empty lease", leases, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "empty" },
    }),
    get("leases as a table", `${leases}/one`, asTable),
    patch("merge", "lease taken over", `${leases}/one`, { spec: { holderIdentity: "you" } }),
    post("quota", `${at}/resourcequotas`, {
      ...quota("one", {
        hard: { configmaps: "10", "requests.cpu": "1500m", "requests.memory": "1024Mi" },
      }),
    }),
    post(
      "quota of less than nothing",
      `${at}/resourcequotas`,
      quota("bad", { hard: { configmaps: "-1" } }),
    ),
    post("quota of something", `${at}/resourcequotas`, quota("bad", { hard: { gadgets: "1" } })),
    post("quota in words", `${at}/resourcequotas`, quota("bad", { hard: { configmaps: "many" } })),
    post(
      "quota of half a thing",
      `${at}/resourcequotas`,
      quota("bad", { hard: { configmaps: "500m" } }),
    ),
    post("quota with a scope that is none", `${at}/resourcequotas`, {
      ...quota("bad", { hard: { pods: "1" }, scopes: ["Everything"] }),
    }),
    patch("merge", "quota status", `${at}/resourcequotas/one/status`, {
      status: { hard: { configmaps: "10" }, used: { configmaps: "1" } },
    }),
    get("quota as a table", `${at}/resourcequotas/one`, asTable),
    post("account", `${at}/serviceaccounts`, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "robot" },
      automountServiceAccountToken: false,
    }),
    get("account as a table", `${at}/serviceaccounts/robot`, asTable),
    post("account with a bad name", `${at}/serviceaccounts`, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "Robot" },
    }),
    get("secrets as a table", `${at}/secrets`, asTable),
  ],
};

/** The ages in the cells of events are counted from a fixed day. */
function withoutRowCells(body: unknown): unknown {
  const { rows, ...rest } = body as { rows: { cells: unknown[] }[] };
  return { ...rest, rows: rows.map(({ cells }) => cells.slice(1)) };
}
