/**
 * Watch fan-out: many watchers of one collection, from the first write until each has seen every
 * event.
 */
import { systemClock } from "@kcp-ts/machinery/base";
import { startProgram } from "./child.ts";
import { compare } from "./compare.ts";
import { type Bench, benchNamespace, type Contest, type Contestant } from "./contest.ts";
import type { Round } from "./measure.ts";
import { configMap, configMapsPath, namespace } from "./objects.ts";

type Protocol = "http1" | "http2";

const protocolNames: Readonly<Record<Protocol, string>> = { http1: "HTTP/1.1", http2: "HTTP/2" };

export async function watchRows(bench: Bench, contest: Contest): Promise<void> {
  const { watchers, watchEvents } = bench.options.sizes;
  for (const protocol of ["http1", "http2"] as const) {
    const measured = await contest.measure(
      contest.contestants.map((contestant) => ({
        name: contestant.name,
        pid: contestant.pid,
        round: () => fanOut(bench, contestant, protocol),
      })),
    );
    compare(bench.report, {
      work: `events to ${watchers} watchers x ${watchEvents}, ${protocolNames[protocol]}`,
      unit: "/s",
      measured,
      servers: contest.contestants.length,
    });
  }
}

let fanOuts = 0;

async function fanOut(
  { options, generate }: Bench,
  { url, token, client }: Contestant,
  protocol: Protocol,
): Promise<Round> {
  const { watchers, watchEvents } = options.sizes;
  const name = `${benchNamespace}-watch-${fanOuts++}`;
  await client.must("POST", "/api/v1/namespaces", namespace(name));
  const path = `${url}${configMapsPath(name)}`;
  const child = startProgram("watchers", [
    `${path}?watch=true`,
    token,
    protocol,
    String(watchers),
    String(watchEvents),
  ]);
  await child.line("open");
  const start = systemClock.monotonic();
  const body = configMap();
  await generate({ url: path, token, body, requests: watchEvents, connections: 2, streams: 4 });
  await child.line("done");
  const count = watchers * watchEvents;
  const perSecond = (count * 1000) / (systemClock.monotonic() - start);
  await child.end();
  return { perSecond, count };
}
