/**
 * Rounds: every contender does the same work in turn, so that whatever else the machine does hits
 * all of them alike. The median of the rounds counts.
 */
import { cpuMicrosOf } from "./process-figures.ts";

export interface Contender {
  readonly name: string;
  /** Whose processor time is taken; undefined when it is not on this machine or not of interest. */
  readonly pid?: number | undefined;
  round(): Promise<Round>;
}

export interface Round {
  readonly perSecond: number;
  /** How many requests or events the processor time is divided by. */
  readonly count: number;
}

export interface Measured {
  readonly name: string;
  readonly perSecond: number;
  readonly cpuMicros: number | undefined;
}

export async function interleaved(
  contenders: readonly Contender[],
  { rounds, warmUps }: { readonly rounds: number; readonly warmUps: number },
): Promise<Measured[]> {
  const samples = contenders.map(() => [] as { perSecond: number; cpuMicros: number }[]);
  for (let round = -warmUps; round < rounds; round++) {
    for (const [at, contender] of contenders.entries()) {
      const sample = await sampleOf(contender);
      if (round >= 0) samples[at]?.push(sample);
    }
  }
  return contenders.map(({ name, pid }, at) => ({
    name,
    perSecond: median((samples[at] ?? []).map((sample) => sample.perSecond)),
    cpuMicros:
      pid === undefined ? undefined : median((samples[at] ?? []).map((sample) => sample.cpuMicros)),
  }));
}

async function sampleOf({ pid, round }: Contender) {
  const before = pid === undefined ? 0 : cpuMicrosOf(pid);
  const { perSecond, count } = await round();
  const after = pid === undefined ? 0 : cpuMicrosOf(pid);
  return { perSecond, cpuMicros: (after - before) / count };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
