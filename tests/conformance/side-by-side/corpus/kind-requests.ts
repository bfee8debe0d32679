/**
 * The requests that every native kind gets: all verbs, types of patches and forms of bodies and
 * answers, good and bad, around one object of the kind.
 */
import { type CorpusRequest, valueAt } from "../corpus-request.ts";
import { asMetadata, asTable, get, patch, post, put, remove } from "../requests.ts";
import { type Change, changed, without } from "./change.ts";
import { collectionOf, type NativeNames } from "./native-definition.ts";

export interface NativeKindCase extends NativeNames {
  /** All of an object but its kind and metadata. */
  readonly body: object;
  /** Creates with one change, which are not stored. */
  readonly changes: readonly Change[];
  /** Changes of the stored object by an update. */
  readonly updates?: readonly Change[];
  readonly status?: object;
  /** Places of an answer that a cluster fills, and a logical cluster does not. */
  readonly unseen?: readonly string[];
}

export function requestsOfKind(kind: NativeKindCase, home: string): CorpusRequest[] {
  const asked = new AskedKind(kind, home);
  return [
    ...creations(asked),
    ...reads(asked),
    ...updates(asked),
    ...patches(asked),
    ...applied(asked),
    ...statusRequests(asked),
    ...deletions(asked),
  ];
}

/** One object of a kind, and where it is. */
class AskedKind {
  readonly kind: NativeKindCase;
  readonly collection: string;
  readonly path: string;
  readonly web: object;
  readonly labelled: object;
  readonly whole: Rest;
  readonly brief: Rest;
  /** Of what is refused: the causes are in the message. */
  readonly refused: Rest;

  constructor(kind: NativeKindCase, home: string) {
    const { unseen = [] } = kind;
    this.kind = kind;
    this.collection = collectionOf(kind, home);
    this.path = `${this.collection}/web`;
    this.web = this.object("web");
    this.labelled = changed(this.web, "metadata.labels", { app: "web" });
    this.whole = { view: without(...unseen) };
    this.brief = { view: without("metadata.managedFields", ...unseen) };
    this.refused = { view: without("metadata.managedFields", "details.causes", ...unseen) };
  }

  titled(title: string): string {
    return `${this.kind.kind} ${this.kind.apiVersion}: ${title}`;
  }

  object(name: string): object {
    const { kind, apiVersion, body } = this.kind;
    return { apiVersion, kind, metadata: { name }, ...body };
  }
}

function creations(asked: AskedKind): CorpusRequest[] {
  const { collection, web, labelled, brief, whole } = asked;
  const dry = `${collection}?dryRun=All`;
  return [
    post(asked.titled("created"), collection, labelled, whole),
    post(asked.titled("created again"), collection, web),
    post(asked.titled("generated"), dry, nameless(web), onlyMetadata),
    post(asked.titled("without a name"), dry, changed(web, "metadata", {})),
    post(asked.titled("with a bad name"), dry, asked.object("Bad_Name")),
    post(
      asked.titled("with a bad label"),
      collection,
      changed(asked.object("labelled"), "metadata.labels", { "a b": "c" }),
    ),
    post(
      asked.titled("of another kind"),
      collection,
      { ...asked.object("x"), kind: "ConfigMapList" },
      same,
    ),
    post(asked.titled("unknown: strictly"), `${dry}&fieldValidation=Strict`, {
      ...asked.object("x"),
      nonsense: 1,
    }),
    post(
      asked.titled("unknown: with a warning"),
      dry,
      { ...asked.object("x"), nonsense: 1 },
      brief,
    ),
    post(asked.titled("no JSON"), collection, "{", same),
    post(asked.titled("YAML"), dry, yamlOf(asked.object("yaml")), {
      ...brief,
      headers: { "content-type": "application/yaml" },
    }),
    post(asked.titled("sent as text"), collection, "x", {
      ...same,
      headers: { "content-type": "text/plain" },
    }),
    ...asked.kind.changes.map(([title, at, value]) =>
      post(asked.titled(title), dry, changed(asked.object("other"), at, value), asked.refused),
    ),
  ];
}

