/**
 * YamlWorkerClient: the client of the worker thread that parses long YAML (`yaml-worker.ts`):
 * parsing takes up to a second per megabyte, and would block all requests on the event loop.
 *
 * All servers of a process share one thread. It is started for the first text, and ends by itself
 * after an idle time. Waiting requests hold neither a seat nor a turn of flow control; they are
 * limited by the memory that flow control permits for bodies, in total and of one cluster, and by
 * the timeout of each request.
 */
import { Worker } from "node:worker_threads";
import { onAbort, systemClock, type Timer } from "@kcp-ts/machinery/base";
import { statusError } from "@kcp-ts/machinery/status";
import { RoundRobinQueue } from "./round-robin-queue.ts";
import { threadCpuMs } from "./thread-cpu-time.ts";
import type { TranslatedYaml } from "./translate-yaml.ts";

export interface YamlWorkerClientOptions {
  /**
   * The CPU time of one text; elapsed time where the system does not provide it. The slowest text
   * of 3 MiB takes a fourth of it.
   */
  readonly workMsMax: number;
  /**
   * The heap of the thread, without its young generation. A body with the maximum of 100,000 values
   * takes less; a text denser than any manifest may take more, and terminates the thread.
   */
  readonly heapMbMax: number;
  /** The idle time after which the thread ends. */
  readonly idleMs: number;
}

export const yamlWorkerDefaults: YamlWorkerClientOptions = {
  workMsMax: 10_000,
  heapMbMax: 32,
  idleMs: 10_000,
};

/** The young generation of the thread's heap. */
const youngMbMax = 4;

export type WorkerOptions = Pick<YamlWorkerClientOptions, "idleMs">;

export type WorkerMessage =
  | {
      /** The system's id of the thread; undefined where threads have none. */
      readonly thread: number | undefined;
    }
  | { readonly translated: TranslatedYaml };

interface Job {
  readonly bytes: Uint8Array;
  readonly answer: (translated: TranslatedYaml) => void;
  readonly refuse: (error: unknown) => void;
  /** Marks the text as started: it can no longer be given up. */
  readonly begin: () => void;
  /** The text was sent to a thread that was about to end. */
  wasLost: boolean;
}

interface Thread {
  readonly worker: Worker;
  hasStarted: boolean;
  /** The system's id of the thread. */
  id: number | undefined;
  /** The cause of the termination, if the thread does not end by itself. */
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

  /**
   * Rejects with a 413 when the text takes too long or too much memory, and with the signal's
   * reason when the signal aborts before its turn.
   */
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
        // The thread does not keep the process alive.
        this.#thread?.worker.unref();
        return;
      }
      job.begin();
      this.#send(job);
    }
  }

  #send(job: Job): void {
    this.#job = job;
    try {
      this.#thread ??= this.#start();
    } catch (error) {
      this.#takeJob()?.refuse(error);
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
      // The thread does not inherit flags and secrets of the server.
      execArgv: [],
      env: {},
    });
    const thread: Thread = { worker, hasStarted: false, id: undefined, error: undefined };
    worker.on("message", (message: WorkerMessage) => {
      if (this.#thread !== thread) return;
      if ("translated" in message) this.#onResult(message.translated);
      else this.#started(thread, message.thread);
    });
    worker.on("error", (error) => {
      thread.error = error;
    });
    worker.on("exit", () => {
      if (this.#thread === thread) this.#onExit(thread);
    });
    return thread;
  }

  /** Called before any of the text is parsed. */
  #started(thread: Thread, id: number | undefined): void {
    thread.hasStarted = true;
    thread.id = id;
    if (this.#job !== undefined) this.#limitWork(thread);
  }

  #onResult(translated: TranslatedYaml): void {
    this.#takeJob()?.answer(translated);
    this.#next();
  }

  /** The thread ended by itself, or because of its text. */
  #onExit({ error }: Thread): void {
    this.#thread = undefined;
    const job = this.#takeJob();
    if (job !== undefined && error === undefined && !job.wasLost) {
      job.wasLost = true;
      this.#send(job);
    } else job?.refuse(reasonOf(error));
    this.#next();
  }

  /** Limits CPU time, not elapsed time: on a busy machine the thread gets little of it. */
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
    // The promise resolves when the thread has ended; no request waits for it.
    void worker.terminate();
    this.#takeJob()?.refuse(statusError.tooLarge("reading it as YAML takes too long, send JSON"));
    this.#next();
  }

  #takeJob(): Job | undefined {
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

/** The client of this process. */
export const sharedYamlWorker = new YamlWorkerClient();
