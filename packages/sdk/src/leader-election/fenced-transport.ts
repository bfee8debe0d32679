/**
 * A transport that forwards writes only while this process leads.
 *
 * The check of the clock is the last step before a request is sent, so a process that was suspended
 * for a minute and resumes in the middle of a reconcile cannot write with a lease that expired
 * meanwhile.
 */
import type { Transport, TransportRequest, TransportResponse } from "../client/index.ts";
import type { Leadership } from "./leader-elector.ts";

export class NotLeaderError extends Error {
  /** A build may shorten the name of the class, which uncaught errors are printed with. */
  static override readonly name: string = "NotLeaderError";
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
