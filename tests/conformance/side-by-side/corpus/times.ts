/**
 * Times, right and wrong, in the two forms that there are: whole seconds, and exactly six digits
 * more.
 */
import { type CorpusTopic, valueAt } from "../corpus-request.ts";
import { post } from "../requests.ts";

const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases?dryRun=All";
const events = "/api/v1/namespaces/default/events?dryRun=All";

const values: readonly unknown[] = [
  "2024-01-01T00:00:00Z",
  "2024-01-01T00:00:00.5Z",
  "2024-01-01T00:00:00.123456Z",
  "2024-01-01T00:00:00.1234567Z",
  "2024-01-01T00:00:00,123456Z",
  "2024-01-01T00:00:00.123456+02:00",
  "2024-01-01T1:00:00.123456-00:30",
  "2024-01-01T00:00:00.123456+25:00",
  "2024-01-01T00:00:00.123456",
  "2024-01-01T00:00:00.123456z",
  "2024-01-01T00:00:00.123456Zx",
  "2024-01-01 00:00:00",
  "2024-1-01T00:00:00.000000Z",
  "12024-01-01T00:00:00.000000Z",
  "2024-13-01T00:00:00.000000Z",
  "2024-02-29T00:00:00.000000Z",
  "2024-02-30T00:00:00.000000Z",
  "2024-01-01T24:00:00.000000Z",
  "2024-01-01T00:00:60.000000Z",
  "0001-01-01T00:00:00.000000Z",
  "yesterday",
  "",
  5,
  null,
];

const named = (value: unknown) => JSON.stringify(value);

export const times: CorpusTopic = {
  name: "times",
  requests: values.flatMap((value) => [
    post(
      `six digits: ${named(value)}`,
      leases,
      { metadata: { name: "times" }, spec: { renewTime: value } },
      { view: (body) => told(body as object, "spec.renewTime") },
    ),
    post(
      `seconds: ${named(value)}`,
      events,
      {
        metadata: { name: "times" },
        involvedObject: { namespace: "default" },
        firstTimestamp: value,
      },
      { view: (body) => told(body as object, "firstTimestamp") },
    ),
  ]),
};

/** Not as a time, which would not be compared. */
function told(body: object, path: string): object {
  const message = valueAt(body, "message");
  const at = valueAt(body, path);
  return {
    kind: valueAt(body, "kind"),
    message,
    at: typeof at === "string" ? [...at].join(" ") : null,
  };
}
