/**
 * The way to the thread that reads long YAML (`yaml-worker.ts`): reading it takes up to a second per megabyte, and on the event loop everybody would wait for it.
 *
 * There is one thread for all servers of a process. It is started when there is something to read, and ends by itself when there was nothing for a while.
 * Whoever waits holds neither a seat nor a turn of fairness; what may wait is bounded by the memory that fairness lets bodies have, in all and of one
 * cluster, and by the deadline of each request.
 */
import { Worker } from "node:worker_threads";
import { onAbort, systemClock, type Timer } from "@kcp-ts/machinery/base";
import { statusError } from "@kcp-ts/machinery/status";
import { threadCpuMs } from "./thread-time.ts";
import type { TranslatedYaml } from "./translate-yaml.ts";
import { RoundRobinQueue } from "./yaml-turns.ts";

export interface YamlWorkerClientOptions {
  /** Processor time that one text may take; by the clock where the system does not tell. What takes longest of 3 MiB takes a fourth of it. */
  readonly workMsMax: number;
  /**
   * Heap of the thread, beyond its youngest objects. All that a body may be, 100,000 values, takes less; what is denser than any manifest may take
   * more, and ends it.
   */
  readonly heapMbMax: number;
  /** After so long without work it ends. */
  readonly idleMs: number;
}

export const yamlWorkerDefaults: YamlWorkerClientOptions = {
  workMsMax: 10_000,
  heapMbMax: 32,
  idleMs: 10_000,
};

/** Memory of objects that were just made. */
const youngMbMax = 4;

export type WorkerOptions = Pick<YamlWorkerClientOptions, "idleMs">;

export type WorkerMessage =
  | {
      /** The system's number of the thread; undefined where threads have none. */
      readonly thread: number | undefined;
    }
  | { readonly translated: TranslatedYaml };

interface Job {
  readonly bytes: Uint8Array;
  readonly answer: (translated: TranslatedYaml) => void;
  readonly refuse: (error: unknown) => void;
  /** From now on it no longer waits, and is not given up. */
  readonly begin: () => void;
  /** It came to a thread that was about to end. */
  wasLost: boolean;
}

interface Thread {
  readonly worker: Worker;
  hasStarted: boolean;
  /** The system's number of it. */
  id: number | undefined;
  /** Why it ends, when it does not do so by itself. */
  error: unknown;
}

export class YamlWorkerClient {
  readonly #options: YamlWorkerClientOptions;
  readonly #waiting = new RoundRobinQueue<Job>();
  #thread: Thread | undefined;
  #job: Job | undefined;
  #limit: Timer | undefined;

  constructor(options: Partial<YamlWorkerClientOptions> = {}) {
    this.#options = { ...yamlWorkerDefaults, ...options };
  }

  /** Rejects with a 413 when it takes too long or too much memory, and with the signal's reason when that aborts before its turn. */
  translate(cluster: string, bytes: Uint8Array, signal: AbortSignal): Promise<TranslatedYaml> {
    return new Promise((answer, refuse) => {
      let stopListening = () => {};
      const job: Job = { bytes, answer, refuse, begin: () => stopListening(), wasLost: false };
      const leave = this.#waiting.add(cluster, job);
      stopListening = onAbort(signal, () => {
        leave();
        refuse(signal.reason);
      });
      this.#next();
    });
  }

  #next(): void {
    while (this.#job === undefined) {
      const job = this.#waiting.next();
      if (job === undefined) {
        // It keeps no process from ending.
        this.#thread?.worker.unref();
        return;
      }
      job.begin();
      this.#give(job);
    }
  }

  #give(job: Job): void {
    this.#job = job;
    try {
      this.#thread ??= this.#start();
    } catch (error) {
      this.#settle()?.refuse(error);
      return;
    }
    const { worker, hasStarted } = this.#thread;
    const copy = new Uint8Array(job.bytes);
    worker.ref();
    worker.postMessage(copy, [copy.buffer]);
    if (hasStarted) this.#limitWork(this.#thread);
  }

  #start(): Thread {
    const { idleMs, heapMbMax } = this.#options;
    const worker = new Worker(new URL("./yaml-worker.js", import.meta.url), {
      name: "yaml",
      workerData: { idleMs } satisfies WorkerOptions,
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax, maxYoungGenerationSizeMb: youngMbMax },
      // Neither flags nor secrets of the server are its business.
      execArgv: [],
      env: {},
    });
    const thread: Thread = { worker, hasStarted: false, id: undefined, error: undefined };
    worker.on("message", (message: WorkerMessage) => {
      if (this.#thread !== thread) return;
      if ("translated" in message) this.#answered(message.translated);
      else this.#started(thread, message.thread);
    });
    worker.on("error", (error) => {
      thread.error = error;
    });
    worker.on("exit", () => {
      if (this.#thread === thread) this.#ended(thread);
    });
    return thread;
  }

  /** Until then nothing of the text was read. */
  #started(thread: Thread, id: number | undefined): void {
    thread.hasStarted = true;
    thread.id = id;
    if (this.#job !== undefined) this.#limitWork(thread);
  }

  #answered(translated: TranslatedYaml): void {
    this.#settle()?.answer(translated);
    this.#next();
  }

  /** By itself, or because of what it was given. */
  #ended({ error }: Thread): void {
    this.#thread = undefined;
    const job = this.#settle();
    if (job !== undefined && error === undefined && !job.wasLost) {
      job.wasLost = true;
      this.#give(job);
    } else job?.refuse(reasonOf(error));
    this.#next();
  }

  /** The processor's time counts, not the clock's: on a busy machine the thread gets little of it. */
  #limitWork(thread: Thread): void {
    const { workMsMax } = this.#options;
    const before = threadCpuMs(thread.id) ?? 0;
    const lookIn = (leftMs: number) => {
      this.#limit = systemClock.schedule(leftMs, () => {
        const workedMs = (threadCpuMs(thread.id) ?? Number.POSITIVE_INFINITY) - before;
        if (workedMs < workMsMax) lookIn(Math.ceil(workMsMax - workedMs));
        else this.#stop(thread);
      });
    };
    lookIn(workMsMax);
  }

  #stop({ worker }: Thread): void {
    this.#thread = undefined;
    // The promise resolves when the thread has ended, for which no request waits.
    void worker.terminate();
    this.#settle()?.refuse(statusError.tooLarge("reading it as YAML takes too long, send JSON"));
    this.#next();
  }

  #settle(): Job | undefined {
    const job = this.#job;
    this.#job = undefined;
    this.#limit?.cancel();
    return job;
  }
}

function reasonOf(error: unknown): Error {
  const isMemory = (error as NodeJS.ErrnoException | undefined)?.code === outOfMemory;
  return isMemory
    ? statusError.tooLarge("reading it as YAML takes too much memory, send JSON")
    : new Error("the thread that reads YAML ended", { cause: error });
}

const outOfMemory = "ERR_WORKER_OUT_OF_MEMORY";

/** The one of this process. */
export const sharedYamlWorker = new YamlWorkerClient();
