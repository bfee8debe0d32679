/**
 * Fetches JSON documents over HTTPS from hosts that the operator names: bounded in time and size,
 * without redirects.
 */
import { request } from "node:https";
import type { Clock } from "@kcp-ts/machinery/base";
import { bounds, isBoundExceeded, parseBounded, readBounded } from "@kcp-ts/machinery/bounds";

export const fetchTimeoutMs = 10_000;
export const documentBytesMax: number = bounds.issuerDocument.bytesMax;

/** `certificateAuthority` replaces the authorities of the system. */
export type DocumentFetcher = (
  url: string,
  options: { readonly certificateAuthority?: string | undefined },
) => Promise<unknown>;

export function documentFetcher(clock: Clock): DocumentFetcher {
  return (url, { certificateAuthority }) =>
    new Promise((resolve, reject) => {
      const fail = (why: string, cause?: unknown) => {
        timer.cancel();
        reject(new Error(`GET ${url}: ${why}`, { cause }));
        call.destroy();
      };
      const call = request(url, {
        // Documents are fetched rarely: the server would have closed a kept connection meanwhile.
        agent: false,
        headers: { accept: "application/json" },
        ...(certificateAuthority === undefined ? {} : { ca: certificateAuthority }),
      });
      const timer = clock.schedule(fetchTimeoutMs, () => fail("no answer in time"));
      call.on("error", (error) => fail(error.message, error));
      const tooMuch = (error: Error) =>
        fail(isBoundExceeded(error) ? `more than ${documentBytesMax} bytes` : error.message, error);
      call.on("response", (response) => {
        if (response.statusCode !== 200) fail(`status ${response.statusCode}`);
        readBounded(bounds.issuerDocument, response).then((bytes) => {
          timer.cancel();
          try {
            resolve(parseBounded(bounds.issuerDocument, bytes));
          } catch (error) {
            fail("the answer is no JSON", error);
          }
        }, tooMuch);
      });
      call.end();
    });
}
