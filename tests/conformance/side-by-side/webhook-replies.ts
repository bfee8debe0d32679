/**
 * What the webhook of the corpus answers, by its path: as it should, and in all the ways that it
 * should not.
 */
import { sortedMembers } from "./sorted-members.ts";

/** Nothing: the connection is kept, and no word comes. */
export type WebhookReply =
  | "nothing"
  | "hang up"
  | {
      readonly code?: number;
      readonly headers?: Readonly<Record<string, string>>;
      /** A text is sent as it is. */
      readonly body: object | string;
    };

interface Review {
  readonly request: { readonly uid: string; readonly [member: string]: unknown };
}

type Answerer = (review: Review) => WebhookReply;

const review = { kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1" };

const response =
  (response: object): Answerer =>
  ({ request: { uid } }) => ({ body: { ...review, response: { uid, ...response } } });

const denial = (status?: object) => response({ allowed: false, ...(status && { status }) });

const patch = (operations: readonly object[] | string, more: object = {}) =>
  response({
    allowed: true,
    patchType: "JSONPatch",
    patch: Buffer.from(
      typeof operations === "string" ? operations : JSON.stringify(operations),
    ).toString("base64"),
    ...more,
  });

/**
 * Everything that it was told, as the reason of a denial; but for who asks and in which logical
 * cluster, which is ours alone.
 */
const echo: Answerer = (asked) => {
  const { userInfo: _, ...told } = asked.request;
  const text = JSON.stringify(sortedMembers(told))
    .replaceAll(/,?"kcp\.io\/cluster":"[^"]*"/g, "")
    .replaceAll('"annotations":{},', "")
    .replaceAll(/"resourceVersion":"\d+"/g, '"resourceVersion":"<version>"')
    .replaceAll(/"(echo-)\w{5}"/g, '"$1<generated>"');
  return denial({ message: text })(asked);
};

export const webhookReplies: ReadonlyMap<string, Answerer> = new Map<string, Answerer>([
  ["allow", response({ allowed: true })],
  ["deny", denial()],
  ["deny-words", denial({ message: "not like this" })],
  ["deny-reason", denial({ reason: "Forbidden" })],
  [
    "deny-status",
    denial({
      code: 409,
      reason: "Conflict",
      message: "somebody else has it",
      details: { name: "n", causes: [{ reason: "R", message: "m", field: "f" }] },
    }),
  ],
  ["deny-success", denial({ code: 200, status: "Success", message: "well done" })],
  ["deny-low", denial({ code: 1, message: "a low code" })],
  ["deny-warn", response({ allowed: false, warnings: ["look out"], status: { message: "no" } })],
  ["warn", response({ allowed: true, warnings: ["careful", "very careful"] })],
  ["warn-badly", response({ allowed: true, warnings: ["", "two\nlines", "x".repeat(300)] })],
  ["audit", response({ allowed: true, auditAnnotations: { seen: "yes" } })],
  ["echo", echo],
  ["no-response", () => ({ body: review })],
  ["empty-response", () => ({ body: { ...review, response: {} } })],
  ["other-uid", () => ({ body: { ...review, response: { uid: "other", allowed: true } } })],
  ["other-version", other({ apiVersion: "admission.k8s.io/v1beta1" })],
  ["unknown-version", other({ apiVersion: "admission.k8s.io/v9" })],
  ["other-kind", other({ apiVersion: "v1", kind: "Status" })],
  ["no-kind", ({ request: { uid } }) => ({ body: { response: { uid, allowed: true } } })],
  ["wrong-type", response({ allowed: "yes" })],
  ["text", () => ({ body: "allowed" })],
  ["empty", () => ({ body: "" })],
  ["list", () => ({ body: [] })],
  ["broken", () => ({ code: 500, body: "it broke" })],
  ["broken-silently", () => ({ code: 503, body: "" })],
  ["away", () => ({ code: 302, headers: { location: "/allow" }, body: "" })],
  ["silent", () => "nothing"],
  ["hang-up", () => "hang up"],
  ["patch", patch([{ op: "add", path: "/data", value: { by: "the webhook" } }])],
  ["patch-again", patch([{ op: "add", path: "/data/again", value: "yes" }])],
  ["patch-nothing", patch([])],
  ["patch-name", patch([{ op: "replace", path: "/metadata/name", value: "other" }])],
  ["patch-labels", patch([{ op: "add", path: "/metadata/labels/by", value: "hook" }])],
  ["patch-finalizer", patch([{ op: "add", path: "/metadata/finalizers", value: ["a b"] }])],
  ["patch-type", patch([{ op: "add", path: "/data", value: 5 }])],
  ["patch-unknown", patch([{ op: "add", path: "/spec", value: 5 }])],
  ["patch-kind", patch([{ op: "replace", path: "/kind", value: "Secret" }])],
  ["patch-missing", patch([{ op: "remove", path: "/data/none" }])],
  ["patch-test", patch([{ op: "test", path: "/metadata/name", value: "other" }])],
  ["patch-operation", patch([{ op: "spoil", path: "/data" }])],
  ["patch-object", patch('{"op":"add"}')],
  ["patch-text", patch("nonsense")],
  ["patch-untyped", patch([], { patchType: undefined })],
  ["patch-merge", patch([{ op: "remove", path: "/data" }], { patchType: "MergePatch" })],
  ["patch-merge-nothing", patch([], { patchType: "MergePatch" })],
  ["patch-empty-type", patch([], { patchType: "" })],
  ["patch-type-only", response({ allowed: true, patchType: "JSONPatch" })],
  ["patch-no-base64", response({ allowed: true, patchType: "JSONPatch", patch: "%%" })],
]);

function other(kind: object): Answerer {
  return ({ request: { uid } }) => ({
    body: { ...review, ...kind, response: { uid, allowed: true } },
  });
}
