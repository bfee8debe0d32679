/**
 * Sessions (exec, attach, port-forward) begin as upgrade requests. This file selects the headers to
 * forward of the request and of the response: two protocols are supported, each with the headers
 * that it needs. All other headers are dropped, as are tokens in the list of subprotocols.
 */
import type { IncomingHttpHeaders } from "node:http";
import { type HeaderRecord, header, requestedUpgrade } from "@kcp-ts/apiserver/request/api-request";

export type SessionProtocol = "websocket" | "spdy/3.1";

const asked: Readonly<Record<SessionProtocol, readonly string[]>> = {
  websocket: ["sec-websocket-key", "sec-websocket-version"],
  "spdy/3.1": ["x-stream-protocol-version"],
};
const answered: Readonly<Record<SessionProtocol, readonly string[]>> = {
  websocket: ["sec-websocket-accept", "sec-websocket-protocol"],
  "spdy/3.1": ["x-stream-protocol-version"],
};

/**
 * Undefined without an upgrade, or with an unknown protocol: then the request is forwarded like any
 * other.
 */
export function sessionProtocolOf(headers: HeaderRecord): SessionProtocol | undefined {
  const wanted = requestedUpgrade(headers);
  return wanted === "websocket" || wanted === "spdy/3.1" ? wanted : undefined;
}

export function upgradeRequestHeaders(
  headers: HeaderRecord,
  protocol: SessionProtocol,
): Record<string, string> {
  const sent: Record<string, string> = {
    connection: "Upgrade",
    upgrade: protocol === "websocket" ? "websocket" : "SPDY/3.1",
  };
  for (const name of asked[protocol]) {
    const value = header(headers, name);
    if (value !== undefined) sent[name] = value;
  }
  const protocols = protocol === "websocket" ? withoutTokens(headers) : [];
  if (protocols.length > 0) sent["sec-websocket-protocol"] = protocols.join(", ");
  return sent;
}

/** Browsers send their token as a subprotocol. The token is for this server only. */
const tokenProtocol = /^base64url\.bearer\.authorization\.k8s\.io\./i;

function withoutTokens(headers: HeaderRecord): string[] {
  return (header(headers, "sec-websocket-protocol") ?? "")
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "" && !tokenProtocol.test(one));
}

/** Undefined when the response does not match the requested upgrade. */
export function upgradeResponseHeaders(
  headers: IncomingHttpHeaders,
  protocol: SessionProtocol,
): Record<string, string> | undefined {
  if (requestedUpgrade(headers) !== protocol) return undefined;
  const kept: Record<string, string> = {
    connection: "Upgrade",
    upgrade: protocol === "websocket" ? "websocket" : "SPDY/3.1",
  };
  for (const name of answered[protocol]) {
    const value = header(headers, name);
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}
