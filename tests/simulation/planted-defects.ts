/**
 * Defects that are planted into a simulated system, to show that its laws catch them. Each changes
 * what passes between the controllers and their server, or which cluster a connection reaches, as a
 * program with that defect would: product code has no switch for it.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  responseBody,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from "@kcp-ts/sdk";

type Send = Transport["send"];
export type Tamper = (request: TransportRequest, send: Send) => ReturnType<Send>;

export interface PlantedDefect {
  /** The law that it breaks. */
  readonly law: string;
  /** A seed whose system shows it. */
  readonly seed: number;
  /** On requests of the controllers to their own server. */
  readonly loopback?: Tamper;
  /** The cluster that is reached in place of another. */
  readonly route?: (name: string, clusters: readonly string[]) => string;
}

export function tampered(inner: Transport, tamper: Tamper | undefined): Transport {
  if (tamper === undefined) return inner;
  const send: Send = (request) => inner.send(request);
  return { close: () => inner.close(), send: (request) => tamper(request, send) };
}

const copyStatus = /\/(deployments|statefulsets)\/[^/]+--[^/]+\/status(\?|$)/;
const targetStatus = /\/synctargets\/[^/]+\/status(\?|$)/;

export const plantedDefects = {
  /** After a start, the cache of one kind is empty and counts as complete. */
  "uncounted kind": {
    law: "limits",
    seed: 2114,
    async loopback(request, send) {
      const response = await send(request);
      const isRecords = /^\/clusters\/\*\/.*\/workloadplacements\?.*watch=true/.test(request.path);
      if (!isRecords || request.path.includes("kcpSelection")) return response;
      return withoutLines(response, '"name":"deployment-');
    },
  },
  /** A replica that is being terminated is reported as gone. */
  "forgotten termination": {
    law: "at most one",
    seed: 2361,
    loopback: changing(copyStatus, (status) => ({ ...status, terminatingReplicas: 0 })),
  },
  /** A replica is reported as ready before it is. */
  "early readiness": {
    law: "availability",
    seed: 155,
    loopback: changing(copyStatus, (status) => ({
      ...status,
      readyReplicas: status["replicas"] ?? 0,
      availableReplicas: status["replicas"] ?? 0,
      updatedReplicas: status["replicas"] ?? 0,
    })),
  },
  /** The report of a cluster is dropped without an error. */
  "dropped status": {
    law: "conditions are true",
    seed: 171,
    async loopback(request, send) {
      if (request.method !== "PATCH" || !/\/deployments\/[^/]+--c1\/status/.test(request.path))
        return send(request);
      const { body: _body, ...rest } = request;
      return send({ ...rest, method: "GET", path: request.path.split("?", 1)[0] ?? "" });
    },
  },
  /** What was synced, and is no longer, is forgotten. */
  "left behind": {
    law: "nothing is left behind",
    seed: 95,
    loopback: changing(targetStatus, ({ formerResources: _former, ...status }) => status),
  },
  /** A per-cluster object that quota refuses counts as created. */
  "unseen refusal": {
    law: "no Event lies",
    seed: 1364,
    async loopback(request, send) {
      const response = await send(request);
      const isCreate = request.method === "POST" && /\/deployments(\?|$)/.test(request.path);
      if (!isCreate || response.status !== 403) return response;
      const made = JSON.parse(textOf(request.body)) as JsonObject;
      const metadata = { ...(made["metadata"] as JsonObject), uid: "none", resourceVersion: "1" };
      const body = responseBody(JSON.stringify({ ...made, metadata }));
      return { ...response, status: 201, body };
    },
  },
  /** A syncer says that it is ready before the APIs of its cluster are served. */
  "Ready too early": {
    law: "Ready means usable",
    seed: 600,
    loopback: changing(targetStatus, ({ conditions, ...status }) => ({
      ...status,
      ...(Array.isArray(conditions)
        ? { conditions: conditions.map((one) => withEarlyReadiness(one as JsonObject)) }
        : {}),
    })),
  },
  /** A controller decides again whenever it has written, and writes the time. */
  "heartbeat in status": {
    law: "settles",
    seed: 119,
    async loopback(request, send) {
      const isLease = request.method === "PATCH" && /\/leases\/kcp-syncer/.test(request.path);
      const response = await send(request);
      if (!isLease) return response;
      const [, cluster = ""] = /^\/clusters\/([^/]+)\//.exec(request.path) ?? [];
      const path = `/clusters/${cluster}/api/v1/namespaces/shop`;
      const annotations = { "simulation/seen": String(Date.now()) };
      const body = JSON.stringify({ metadata: { annotations } });
      const headers = { ...request.headers, "content-type": "application/merge-patch+json" };
      await send({ ...request, path, headers, body });
      return response;
    },
  },
  /** Every renewal of a Lease makes a controller read everything again. */
  "busy at rest": {
    law: "rests",
    seed: 119,
    async loopback(request, send) {
      const response = await send(request);
      if (request.method !== "PATCH" || !/\/leases\//.test(request.path)) return response;
      const [home = ""] = /^\/clusters\/[^/]+/.exec(request.path) ?? [];
      const { body: _body, ...rest } = request;
      for (let count = 0; count < 30; count++)
        await send({ ...rest, method: "GET", path: `${home}/api` });
      return response;
    },
  },
  /** The coordinators do not see that a workload is paused. */
  "ignored pause": {
    law: "a pause holds",
    seed: 853,
    loopback: hiding(/\/apis\/apps\//, '"workload.kcp.io/paused":"true"', '"a":"b"'),
  },
  /** The coordinators do not see that the disruption of a per-cluster object is blocked. */
  "ignored block": {
    law: "a block holds",
    seed: 82,
    loopback: hiding(/\/apis\/apps\//, '"finalizers.workload.kcp.io/', '"hidden.example.com/'),
  },
  /** The scheduler does not see the limit of a Location. */
  "ignored limit": {
    law: "limits",
    seed: 132,
    loopback: hiding(/\/locations/, '"resourceLimits":', '"hidden":'),
  },
  /** The connection of a SyncTarget is that of another cluster. */
  "mixed up connection": {
    law: "tenants apart",
    seed: 964,
    route: (name, clusters) => (name === "c1" ? (clusters.at(-1) ?? name) : name),
  },
} as const satisfies Readonly<Record<string, PlantedDefect>>;

export type DefectName = keyof typeof plantedDefects;

/** Replaces a text in what is read. */
function hiding(path: RegExp, text: string, by: string): Tamper {
  return async (request, send) => {
    const response = await send(request);
    if (request.method !== "GET" || !path.test(request.path)) return response;
    const hidden = (from: string) => from.replaceAll(text, by);
    if (/[?&]watch=/.test(request.path)) return changedStream(response, hidden);
    return { ...response, body: responseBody(hidden(await response.body.text())) };
  };
}

/** Changes the status that requests to a path write. */
function changing(path: RegExp, change: (status: JsonObject) => JsonObject): Tamper {
  return (request, send) => {
    const { method, body } = request;
    const isWrite = (method === "PATCH" || method === "PUT") && body !== undefined;
    if (!isWrite || !path.test(request.path)) return send(request);
    const sent = JSON.parse(textOf(body)) as JsonValue;
    const changed = Array.isArray(sent)
      ? sent.map((one) => withStatus(one as JsonObject, "value", change))
      : withStatus(sent as JsonObject, "status", change);
    return send({ ...request, body: JSON.stringify(changed) });
  };
}

/** The status is a member of an object, or the value of an operation of a JSON patch. */
function withStatus(
  of: JsonObject,
  member: "status" | "value",
  change: (status: JsonObject) => JsonObject,
): JsonObject {
  const status = of[member];
  const isOther = member === "value" && of["path"] !== "/status";
  if (isOther || status === undefined || !isJsonObject(status)) return of;
  return { ...of, [member]: change(status) };
}

function withEarlyReadiness(condition: JsonObject): JsonObject {
  const isReadiness = ["Ready", "SyncerReady", "APIImporterReady"].includes(
    String(condition["type"]),
  );
  return isReadiness ? { ...condition, status: "True" } : condition;
}

/** A watch without the events whose text contains another. */
function withoutLines(response: TransportResponse, text: string): TransportResponse {
  return changedStream(response, (chunk) =>
    chunk
      .split("\n")
      .filter((line) => !line.includes(text))
      .join("\n"),
  );
}

function changedStream(
  response: TransportResponse,
  change: (chunk: string) => string,
): TransportResponse {
  const changed = async function* () {
    for await (const chunk of response.body) {
      const text = change(Buffer.from(chunk).toString());
      if (text.length > 0) yield Buffer.from(text);
    }
  };
  const whole = (): Promise<string> => response.body.text();
  return { ...response, body: { text: whole, [Symbol.asyncIterator]: changed } };
}

function textOf(body: TransportRequest["body"]): string {
  return body === undefined ? "{}" : Buffer.from(body).toString();
}
