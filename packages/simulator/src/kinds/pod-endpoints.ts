/**
 * The subresources of Pods with side effects: binding, eviction, logs, and sessions with
 * containers.
 */
import type { Duplex } from "node:stream";
import { type ApiResponse, requestedUpgrade } from "@kcp-ts/apiserver";
import {
  type ConnectRequest,
  listIn,
  objectIn,
  type SubresourceKind,
  type SubresourceStrategy,
  textIn,
} from "@kcp-ts/apiserver/kinds";
import type { Clock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { binding, eviction, podSessionKinds } from "@kcp-ts/machinery/shape";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import { serverHandshake } from "@kcp-ts/sdk/websocket";
import {
  type CommandResult,
  type Container,
  type ContainerEnvironment,
  channelProtocols,
  runChannelSession,
  runPortSession,
  runSpdyCommand,
  simulatedCommand,
  spdyCommandProtocols,
  tunnelledSpdy,
  webSocketBytes,
} from "../containers/index.ts";
import { bindToNode } from "./pods.ts";

export interface PodEndpointsOptions {
  readonly clock: Clock;
  /** Deletes the Pod if disruption budgets permit; throws a 429 if not. */
  readonly evict: (pod: JsonObject, deleteOptions: JsonObject) => Promise<void>;
  readonly logs: (pod: JsonObject, query: LogRequest) => AsyncIterable<Uint8Array> | Uint8Array;
  /** The environment of the container of this name. */
  readonly environmentOf: (pod: JsonObject, container: string) => Promise<ContainerEnvironment>;
}

export interface LogRequest {
  readonly container: string;
  readonly isFollowed: boolean;
  readonly isPrevious: boolean;
  readonly hasTimestamps: boolean;
  readonly tailLines: number | undefined;
  readonly sinceSeconds: number | undefined;
  readonly signal: AbortSignal;
}

const unchanged = { prepareForUpdate: () => {}, validateUpdate: () => [] } as const;

export function podEndpoints(
  options: PodEndpointsOptions,
): readonly (readonly [string, SubresourceStrategy])[] {
  return [
    ["binding", { ...posted(bindingKind), connect: (call) => bind(call, options) }],
    ["eviction", { ...posted(evictionKind), connect: (call) => evict(call, options) }],
    ["log", { ...unchanged, verbs: ["get"], connect: (call) => showLog(call, options) }],
    ["exec", session(podSessionKinds.exec, (call) => openExec(call, options))],
    ["attach", session(podSessionKinds.attach, openAttach)],
    ["portforward", session(podSessionKinds.portforward, openPorts)],
  ];
}

const bindingKind: SubresourceKind = { group: "", version: "v1", kind: "Binding", shape: binding };
const evictionKind: SubresourceKind = {
  group: "policy",
  version: "v1",
  kind: "Eviction",
  shape: eviction,
};

function posted(kind: SubresourceKind): SubresourceStrategy {
  return { ...unchanged, verbs: ["create"], admissionTarget: { operation: "CREATE", kind } };
}

type Connect = NonNullable<SubresourceStrategy["connect"]>;

function session(kind: SubresourceKind, connect: Connect): SubresourceStrategy {
  return {
    ...unchanged,
    verbs: ["create", "get"],
    admissionTarget: { operation: "CONNECT", kind },
    connect: (call) => (acceptsStreams(call.headers) ? connect(call) : notAcceptable()),
  };
}

/** A kubelet offers no media type for sessions, so a client has to accept any. */
function acceptsStreams({ accept }: ConnectRequest["headers"]): boolean {
  const text = accept === undefined ? "*/*" : String(accept);
  return text === "" || text.includes("*/*");
}

function notAcceptable(): ApiResponse {
  return {
    status: 406,
    headers: { "content-type": "text/plain; charset=utf-8" },
    body: new TextEncoder().encode("406: Not Acceptable"),
  };
}

const podResource = { group: "", resource: "pods" } as const;

async function bind(call: ConnectRequest, { clock }: PodEndpointsOptions): Promise<ApiResponse> {
  const wanted = await call.body(bindingKind);
  const target = textIn(objectIn(wanted, "target"), "name");
  const { uid } = objectIn(wanted, "metadata");
  await call.update((present) => {
    const metadata = objectIn(present, "metadata");
    const name = textIn(metadata, "name");
    if (uid !== undefined && uid !== metadata["uid"])
      throw statusError.conflict(
        podResource,
        name,
        `Precondition failed: UID in precondition: ${String(uid)}, UID in object meta: ${String(metadata["uid"])}`,
      );
    const nodeName = textIn(objectIn(present, "spec"), "nodeName");
    if (nodeName !== "")
      throw statusError.conflict(
        podResource,
        name,
        `pod ${name} is already assigned to node ${JSON.stringify(nodeName)}`,
      );
    if (metadata["deletionTimestamp"] !== undefined)
      throw statusError.conflict(
        podResource,
        name,
        `pod ${name} is being deleted, cannot be assigned to a host`,
      );
    return bindToNode(present, target, `${new Date(clock.now()).toISOString().slice(0, 19)}Z`);
  });
  return success(201);
}

async function evict(call: ConnectRequest, options: PodEndpointsOptions): Promise<ApiResponse> {
  const wanted = await call.body(evictionKind);
  await options.evict(call.object, objectIn(wanted, "deleteOptions"));
  return success(201);
}

function showLog(
  { object, query, signal }: ConnectRequest,
  options: PodEndpointsOptions,
): ApiResponse {
  const container = containerOf(object, query.get("container") ?? "");
  const isFollowed = query.get("follow") === "true" || query.get("follow") === "1";
  const request: LogRequest = {
    container,
    isFollowed,
    isPrevious: query.get("previous") === "true",
    hasTimestamps: query.get("timestamps") === "true",
    tailLines: count(query, "tailLines"),
    sinceSeconds: count(query, "sinceSeconds"),
    signal,
  };
  checkStarted(object, request);
  return {
    status: 200,
    headers: { "content-type": "text/plain" },
    body: options.logs(object, request),
    ...(isFollowed ? { isWatch: true } : {}),
  };
}

async function openExec(
  call: ConnectRequest,
  { environmentOf }: PodEndpointsOptions,
): Promise<ApiResponse> {
  const container = runningContainer(call);
  const found = { ...container, ...(await environmentOf(call.object, container.name)) };
  return openChannels(call, simulatedCommand(call.query.getAll("command"), found));
}

/** A container prints nothing to an attached client; its input is echoed. */
function openAttach(call: ConnectRequest): ApiResponse {
  const { pod, name } = runningContainer(call);
  const stdout = `attached to simulated container ${name} of Pod ${pod}\n`;
  return openChannels(call, { stdout, stderr: "", exitCode: 0, echoes: true });
}

function openChannels({ query, headers }: ConnectRequest, result: CommandResult): ApiResponse {
  const hasStdin = query.get("stdin") === "true";
  const isTerminal = query.get("tty") === "true";
  if (requestedUpgrade(headers) === spdy) {
    const asked = String(headers["x-stream-protocol-version"] ?? "").split(/, */);
    const protocol = spdyCommandProtocols.find((one) => asked.includes(one));
    if (protocol === undefined) throw notUpgradable(spdyCommandProtocols);
    const opens = ["stdin", "stdout", "stderr"].filter((name) => query.get(name) === "true");
    return speakSpdy(protocol, (stream) => runSpdyCommand({ stream, result, opens, isTerminal }));
  }
  const handshake = serverHandshake(headers, channelProtocols);
  if (handshake === undefined) throw notUpgradable(channelProtocols);
  return {
    status: 101,
    headers: handshake.headers,
    body: undefined,
    onUpgrade: (stream) => runChannelSession({ stream, result, hasStdin, isTerminal }),
  };
}

/** SPDY in a WebSocket, or plain. */
function openPorts(call: ConnectRequest): ApiResponse {
  const { pod } = runningContainer(call, anyContainer);
  const run = (stream: Duplex) => runPortSession(stream, pod);
  const handshake = serverHandshake(call.headers, [tunnelledSpdy]);
  if (handshake !== undefined) {
    const onUpgrade = (stream: Duplex) => toTheEnd(webSocketBytes(stream), run);
    return { status: 101, headers: handshake.headers, body: undefined, onUpgrade };
  }
  if (requestedUpgrade(call.headers) !== spdy) throw notUpgradable([tunnelledSpdy]);
  return speakSpdy("portforward.k8s.io", run);
}

const spdy = "spdy/3.1";

function speakSpdy(protocol: string, run: (stream: Duplex) => Promise<void>): ApiResponse {
  const headers = {
    connection: "Upgrade",
    upgrade: "SPDY/3.1",
    "x-stream-protocol-version": protocol,
  };
  return { status: 101, headers, body: undefined, onUpgrade: (stream) => toTheEnd(stream, run) };
}

/** A client that disconnects ends the session without an error. */
function toTheEnd(stream: Duplex, run: (stream: Duplex) => Promise<void>): void {
  run(stream).catch(() => stream.destroy());
}

function notUpgradable(known: readonly string[]): StatusError {
  return statusError.badRequest(`unable to upgrade: speak one of ${known.join(", ")}`);
}

const anyContainer = Symbol("any container");

function runningContainer(
  { object, query }: ConnectRequest,
  which?: typeof anyContainer,
): Container {
  const pod = textIn(objectIn(object, "metadata"), "name");
  const containers = listIn(objectIn(object, "spec")["containers"]) as JsonObject[];
  const asked = query.get("container") ?? "";
  const name =
    which === anyContainer ? textIn(containers[0] ?? {}, "name") : containerOf(object, asked);
  const { phase } = objectIn(object, "status");
  if (phase !== "Running")
    throw statusError.badRequest(`pod ${pod} does not run: its phase is ${String(phase)}`);
  const all = [...containers, ...listIn(objectIn(object, "spec")["ephemeralContainers"])];
  const image = textIn((all as JsonObject[]).find((one) => one["name"] === name) ?? {}, "image");
  return { pod, name, image };
}

function count(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function containerOf(pod: JsonObject, asked: string): string {
  const name = textIn(objectIn(pod, "metadata"), "name");
  const spec = objectIn(pod, "spec");
  const names = (member: string) =>
    listIn(spec[member]).map((one) => textIn(one as JsonObject, "name"));
  const containers = names("containers");
  if (asked === "") {
    if (containers.length === 1) return containers[0] as string;
    throw statusError.badRequest(
      `a container name must be specified for pod ${name}, choose one of: [${containers.join(" ")}]`,
    );
  }
  const others = [...names("initContainers"), ...names("ephemeralContainers")];
  if (containers.includes(asked) || others.includes(asked)) return asked;
  throw statusError.badRequest(`container ${asked} is not valid for pod ${name}`);
}

function checkStarted(pod: JsonObject, { container, isPrevious }: LogRequest): void {
  const name = textIn(objectIn(pod, "metadata"), "name");
  const status = objectIn(pod, "status");
  const statuses = [
    ...listIn(status["containerStatuses"]),
    ...listIn(status["initContainerStatuses"]),
    ...listIn(status["ephemeralContainerStatuses"]),
  ] as JsonObject[];
  const found = statuses.find((one) => one["name"] === container);
  const refuse = (why: string) =>
    statusError.badRequest(
      `container ${JSON.stringify(container)} in pod ${JSON.stringify(name)} ${why}`,
    );
  if (isPrevious && objectIn(found ?? {}, "lastState")["terminated"] === undefined)
    throw statusError.badRequest(
      `previous terminated container ${JSON.stringify(container)} in pod ${JSON.stringify(name)} not found`,
    );
  const waiting = objectIn(objectIn(found ?? {}, "state"), "waiting");
  if (found !== undefined && waiting["reason"] === undefined) return;
  if (Number(found?.["restartCount"] ?? 0) > 0) return;
  throw refuse(`is waiting to start: ${textIn(waiting, "reason") || "ContainerCreating"}`);
}

function success(status: number): ApiResponse {
  const body = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: status };
  return {
    status,
    headers: { "content-type": "application/json" },
    body: new TextEncoder().encode(JSON.stringify(body)),
  };
}

/** The error that clients of evictions retry on. */
export function disruptionRefused(budget: string, message: string): StatusError {
  return new StatusError({
    code: 429,
    reason: "TooManyRequests",
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: {
      causes: [
        { reason: "DisruptionBudget", message: `The disruption budget ${budget} ${message}` },
      ],
    },
  });
}
