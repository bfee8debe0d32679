/**
 * A tenant that does nothing but get one object, at a steady pace. A program of its own.
 *
 *     neighbour-victim.js <url of the object> <token>
 *
 * For each number of milliseconds on a line of stdin it measures that long and prints
 * `{"p50":…,"p99":…,"errors":…,"count":…}`. A request counts from the moment it was due, not from
 * when there was time to send it; from when it was sent, if a timer was early. One that has no
 * answer after ten seconds is an error.
 */
import { connect } from "node:http2";
import { createInterface } from "node:readline";
import { sleep, systemClock } from "@kcp-ts/machinery/base";

const [urlText = "", token = ""] = process.argv.slice(2);
const url = new URL(urlText);
const paceMs = 4;
const answerMaxMs = 10_000;
const session = connect(url.origin, { rejectUnauthorized: false });
session.on("error", () => process.exit(1));

for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(await measure(Number(line))));
process.exit(0);

async function measure(durationMs: number) {
  const latencies: number[] = [];
  const open: Promise<void>[] = [];
  let errors = 0;
  const startedAt = systemClock.monotonic();
  for (let due = startedAt; due < startedAt + durationMs; due += paceMs) {
    const early = due - systemClock.monotonic();
    if (early > 0) await sleep(systemClock, early);
    const since = Math.min(due, systemClock.monotonic());
    open.push(
      get().then((isOk) => {
        latencies.push(systemClock.monotonic() - since);
        if (!isOk) errors++;
      }),
    );
  }
  await Promise.all(open);
  latencies.sort((a, b) => a - b);
  const at = (part: number) => latencies[Math.floor(latencies.length * part)] ?? 0;
  return { p50: at(0.5), p99: at(0.99), errors, count: latencies.length };
}

function get(): Promise<boolean> {
  return new Promise((resolve) => {
    const stream = session.request({ ":path": url.pathname, authorization: `Bearer ${token}` });
    let status = 0;
    stream.on("response", (headers) => {
      status = Number(headers[":status"]);
    });
    stream.setTimeout(answerMaxMs, () => stream.close());
    stream.on("close", () => resolve(status === 200));
    stream.on("error", () => resolve(false));
    stream.resume();
  });
}
