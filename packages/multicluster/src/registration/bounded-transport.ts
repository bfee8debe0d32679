/**
 * A transport to a cluster that may be hostile: each response is measured while it arrives, after
 * decompression, and aborted when it exceeds a limit.
 *
 * - One response: bytes, JSON values, nesting depth. A response that is buffered completely has a
 *   smaller limit than a list, whose items are parsed one by one; an event of a watch has the limit
 *   of an object.
 * - All responses of a cluster together: the bytes that are buffered at a time, and the bytes that
 *   are read in a second. A cluster that sends more is read more slowly, and delays no other
 *   cluster.
 */
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import {
  type Bound,
  BytesInFlight,
  bounds,
  bytesInFlight,
  isBoundExceeded,
} from "@kcp-ts/machinery/bounds";
import {
  type ResponseBody,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "@kcp-ts/sdk";
import { ResponseSizeCounter } from "./response-size-counter.ts";

/** The limit of a Status, with messages of the cluster's admission plugins. */
const errorAnswer: Bound = {
  ...bounds.clusterAnswer,
  name: "physical cluster error",
  bytesMax: 1 << 20,
  valuesMax: 10_000,
};

/** The bytes of buffered responses in flight, by connection. */
const gathered = new BytesInFlight(bytesInFlight.clusterAnswers);
let connections = 0;

/** How much a cluster may send in a burst, and per second from then on. */
export const responseBytesPerSecond = { burst: 64 << 20, perSecond: 8 << 20 } as const;

export interface BoundedTransportOptions {
  readonly clock: Clock;
}

export function boundedTransport(inner: Transport, { clock }: BoundedTransportOptions): Transport {
  const upgrade = inner.upgrade?.bind(inner);
  const pace = new ResponseRateLimiter(clock);
  const id = `connection ${++connections}`;
  return {
    // After an upgrade, both sides apply backpressure, and nothing is buffered.
    ...(upgrade === undefined ? {} : { upgrade }),
    async send(request: TransportRequest): Promise<TransportResponse> {
      const response = await inner.send(request);
      const { body, status } = response;
      if (isPassedOn(request.path)) return response;
      const isError = status >= 400;
      const isWatch = !isError && watchPath.test(request.path);
      const workload = isError ? errorAnswer : bounds.clusterAnswer;
      const streamed = isWatch ? bounds.clusterObject : isError ? errorAnswer : bounds.clusterList;
      const counted = (bound: Bound) =>
        limited(body, new ResponseSizeCounter(bound, isWatch), pace);
      return {
        ...response,
        body: {
          text: (bytesMax = workload.bytesMax) =>
            gather(
              counted(bytesMax < workload.bytesMax ? { ...workload, bytesMax } : workload),
              id,
            ),
          [Symbol.asyncIterator]: () => counted(streamed),
        },
      };
    },
    close: () => inner.close(),
  };
}

const watchPath = /[?&]watch=(true|1)(&|$)/;

/** Logs of any length are streamed to the client. */
function isPassedOn(path: string): boolean {
  return /^[^?]*\/pods\/[^/?]+\/log(\?|$)/.test(path);
}

async function* limited(
  body: ResponseBody,
  count: ResponseSizeCounter,
  pace: ResponseRateLimiter,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    try {
      count.add(chunk);
    } catch (error) {
      throw isBoundExceeded(error) ? new TransportError("connection-lost", error.message) : error;
    }
    const wait = pace.take(chunk.length);
    if (wait !== undefined) await wait;
    yield chunk;
  }
}

async function gather(chunks: AsyncIterable<Uint8Array>, id: string): Promise<string> {
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let held = 0;
  try {
    for await (const chunk of chunks) {
      if (!gathered.tryTake(id, chunk.length))
        throw new TransportError(
          "connection-lost",
          `the cluster answers with more than ${bytesInFlight.clusterAnswers.bytesPerTenantMax} bytes at a time`,
        );
      held += chunk.length;
      parts.push(decoder.decode(chunk, { stream: true }));
    }
    parts.push(decoder.decode());
    return parts.join("");
  } finally {
    gathered.release(id, held);
  }
}

/** A token bucket that starts full. */
class ResponseRateLimiter {
  readonly #clock: Clock;
  #left: number = responseBytesPerSecond.burst;
  #atMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#atMs = clock.monotonic();
  }

  /** Undefined when no wait is necessary. */
  take(bytes: number): Promise<void> | undefined {
    const nowMs = this.#clock.monotonic();
    const gained = ((nowMs - this.#atMs) * responseBytesPerSecond.perSecond) / 1000;
    this.#left = Math.min(responseBytesPerSecond.burst, this.#left + gained) - bytes;
    this.#atMs = nowMs;
    if (this.#left >= 0) return undefined;
    return sleep(this.#clock, (-this.#left * 1000) / responseBytesPerSecond.perSecond);
  }
}
