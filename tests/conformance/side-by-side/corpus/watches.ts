/** Watching: initial events, bookmarks, selectors, versions, forms. */
import type { CorpusTopic } from "../corpus-request.ts";
import {
  asMetadata,
  asTable,
  configMap,
  get,
  namespace,
  patch,
  post,
  remove,
} from "../requests.ts";

const cm = "/api/v1/namespaces/watches/configmaps";
const all = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

export const watches: CorpusTopic = {
  name: "watches",
  requests: [
    namespace("watches"),
    post("one", cm, configMap("one", { a: "1" }, { labels: { app: "x" } }), {
      save: { start: "metadata.resourceVersion" },
    }),
    post("two", cm, configMap("two", { a: "1" }, { labels: { app: "y" } })),
    patch("merge", "change one", `${cm}/one`, {
      data: { a: "2" },
      metadata: { labels: { app: "y" } },
    }),
    remove("remove two", `${cm}/two`),
    get("from a version", `${cm}?watch=1&resourceVersion=${"${start}"}`, { events: 3 }),
    get(
      "from a version, the old path",
      `/api/v1/watch/namespaces/watches/configmaps?resourceVersion=${"${start}"}`,
      { events: 3 },
    ),
    get(
      "one that leaves the selector",
      `${cm}?watch=true&resourceVersion=${"${start}"}&labelSelector=app%3Dx`,
      { events: 1 },
    ),
    get(
      "one that enters the selector",
      `${cm}?watch=true&resourceVersion=${"${start}"}&labelSelector=app%3Dy`,
      { events: 3 },
    ),
    get(
      "by name",
      `${cm}?watch=true&resourceVersion=${"${start}"}&fieldSelector=metadata.name%3Dtwo`,
      { events: 2 },
    ),
    get("what there is", `${cm}?watch=true`, { events: 1 }),
    get("what there is, of any version", `${cm}?watch=true&resourceVersion=0`, { events: 1 }),
    get("what there is, and its end", `${cm}?watch=true&${all}`, { events: 2 }),
    get("what there is as tables", `${cm}?watch=true`, { ...asTable, events: 1 }),
    get("changes as tables", `${cm}?watch=true&resourceVersion=${"${start}"}`, {
      ...asTable,
      events: 3,
    }),
    get("changes as metadata", `${cm}?watch=true&resourceVersion=${"${start}"}`, {
      ...asMetadata,
      events: 3,
    }),
    get("one by its path", `${cm}/one?watch=true`, { events: 1 }),
    get("initial events without a match", `${cm}?watch=true&sendInitialEvents=true`),
    get(
      "initial events with another match",
      `${cm}?watch=true&sendInitialEvents=true&resourceVersionMatch=Exact`,
    ),
    get("a match without initial events", `${cm}?watch=true&resourceVersionMatch=NotOlderThan`),
    get("a version that is no number", `${cm}?watch=true&resourceVersion=new`),
    get("a selector that is none", `${cm}?watch=true&labelSelector=%3D`),
    get("a field that is no selector", `${cm}?watch=true&fieldSelector=data.a%3D1`),
    get("with a limit", `${cm}?watch=true&limit=1`, { events: 1 }),
    get("with a continue token", `${cm}?watch=true&continue=abc&timeoutSeconds=1`),
    get("an unknown resource", "/api/v1/namespaces/watches/gadgets?watch=true"),
    get("too old a version", `${cm}?watch=true&resourceVersion=1`, { events: 1 }),
    get("not a watch", `${cm}?watch=false`),
    get("not a watch by number", `${cm}?watch=0`),
    get("until the time is over", `${cm}?watch=true&timeoutSeconds=1&labelSelector=none`),
  ],
};