function reads(asked: AskedKind): CorpusRequest[] {
  const { collection, path, brief } = asked;
  return [
    get(asked.titled("read"), path, brief),
    get(asked.titled("read, absent"), `${collection}/absent`),
    get(asked.titled("listed"), `${collection}?labelSelector=app`, brief),
    get(asked.titled("listed by label"), `${collection}?labelSelector=app%3Dother`, brief),
    get(
      asked.titled("listed by name"),
      `${collection}?fieldSelector=metadata.name%3Dweb`,
      onlyMetadata,
    ),
    get(
      asked.titled("listed by an unknown field"),
      `${collection}?fieldSelector=spec.nonsense%3Da`,
    ),
    get(asked.titled("table of all"), `${collection}?labelSelector=app`, {
      ...asTable,
      view: tableOf,
    }),
    get(asked.titled("metadata"), path, asMetadata),
    get(asked.titled("watched"), `${collection}?watch=1&resourceVersion=0`, {
      events: 1,
      view: (events) => [events].flat().map((event) => valueAt(event, "type")),
    }),
  ];
}

function updates(asked: AskedKind): CorpusRequest[] {
  const { path, web, labelled, brief } = asked;
  return [
    put(asked.titled("put"), path, labelled, brief),
    put(
      asked.titled("put, of an older version"),
      path,
      changed(web, "metadata.resourceVersion", "1"),
    ),
    put(asked.titled("put, of another name"), path, asked.object("other")),
    put(
      asked.titled("put, with a new label"),
      path,
      changed(web, "metadata.labels", { app: "web", put: "yes" }),
      brief,
    ),
    ...(asked.kind.updates ?? []).map(([title, at, value]) =>
      put(
        asked.titled(`put, ${title}`),
        `${path}?dryRun=All`,
        changed(labelled, at, value),
        asked.refused,
      ),
    ),
  ];
}

function patches(asked: AskedKind): CorpusRequest[] {
  const { collection, path } = asked;
  return [
    patch(
      "merge",
      asked.titled("merged"),
      path,
      { metadata: { labels: { merge: "yes" } } },
      onlyMetadata,
    ),
    patch("merge", asked.titled("merged, absent"), `${collection}/absent`, {}),
    patch("merge", asked.titled("merged, a bad label"), path, {
      metadata: { labels: { a: "b c" } },
    }),
    patch("merge", asked.titled("merged, unknown strictly"), `${path}?fieldValidation=Strict`, {
      nonsense: 1,
    }),
    patch(
      "strategic",
      asked.titled("strategic"),
      path,
      { metadata: { labels: { strategic: "yes", merge: null } } },
      onlyMetadata,
    ),
    patch(
      "strategic",
      asked.titled("strategic, replaced"),
      path,
      { metadata: { labels: { $patch: "replace", app: "web" } } },
      onlyMetadata,
    ),
    patch(
      "json",
      asked.titled("by JSON"),
      path,
      [{ op: "add", path: "/metadata/labels/json", value: "yes" }],
      onlyMetadata,
    ),
    patch("json", asked.titled("by JSON, a failing test"), path, [
      { op: "test", path: "/metadata/name", value: "other" },
    ]),
  ];
}

