/** Plays a topic against one server, in order, and tells the answers as they are compared. */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import {
  type CorpusRequest,
  type CorpusResponse,
  type CorpusTopic,
  valueAt,
} from "./corpus-request.ts";
import { normalize } from "./normalize.ts";
import type { Sender } from "./send.ts";

export type CorpusResponses = ReadonlyMap<string, CorpusResponse>;

export async function runTopic(
  { requests }: CorpusTopic,
  sender: Sender,
  given: ReadonlyMap<string, string>,
): Promise<CorpusResponses> {
  const words = new Map(given);
  const answers = new Map<string, CorpusResponse>();
  for (const exchange of requests) {
    if (answers.has(exchange.name)) throw new Error(`two exchanges named ${exchange.name}`);
    const answer = await sendUntil(exchange, sender, words);
    for (const [word, path] of Object.entries(exchange.save ?? {})) {
      words.set(word, String(valueAt(answer.body, path)));
    }
    const { view } = exchange;
    answers.set(
      exchange.name,
      normalize(view === undefined ? answer : { ...answer, body: view(answer.body) }),
    );
  }
  return answers;
}

async function sendUntil(
  corpusRequest: CorpusRequest,
  sender: Sender,
  words: ReadonlyMap<string, string>,
): Promise<CorpusResponse> {
  const { until = () => true } = corpusRequest;
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const answer = await sender.send(corpusRequest, words);
    // One that never comes is told as it is: the comparison shows it.
    if (until(answer) || waitedMs > withinMs) return answer;
    await sleep(systemClock, pollMs);
  }
}

const pollMs = 50;
const withinMs = 15_000;
