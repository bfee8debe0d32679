/**
 * A load generator for machines without h2load: slower than it, and it shares our runtime's
 * weaknesses, but it is always there. A program of its own.
 *
 *     generator.js '<Load as JSON>'
 *
 * Prints the requests per second; ends with an error when an answer is not 2xx.
 */
import { type ClientHttp2Session, connect } from "node:http2";
import { systemClock } from "@kcp-ts/machinery/base";
import type { Load } from "./load.ts";

const load = JSON.parse(process.argv[2] ?? "") as Load;
const { origin, pathname, search } = new URL(load.url);
const headers = {
  ":method": load.body === undefined ? "GET" : "POST",
  ":path": pathname + search,
  authorization: `Bearer ${load.token}`,
  ...(load.body === undefined ? {} : { "content-type": "application/json" }),
};
let left = load.requests;

const sessions = Array.from({ length: load.connections }, () =>
  connect(origin, { rejectUnauthorized: false, settings: { initialWindowSize: 16 << 20 } }),
);
const start = systemClock.monotonic();
await Promise.all(
  sessions.flatMap((session) =>
    Array.from({ length: load.streams }, async () => {
      while (left-- > 0) await exchange(session);
    }),
  ),
);
console.log(String((load.requests * 1000) / (systemClock.monotonic() - start)));
for (const session of sessions) session.destroy();

function exchange(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers);
    stream.on("response", ({ ":status": status }) => {
      if (status === undefined || status >= 300) reject(new Error(`${load.url}: ${status}`));
    });
    stream.on("end", resolve);
    stream.on("error", reject);
    stream.resume();
    stream.end(load.body);
  });
}
