/**
 * Brings the state that outlives a system to where it was before the first one. The only such state
 * that a history depends on is the supply of audit ids: the process draws a random one for every
 * 256 requests, whichever server gets them.
 */
import { type SimulatedCluster, startSimulatedCluster } from "@kcp-ts/simulator";
import { SeededRandom } from "@kcp-ts/testkit";
import { globals, resetGlobals } from "./deterministic-globals.ts";
import { ProcessClock, SimulatedEventLoop } from "./event-loop.ts";

/** A server that no system uses. */
let server: SimulatedCluster | undefined;

export async function alignProcessState(): Promise<void> {
  const loop = new SimulatedEventLoop();
  const random = new SeededRandom(0);
  resetGlobals({ random, schedule: (delayMs, callback) => loop.schedule(delayMs, callback) });
  if (server === undefined) {
    const clock = new ProcessClock(loop);
    server = await loop.until(startSimulatedCluster({ name: "align", nodes: 0, clock, random }));
    clock.end();
  }
  const { transport } = server;
  const before = globals.uuids;
  while (globals.uuids === before)
    await loop.until(transport.send({ method: "GET", path: "/livez", headers: {} }));
}
