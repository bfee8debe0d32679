/**
 * A transport to a cluster that may be hostile: its responses are read at a limited rate, and so
 * are those of all clusters of a logical cluster together. A cluster that sends more is read more
 * slowly, and delays no cluster of others.
 *
 * The sizes of responses are limited where they are buffered and parsed: by the client's
 * `ResponseLimits`.
 */
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import { responseBody, type Transport } from "@kcp-ts/sdk";

export interface ResponseRate {
  readonly burst: number;
  readonly perSecond: number;
}

/** How much may be sent in a burst, and per second from then on. */
export const responseBytes = {
  ofCluster: { burst: 64 << 20, perSecond: 8 << 20 },
  ofTenant: { burst: 256 << 20, perSecond: 32 << 20 },
} as const satisfies Readonly<Record<string, ResponseRate>>;

/** The transport waits for each of the rate limiters. */
export function pacedTransport(
  inner: Transport,
  rateLimiters: readonly ResponseRateLimiter[],
): Transport {
  const upgrade = inner.upgrade?.bind(inner);
  return {
    // After an upgrade, both sides apply backpressure, and nothing is buffered.
    ...(upgrade === undefined ? {} : { upgrade }),
    async send(request) {
      const response = await inner.send(request);
      if (isPassedOn(request.path)) return response;
      return { ...response, body: responseBody(paced(response.body, rateLimiters)) };
    },
    close: () => inner.close(),
  };
}

/** Logs of any length are streamed to the client. */
function isPassedOn(path: string): boolean {
  return /^[^?]*\/pods\/[^/?]+\/log(\?|$)/.test(path);
}

async function* paced(
  body: AsyncIterable<Uint8Array>,
  rateLimiters: readonly ResponseRateLimiter[],
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    for (const rateLimiter of rateLimiters) {
      const wait = rateLimiter.take(chunk.length);
      if (wait !== undefined) await wait;
    }
    yield chunk;
  }
}

/** A token bucket that starts full. */
export class ResponseRateLimiter {
  readonly #clock: Clock;
  readonly #rate: ResponseRate;
  #left: number;
  #atMs: number;

  constructor(clock: Clock, rate: ResponseRate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#left = rate.burst;
    this.#atMs = clock.monotonic();
  }

  /** Undefined when no wait is necessary. */
  take(bytes: number): Promise<void> | undefined {
    const { burst, perSecond } = this.#rate;
    const nowMs = this.#clock.monotonic();
    const gained = ((nowMs - this.#atMs) * perSecond) / 1000;
    this.#left = Math.min(burst, this.#left + gained) - bytes;
    this.#atMs = nowMs;
    if (this.#left >= 0) return undefined;
    return sleep(this.#clock, (-this.#left * 1000) / perSecond);
  }
}
