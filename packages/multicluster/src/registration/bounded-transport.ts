/**
 * A transport to a cluster that need not mean well: whatever it answers is counted while it comes, after it was unpacked, and broken off where it is too much.
 *
 * - One answer: bytes, JSON values, levels. What is read whole has less room than a list, whose items are read one by one; an event of a watch has as much as an object.
 * - All answers of a cluster together: what is being read whole at a time, and how much is read in a second. A cluster that says more is read more slowly, and holds up nobody.
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
import { ResponseSizeCounter } from "./answer-count.ts";

/** A Status, with what admission of the cluster has to say. */
const errorAnswer: Bound = {
  ...bounds.clusterAnswer,
  name: "physical cluster error",
  bytesMax: 1 << 20,
  valuesMax: 10_000,
};

/** Of answers that are read whole at a time, by connection. */
const gathered = new BytesInFlight(bytesInFlight.clusterAnswers);
let connections = 0;

/** What a cluster may say at once, and in a second from then on. */
export const responseBytesPerSecond = { burst: 64 << 20, perSecond: 8 << 20 } as const;

export interface BoundedTransportOptions {
  readonly clock: Clock;
}

export function boundedTransport(inner: Transport, { clock }: BoundedTransportOptions): Transport {
  const upgrade = inner.upgrade?.bind(inner);
  const pace = new ResponseRateLimiter(clock);
  const id = `connection ${++connections}`;
  return {
    // Behind an upgrade both sides keep each other to a pace, and nothing is collected.
    ...(upgrade === undefined ? {} : { upgrade }),
    async send(request: TransportRequest): Promise<TransportResponse> {
      const response = await inner.send(request);
      const { body, status } = response;
      if (isPassedOn(request.path)) return response;
      const isError = status >= 400;
      const isWatch = !isError && watchPath.test(request.path);
      const whole = isError ? errorAnswer : bounds.clusterAnswer;
      const streamed = isWatch ? bounds.clusterObject : isError ? errorAnswer : bounds.clusterList;
      const counted = (bound: Bound) =>
        limited(body, new ResponseSizeCounter(bound, isWatch), pace);
      return {
        ...response,
        body: {
          text: (bytesMax = whole.bytesMax) =>
            gather(counted(bytesMax < whole.bytesMax ? { ...whole, bytesMax } : whole), id),
          [Symbol.asyncIterator]: () => counted(streamed),
        },
      };
    },
    close: () => inner.close(),
  };
}

const watchPath = /[?&]watch=(true|1)(&|$)/;

/** Logs go to whoever asked for them as they come, however much it is. */
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

/** A bucket that is full at first. */
class ResponseRateLimiter {
  readonly #clock: Clock;
  #left: number = responseBytesPerSecond.burst;
  #atMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#atMs = clock.monotonic();
  }

  /** Undefined when there is nothing to wait for. */
  take(bytes: number): Promise<void> | undefined {
    const nowMs = this.#clock.monotonic();
    const gained = ((nowMs - this.#atMs) * responseBytesPerSecond.perSecond) / 1000;
    this.#left = Math.min(responseBytesPerSecond.burst, this.#left + gained) - bytes;
    this.#atMs = nowMs;
    if (this.#left >= 0) return undefined;
    return sleep(this.#clock, (-this.#left * 1000) / responseBytesPerSecond.perSecond);
  }
}
