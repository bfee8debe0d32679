/**
 * LogFollower: the logs of several containers in one stream of lines. A log whose connection is
 * lost is followed again behind its last line.
 */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client } from "@kcp-ts/sdk/client";
import { streamedLines } from "./streamed-lines.ts";

export interface LogSource {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** What is in front of its lines; empty for the only one. */
  readonly title: string;
}

export interface LogOptions {
  readonly tailLines: number;
  readonly isPrevious: boolean;
  readonly hasTimestamps: boolean;
}

const retryMs = 2000;
const colors = [36, 33, 32, 35, 34, 31] as const;
/** Control sequences but those of colours, and characters that reorder text. */
const disturbing = /\x1b(?!\[[\d;]*m)|[\u202a-\u202e\u2066-\u2069]|[\0-\x08\x0b-\x1a\x1c-\x1f]/g;

export class LogFollower {
  readonly #client: Client;
  readonly #options: LogOptions;
  readonly #write: (text: string) => Promise<void>;
  readonly #followed = new Map<string, AbortController>();
  #colorsUsed = 0;

  /** A promise of `write` that is pending holds the logs back. */
  constructor(client: Client, options: LogOptions, write: (text: string) => Promise<void>) {
    this.#client = client;
    this.#options = options;
    this.#write = write;
  }

  /** Follows these, and no others any longer. */
  follow(sources: readonly LogSource[]): void {
    const wanted = new Map(sources.map((one) => [`${one.pod}/${one.container}`, one]));
    for (const [key, stop] of this.#followed)
      if (!wanted.has(key)) {
        stop.abort();
        this.#followed.delete(key);
      }
    for (const [key, source] of wanted) {
      if (this.#followed.has(key)) continue;
      const stop = new AbortController();
      this.#followed.set(key, stop);
      this.#run(source, stop.signal).catch((error: unknown) => {
        return stop.signal.aborted ? undefined : this.#note(source, messageOf(error));
      });
    }
  }

  stop(): void {
    this.follow([]);
  }

  async #run(source: LogSource, signal: AbortSignal): Promise<void> {
    const color = colors[this.#colorsUsed++ % colors.length];
    const title = source.title === "" ? "" : `\x1b[${color}m${source.title}\x1b[0m `;
    let last = "";
    for (;;) {
      try {
        for await (const line of streamedLines(this.#client, this.#path(source, last), signal)) {
          const space = line.indexOf(" ");
          const at = line.slice(0, space);
          if (at <= last) continue;
          last = at;
          const text = line.slice(space + 1).replace(disturbing, "\ufffd");
          const time = this.#options.hasTimestamps ? `\x1b[2m${at}\x1b[0m ` : "";
          await this.#write(`${title}${time}${text}\x1b[0m\n`);
        }
        // The container has ended: what it said is here.
        return await this.#note(source, "the log ends");
      } catch (error) {
        signal.throwIfAborted();
        // The server has answered: it would answer the same again.
        if (isStatusError(error)) throw error;
        await this.#note(source, `${messageOf(error)}; trying again`);
      }
      await sleep(systemClock, retryMs, signal);
    }
  }

  #path({ namespace, pod, container }: LogSource, since: string): string {
    const { tailLines, isPrevious } = this.#options;
    const query = new URLSearchParams({ container, timestamps: "true" });
    if (isPrevious) query.set("previous", "true");
    else query.set("follow", "true");
    if (since === "") query.set("tailLines", String(tailLines));
    else query.set("sinceTime", since);
    return `/api/v1/namespaces/${namespace}/pods/${pod}/log?${query}`;
  }

  async #note({ pod, container }: LogSource, text: string): Promise<void> {
    await this.#write(`\x1b[2m— ${pod} ${container}: ${text}\x1b[0m\n`);
  }
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(disturbing, "\ufffd");
}
