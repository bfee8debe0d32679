/**
 * Counts the objects of a collection that a selector selects: once by a list, and then by events,
 * so that a change has the same cost for any number of objects.
 */
import type { Entry, Revision, Storage, StorageKey } from "@kcp-ts/apiserver/storage";
import { cachedLabels, type HubEvent, type WatchHub } from "@kcp-ts/apiserver/watch-cache";
import { yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { LabelSelector } from "@kcp-ts/machinery/selectors";

export interface SelectorCountOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly prefix: StorageKey;
  readonly selector: LabelSelector;
  /** Called when the count changes, or has to be recounted. */
  readonly onChange: () => void;
}

interface Step {
  readonly revision: Revision;
  readonly by: number;
}

const pageEntries = 200;

export class SelectorCount {
  readonly #options: SelectorCountOptions;
  readonly #stop = new AbortController();
  readonly #unlisten: () => void;
  #counted: { readonly revision: Revision; readonly value: number } | undefined;
  /** The events during the initial list. */
  #steps: Step[] = [];
  #isLost = false;

  constructor(options: SelectorCountOptions) {
    this.#options = options;
    this.#unlisten = options.hub.listen(options.prefix, {
      onEvent: (event) => this.#onEvent(event),
      onLost: () => {
        this.#isLost = true;
        options.onChange();
      },
    });
  }

  /** Whether the count is invalid for good, and has to be replaced by a new one. */
  get isLost(): boolean {
    return this.#isLost;
  }

  get prefix(): StorageKey {
    return this.#options.prefix;
  }

  close(): void {
    this.#stop.abort();
    this.#unlisten();
  }

  async value(): Promise<number> {
    if (this.#counted === undefined) await this.#count();
    return this.#counted?.value ?? 0;
  }

  async #count(): Promise<void> {
    const { storage, prefix } = this.#options;
    const { signal } = this.#stop;
    let value = 0;
    let atRevision: Revision | undefined;
    for (let continueAfter: StorageKey | undefined; ; ) {
      const page = await storage.list(prefix, {
        signal,
        entriesMax: pageEntries,
        continueAfter,
        atRevision,
      });
      atRevision = page.revision;
      for (const entry of page.entries) if (this.#isSelected(entry)) value++;
      if (!page.more) break;
      continueAfter = page.entries.at(-1)?.key;
      await yieldToEventLoop();
    }
    for (const { revision, by } of this.#steps) if (revision > atRevision) value += by;
    this.#steps = [];
    this.#counted = { revision: atRevision, value };
  }

  #onEvent({ current, previous, revision }: HubEvent): void {
    const by = Number(this.#isSelected(current)) - Number(this.#isSelected(previous));
    if (by === 0) return;
    if (this.#counted === undefined) this.#steps.push({ revision, by });
    else if (revision > this.#counted.revision)
      this.#counted = { ...this.#counted, value: this.#counted.value + by };
    else return;
    this.#options.onChange();
  }

  #isSelected(entry: Entry | undefined): boolean {
    if (entry === undefined) return false;
    const { selector } = this.#options;
    return selector.isEmpty || selector.matches(cachedLabels(entry));
  }
}
