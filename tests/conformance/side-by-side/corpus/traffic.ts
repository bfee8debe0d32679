/** Priority and fairness, and requests for certificates: what these kinds may say. */
import type { CorpusTopic } from "../corpus-request.ts";
import { get, patch, post, put, remove } from "../requests.ts";

const flow = "/apis/flowcontrol.apiserver.k8s.io/v1";
const schemas = `${flow}/flowschemas`;
const levels = `${flow}/prioritylevelconfigurations`;
const csrs = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

const schema = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: {
    priorityLevelConfiguration: { name: "global-default" },
    matchingPrecedence: 1000,
    rules: [
      {
        subjects: [{ kind: "User", user: { name: "alice" } }],
        nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }],
      },
    ],
    ...spec,
  },
});
const level = (name: string, spec: object) => ({ metadata: { name }, spec });
const limited = (rest: object = {}) => ({
  type: "Limited",
  limited: { nominalConcurrencyShares: 2, limitResponse: { type: "Reject" }, ...rest },
});

/** Of /O=staff/CN=frank, with a key that nobody has. */
const request =
  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIYU1JR0NBZ0VBTUNBeERqQU1CZ05WQkFvTUJYTjBZV1ptTVE0d0RBWURWUVFEREFWbWNtRnVhekJaTUJNRwpCeXFHU000OUFnRUdDQ3FHU000OUF3RUhBMElBQkt6NWhzQUdHT0UvOXRjSUJRaXNxLzlNZkJhRUxMQ1FFZTdTClVvK0dqOXR2VVlDMldybjdQUzFvYi85Unh1NzErK01DT0dJdDU4ekdqRzNKcDZYWnRxeWdBREFLQmdncWhrak8KUFFRREFnTkhBREJFQWlCcjcrWktuZnRsdjhmZjRha0tYTlcrc0g0V05VMkFGamZZOFoxaWYwcGtNZ0lnYnNHagpoSU5rMnQ3M0tFd3d4RmdtN1djN1ZIang4YWx3akdoSEY1ckRHYXc9Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";
const csr = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: {
    request,
    signerName: "example.com/corpus",
    usages: ["client auth", "digital signature"],
    ...spec,
  },
});
const condition = (type: string, status = "True") => ({
  status: { conditions: [{ type, status, reason: "Because", message: "so" }] },
});

export const traffic: CorpusTopic = {
  name: "traffic",
  requests: [
    post("schema", schemas, schema("corpus")),
    post("schema: without anything", schemas, { metadata: { name: "bad" }, spec: {} }),
    post("schema: of precedence 0", schemas, schema("bad", { matchingPrecedence: -1 })),
    post("schema: of precedence 1", schemas, schema("bad", { matchingPrecedence: 1 })),
    post("schema: too late", schemas, schema("bad", { matchingPrecedence: 10_001 })),
    post("schema: told apart by nothing", schemas, {
      ...schema("bad", { distinguisherMethod: { type: "ByMood" } }),
    }),
    post("schema: for nobody", schemas, schema("bad", { rules: [{ subjects: [] }] })),
    remove("schema: remove", `${schemas}/corpus`),
    post("level", levels, level("corpus", limited())),
    post("level: without a type", levels, level("bad", {})),
    post("level: of another type", levels, level("bad", { type: "Endless" })),
    post("level: exempt", levels, level("bad", { type: "Exempt" })),
    post("level: limited by nothing", levels, level("bad", { type: "Limited" })),
    post("level: too few shares", levels, {
      ...level("bad", limited({ nominalConcurrencyShares: -1 })),
    }),
    post("level: lends too much", levels, level("bad", limited({ lendablePercent: 101 }))),
    post("level: queues when it rejects", levels, {
      ...level("bad", limited({ limitResponse: { type: "Reject", queuing: { queues: 1 } } })),
    }),
    post("level: a hand too large", levels, {
      ...level(
        "bad",
        limited({
          limitResponse: {
            type: "Queue",
            queuing: { queues: 2, handSize: 3, queueLengthLimit: 5 },
          },
        }),
      ),
    }),
    put("level: update", `${levels}/corpus`, level("corpus", limited({ lendablePercent: 50 }))),
    remove("level: remove", `${levels}/corpus`),
    post("request", csrs, csr("corpus"), { view: withoutRequester }),
    post("request: without anything", csrs, { metadata: { name: "bad" }, spec: {} }),
    post("request: not PEM", csrs, csr("bad", { request: "aGVsbG8=" })),
    post("request: a bad signer", csrs, csr("bad", { signerName: "corpus" })),
    post("request: an unknown usage", csrs, csr("bad", { usages: ["dancing"] })),
    post("request: a usage twice", csrs, csr("bad", { usages: ["signing", "signing"] })),
    post("request: for too short a time", csrs, csr("bad", { expirationSeconds: 599 })),
    post("request: of the old signer", csrs, {
      ...csr("bad", { signerName: "kubernetes.io/legacy-unknown" }),
    }),
    patch(
      "merge",
      "request: another usage",
      `${csrs}/corpus`,
      { spec: { usages: ["signing"] } },
      { view: withoutRequester },
    ),
    patch(
      "merge",
      "request: a label",
      `${csrs}/corpus`,
      { metadata: { labels: { a: "b" } } },
      { view: withoutRequester },
    ),
    patch("merge", "request: approve", `${csrs}/corpus/approval`, condition("Approved"), {
      view: withoutRequester,
    }),
    patch("merge", "request: approve falsely", `${csrs}/corpus/approval`, {
      ...condition("Approved", "False"),
    }),
    patch("merge", "request: deny, too", `${csrs}/corpus/approval`, condition("Denied")),
    patch("merge", "request: a bad certificate", `${csrs}/corpus/status`, {
      status: { certificate: "aGVsbG8=" },
    }),
    get("request: as it is now", `${csrs}/corpus`, { view: withoutRequester }),
    remove("request: remove", `${csrs}/corpus`),
  ],
};

/** Administrators have their own names. */
function withoutRequester(body: unknown): unknown {
  const { spec, ...rest } = body as { spec: object };
  return { ...rest, spec: { ...spec, username: "", uid: "", groups: "" } };
}
