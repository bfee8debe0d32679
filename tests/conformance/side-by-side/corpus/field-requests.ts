/**
 * Changes of every field of every workload kind: created with it, and updated with it in one of the
 * ways in which an object is updated. Nothing of it is stored.
 */
import type { MessageShape } from "@kcp-ts/machinery/shape";
import { type CorpusRequest, valueAt } from "../corpus-request.ts";
import { patch, post, put, remove } from "../requests.ts";
import { type Change, changed } from "./change.ts";
import { fieldChanges } from "./field-changes.ts";
import { collectionOf, type NativeNames } from "./native-definition.ts";

export interface FieldCase extends NativeNames {
  readonly shape: MessageShape;
  /** All of an object but its kind and metadata. */
  readonly body: object;
  /** Fields and messages that other cases of the corpus have. */
  readonly skipped?: readonly string[];
}

export function fieldRequests(one: FieldCase, home: string): CorpusRequest[] {
  const { kind, apiVersion, body, shape, skipped = [] } = one;
  const collection = collectionOf(one, home);
  const base = { apiVersion, kind, metadata: { name: "fields" }, ...body };
  const all = fieldChanges({ shape, base, skipped: ["ObjectMeta", ...skipped] });
  const seen = { view: () => undefined };
  return [
    post(`${kind} ${apiVersion}: with fields`, collection, base, seen),
    ...all.flatMap((change, index) => sent(one, { base, collection, change, index })),
    remove(`${kind} ${apiVersion}: without fields`, `${collection}/fields`, undefined, seen),
  ];
}

interface SentChange {
  readonly base: object;
  readonly collection: string;
  readonly change: Change;
  readonly index: number;
}

function sent(one: FieldCase, { base, collection, change, index }: SentChange): CorpusRequest[] {
  const [title, at, value] = change;
  const named = (verb: string) => `${one.kind} ${one.apiVersion}, ${verb}: ${title}`;
  const view = viewOf(at);
  const body = changed(base, at, value);
  const path = `${collection}/fields`;
  const create = changed(body, "metadata.name", "other");
  return [
    post(named("create"), `${collection}?dryRun=All`, create, view),
    (
      [
        () => put(named("put"), `${path}?dryRun=All`, body, view),
        () => patch("merge", named("merge"), `${path}?dryRun=All`, body, view),
        () => patch("strategic", named("strategic"), `${path}?dryRun=All`, body, view),
        () =>
          patch(
            "json",
            named("JSON"),
            `${path}?dryRun=All`,
            Object.entries(body)
              .filter(([member]) => member !== "metadata")
              .map(([member, value]) => ({ op: "add", path: `/${member}`, value })),
            view,
          ),
        () =>
          patch(
            "apply",
            named("apply"),
            `${path}?dryRun=All&fieldManager=a&force=true`,
            body,
            view,
          ),
      ] as const
    )[index % 5]?.() as CorpusRequest,
  ];
}

/** What is said of a refused object; of an accepted one, what is around the field. */
function viewOf(at: string): Pick<CorpusRequest, "view"> {
  const segments = at.split(".");
  const around = (segments.length > 2 ? segments.slice(0, -1) : segments).join(".");
  return {
    view: (body) => {
      const message = valueAt(body, "message");
      return typeof message === "string" ? withoutGoTypes(message) : valueAt(body, around);
    },
  };
}

/**
 * A message without the types of the Go program: the path through its structs, a value as it prints
 * it, and the comparison of two structs in further lines.
 */
function withoutGoTypes(message: string): string {
  return message
    .replace(/\n[\s\S]*/, "")
    .replace(/\]$/, "")
    .replace(/(patch: Invalid value: ).*/, "$1…")
    .replace(/(got &).*/, "$1…")
    .replace(/(Go struct field )\w+(?:\.\w+)*(\.\w+ of type )[\w.[\]]+/, "$1…$2…")
    .replaceAll(/(Invalid value: )[[{].*?[\]}](: |$)/g, "$1<value>$2");
}
