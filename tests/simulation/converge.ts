/** Runs a system until it writes nothing any more but what it always writes. */
import type { Write } from "@kcp-ts/apiserver/storage";
import { BrokenLaw } from "./laws.ts";
import type { SimulatedSystem } from "./simulated-system.ts";

const settlesWithinMs = 1_200_000;

/** Leases and Events are no decisions. */
function isDecision({ key }: Write): boolean {
  return !/^\/[^/]*\/(leases|events)\//.test(key);
}

export function isWriteToCluster(link: string, method: string, path: string): boolean {
  if (link === "loopback" || method === "GET") return false;
  return !/selfsubject|\/leases\/|\/events/.test(path);
}

export class WriteLog {
  readonly entries: { readonly atMs: number; readonly what: string }[] = [];
  readonly #system: SimulatedSystem;
  readonly #before: Pick<SimulatedSystem, "onCommit" | "onRequest">;

  constructor(system: SimulatedSystem) {
    this.#system = system;
    const { onCommit, onRequest } = system;
    this.#before = { onCommit, onRequest };
    system.onCommit = (write) => {
      onCommit(write);
      if (isDecision(write)) this.#note(write.key);
    };
    system.onRequest = (link, method, path, status) => {
      onRequest(link, method, path, status);
      if (isWriteToCluster(link, method, path)) this.#note(`${link} ${method} ${path} ${status}`);
    };
  }

  #note(what: string): void {
    this.entries.push({ atMs: this.#system.nowMs, what });
  }

  get lastAtMs(): number | undefined {
    return this.entries.at(-1)?.atMs;
  }

  stop(): void {
    Object.assign(this.#system, this.#before);
  }

  /** The most frequent writes since a time. */
  summary(sinceMs: number): string {
    const counts = new Map<string, number>();
    for (const { atMs, what } of this.entries)
      if (atMs >= sinceMs) counts.set(what, (counts.get(what) ?? 0) + 1);
    const most = [...counts].sort(([, a], [, b]) => b - a).slice(0, 5);
    return most.map(([what, count]) => `${count} x ${what}`).join("; ");
  }
}

export async function converge(
  system: SimulatedSystem,
  quietMs: number,
  isOver: () => boolean,
): Promise<void> {
  const log = new WriteLog(system);
  const beganAtMs = system.nowMs;
  try {
    for (;;) {
      const sinceMs = log.lastAtMs ?? beganAtMs;
      const leftMs = sinceMs + quietMs - system.nowMs;
      if (leftMs <= 0) return;
      if (system.nowMs - beganAtMs > settlesWithinMs)
        throw new BrokenLaw(
          "settles",
          `the system still changes after ${settlesWithinMs / 60_000} minutes: ${log.summary(system.nowMs - 150_000)}`,
        );
      if (await system.loop.runUntil(leftMs, isOver)) return;
    }
  } finally {
    log.stop();
  }
}
