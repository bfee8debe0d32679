/**
 * For the use cases: what was ever seen of something while it moved, from a watch that misses
 * nothing.
 */
import type { TestContext } from "node:test";
import type { Client, Resource } from "@kcp-ts/sdk";
import { type AnyObject, namespace } from "./use-case-fixture.ts";

export interface WatchRecorderOptions {
  readonly client: Client;
  readonly resource: Resource<AnyObject>;
  readonly labelSelector?: string;
  /** A figure of all that there is at one time. */
  readonly figure: (objects: readonly AnyObject[]) => number;
}

export class WatchRecorder {
  readonly figures: number[] = [];
  readonly #recorded: WatchRecorderOptions;
  readonly #objects = new Map<string, AnyObject>();
  readonly #stop = new AbortController();
  #watching: Promise<void> = Promise.resolve();

  private constructor(recorded: WatchRecorderOptions) {
    this.#recorded = recorded;
  }

  static async start(t: TestContext, recorded: WatchRecorderOptions): Promise<WatchRecorder> {
    const record = new WatchRecorder(recorded);
    const where = record.#where();
    const { items, metadata } = await recorded.client.resource(recorded.resource).list(where);
    for (const object of items) record.#objects.set(object.metadata.name, object);
    record.#note();
    record.#watching = record.#watch(metadata.resourceVersion ?? "");
    t.after(() => record.stop());
    return record;
  }

  /** The least that it ever was. */
  async stop(): Promise<number> {
    this.#stop.abort();
    await this.#watching;
    return Math.min(...this.figures);
  }

  #where() {
    const { labelSelector } = this.#recorded;
    return { namespace, ...(labelSelector === undefined ? {} : { labelSelector }) };
  }

  async #watch(resourceVersion: string): Promise<void> {
    const { client, resource } = this.#recorded;
    const { signal } = this.#stop;
    const where = { ...this.#where(), resourceVersion, signal };
    try {
      for await (const { type, object } of client.resource(resource).watch(where)) {
        if (type === "DELETED") this.#objects.delete(object.metadata.name);
        else if (type !== "BOOKMARK") this.#objects.set(object.metadata.name, object);
        this.#note();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #note(): void {
    this.figures.push(this.#recorded.figure([...this.#objects.values()]));
  }
}
