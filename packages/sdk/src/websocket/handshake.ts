/** The handshake that upgrades a connection to a WebSocket (RFC 6455, section 4). */
import { createHash, randomBytes } from "node:crypto";
import type { RequestHeaders } from "../client/index.ts";

const magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

export function acceptKey(key: string): string {
  return createHash("sha1")
    .update(key + magic)
    .digest("base64");
}

/** The client's headers. `protocols` are in the order of preference. */
export function clientHandshake(protocols: readonly string[]): {
  readonly headers: RequestHeaders;
  readonly accept: string;
} {
  const key = randomBytes(16).toString("base64");
  const headers = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": key,
    "sec-websocket-protocol": protocols.join(", "),
  };
  return { headers, accept: acceptKey(key) };
}

export interface ServerHandshake {
  readonly headers: Record<string, string>;
  /** The first protocol of the client that `supported` contains. */
  readonly protocol: string;
}

/**
 * Undefined for a request that is no WebSocket upgrade, or that offers only unsupported protocols.
 */
export function serverHandshake(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  supported: readonly string[],
): ServerHandshake | undefined {
  const text = (name: string) => String(headers[name] ?? "");
  const key = text("sec-websocket-key");
  if (text("upgrade").toLowerCase() !== "websocket" || text("sec-websocket-version") !== "13")
    return undefined;
  if (Buffer.from(key, "base64").length !== 16) return undefined;
  const offered = text("sec-websocket-protocol")
    .split(",")
    .map((one) => one.trim());
  const protocol = offered.find((one) => supported.includes(one));
  if (protocol === undefined) return undefined;
  return {
    protocol,
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-accept": acceptKey(key),
      "sec-websocket-protocol": protocol,
    },
  };
}
