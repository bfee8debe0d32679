/** What Linux knows of a process: its processor time and its memory. */
import { readFileSync } from "node:fs";

/** Ticks of /proc are a hundredth of a second on every Linux that Node runs on. */
const tickMicros = 10_000;

/** User and system time of all threads. */
export function cpuMicrosOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field is the name in parentheses, which may contain anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * tickMicros;
}

/** Resident memory in MB of 2^20 bytes. */
export function residentMegabytesOf(pid: number): number {
  return megabytesOf(pid, "VmRSS");
}

/**
 * … less the pages of mapped files, which are bytes on disk that the system takes back when it
 * likes.
 */
export function unmappedMegabytesOf(pid: number): number {
  return megabytesOf(pid, "RssAnon");
}

function megabytesOf(pid: number, what: string): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${what}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
}
