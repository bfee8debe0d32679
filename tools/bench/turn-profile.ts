/**
 * The time of the longest turn of the event loop, and the memory that a request allocates, garbage
 * included, each as a tree of functions. For the probe of the red team when it profiles. Samples
 * slow the process down: the trees show shares, not amounts.
 */
import type { HeapProfiler, Runtime } from "node:inspector";
import { Session } from "node:inspector/promises";
import { performance } from "node:perf_hooks";

const intervalMicros = 100;
/** Below this share of the turn a function is not shown. */
const shareMin = 0.03;

const allocationBytes = 16 << 10;

type SamplingNode = HeapProfiler.SamplingHeapProfileNode;

interface Frame {
  readonly children: Map<string, Frame>;
  micros: number;
}

export class TurnProfile {
  readonly #session = new Session();
  static async open(): Promise<TurnProfile> {
    const profile = new TurnProfile();
    profile.#session.connect();
    await profile.#session.post("Profiler.enable");
    await profile.#session.post("Profiler.setSamplingInterval", { interval: intervalMicros });
    return profile;
  }

  async begin(): Promise<void> {
    await this.#session.post("HeapProfiler.startSampling", {
      samplingInterval: allocationBytes,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await this.#session.post("Profiler.start");
  }

  /** The tree of all allocations since the beginning, in mebibytes. */
  async allocations(): Promise<string> {
    const { profile } = await this.#session.post("HeapProfiler.stopSampling");
    const frameOf = (node: SamplingNode): [string, Frame] => {
      const children = new Map(node.children.map(frameOf));
      let micros = node.selfSize;
      for (const child of children.values()) micros += child.micros;
      return [nameOf(node.callFrame), { children, micros }];
    };
    const [, root] = frameOf(profile.head);
    return `allocated ${root.micros >> 20} MiB\n${shown(root, root.micros, 0, 1 << 20)}`;
  }

  /** The tree of the turn between two moments. */
  async end(from: number, to: number): Promise<string> {
    const { profile } = await this.#session.post("Profiler.stop");
    const origin = Number(process.hrtime.bigint() / 1000n) - performance.now() * 1000;
    const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
    const parents = new Map<number, number>();
    for (const { id, children = [] } of profile.nodes) {
      for (const child of children) parents.set(child, id);
    }
    const root: Frame = { children: new Map(), micros: 0 };
    let at = profile.startTime;
    profile.samples?.forEach((id, i) => {
      const micros = profile.timeDeltas?.[i] ?? 0;
      at += micros;
      const ms = (at - origin) / 1000;
      if (ms < from || ms > to) return;
      const names: string[] = [];
      for (let node: number | undefined = id; node !== undefined; node = parents.get(node)) {
        const { callFrame } = nodes.get(node) ?? {};
        names.push(callFrame === undefined ? "?" : nameOf(callFrame));
      }
      add(root, names.reverse(), micros);
    });
    return `${(to - from).toFixed(1)} ms by the wall\n${shown(root, root.micros, 0)}`;
  }
}

function add(frame: Frame, names: readonly string[], micros: number): void {
  frame.micros += micros;
  const [first, ...rest] = names;
  if (first === undefined) return;
  const child: Frame = frame.children.get(first) ?? { children: new Map(), micros: 0 };
  frame.children.set(first, child);
  add(child, rest, micros);
}

function nameOf({ functionName, url, lineNumber }: Runtime.CallFrame): string {
  return `${functionName} ${url.split("/").at(-1)}:${lineNumber + 1}`;
}

function shown(frame: Frame, all: number, depth: number, unit = 1000): string {
  return [...frame.children]
    .filter(([, { micros }]) => micros > all * shareMin)
    .sort(([, a], [, b]) => b.micros - a.micros)
    .map(
      ([name, child]) =>
        `${" ".repeat(depth)}${(child.micros / unit).toFixed(1)} ${name}\n${shown(child, all, depth + 1, unit)}`,
    )
    .join("");
}
