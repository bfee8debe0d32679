/** Thousands of histories of the syncer, where nothing but they run: `HISTORIES=2000 SEED=1 node dist/syncing/simulation.bench.js`. */
import { systemClock } from "@kcp-ts/machinery/base";
import { playHistories } from "./simulation.ts";

const histories = Number(process.env["HISTORIES"] ?? 20);
const seed = Number(process.env["SEED"] ?? 1);
const startedAtMs = systemClock.monotonic();
await playHistories(histories, seed);
const seconds = (systemClock.monotonic() - startedAtMs) / 1000;
process.stdout.write(`${histories} histories from seed ${seed} in ${seconds.toFixed(1)} s\n`);