function deletions(asked: AskedKind): CorpusRequest[] {
  const { collection, path, web, brief } = asked;
  return [
    get(asked.titled("an unknown subresource"), `${path}/nonsense`),
    post(asked.titled("posted to a name"), path, web, same),
    put(asked.titled("put to a collection"), collection, web, same),
    remove(asked.titled("deleted, dry"), `${path}?dryRun=All`, undefined, same),
    remove(asked.titled("deleted, another uid"), path, { preconditions: { uid: "other" } }, same),
    remove(asked.titled("deleted, a bad policy"), `${path}?propagationPolicy=Never`),
    remove(asked.titled("deleted"), path, undefined, same),
    remove(asked.titled("deleted again"), path),
    remove(asked.titled("all deleted"), `${collection}?labelSelector=app`, undefined, same),
    get(asked.titled("nothing is left"), `${collection}?labelSelector=app`, brief),
    ...((asked.kind.isNamespaced ?? true)
      ? [
          post(
            asked.titled("in another namespace"),
            collection,
            changed(web, "metadata.namespace", "x"),
          ),
          get(
            asked.titled("of all namespaces"),
            collection.replace(/namespaces\/[^/]+\//, ""),
            same,
          ),
        ]
      : []),
  ];
}

type Rest = Pick<CorpusRequest, "view">;

const onlyMetadata: Rest = { view: metadataOf };

/** Only that it is answered alike: the body names types of the program, or is as one before. */
const same: Rest = { view: () => undefined };

function applied(asked: AskedKind): CorpusRequest[] {
  const { collection, brief, whole } = asked;
  const { kind, apiVersion, body } = asked.kind;
  const titled = (title: string) => asked.titled(title);
  const path = `${collection}/applied`;
  const object = (labels: object) => ({
    apiVersion,
    kind,
    metadata: { name: "applied", labels },
    ...body,
  });
  return [
    patch(
      "apply",
      titled("applied"),
      `${path}?fieldManager=one`,
      object({ app: "a", b: "c" }),
      whole,
    ),
    patch(
      "apply",
      titled("applied again"),
      `${path}?fieldManager=one`,
      object({ app: "a" }),
      whole,
    ),
    patch("apply", titled("applied by another"), `${path}?fieldManager=two`, {
      apiVersion,
      kind,
      metadata: { labels: { app: "b" } },
    }),
    patch(
      "apply",
      titled("applied by force"),
      `${path}?fieldManager=two&force=true`,
      { apiVersion, kind, metadata: { labels: { app: "b" } } },
      { view: (answer) => valueAt(answer, "metadata.managedFields") },
    ),
    patch("apply", titled("applied without a manager"), path, object({ app: "a" })),
    patch(
      "apply",
      titled("applied, an unknown field"),
      `${path}?fieldManager=one`,
      { ...object({}), nonsense: 1 },
      brief,
    ),
    patch(
      "apply",
      titled("applied under another name"),
      `${collection}/else?fieldManager=one`,
      object({}),
    ),
  ];
}

function statusRequests(asked: AskedKind): CorpusRequest[] {
  const { path, brief } = asked;
  const { apiVersion, kind, body, status } = asked.kind;
  const titled = (title: string) => asked.titled(title);
  if (status === undefined) return [get(titled("no status"), `${path}/status`)];
  const at = `${path}/status`;
  return [
    get(titled("its status"), at, brief),
    put(
      titled("status put"),
      at,
      { apiVersion, kind, metadata: { name: "web", labels: { ignored: "yes" } }, ...body, status },
      brief,
    ),
    patch("merge", titled("status merged"), at, { status }, brief),
    patch("strategic", titled("status strategic"), at, { status }, brief),
    put(
      titled("a status through the main resource"),
      `${path}?dryRun=All`,
      { apiVersion, kind, metadata: { name: "web" }, ...body, status },
      brief,
    ),
    patch(
      "apply",
      titled("status applied"),
      `${at}?fieldManager=three&force=true`,
      { apiVersion, kind, status },
      brief,
    ),
  ];
}

function nameless(object: object): object {
  return changed(object, "metadata", { generateName: "web-" });
}

/** JSON is YAML; a comment before it makes it no JSON. */
function yamlOf(object: object): string {
  return `# An object.\n${JSON.stringify(object)}\n`;
}

function metadataOf(body: unknown): unknown {
  if (valueAt(body, "kind") === "Status") return body;
  const items = valueAt(body, "items") as readonly unknown[] | undefined;
  const names = items?.map((item) => valueAt(item, "metadata.name"));
  return names ?? without("managedFields")(valueAt(body, "metadata"));
}

function tableOf(body: unknown): unknown {
  const columns = valueAt(body, "columnDefinitions") as object[] | undefined;
  const rows = valueAt(body, "rows") as object[] | undefined;
  return {
    columns: columns?.map((column) => [valueAt(column, "name"), valueAt(column, "priority")]),
    rows: rows?.map((row) => ({ cells: valueAt(row, "cells") })),
  };
}
