/**
 * A transport that lets writes through only while this process leads.
 *
 * The look at the clock is the last thing before a request is sent, so a process that was stopped for a minute and goes on in the middle of a
 * reconcile cannot write with a lease that ran out meanwhile.
 */
import type { Transport, TransportRequest, TransportResponse } from "../client/index.ts";
import type { Leadership } from "./leader-elector.ts";

export class NotLeaderError extends Error {
  override readonly name = "NotLeaderError";
}

export function fencedTransport(transport: Transport, leadership: Leadership): Transport {
  return {
    async send(request: TransportRequest): Promise<TransportResponse> {
      if (request.method !== "GET" && !leadership.isHeld()) {
        throw new NotLeaderError(
          `${request.method} ${request.path} is not sent: the lease is not held`,
        );
      }
      return transport.send(request);
    },
    close: () => transport.close(),
  };
}
