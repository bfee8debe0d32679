/**
 * The ceiling of durable writes: the same bytes in batches, each on disk before the next begins. A
 * program of its own.
 *
 *     bare-disk.js <level|append> <directory> <file with one record> <records> <records in a batch>
 *
 * Prints the records per second.
 */
import { readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@kcp-ts/machinery/base";
import { ClassicLevel } from "classic-level";

const [kind, directory = "", recordPath = "", recordsText, batchText] = process.argv.slice(2);
const record = readFileSync(recordPath);
const records = Number(recordsText);
const batchRecords = Number(batchText);

console.log(String(await (kind === "level" ? levelBatches() : appends())));

async function levelBatches(): Promise<number> {
  const database = new ClassicLevel<string, Buffer>(join(directory, "level"), {
    valueEncoding: "buffer",
    writeBufferSize: 8 << 20,
  });
  await database.open();
  const run = `${process.pid}-${systemClock.now()}`;
  const perSecond = await timed(async (first, count) => {
    const batch = database.batch();
    for (let at = first; at < first + count; at++) batch.put(`${run}/${at}`, record);
    await batch.write({ sync: true });
  });
  await database.close();
  return perSecond;
}

async function appends(): Promise<number> {
  const file = await open(join(directory, "appended"), "w");
  const perSecond = await timed(async (_, count) => {
    await file.write(Buffer.concat(Array.from({ length: count }, () => record)));
    await file.datasync();
  });
  await file.close();
  return perSecond;
}

async function timed(write: (first: number, count: number) => Promise<void>): Promise<number> {
  const start = systemClock.monotonic();
  for (let at = 0; at < records; at += batchRecords) {
    await write(at, Math.min(batchRecords, records - at));
  }
  return (records * 1000) / (systemClock.monotonic() - start);
}
