/**
 * Sends one exchange to a server over HTTPS and reads the answer; an endless one only as far as the
 * exchange asks.
 */
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import type { CorpusRequest, CorpusResponse } from "./corpus-request.ts";

export interface Target {
  /** Without a path. */
  readonly url: string;
  readonly caPem: string;
  /** Of a user who may do everything. */
  readonly token: string;
}

export class Sender {
  readonly #target: Target;
  readonly #agent: Agent;

  constructor(target: Target) {
    this.#target = target;
    this.#agent = new Agent({ keepAlive: true, ca: target.caPem });
  }

  close(): void {
    this.#agent.destroy();
  }

  send(corpusRequest: CorpusRequest, words: ReadonlyMap<string, string>): Promise<CorpusResponse> {
    const body = bodyOf(corpusRequest, words);
    return new Promise((resolve, reject) => {
      const outgoing = request(
        `${this.#target.url}${fill(corpusRequest.path, words, encodeURIComponent)}`,
        {
          method: corpusRequest.method,
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${this.#target.token}`,
            "user-agent": "corpus/1",
            ...(body === undefined ? {} : bodyHeaders(body)),
            ...corpusRequest.headers,
          },
          timeout: answerWithinMs,
        },
        (incoming) => {
          read(incoming, corpusRequest.events).then(resolve, reject);
        },
      );
      outgoing.once("timeout", () =>
        outgoing.destroy(new Error(`${corpusRequest.name}: no answer`)),
      );
      outgoing.once("error", (error) => reject(new Error(corpusRequest.name, { cause: error })));
      outgoing.end(body);
    });
  }
}

const answerWithinMs = 20_000;

/** With its length: Node leaves that out of a DELETE. */
function bodyHeaders(body: string): Record<string, string> {
  return { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) };
}

function bodyOf({ body }: CorpusRequest, words: ReadonlyMap<string, string>): string | undefined {
  if (body === undefined) return undefined;
  return fill(typeof body === "string" ? body : JSON.stringify(body), words);
}

function fill(
  text: string,
  words: ReadonlyMap<string, string>,
  encode: (word: string) => string = (word) => word,
): string {
  return text.replaceAll(/\$\{(\w+)\}/g, (whole, word: string) => {
    const value = words.get(word);
    if (value === undefined) throw new Error(`${whole} was not saved by an earlier exchange`);
    return encode(value);
  });
}

async function read(
  incoming: IncomingMessage,
  events: number | undefined,
): Promise<CorpusResponse> {
  const status = incoming.statusCode ?? 0;
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [name, [value].flat().join(", ")]),
  );
  let text = "";
  incoming.setEncoding("utf8");
  for await (const chunk of incoming) {
    text += chunk;
    if (events !== undefined && text.split("\n").length > events) break;
  }
  if (events === undefined || status !== 200) return { status, headers, body: parsed(text) };
  incoming.destroy();
  return { status, headers, body: text.split("\n").slice(0, events).map(parsed) };
}

function parsed(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
