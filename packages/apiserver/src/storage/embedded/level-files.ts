/**
 * Checks LevelDB's files before LevelDB opens them.
 *
 * LevelDB as classic-level opens it tolerates too much: it drops damaged log records silently,
 * starts a new empty store when `CURRENT` is missing, and then removes unknown files. So damage
 * must be detected first, while the files can still be saved.
 */
import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { corruptError } from "./corrupt-error.ts";
import { readLevelLog } from "./level-log.ts";
import { type LiveFiles, readManifest } from "./level-manifest.ts";

/**
 * Throws `corrupt` with the name of the file. A directory that is missing or has no store in it is
 * valid.
 */
export async function checkLevelFiles(directory: string): Promise<void> {
  const names = new Set(await namesIn(directory));
  if (!names.has("CURRENT")) {
    const left = [...names].find((name) => dataFile.test(name));
    if (left === undefined) return;
    throw corruptError(directory, `there is ${left} but the file CURRENT is missing`);
  }
  const live = await liveFiles(directory, names);
  for (const table of live.tables) {
    const stem = numbered(table.number);
    const name = [`${stem}.ldb`, `${stem}.sst`].find((candidate) => names.has(candidate));
    if (name === undefined) throw corruptError(directory, `the file ${stem}.ldb is missing`);
    await checkTable(join(directory, name), table.bytes);
  }
  const firstLog = `${numbered(live.logNumber)}.log`;
  if (live.logNumber > 0 && !names.has(firstLog)) {
    throw corruptError(directory, `the file ${firstLog} is missing`);
  }
  for (const name of names) {
    if (!name.endsWith(".log") || Number.parseInt(name, 10) < live.logNumber) continue;
    const path = join(directory, name);
    const { damagedAt } = readLevelLog(await readFile(path), "nothing");
    if (damagedAt !== undefined) throw corruptError(path, `wrong checksum at byte ${damagedAt}`);
  }
}

async function liveFiles(directory: string, names: ReadonlySet<string>): Promise<LiveFiles> {
  const current = (await readFile(join(directory, "CURRENT"), "latin1")).trimEnd();
  if (!/^MANIFEST-\d+$/.test(current) || !names.has(current)) {
    throw corruptError(join(directory, "CURRENT"), "it names no manifest file that is there");
  }
  const path = join(directory, current);
  const { records, damagedAt } = readLevelLog(await readFile(path), "records");
  if (damagedAt !== undefined) throw corruptError(path, `wrong checksum at byte ${damagedAt}`);
  const live = readManifest(records);
  if (live === undefined) throw corruptError(path, "it cannot be read");
  return live;
}

/**
 * A table ends in a footer with a magic number: a file that was truncated or overwritten with zeros
 * does not.
 */
async function checkTable(path: string, bytes: number): Promise<void> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    if (size !== bytes) throw corruptError(path, `it has ${size} bytes instead of ${bytes}`);
    const word = Buffer.alloc(footerMagic.length);
    await file.read(word, 0, word.length, Math.max(0, size - word.length));
    if (!word.equals(footerMagic)) throw corruptError(path, "its footer is not LevelDB's");
  } finally {
    await file.close();
  }
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function numbered(number: number): string {
  return String(number).padStart(6, "0");
}

const dataFile = /^\d+\.(ldb|sst|log)$/;
const footerMagic = Buffer.from("57fb808b247547db", "hex");
