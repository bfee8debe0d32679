/** One upgrade request, on a connection that no other request has used or will use. */
import { request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import { onAbort, type TransportRequest, type UpgradeResponse } from "../client/index.ts";
import { decodedBody } from "./decoded-body.ts";
import { connectionLostError } from "./stream-body.ts";

export function upgradeOn(
  socket: Socket,
  host: string,
  { method, path, headers, signal }: TransportRequest,
): Promise<UpgradeResponse> {
  return new Promise((resolve, reject) => {
    const sent: Record<string, string | string[]> = { host };
    for (const [name, value] of Object.entries(headers)) {
      sent[name] = typeof value === "string" ? value : [...value];
    }
    const failure = (cause: unknown) =>
      signal?.aborted ? signal.reason : connectionLostError(`${method} ${path}`, cause);
    const outgoing = httpRequest({ createConnection: () => socket, method, path, headers: sent });
    const stopListening = onAbort(signal, () => outgoing.destroy());
    outgoing.on("upgrade", (incoming, connection, head) => {
      stopListening();
      if (head.length > 0) connection.unshift(head);
      socket.setTimeout(0);
      resolve({ status: 101, headers: incoming.headers, connection });
    });
    outgoing.on("response", (incoming) => {
      const body = decodedBody({
        stream: incoming,
        contentEncoding: incoming.headers["content-encoding"],
        isComplete: () => incoming.complete,
        cancel: () => outgoing.destroy(),
        failure,
      });
      incoming.on("error", (error) => body.closed(error));
      incoming.on("close", () => {
        body.closed();
        socket.destroy();
      });
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body });
    });
    outgoing.on("error", (error) => reject(failure(error)));
    outgoing.on("close", () => {
      stopListening();
      reject(failure(undefined));
    });
    outgoing.end();
  });
}
