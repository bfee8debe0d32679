/** One request of the corpus, and what is kept of its answer. */
export interface CorpusRequest {
  /** Unique within its topic. */
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS";
  /**
   * `${word}` stands for something of the run, or saved from an earlier answer of the topic, here
   * and in the body.
   */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a string as it is. */
  readonly body?: object | string;
  /** Words for later requests: where each is found in this answer, `metadata.uid` say. */
  readonly save?: Readonly<Record<string, string>>;
  /** Asked again until this is so. */
  readonly until?: (answer: CorpusResponse) => boolean;
  /** A watch: ended by the client after this many events. */
  readonly events?: number;
  /** The part that is compared, where the whole is larger than what we serve. */
  readonly view?: (body: unknown) => unknown;
}

export interface CorpusTopic {
  readonly name: string;
  readonly requests: readonly CorpusRequest[];
  /** By which our server serves kinds that the real server has from the start. */
  readonly definitions?: readonly object[];
}

export interface CorpusResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed, if it is JSON; one element per event of a watch. */
  readonly body: unknown;
}

/** The value at a path like `metadata.uid` or `items.0.metadata.name`. */
export function valueAt(body: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>(
      (value, key) =>
        typeof value === "object" && value !== null && Object.hasOwn(value, key)
          ? (value as Record<string, unknown>)[key]
          : undefined,
      body,
    );
}
