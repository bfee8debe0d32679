/**
 * For soak tests: an informer, and a handler that records its events and rejects impossible ones.
 */
import assert from "node:assert/strict";
import { formatKey, Informer, type InformerOptions, type KubernetesObject } from "@kcp-ts/sdk";

/** All that a witness looks at, and all that is left by the leanest transform. */
export interface Versioned {
  readonly metadata: { readonly resourceVersion?: string | undefined };
}

export class InformerChecker {
  readonly name: string;
  readonly informer: Informer<KubernetesObject, Versioned>;
  readonly contradictions: Error[] = [];
  readonly #heard = new Map<string, string>();
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(name: string, options: InformerOptions<KubernetesObject, Versioned>) {
    this.name = name;
    this.informer = new Informer({
      ...options,
      onError: (error) => {
        if (error instanceof assert.AssertionError) this.contradictions.push(error);
      },
    });
    const heard = this.#heard;
    this.informer.addHandler({
      added({ metadata }, { key }) {
        assert.ok(!heard.has(formatKey(key)), `${formatKey(key)} was added twice`);
        heard.set(formatKey(key), metadata.resourceVersion ?? "");
      },
      updated({ metadata }, { key, previous }) {
        assert.equal(heard.get(formatKey(key)), previous.metadata.resourceVersion);
        heard.set(formatKey(key), metadata.resourceVersion ?? "");
      },
      deleted(_, { key }) {
        assert.ok(heard.delete(formatKey(key)), `${formatKey(key)} was deleted twice`);
      },
    });
    this.#done = this.informer.run(this.#stop.signal);
  }

  /** What is in the store, as sorted lines of key and version. */
  stored(): readonly string[] {
    const { store } = this.informer;
    return [...store.entries()]
      .map(([key, { metadata }]) => `${formatKey(key)} ${metadata.resourceVersion}`)
      .sort();
  }

  /** The sum of the events that the handlers received. */
  receivedEvents(): readonly string[] {
    return [...this.#heard].map(([key, version]) => `${key} ${version}`).sort();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }
}
