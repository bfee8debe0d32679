/** A transport to a cluster that need not mean well: an answer that would fill the memory is broken off. Watches have no end, and no bound. */
import {
  type ResponseBody,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "@kcp-ts/sdk";

/** The OpenAPI of a group with its descriptions has a few megabytes, a page of objects less. */
export const answerBytesMax = 64 << 20;

export function boundedTransport(inner: Transport, bytesMax = answerBytesMax): Transport {
  const upgrade = inner.upgrade?.bind(inner);
  return {
    // Behind an upgrade both sides keep each other to a pace, and nothing is collected.
    ...(upgrade === undefined ? {} : { upgrade }),
    async send(request: TransportRequest): Promise<TransportResponse> {
      const response = await inner.send(request);
      if (isWatch(request.path) || isLog(request.path)) return response;
      return { ...response, body: boundedBody(response.body, bytesMax) };
    },
    close: () => inner.close(),
  };
}

function isWatch(path: string): boolean {
  return /[?&](watch=(true|1)|follow=(true|1))(&|$)/.test(path);
}

/** Passed on as it comes, however much it is. */
function isLog(path: string): boolean {
  return /^[^?]*\/pods\/[^/?]+\/log(\?|$)/.test(path);
}

function boundedBody(body: ResponseBody, bytesMax: number): ResponseBody {
  return {
    text: (most = bytesMax) => body.text(Math.min(most, bytesMax)),
    [Symbol.asyncIterator]: () => limited(body, bytesMax),
  };
}

async function* limited(body: AsyncIterable<Uint8Array>, bytesMax: number) {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax)
      throw new TransportError("connection-lost", `the answer is longer than ${bytesMax} bytes`);
    yield chunk;
  }
}
