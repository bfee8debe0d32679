/**
 * Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input"): the
 * faults that are enough for a failure, by halves, then by what is left without each part.
 */
export interface NarrowedFaults<Fault> {
  readonly faults: readonly Fault[];
  /** The tries ended before it was known that fewer faults are not enough. */
  readonly isCut: boolean;
}

export async function narrowFaults<Fault>(
  all: readonly Fault[],
  fails: (some: readonly Fault[]) => Promise<boolean>,
  triesMax: number,
): Promise<NarrowedFaults<Fault>> {
  let faults = all;
  let parts = 2;
  let tries = 0;
  while (faults.length > 1) {
    const failing = await firstFailing(candidates(faults, parts));
    if (failing !== undefined) {
      parts = failing.isPart ? 2 : Math.max(2, parts - 1);
      faults = failing.faults;
    } else if (tries >= triesMax) return { faults, isCut: true };
    else if (parts >= faults.length) break;
    else parts = Math.min(faults.length, parts * 2);
  }
  return { faults, isCut: false };

  async function firstFailing(
    given: readonly Candidate<Fault>[],
  ): Promise<Candidate<Fault> | undefined> {
    for (const one of given) {
      if (tries >= triesMax) return undefined;
      tries++;
      if (await fails(one.faults)) return one;
    }
    return undefined;
  }
}

interface Candidate<Fault> {
  readonly faults: readonly Fault[];
  readonly isPart: boolean;
}

function candidates<Fault>(faults: readonly Fault[], parts: number): Candidate<Fault>[] {
  const cuts = Array.from({ length: parts + 1 }, (_, n) => Math.round((n * faults.length) / parts));
  const ranges = cuts.slice(1).map((end, n) => [cuts[n] ?? 0, end] as const);
  const chosen = ranges.map(([start, end]) => ({ faults: faults.slice(start, end), isPart: true }));
  // Of two halves each is what is left without the other.
  if (parts === 2) return chosen;
  const rests = ranges.map(([start, end]) => ({
    faults: [...faults.slice(0, start), ...faults.slice(end)],
    isPart: false,
  }));
  return [...chosen, ...rests];
}
