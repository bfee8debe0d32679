/**
 * The rejection of a request that cannot wait: plain text as in Kubernetes, so that clients retry a
 * second later.
 */
import { retryAfterSeconds } from "../event-loop/index.ts";
import type { ApiResponse } from "../request/api-request.ts";

export function tooManyRequestsResponse(): ApiResponse {
  return {
    status: 429,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "retry-after": String(retryAfterSeconds),
      "x-content-type-options": "nosniff",
    },
    body: Buffer.from("Too many requests, please try again later.\n"),
  };
}
