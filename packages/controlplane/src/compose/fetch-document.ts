/** JSON documents of other servers, over HTTPS: bounded in time and size, without redirects. */
import { request } from "node:https";
import type { Clock } from "@kcp-ts/machinery/base";
import type { FetchDocument } from "@kcp-ts/server";

export const fetchTimeoutMs = 10_000;
export const documentBytesMax = 1 << 20;

export function documentFetcher(clock: Clock): FetchDocument {
  return (url, { certificateAuthority }) =>
    new Promise((resolve, reject) => {
      const fail = (why: string, cause?: unknown) => {
        timer.cancel();
        reject(new Error(`GET ${url}: ${why}`, { cause }));
        call.destroy();
      };
      const call = request(url, {
        // Documents are seldom asked for: a connection that was kept is one that the other side has closed meanwhile.
        agent: false,
        headers: { accept: "application/json" },
        ...(certificateAuthority === undefined ? {} : { ca: certificateAuthority }),
      });
      const timer = clock.schedule(fetchTimeoutMs, () => fail("no answer in time"));
      call.on("error", (error) => fail(error.message, error));
      call.on("response", (response) => {
        const parts: Buffer[] = [];
        let bytes = 0;
        if (response.statusCode !== 200) fail(`status ${response.statusCode}`);
        response.on("data", (part: Buffer) => {
          bytes += part.length;
          if (bytes > documentBytesMax) fail(`more than ${documentBytesMax} bytes`);
          else parts.push(part);
        });
        response.on("error", (error) => fail(error.message, error));
        response.on("end", () => {
          timer.cancel();
          try {
            resolve(JSON.parse(Buffer.concat(parts).toString("utf8")));
          } catch (error) {
            fail("the answer is no JSON", error);
          }
        });
      });
      call.end();
    });
}
